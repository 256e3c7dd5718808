-- Ops of two profiles or runs side by side, in all or in ranges of steps: op_diff('a', 'b').
--
-- One row for each op name that occurs in either.  a and b select profiles as the hidden argument of every table does
-- (an id, a path or a pattern over paths).  All ops but ranges count, warm-up too, weighed by ops.sample_weight, since
-- the question is what changed, not what is typical.  Compare runs of as many steps.
-- With six arguments ranges of steps are compared: op_diff('a', 'b', 4, 5, 6, 7) has steps 4 and 5 of a, and 6 and 7 of
-- b, by steps.number.  Both ranges may be of one profile.  A bound that is NULL or left out is none.  A range without
-- steps, or without a step with recorded ops, is an error.
--   op           TEXT     -      Name of the op.
--   a_count      INTEGER  count  Calls in a (weighed).  0 where the op does not occur there.
--   b_count      INTEGER  count  Calls in b (weighed).  0 where the op does not occur there.
--   a_ns         INTEGER  ns     Self time of the calls of a_count.
--   b_ns         INTEGER  ns     Self time of the calls of b_count.
--   count_diff   INTEGER  count  Difference b_count - a_count.
--   dur_diff_ns  INTEGER  ns     Difference b_ns - a_ns.
--   change       TEXT     -      + where b calls it more often than a, - where less often, = else.
--   a_sum_ns     INTEGER  ns     Time of the calls of a_count with the ops that they called.
--   b_sum_ns     INTEGER  ns     Time of the calls of b_count with the ops that they called.
-- parameters: a, b [, a_first, a_last, b_first, b_last]
-- Cost: that of op_totals, or of step_op_totals for ranges of steps.
-- Example: SELECT * FROM op_diff('before*', 'after*') LIMIT 10;
WITH asked(a, b, a_first, a_last, b_first, b_last) AS (
  SELECT :a, :b, :a_first, :a_last, :b_first, :b_last
), sides AS (
  SELECT name, sum(count) AS a_count, sum(1.0 * self_ns) AS a_ns, sum(1.0 * sum_ns) AS a_sum_ns, 0 AS b_count,
    0 AS b_ns, 0 AS b_sum_ns
  FROM temp.op_totals(:a) WHERE category <> 'user' AND coalesce(:a_first, :a_last) IS NULL GROUP BY name
  UNION ALL
  SELECT name, sum(work.count * sample_weight), sum(work.self_ns * sample_weight), sum(work.sum_ns * sample_weight),
    0, 0, 0
  FROM temp.op_totals(:a) AS totals CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = totals.id
  WHERE category <> 'user' AND coalesce(:a_first, :a_last) IS NOT NULL
    AND step_id IN (SELECT id FROM temp._step_range(:a, :a_first, :a_last))
  GROUP BY name
  UNION ALL
  SELECT name, 0, 0, 0, sum(count), sum(1.0 * self_ns), sum(1.0 * sum_ns)
  FROM temp.op_totals(:b) WHERE category <> 'user' AND coalesce(:b_first, :b_last) IS NULL GROUP BY name
  UNION ALL
  SELECT name, 0, 0, 0, sum(work.count * sample_weight), sum(work.self_ns * sample_weight),
    sum(work.sum_ns * sample_weight)
  FROM temp.op_totals(:b) AS totals CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = totals.id
  WHERE category <> 'user' AND coalesce(:b_first, :b_last) IS NOT NULL
    AND step_id IN (SELECT id FROM temp._step_range(:b, :b_first, :b_last))
  GROUP BY name
  UNION ALL
  -- Without this, ops that were not recorded would look like ops that did not run.
  SELECT raise_error(format('ops of steps %s to %s of %s were not recorded', first, last, quote(selected))),
    0, 0, 0, 0, 0, 0
  FROM (
    SELECT max(a) AS selected, max(a_first) AS first, max(a_last) AS last, max(ops_recorded IS NOT 0) AS is_recorded
    FROM asked CROSS JOIN temp._step_range(:a, :a_first, :a_last) WHERE coalesce(:a_first, :a_last) IS NOT NULL
    UNION ALL SELECT max(b), max(b_first), max(b_last), max(ops_recorded IS NOT 0)
    FROM asked CROSS JOIN temp._step_range(:b, :b_first, :b_last) WHERE coalesce(:b_first, :b_last) IS NOT NULL
  )
  WHERE NOT is_recorded
), both AS (
  SELECT name, CAST(round(sum(a_count)) AS INTEGER) AS a_count, CAST(round(sum(b_count)) AS INTEGER) AS b_count,
    CAST(total(a_ns) AS INTEGER) AS a_ns, CAST(total(b_ns) AS INTEGER) AS b_ns,
    CAST(total(a_sum_ns) AS INTEGER) AS a_sum_ns, CAST(total(b_sum_ns) AS INTEGER) AS b_sum_ns
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
  a_sum_ns AS a_sum_ns,
  b_sum_ns AS b_sum_ns
FROM both
ORDER BY abs(b_ns - a_ns) DESC, op
