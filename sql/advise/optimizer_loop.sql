-- Advice: an optimizer that updates its parameters one by one.
--
-- For each profile the ranges Optimizer.step#… within the measured steps (no warm-up, ops recorded).  An optimizer that
-- works on lists of tensors (foreach) or in one fused kernel calls some dozens of ops, one that loops over its
-- parameters calls ten or more for each.  The check speaks from 200 ops directly inside one call on, when the
-- optimizer takes at least a tenth of the step time.
-- What it would save: half of the optimizer's time, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: linear in ops.
-- Example: SELECT message, suggestion FROM advise WHERE check_name = 'optimizer_loop';
WITH measured AS (
  SELECT profile_id, id, dur_ns FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1
), step_time AS (
  SELECT profile_id, sum(ops_recorded = 1) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS all_ns,
    CAST(sum(1.0 * CASE WHEN ops_recorded = 1 THEN dur_ns ELSE 0 END) AS INTEGER) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), calls AS (
  SELECT profile_id, id, name, dur_ns FROM temp.ops
  WHERE category = 'user' AND name GLOB 'Optimizer.step#*' AND step_id IN (SELECT id FROM measured)
), optimizers AS (
  SELECT profile_id, name, count(*) AS call_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS optimizer_ns
    FROM calls GROUP BY profile_id, name
), children AS (
  SELECT calls.profile_id AS profile_id, calls.name AS name, count(*) AS op_count
  FROM calls JOIN temp.ops AS ops ON ops.parent_id = calls.id
  GROUP BY calls.profile_id, calls.name
)
SELECT
  'optimizer_loop' AS check_name,
  CASE WHEN optimizer_ns >= 0.30 * step_ns THEN 'critical' ELSE 'warning' END AS severity,
  replace(replace(optimizers.name, 'Optimizer.step#', ''), '.step', '') AS subject,
  format('The optimizer calls %d ops each time and takes %.0f %% of the step time', op_count / call_count,
    100.0 * optimizer_ns / step_ns) AS message,
  1.0 * optimizer_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(0.5 * optimizer_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Construct it with fused=True, or foreach=True where the fused form does not exist: the same update in a few ops '
    || 'over all parameters.' AS suggestion,
  'SELECT name, count(*) FROM temp.ops WHERE parent_id IN (SELECT id FROM temp.ops WHERE name = '
    || quote(optimizers.name) || ') GROUP BY 1' AS evidence
FROM optimizers
JOIN children ON children.profile_id = optimizers.profile_id AND children.name = optimizers.name
JOIN step_time ON step_time.profile_id = optimizers.profile_id
WHERE op_count >= 200 * call_count AND optimizer_ns >= 0.10 * step_ns
ORDER BY saves_ns DESC, optimizers.profile_id, optimizers.name
