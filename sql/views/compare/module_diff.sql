-- Modules of two profiles or runs side by side: module_diff('a', 'b').
--
-- One row for each module of the model that either has, as module_summary has them.  a and b select profiles as the
-- hidden argument of every table does (an id, a path or a pattern over paths).  Measured steps count (no warm-up, or
-- all where there are none), weighed by sample_weight.  The order goes by time per step, so runs need not be equally
-- long.
--   module            TEXT     -      Name of the module in the model.
--   class             TEXT     -      Class of the module.  NULL where the source does not tell it.
--   a_count           INTEGER  count  Ops in the module in a.  0 where a does not have it.
--   b_count           INTEGER  count  Ops in the module in b.  0 where b does not have it.
--   a_ns              INTEGER  ns     Self time of the ops of a_count.
--   b_ns              INTEGER  ns     Self time of the ops of b_count.
--   count_diff        INTEGER  count  Difference b_count - a_count.
--   dur_diff_ns       INTEGER  ns     Difference b_ns - a_ns.
--   change            TEXT     -      + where b calls more ops in a step than a, - where fewer, = else.
--   a_step_ns         INTEGER  ns     Time a_ns by the number of measured steps of a.  NULL where a has no steps.
--   b_step_ns         INTEGER  ns     Time b_ns by the number of measured steps of b.  NULL where b has no steps.
--   step_diff_ns      INTEGER  ns     Difference b_step_ns - a_step_ns.  NULL where a side has no steps.
--   a_backward_ns     INTEGER  ns     Time of the gradients of the module in a (module_summary.backward_ns).
--   b_backward_ns     INTEGER  ns     Time of the gradients of the module in b (module_summary.backward_ns).
--   backward_diff_ns  INTEGER  ns     Difference b_backward_ns - a_backward_ns.
--   a_device_ns       INTEGER  ns     Time of the kernels that the ops of the module launched in a.
--   b_device_ns       INTEGER  ns     Time of the kernels that the ops of the module launched in b.
--   device_diff_ns    INTEGER  ns     Difference b_device_ns - a_device_ns.
--   a_call_count      INTEGER  count  How often the module was called in a.  NULL where that is not known.
--   b_call_count      INTEGER  count  How often the module was called in b.  NULL where that is not known.
-- parameters: a, b
-- Cost: that of module_summary.
-- Example: SELECT module, step_diff_ns FROM module_diff('before*', 'after*') LIMIT 10;
WITH modules AS (
  SELECT module, class, count, self_ns, backward_ns, device_self_ns, call_count,
    profile_id IN (SELECT id FROM temp.profiles(:a)) AS is_a, profile_id IN (SELECT id FROM temp.profiles(:b)) AS is_b
  FROM temp.module_summary
), both AS (
  SELECT module, max(class) AS class, CAST(total(count) FILTER (WHERE is_a) AS INTEGER) AS a_count,
    CAST(total(count) FILTER (WHERE is_b) AS INTEGER) AS b_count,
    total(self_ns) FILTER (WHERE is_a) AS a_ns, total(self_ns) FILTER (WHERE is_b) AS b_ns,
    total(backward_ns) FILTER (WHERE is_a) AS a_backward_ns, total(backward_ns) FILTER (WHERE is_b) AS b_backward_ns,
    total(device_self_ns) FILTER (WHERE is_a) AS a_device_ns, total(device_self_ns) FILTER (WHERE is_b) AS b_device_ns,
    CAST(sum(1.0 * call_count) FILTER (WHERE is_a) AS INTEGER) AS a_call_count,
    CAST(sum(1.0 * call_count) FILTER (WHERE is_b) AS INTEGER) AS b_call_count
  FROM modules WHERE is_a OR is_b GROUP BY module
), steps AS (
  SELECT (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:a) WHERE is_warmup = 0) AS a,
    (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:b) WHERE is_warmup = 0) AS b
), per_step AS (
  SELECT both.*, a_ns / steps.a AS a_step_ns, b_ns / steps.b AS b_step_ns,
    coalesce(b_ns / steps.b - a_ns / steps.a, b_ns - a_ns) AS by_ns,
    coalesce(b_backward_ns / steps.b - a_backward_ns / steps.a, b_backward_ns - a_backward_ns) AS backward_by_ns,
    coalesce(b_device_ns / steps.b - a_device_ns / steps.a, b_device_ns - a_device_ns) AS device_by_ns,
    coalesce(b_count / steps.b - a_count / steps.a, b_count - a_count) AS more
  FROM both CROSS JOIN steps
)
SELECT
  module AS module,
  class AS class,
  a_count AS a_count,
  b_count AS b_count,
  CAST(a_ns AS INTEGER) AS a_ns,
  CAST(b_ns AS INTEGER) AS b_ns,
  b_count - a_count AS count_diff,
  CAST(b_ns - a_ns AS INTEGER) AS dur_diff_ns,
  CASE WHEN more > 0 THEN '+' WHEN more < 0 THEN '-' ELSE '=' END AS change,
  CAST(a_step_ns AS INTEGER) AS a_step_ns,
  CAST(b_step_ns AS INTEGER) AS b_step_ns,
  CAST(b_step_ns - a_step_ns AS INTEGER) AS step_diff_ns,
  CAST(a_backward_ns AS INTEGER) AS a_backward_ns,
  CAST(b_backward_ns AS INTEGER) AS b_backward_ns,
  CAST(b_backward_ns - a_backward_ns AS INTEGER) AS backward_diff_ns,
  CAST(a_device_ns AS INTEGER) AS a_device_ns,
  CAST(b_device_ns AS INTEGER) AS b_device_ns,
  CAST(b_device_ns - a_device_ns AS INTEGER) AS device_diff_ns,
  a_call_count AS a_call_count,
  b_call_count AS b_call_count
FROM per_step
ORDER BY max(abs(by_ns), abs(backward_by_ns), abs(device_by_ns)) DESC, module
