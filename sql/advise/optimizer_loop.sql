-- Advice: an optimizer that updates its parameters one by one.
--
-- For each profile the ranges Optimizer.step#… within the measured steps (no warm-up, ops recorded; weighed by
-- steps.sample_weight).  An optimizer that works on lists of tensors (foreach) or in one fused kernel calls some dozens
-- of ops, one that loops over its parameters calls ten or more for each.  The check speaks from 200 ops directly inside
-- one call on, when the optimizer takes at least a tenth of the step time.  A closure that it calls, with the passes
-- forward and backward in it, is not counted (step_phases, ranges.op_count).  Those of PyTorch's that have no such form
-- are left out: LBFGS, which works on one vector and calls the more ops the longer its search, and SparseAdam.
-- What it would save: half of the optimizer's time, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over ops, where ranges are made of
-- them, else linear in ops.
-- Example: SELECT message, suggestion FROM advise WHERE check_name = 'optimizer_loop';
WITH measured AS (
  SELECT id, sample_weight FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 AND ops_recorded = 1
), step_time AS (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), in_phase AS (
  SELECT step_id, sum(net_ns) AS optimizer_ns FROM temp.step_phases WHERE phase = 'optimizer' GROUP BY step_id
), uncounted AS ( -- where the source has ranges of its own their ops are counted one by one
  SELECT ops.profile_id AS profile_id, ops.name AS name, ops.dur_ns AS dur_ns, ops.step_id AS step_id, (
      SELECT count(*) FROM temp.ops AS called
      WHERE called.parent_id = ops.id AND called.category NOT IN ('autograd', 'user') AND called.sequence_number IS NULL
    ) AS op_count
  FROM (SELECT DISTINCT profile_id FROM temp.ranges WHERE name GLOB 'Optimizer.step#*' AND op_count IS NULL) AS raw
  CROSS JOIN temp.ops AS ops ON ops.profile_id = raw.profile_id
  WHERE ops.category = 'user' AND ops.name GLOB 'Optimizer.step#*'
), called AS (
  SELECT profile_id, name, dur_ns, step_id, op_count
  FROM temp.ranges WHERE name GLOB 'Optimizer.step#*' AND op_count IS NOT NULL
  UNION ALL
  SELECT profile_id, name, dur_ns, step_id, op_count FROM uncounted
), calls AS (
  SELECT called.profile_id AS profile_id, called.name AS name, called.op_count AS op_count,
    min(called.dur_ns, coalesce(in_phase.optimizer_ns, called.dur_ns)) AS dur_ns, measured.sample_weight AS weight
  FROM called JOIN measured ON measured.id = called.step_id
  LEFT JOIN in_phase ON in_phase.step_id = called.step_id
), optimizers AS (
  SELECT profile_id, name, sum(weight) AS call_count, sum(dur_ns * weight) AS optimizer_ns,
    sum(op_count * weight) AS op_count
  FROM calls GROUP BY profile_id, name
)
SELECT
  'optimizer_loop' AS check_name,
  CASE WHEN optimizer_ns >= 0.30 * step_ns THEN 'critical' ELSE 'warning' END AS severity,
  replace(replace(optimizers.name, 'Optimizer.step#', ''), '.step', '') AS subject,
  processes.prefix || format('The optimizer calls %.0f ops each time and takes %.0f %% of the step time',
    op_count / call_count, 100.0 * optimizer_ns / step_ns) AS message,
  1.0 * optimizer_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(0.5 * optimizer_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Construct it with fused=True, or foreach=True where the fused form does not exist: the same update in a few ops '
    || 'over all parameters.' AS suggestion,
  'SELECT name, count(*) FROM temp.ops WHERE parent_id IN (SELECT id FROM temp.ops WHERE name = '
    || quote(optimizers.name) || ') GROUP BY 1 ORDER BY 2 DESC LIMIT 20' AS evidence
FROM optimizers
JOIN step_time ON step_time.profile_id = optimizers.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = optimizers.profile_id
WHERE op_count >= 200 * call_count AND optimizer_ns >= 0.10 * step_ns
  AND optimizers.name NOT IN ('Optimizer.step#LBFGS.step', 'Optimizer.step#SparseAdam.step')
ORDER BY saves_ns DESC, optimizers.profile_id, optimizers.name
