-- Critical paths at a glance: what bounds each step.
--
-- One row for each step and kind of piece on its critical path.  A profile without steps has one path in all.  The
-- pieces are those of the table critical_path.  Steps without recorded work on devices (_thinned_steps,
-- _calibration_steps) are left out.
--   profile_id  INTEGER  -      The profile: a process or rank.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_id     INTEGER  -      The step, as in steps.  NULL in a profile without steps.
--   number      INTEGER  -      Number of the step.  NULL in a profile without steps.
--   kind        TEXT     -      Kind of piece: cpu, gpu_compute, gpu_communication, gpu_memory, kernel_launch,
--                               kernel_kernel or dependency.
--   count       INTEGER  count  Number of pieces of the kind.
--   sum_ns      INTEGER  ns     Part of the pieces of the kind in the length of the path.
--   sum_ratio   REAL     ratio  Share of sum_ns in the length of the path.
-- Cost: linear in critical_path_totals, once these are made.
-- Example: SELECT number, kind, sum_ratio FROM critical_path_summary;
WITH sums AS (
  SELECT profile_id, step_id, kind, count, sum_ns - slack_ns AS sum_ns FROM temp.critical_path_totals
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.step_id AS step_id,
  steps.number AS number,
  sums.kind AS kind,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id, sums.step_id), 0) AS sum_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.steps AS steps ON steps.id = sums.step_id
WHERE sums.step_id IS NULL
  OR sums.step_id NOT IN (SELECT step_id FROM temp._thinned_steps WHERE weight = 0 AND NOT has_work
    UNION ALL SELECT step_id FROM temp._calibration_steps)
ORDER BY profile_id, step_id, sum_ns DESC, kind
