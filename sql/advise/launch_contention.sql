-- Advice: kernels are launched by threads that the input pipeline keeps from running.
--
-- For each profile of TensorFlow with iterators of tf.data and work on devices: the time of the measured steps that
-- went to launching alone (category runtime of step_segments: the executor and calls of CUDA while no device computed),
-- as the overview of the TensorFlow 2 Profiler has it.  Silent where launching has threads of its own already
-- (gpu_private, gpu_shared).
-- Thresholds: 3 % of the step time; a warning from 15 % on, as there.
-- What it would save: what is beyond these 3 %.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits and step_segment_totals.
-- Needs: input_events, steps, device_activities.
-- Example: SELECT message FROM advise WHERE check_name = 'launch_contention';
WITH fed AS MATERIALIZED (
  SELECT profile_id, step_count, step_ns FROM temp._input_waits
  WHERE has_iterators AND step_ns > 0
    AND profile_id IN (SELECT id FROM temp.profiles WHERE has_framework(framework, 'tensorflow'))
    AND profile_id IN (SELECT profile_id FROM temp.device_steps)
    AND profile_id NOT IN (SELECT profile_id FROM temp.threads WHERE name GLOB '*gpu_private*'
      OR name GLOB '*gpu_shared*')
), launching AS (
  SELECT fed.profile_id AS profile_id, sum(1.0 * segments.sum_ns) AS launch_ns
  FROM fed CROSS JOIN temp.steps AS steps ON steps.profile_id = fed.profile_id
  CROSS JOIN temp.step_segment_totals AS segments ON segments.step_id = steps.id
  WHERE steps.is_warmup = 0 AND steps.is_hung IS NOT 1 AND segments.category = 'runtime' GROUP BY 1
)
SELECT
  'launch_contention' AS check_name,
  CASE WHEN launching.launch_ns >= 0.15 * fed.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.1f %% of the step time goes to launching kernels, %s of %s a step, by threads that '
      || 'share the processors with the input pipeline', min(100.0, 100.0 * launching.launch_ns / fed.step_ns),
    format_ns(launching.launch_ns / fed.step_count), format_ns(fed.step_ns / fed.step_count)) AS message,
  launching.launch_ns / fed.step_ns AS value,
  0.03 AS threshold,
  CAST(launching.launch_ns - 0.03 * fed.step_ns AS INTEGER) AS saves_ns,
  'Give each device threads of its own that launch: TF_GPU_THREAD_MODE=gpu_private (TF_GPU_THREAD_COUNT=2), and let '
    || 'the input pipeline have fewer: options.threading.private_threadpool_size.' AS suggestion,
  'SELECT number, dur_ns, launch_ns FROM temp.step_breakdown WHERE profile_id = ' || fed.profile_id
    || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM fed JOIN launching ON launching.profile_id = fed.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = fed.profile_id
WHERE launching.launch_ns >= 0.03 * fed.step_ns
ORDER BY saves_ns DESC, fed.profile_id
