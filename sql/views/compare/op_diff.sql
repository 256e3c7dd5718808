-- Ops of two profiles or runs side by side: op_diff('a', 'b').
--
-- One row for each op name that occurs in either.  a and b select profiles as the hidden argument of every table does
-- (an id, a path or a pattern over paths).  All ops but ranges count, warm-up too, weighed by ops.sample_weight, since
-- the question is what changed, not what is typical.  Compare runs of as many steps.
--   op           TEXT     -      Name of the op.
--   a_count      INTEGER  count  Calls in a (weighed).  0 where the op does not occur there.
--   b_count      INTEGER  count  Calls in b (weighed).  0 where the op does not occur there.
--   a_ns         INTEGER  ns     Self time of the calls of a_count.
--   b_ns         INTEGER  ns     Self time of the calls of b_count.
--   count_diff   INTEGER  count  Difference b_count - a_count.
--   dur_diff_ns  INTEGER  ns     Difference b_ns - a_ns.
--   change       TEXT     -      + where b calls it more often than a, - where less often, = else.
-- parameters: a, b
-- Cost: that of op_totals.  Example: SELECT * FROM op_diff('before*', 'after*') LIMIT 10;
WITH sides AS (
  SELECT name, sum(count) AS a_count, sum(1.0 * self_ns) AS a_ns, 0 AS b_count, 0 AS b_ns
  FROM temp.op_totals(:a) WHERE category <> 'user' GROUP BY name
  UNION ALL
  SELECT name, 0, 0, sum(count), sum(1.0 * self_ns)
  FROM temp.op_totals(:b) WHERE category <> 'user' GROUP BY name
), both AS (
  SELECT name, CAST(round(sum(a_count)) AS INTEGER) AS a_count, CAST(round(sum(b_count)) AS INTEGER) AS b_count,
    CAST(total(a_ns) AS INTEGER) AS a_ns, CAST(total(b_ns) AS INTEGER) AS b_ns
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
  CASE WHEN b_count > a_count THEN '+' WHEN b_count < a_count THEN '-' ELSE '=' END AS change
FROM both
ORDER BY abs(b_ns - a_ns) DESC, op
