-- Kernels of two ranges of steps side by side: kernel_diff_steps(a, 4, 5, b, 4, 5).
--
-- One row for each name of a kernel, copy or fill that steps of either side launched.  a and b select profiles as the
-- hidden argument of every table does (an id, a path or a pattern over paths).  The numbers after each are the first
-- and the last step, by steps.number.  Both may be of the same profile.  A range without steps is an error, and so is
-- one without a recorded step.  Where some of its steps were recorded, counts and times are weighed (_thinned_steps).
-- The other steps of the range stand for _calibration_steps.
--   kernel       TEXT     -      Name of the kernel, copy or fill.
--   a_count      INTEGER  count  Number of times that it ran in a.  0 where it does not occur.
--   b_count      INTEGER  count  Number of times that it ran in b.  0 where it does not occur.
--   a_ns         INTEGER  ns     Time that it took in a.
--   b_ns         INTEGER  ns     Time that it took in b.
--   count_diff   INTEGER  count  Difference of the counts, b less a.
--   dur_diff_ns  INTEGER  ns     Difference of the times, b less a.
--   change       TEXT     -      What became of it: + where b runs it more often, - where b runs it less often, =
--                                otherwise.
--   a_total_ns   INTEGER  ns     The same as a_ns.  It is there since op_diff_steps has this column.
--   b_total_ns   INTEGER  ns     The same as b_ns.  It is there since op_diff_steps has this column.
-- parameters: a, a_first, a_last, b, b_first, b_last
-- Cost: one pass over the device activities of each side.
-- Example: SELECT kernel, dur_diff_ns FROM kernel_diff_steps('*', 1, 1, '*', 2, 2) LIMIT 10;
WITH thinned AS MATERIALIZED (
  SELECT id AS step_id, sample_weight AS weight, is_warmup FROM temp.steps
  WHERE is_warmup = 1 AND sample_weight = 0 -- _calibration_steps
    OR is_warmup = 0 AND sample_weight <> 1 AND +profile_id IN (SELECT profile_id FROM temp.diagnostics
      WHERE reason = 'capture_thinned' AND table_name = 'kernels') -- _thinned_steps, of tables alone
), a_steps AS MATERIALIZED (
  SELECT side.id AS step_id, coalesce(weight, 1.0)
    * (1 + total(is_warmup) OVER profile / sum(coalesce(weight, 1.0)) OVER profile) AS weight
  FROM temp._step_range(:a, :a_first, :a_last) AS side LEFT JOIN thinned ON thinned.step_id = side.id
  WINDOW profile AS (PARTITION BY profile_id)
), b_steps AS MATERIALIZED (
  SELECT side.id AS step_id, coalesce(weight, 1.0)
    * (1 + total(is_warmup) OVER profile / sum(coalesce(weight, 1.0)) OVER profile) AS weight
  FROM temp._step_range(:b, :b_first, :b_last) AS side LEFT JOIN thinned ON thinned.step_id = side.id
  WINDOW profile AS (PARTITION BY profile_id)
), sides AS (
  SELECT name, sum(weight) AS a_count, sum(dur_ns * weight) AS a_ns, 0 AS b_count, 0 AS b_ns
  FROM a_steps CROSS JOIN temp.device_activities(:a) AS work ON work.step_id = a_steps.step_id
  WHERE kind <> 'sync' AND weight > 0 GROUP BY name
  UNION ALL
  SELECT name, 0, 0, sum(weight), sum(dur_ns * weight)
  FROM b_steps CROSS JOIN temp.device_activities(:b) AS work ON work.step_id = b_steps.step_id
  WHERE kind <> 'sync' AND weight > 0 GROUP BY name
  UNION ALL
  -- Steps that are not there are an error also where nothing ran on a device; and without this, kernels that were not
  -- recorded would look like kernels that did not run.
  SELECT raise_error(format('kernels of steps %s to %s of %s were not recorded, or others stand for them', first, last,
      quote(selected))), 0, 0, 0, 0
  FROM (
    SELECT :a AS selected, :a_first AS first, :a_last AS last, max(weight) AS weight FROM a_steps
    UNION ALL SELECT :b, :b_first, :b_last, max(weight) FROM b_steps
  )
  WHERE coalesce(weight, 0) <= 0
), both AS (
  SELECT name, CAST(round(sum(a_count)) AS INTEGER) AS a_count, CAST(round(sum(b_count)) AS INTEGER) AS b_count,
    CAST(round(sum(a_ns)) AS INTEGER) AS a_ns, CAST(round(sum(b_ns)) AS INTEGER) AS b_ns
  FROM sides GROUP BY name
)
SELECT
  name AS kernel,
  a_count AS a_count,
  b_count AS b_count,
  a_ns AS a_ns,
  b_ns AS b_ns,
  b_count - a_count AS count_diff,
  b_ns - a_ns AS dur_diff_ns,
  CASE WHEN b_count > a_count THEN '+' WHEN b_count < a_count THEN '-' ELSE '=' END AS change,
  a_ns AS a_total_ns,
  b_ns AS b_total_ns
FROM both
ORDER BY abs(b_ns - a_ns) DESC, kernel
