-- Advice: ops of TensorFlow or JAX that are called one by one from Python, outside of any tf.function or jax.jit.
--
-- For each profile the time of the measured steps (no warm-up) in which single ops are executed for the program
-- (eager_calls): neither functions, nor reading the input, nor what Keras calls around its own steps.
-- Threshold: 10 % of the step time, as in the TensorFlow 2 Profiler.
-- What it would save: what of it is not the ops' own work (EagerKernelExecute inside; of JAX the ops that XLA compiled
-- on that thread): looking up, copying, placing.
-- PyTorch calls all ops like that: see tiny_ops and launch_bound.
-- Columns: those of every check, see docs/checks.md.  Cost: that of eager_calls.
-- Needs: ops, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'eager_ops';
WITH times AS MATERIALIZED (
  SELECT steps.profile_id AS profile_id, count(*) AS step_count, sum(1.0 * steps.dur_ns) AS step_ns
  FROM temp.profiles AS profiles JOIN temp.steps AS steps ON steps.profile_id = profiles.id
  WHERE (has_framework(profiles.framework, 'tensorflow') OR has_framework(profiles.framework, 'jax'))
    AND steps.is_warmup = 0 AND steps.is_hung IS NOT 1
  GROUP BY 1
), calls AS MATERIALIZED (
  SELECT profile_id, op_id AS id, op AS name, 1.0 * dur_ns AS dur_ns FROM temp.eager_calls
  WHERE is_of_keras = 0
), working AS (
  SELECT calls.profile_id AS profile_id, sum(1.0 * ops.dur_ns) AS work_ns
  FROM calls CROSS JOIN temp.ops AS ops ON ops.parent_id = calls.id
  WHERE ops.name = 'EagerKernelExecute' GROUP BY 1
  UNION ALL
  SELECT calls.profile_id, sum(1.0 * ops.self_ns)
  FROM calls CROSS JOIN temp.ops AS ops ON ops.outermost_id = calls.id
  WHERE ops.category = 'op'
    AND calls.profile_id IN (SELECT id FROM temp.profiles WHERE has_framework(framework, 'jax'))
  GROUP BY 1
), sums AS (
  SELECT profile_id, sum(dur_ns) AS eager_ns, count(*) AS count FROM calls GROUP BY profile_id
), ranked AS (
  SELECT profile_id, name, sum(dur_ns) AS dur_ns,
    row_number() OVER (PARTITION BY profile_id ORDER BY sum(dur_ns) DESC, name) AS place
  FROM calls GROUP BY profile_id, name
), most AS (
  SELECT profile_id, group_concat(name, ', ') AS names
  FROM (SELECT * FROM ranked WHERE place <= 3 ORDER BY profile_id, place) GROUP BY profile_id
)
SELECT
  'eager_ops' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time goes to ops that are called one by one from Python: %s a '
      || 'step, %s, most in %s', min(100.0, 100.0 * sums.eager_ns / times.step_ns),
    format_count(1.0 * sums.count / times.step_count), format_ns(sums.eager_ns / times.step_count),
    most.names) AS message,
  sums.eager_ns / times.step_ns AS value,
  0.10 AS threshold,
  CAST(max(0, sums.eager_ns - coalesce(working.work_ns, 0)) AS INTEGER) AS saves_ns,
  advice_words('eager_ops', processes.framework) AS suggestion,
  'SELECT op, count(*), sum(dur_ns) FROM temp.eager_calls WHERE is_of_keras = 0 AND profile_id = '
    || sums.profile_id || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM sums
JOIN times ON times.profile_id = sums.profile_id
JOIN most ON most.profile_id = sums.profile_id
LEFT JOIN working ON working.profile_id = sums.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE times.step_ns > 0 AND sums.eager_ns >= 0.10 * times.step_ns
ORDER BY saves_ns DESC, sums.profile_id
