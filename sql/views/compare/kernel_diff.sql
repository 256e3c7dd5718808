-- Kernels of two profiles or runs side by side: kernel_diff(a, b).
--
-- One row for each name of a kernel, copy or fill that occurs in either.  a and b select profiles as the hidden
-- argument of every table does (an id, a path or a pattern over paths).  Everything counts, warm-up too, since the
-- question is what changed.  So compare runs of as many steps.  Where kernels were recorded only in some steps, counts
-- and times are weighed (sample_weight).  Of _calibration_steps there are no kernels, which kernel_diff_steps makes up
-- for.
--   kernel       TEXT     -      Name of the kernel, copy or fill.
--   a_count      INTEGER  count  Number of times that it ran in a.  0 where it does not occur.
--   b_count      INTEGER  count  Number of times that it ran in b.  0 where it does not occur.
--   a_ns         INTEGER  ns     Time that it took in a.
--   b_ns         INTEGER  ns     Time that it took in b.
--   count_diff   INTEGER  count  Difference of the counts, b less a.
--   dur_diff_ns  INTEGER  ns     Difference of the times, b less a.
--   change       TEXT     -      What became of it: + where b runs it more often, - where b runs it less often, =
--                                otherwise.
-- parameters: a, b
-- Cost: linear in stream_totals, once these are made.
-- Example: SELECT * FROM kernel_diff('before*', 'after*') LIMIT 10;
WITH sides AS (
  SELECT name, sum(count * sample_weight) AS a_count, sum(1.0 * sum_ns * sample_weight) AS a_ns, 0 AS b_count, 0 AS b_ns
  FROM temp.stream_totals(:a) WHERE kind IS NOT 'sync' AND sample_weight > 0 GROUP BY name
  UNION ALL
  SELECT name, 0, 0, sum(count * sample_weight), sum(1.0 * sum_ns * sample_weight)
  FROM temp.stream_totals(:b) WHERE kind IS NOT 'sync' AND sample_weight > 0 GROUP BY name
), both AS (
  SELECT name, CAST(round(sum(a_count)) AS INTEGER) AS a_count, CAST(round(sum(b_count)) AS INTEGER) AS b_count,
    CAST(sum(1.0 * a_ns) AS INTEGER) AS a_ns, CAST(sum(1.0 * b_ns) AS INTEGER) AS b_ns
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
