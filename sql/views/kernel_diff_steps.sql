-- Kernels of two ranges of steps side by side: kernel_diff_steps('a', 4, 5, 'b', 4, 5).
--
-- One row for each name of a kernel, copy or fill that steps of either side launched; a and b select profiles as the
-- hidden argument of every table does (an id, a path or a pattern over paths), the numbers after each the first and the
-- last step by steps.number.  They may be of the same profile.  A range without steps is an error.
--   name                     of the kernel or transfer
--   a_count, b_count         how often it ran on each side; 0 where it does not occur
--   a_ns, b_ns               the time that took
--   count_diff, dur_diff_ns  b less a
--   change                   + where b runs it more often, - where less, = else
--   a_total_ns, b_total_ns   a_ns and b_ns again, as in op_diff_steps
-- parameters: a, a_first, a_last, b, b_first, b_last
-- Cost: one pass over the device activities of each side.
-- Example: SELECT name, dur_diff_ns FROM kernel_diff_steps('*', 1, 1, '*', 2, 2) LIMIT 10;
WITH sides AS (
  SELECT name, count(*) AS a_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS a_ns, 0 AS b_count, 0 AS b_ns
  FROM temp.device_activities(:a)
  WHERE kind <> 'sync' AND step_id IN (SELECT id FROM temp.step_range(:a, :a_first, :a_last))
  GROUP BY name
  UNION ALL
  SELECT name, 0, 0, count(*), CAST(sum(1.0 * dur_ns) AS INTEGER)
  FROM temp.device_activities(:b)
  WHERE kind <> 'sync' AND step_id IN (SELECT id FROM temp.step_range(:b, :b_first, :b_last))
  GROUP BY name
  UNION ALL
  -- Steps that are not there are an error also where nothing ran on a device.
  SELECT NULL, 0, 0, 0, 0
  FROM (
    SELECT count(*) AS step_count FROM temp.step_range(:a, :a_first, :a_last)
    UNION ALL SELECT count(*) FROM temp.step_range(:b, :b_first, :b_last)
  )
  WHERE step_count = 0
), both AS (
  SELECT name, sum(a_count) AS a_count, sum(b_count) AS b_count, CAST(sum(1.0 * a_ns) AS INTEGER) AS a_ns,
    CAST(sum(1.0 * b_ns) AS INTEGER) AS b_ns
  FROM sides GROUP BY name
)
SELECT
  name AS name,
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
ORDER BY abs(b_ns - a_ns) DESC, name
