-- Advice: forward passes that run twice to save memory of which there is enough.
--
-- For each profile the time of recomputation, which gradient checkpoints cost (torch.utils.checkpoint;
-- step_phases.is_recomputation), in measured steps, and the memory that is left: on devices what was never in use at
-- their peak (memory_summary), without any what was always available on the machine (counter host_available_bytes).
-- Threshold: 5 % of the step time, and more memory left than was held at most: activations that checkpoints give back
-- seldom take more than all the rest.  Silent where it is not known how much is left.
-- What it would save: the recomputation, which is that share of the time of all steps.  The share is that of the median
-- step that has any, times the share of steps that have, and a step counts for 1.5 times the median step at most: one
-- during which the machine did something else speaks for no other, and step_time_outliers has what is beyond.
-- The line is the one that calls checkpoint(), of several the one with the most ops below it.
-- Columns: those of every check, see docs/checks.md; value is the share of the step time.  Cost: linear in
-- step_phases, and that of memory_summary.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'needless_checkpoints';
WITH typical AS (
  SELECT profile_id, median(net_ns) AS median_ns FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1
  GROUP BY profile_id
), step_time AS (
  SELECT steps.profile_id AS profile_id, count(*) AS step_count, sum(min(steps.net_ns, 1.5 * median_ns)) AS all_ns,
    total(steps.sample_weight) FILTER (WHERE steps.ops_recorded = 1) AS weight
  FROM typical JOIN temp.steps AS steps ON steps.profile_id = typical.profile_id
  WHERE steps.is_warmup = 0 AND steps.is_hung IS NOT 1 GROUP BY steps.profile_id
), in_step AS (
  SELECT phases.profile_id AS profile_id, max(steps.sample_weight) AS weight,
    min(1.0, sum(1.0 * phases.net_ns) / max(steps.net_ns)) AS ratio
  FROM temp.step_phases AS phases JOIN temp.steps AS steps ON steps.id = phases.step_id
  WHERE phases.is_recomputation = 1 AND steps.is_warmup = 0 AND steps.is_hung IS NOT 1 AND steps.ops_recorded = 1
    AND steps.sample_weight > 0
  GROUP BY phases.profile_id, phases.step_id
), repeated AS MATERIALIZED ( -- fraction: of the steps that have any
  SELECT profile_id, step_count, ratio * fraction AS ratio, ratio * fraction * all_ns AS again_ns
  FROM (
    SELECT in_step.profile_id AS profile_id, step_time.step_count AS step_count, step_time.all_ns AS all_ns,
      median(in_step.ratio) AS ratio,
      min(1.0, sum(in_step.weight) / step_time.weight) AS fraction
    FROM in_step JOIN step_time ON step_time.profile_id = in_step.profile_id
    GROUP BY in_step.profile_id
  ) WHERE ratio * fraction >= 0.05
), devices AS (
  SELECT profile_id, max(coalesce(lifetime_peak_bytes, peak_bytes)) AS held_bytes,
    min(capacity_bytes - coalesce(lifetime_peak_bytes, peak_bytes)) AS left_bytes
  FROM temp.memory_summary
  WHERE EXISTS (SELECT 1 FROM repeated) AND device_id IN (SELECT id FROM temp.devices WHERE kind = 'gpu')
  GROUP BY profile_id
), machines AS (
  SELECT profile_id, max(value) FILTER (WHERE name = 'process_resident_bytes') AS held_bytes,
    min(value) FILTER (WHERE name = 'host_available_bytes') AS left_bytes
  FROM temp.counters
  WHERE name IN ('process_resident_bytes', 'host_available_bytes') AND EXISTS (SELECT 1 FROM repeated)
  GROUP BY profile_id
), memories AS (
  SELECT repeated.*, coalesce(devices.held_bytes, machines.held_bytes) AS held_bytes,
    CASE WHEN devices.profile_id IS NOT NULL THEN devices.left_bytes ELSE machines.left_bytes END AS left_bytes
  FROM repeated LEFT JOIN devices ON devices.profile_id = repeated.profile_id
  LEFT JOIN machines ON machines.profile_id = repeated.profile_id
), calls AS ( -- of checkpoint(), and what lies below each
  SELECT above.profile_id AS profile_id, above.line_frame_id AS frame_id, count(*) AS count
  FROM temp.code_frames AS frames
  CROSS JOIN temp.code_traces AS inside ON inside.leaf_frame_id = frames.id
  CROSS JOIN temp.code_traces AS above ON above.id = inside.parent_id
  WHERE frames.function = 'checkpoint' AND frames.file GLOB '*torch/utils/checkpoint.py'
    AND EXISTS (SELECT 1 FROM repeated)
  GROUP BY above.profile_id, above.line_frame_id
), called AS (
  SELECT calls.profile_id AS profile_id, frames.text AS text,
    coalesce('In[' || frames.cell || ']',
      replace(frames.file, rtrim(frames.file, replace(frames.file, '/', '')), '')) || ':' || frames.line AS location,
    row_number() OVER (PARTITION BY calls.profile_id ORDER BY calls.count DESC, frames.file, frames.line) AS place
  FROM calls CROSS JOIN temp.code_frames AS frames ON frames.id = calls.frame_id
)
SELECT
  'needless_checkpoints' AS check_name,
  CASE WHEN ratio >= 0.20 AND step_count >= 10 AND again_ns >= 1e6 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  coalesce(called.location, processes.name) AS subject,
  processes.prefix || format('%.0f %% of the step time computes again what gradient checkpoints did not keep, %s a '
      || 'step, while %s of memory are left and %s were held at most', 100.0 * ratio,
    format_ns(again_ns / step_count), format_bytes(left_bytes), format_bytes(held_bytes))
    || coalesce('; they are set at ' || called.location, '') || coalesce(': ' || trim(called.text), '') AS message,
  ratio AS value,
  0.05 AS threshold,
  CAST(again_ns AS INTEGER) AS saves_ns,
  'Leave checkpoints out, or checkpoint fewer layers: gradient_checkpointing=False, '
    || 'model.gradient_checkpointing_disable(), or call the layer itself instead of checkpoint().' AS suggestion,
  'SELECT phase, sum_ns, recomputation_ns FROM temp.phase_summary WHERE profile_id = ' || memories.profile_id
    AS evidence
FROM memories
JOIN temp._process_names AS processes ON processes.profile_id = memories.profile_id
LEFT JOIN called ON called.profile_id = memories.profile_id AND called.place = 1
WHERE left_bytes > held_bytes
ORDER BY saves_ns DESC, memories.profile_id
