-- Ops of two ranges of steps side by side: op_diff_steps('a', 4, 5, 'b', 4, 5).
--
-- One row for each op name that occurs in either.  a and b select profiles as the hidden argument of every table does
-- (an id, a path or a pattern over paths).  The numbers after each are the first and the last step by steps.number.
-- Both ranges may be of the same profile.  A range without steps, or without a step with recorded ops, is an
-- error.  All ops but ranges count, weighed by ops.sample_weight.
--   op           TEXT     -      Name of the op.
--   a_count      INTEGER  count  Calls in the steps of a (weighed).  0 where the op does not occur there.
--   b_count      INTEGER  count  Calls in the steps of b (weighed).  0 where the op does not occur there.
--   a_ns         INTEGER  ns     Self time of the calls of a_count.
--   b_ns         INTEGER  ns     Self time of the calls of b_count.
--   count_diff   INTEGER  count  Difference b_count - a_count.
--   dur_diff_ns  INTEGER  ns     Difference b_ns - a_ns.
--   change       TEXT     -      + where b calls it more often than a, - where less often, = else.
--   a_total_ns   INTEGER  ns     Time of the calls of a_count with the ops that they called.
--   b_total_ns   INTEGER  ns     Time of the calls of b_count with the ops that they called.
-- parameters: a, a_first, a_last, b, b_first, b_last
-- Cost: linear in step_op_totals, once these are made.
-- Example: SELECT op, dur_diff_ns FROM op_diff_steps('*', 1, 1, '*', 2, 2) LIMIT 10;
WITH sides AS (
  SELECT name, sum(work.count * sample_weight) AS a_count, sum(work.self_ns * sample_weight) AS a_ns,
    sum(work.sum_ns * sample_weight) AS a_total_ns, 0 AS b_count, 0 AS b_ns, 0 AS b_total_ns
  FROM temp.op_totals(:a) AS totals CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = totals.id
  WHERE category <> 'user' AND step_id IN (SELECT id FROM temp._step_range(:a, :a_first, :a_last))
  GROUP BY name
  UNION ALL
  SELECT name, 0, 0, 0, sum(work.count * sample_weight), sum(work.self_ns * sample_weight),
    sum(work.sum_ns * sample_weight)
  FROM temp.op_totals(:b) AS totals CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = totals.id
  WHERE category <> 'user' AND step_id IN (SELECT id FROM temp._step_range(:b, :b_first, :b_last))
  GROUP BY name
  UNION ALL
  -- Without this, ops that were not recorded would look like ops that did not run.
  SELECT raise_error(format('ops of steps %s to %s of %s were not recorded', first, last, quote(selected))),
    0, 0, 0, 0, 0, 0
  FROM (
    SELECT :a AS selected, :a_first AS first, :a_last AS last, max(ops_recorded IS NOT 0) AS is_recorded
    FROM temp._step_range(:a, :a_first, :a_last)
    UNION ALL SELECT :b, :b_first, :b_last, max(ops_recorded IS NOT 0) FROM temp._step_range(:b, :b_first, :b_last)
  )
  WHERE NOT is_recorded
), both AS (
  SELECT name, CAST(round(sum(a_count)) AS INTEGER) AS a_count, CAST(round(sum(b_count)) AS INTEGER) AS b_count,
    CAST(total(a_ns) AS INTEGER) AS a_ns, CAST(total(b_ns) AS INTEGER) AS b_ns,
    CAST(total(a_total_ns) AS INTEGER) AS a_total_ns, CAST(total(b_total_ns) AS INTEGER) AS b_total_ns
  FROM sides GROUP BY name
)
SELECT
  name AS op,
  a_count AS a_count,
  b_count AS b_count,
  a_ns AS a_ns,
  b_ns AS b_ns,
  b_count - a_count AS count_diff,
  b_ns - a_ns AS dur_diff_ns,
  CASE WHEN b_count > a_count THEN '+' WHEN b_count < a_count THEN '-' ELSE '=' END AS change,
  a_total_ns AS a_total_ns,
  b_total_ns AS b_total_ns
FROM both
ORDER BY abs(b_ns - a_ns) DESC, op
