-- Kernels of two profiles or runs side by side, in all or in ranges of steps: kernel_diff('a', 'b').
--
-- One row for each name of a kernel, copy or fill that occurs in either.  a and b select profiles as the hidden
-- argument of every table does (an id, a path or a pattern over paths).  Everything counts, warm-up too, since the
-- question is what changed.  So compare runs of as many steps.  Where kernels were recorded only in some steps, counts
-- and times are weighed (sample_weight).
-- With six arguments ranges of steps are compared: kernel_diff('a', 'b', 4, 5, 6, 7) has what steps 4 and 5 of a
-- launched, and 6 and 7 of b, by steps.number.  Both ranges may be of one profile.  A bound that is NULL or left out is
-- none.  A range without steps, or without a recorded step, is an error.  _calibration_steps have no kernels.  In a
-- range the other steps stand for them.
--   kernel       TEXT     -      Name of the kernel, copy or fill.
--   a_count      INTEGER  count  Number of times that it ran in a.  0 where it does not occur.
--   b_count      INTEGER  count  Number of times that it ran in b.  0 where it does not occur.
--   a_ns         INTEGER  ns     Time that it took in a.
--   b_ns         INTEGER  ns     Time that it took in b.
--   count_diff   INTEGER  count  Difference of the counts, b less a.
--   dur_diff_ns  INTEGER  ns     Difference of the times, b less a.
--   change       TEXT     -      What became of it: + where b runs it more often, - where b runs it less often, =
--                                otherwise.
-- parameters: a, b [, a_first, a_last, b_first, b_last]
-- Cost: linear in stream_totals, once these are made.  Of ranges one pass over the device activities of each side.
-- Example: SELECT * FROM kernel_diff('before*', 'after*') LIMIT 10;
WITH asked(a, b, a_first, a_last, b_first, b_last) AS (
  SELECT :a, :b, :a_first, :a_last, :b_first, :b_last
), thinned AS MATERIALIZED (
  SELECT id AS step_id, sample_weight AS weight, is_warmup FROM temp.steps
  WHERE coalesce(:a_first, :a_last, :b_first, :b_last) IS NOT NULL AND (
    is_warmup = 1 AND sample_weight = 0 -- _calibration_steps
    OR is_warmup = 0 AND sample_weight <> 1 AND +profile_id IN (SELECT profile_id FROM temp.diagnostics
      WHERE reason = 'capture_thinned' AND table_name = 'kernels')) -- _thinned_steps, of tables alone
), a_steps AS MATERIALIZED (
  SELECT side.id AS step_id, coalesce(weight, 1.0)
    * (1 + total(is_warmup) OVER profile / sum(coalesce(weight, 1.0)) OVER profile) AS weight
  FROM temp._step_range(:a, :a_first, :a_last) AS side LEFT JOIN thinned ON thinned.step_id = side.id
  WHERE coalesce(:a_first, :a_last) IS NOT NULL
  WINDOW profile AS (PARTITION BY profile_id)
), b_steps AS MATERIALIZED (
  SELECT side.id AS step_id, coalesce(weight, 1.0)
    * (1 + total(is_warmup) OVER profile / sum(coalesce(weight, 1.0)) OVER profile) AS weight
  FROM temp._step_range(:b, :b_first, :b_last) AS side LEFT JOIN thinned ON thinned.step_id = side.id
  WHERE coalesce(:b_first, :b_last) IS NOT NULL
  WINDOW profile AS (PARTITION BY profile_id)
), sides AS (
  SELECT name, sum(count * sample_weight) AS a_count, sum(1.0 * sum_ns * sample_weight) AS a_ns, 0 AS b_count, 0 AS b_ns
  FROM temp.stream_totals(:a)
  WHERE kind IS NOT 'sync' AND sample_weight > 0 AND coalesce(:a_first, :a_last) IS NULL GROUP BY name
  UNION ALL
  SELECT name, sum(weight), sum(dur_ns * weight), 0, 0
  FROM a_steps CROSS JOIN temp.device_activities(:a) AS work ON work.step_id = a_steps.step_id
  WHERE kind <> 'sync' AND weight > 0 AND coalesce(:a_first, :a_last) IS NOT NULL GROUP BY name
  UNION ALL
  SELECT name, 0, 0, sum(count * sample_weight), sum(1.0 * sum_ns * sample_weight)
  FROM temp.stream_totals(:b)
  WHERE kind IS NOT 'sync' AND sample_weight > 0 AND coalesce(:b_first, :b_last) IS NULL GROUP BY name
  UNION ALL
  SELECT name, 0, 0, sum(weight), sum(dur_ns * weight)
  FROM b_steps CROSS JOIN temp.device_activities(:b) AS work ON work.step_id = b_steps.step_id
  WHERE kind <> 'sync' AND weight > 0 AND coalesce(:b_first, :b_last) IS NOT NULL GROUP BY name
  UNION ALL
  -- Steps that are not there are an error also where nothing ran on a device; and without this, kernels that were not
  -- recorded would look like kernels that did not run.
  SELECT raise_error(format('kernels of steps %s to %s of %s were not recorded, or others stand for them', first, last,
      quote(selected))), 0, 0, 0, 0
  FROM (
    SELECT a AS selected, a_first AS first, a_last AS last, (SELECT max(weight) FROM a_steps) AS weight FROM asked
    WHERE coalesce(a_first, a_last) IS NOT NULL
    UNION ALL SELECT b, b_first, b_last, (SELECT max(weight) FROM b_steps) FROM asked
    WHERE coalesce(b_first, b_last) IS NOT NULL
  )
  WHERE coalesce(weight, 0) <= 0
), both AS (
  SELECT name, CAST(round(sum(a_count)) AS INTEGER) AS a_count, CAST(round(sum(b_count)) AS INTEGER) AS b_count,
    CAST(round(sum(1.0 * a_ns)) AS INTEGER) AS a_ns, CAST(round(sum(1.0 * b_ns)) AS INTEGER) AS b_ns
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
  CASE WHEN b_count > a_count THEN '+' WHEN b_count < a_count THEN '-' ELSE '=' END AS change
FROM both
ORDER BY abs(b_ns - a_ns) DESC, kernel
