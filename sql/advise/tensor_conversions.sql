-- Advice: time that goes into converting tensors to another type, device or memory layout.
--
-- For each profile the self time, inside measured steps (no warm-up, ops recorded), of everything below an outermost
-- conversion op (aten::to, aten::_to_copy, aten::contiguous, aten::clone): their share of the step time.
-- Threshold: a tenth; a conversion now and then is normal, more means that the same tensors are converted in every
-- step.
-- What it would save: half of it, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: linear in ops.
-- Example: SELECT message FROM advise WHERE check_name = 'tensor_conversions';
WITH measured AS (
  SELECT profile_id, id, dur_ns FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1
), step_time AS (
  SELECT profile_id, sum(ops_recorded = 1) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS all_ns,
    CAST(sum(1.0 * CASE WHEN ops_recorded = 1 THEN dur_ns ELSE 0 END) AS INTEGER) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), conversions AS (
  SELECT ops.profile_id AS profile_id, count(*) AS conversion_count, CAST(sum(1.0 * ops.dur_ns) AS INTEGER)
    AS conversion_ns
  FROM temp.profiles AS profiles CROSS JOIN temp.ops AS ops ON ops.profile_id = profiles.id
  LEFT JOIN temp.ops AS enclosing ON enclosing.id = ops.parent_id
  WHERE profiles.framework IS NOT 'tensorflow' -- these are ops of PyTorch
    AND ops.name IN ('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone')
    AND (ops.parent_id IS NULL
      OR enclosing.name NOT IN ('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone'))
    AND ops.step_id IN (SELECT id FROM measured)
  GROUP BY ops.profile_id
)
SELECT
  'tensor_conversions' AS check_name,
  CASE WHEN conversion_ns >= 0.25 * step_ns THEN 'critical' ELSE 'warning' END AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  format('%d tensor conversions a step take %.0f %% of its time', conversion_count / step_count,
    100.0 * conversion_ns / step_ns) AS message,
  1.0 * conversion_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(0.5 * conversion_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Keep tensors in the type, device and layout in which they are used: convert once outside the loop, create them '
    || 'with dtype= and device=, and avoid transposes that force contiguous copies.' AS suggestion,
  'SELECT name, input_shapes, count(*) FROM temp.ops WHERE name IN (''aten::_to_copy'', ''aten::clone'')'
    || ' AND profile_id = ' || step_time.profile_id || ' GROUP BY 1, 2' AS evidence
FROM step_time
JOIN conversions ON conversions.profile_id = step_time.profile_id
JOIN temp.profiles AS profiles ON profiles.id = step_time.profile_id
WHERE conversion_ns >= 0.10 * step_ns
ORDER BY saves_ns DESC, step_time.profile_id
