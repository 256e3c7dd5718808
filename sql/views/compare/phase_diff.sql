-- Phases of two profiles or runs side by side: phase_diff('a', 'b').
--
-- One row for each phase of training that either has, as phase_summary has them.  a and b select profiles as the hidden
-- argument of every table does (an id, a path or a pattern over paths).  Measured steps count (no warm-up), weighed by
-- sample_weight.  The order goes by time per step, so runs need not be equally long.
--   phase               TEXT     -      The phase: input, forward, backward, optimizer, evaluation or other.
--   a_count             INTEGER  count  How often a entered the phase.  0 where a does not have it.
--   b_count             INTEGER  count  How often b entered the phase.  0 where b does not have it.
--   a_ns                INTEGER  ns     Time of the phase in a.
--   b_ns                INTEGER  ns     Time of the phase in b.
--   count_diff          INTEGER  count  Difference b_count - a_count.
--   dur_diff_ns         INTEGER  ns     Difference b_ns - a_ns.
--   change              TEXT     -      + where b takes longer in a step than a, - where less long, = else.
--   a_step_ns           INTEGER  ns     Time a_ns by the number of measured steps of a.  NULL where a has no steps.
--   b_step_ns           INTEGER  ns     Time b_ns by the number of measured steps of b.  NULL where b has no steps.
--   step_diff_ns        INTEGER  ns     Difference b_step_ns - a_step_ns.  NULL where a side has no steps.
--   a_recomputation_ns  INTEGER  ns     The part of a_ns that ran forward ops again, for checkpoints.
--   b_recomputation_ns  INTEGER  ns     The part of b_ns that ran forward ops again, for checkpoints.
-- parameters: a, b
-- Cost: that of phase_summary.  Example: SELECT phase, step_diff_ns FROM phase_diff('before*', 'after*');
WITH phases AS (
  SELECT phase, pass_count, sum_ns, recomputation_ns,
    profile_id IN (SELECT id FROM temp.profiles(:a)) AS is_a, profile_id IN (SELECT id FROM temp.profiles(:b)) AS is_b
  FROM temp.phase_summary
), both AS (
  SELECT phase, CAST(total(pass_count) FILTER (WHERE is_a) AS INTEGER) AS a_count,
    CAST(total(pass_count) FILTER (WHERE is_b) AS INTEGER) AS b_count, total(sum_ns) FILTER (WHERE is_a) AS a_ns,
    total(sum_ns) FILTER (WHERE is_b) AS b_ns, total(recomputation_ns) FILTER (WHERE is_a) AS a_recomputation_ns,
    total(recomputation_ns) FILTER (WHERE is_b) AS b_recomputation_ns
  FROM phases WHERE is_a OR is_b GROUP BY phase
), steps AS (
  SELECT (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:a) WHERE is_warmup = 0) AS a,
    (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:b) WHERE is_warmup = 0) AS b
), per_step AS (
  SELECT both.*, a_ns / steps.a AS a_step_ns, b_ns / steps.b AS b_step_ns,
    coalesce(b_ns / steps.b - a_ns / steps.a, b_ns - a_ns) AS by_ns
  FROM both CROSS JOIN steps
)
SELECT
  phase AS phase,
  a_count AS a_count,
  b_count AS b_count,
  CAST(a_ns AS INTEGER) AS a_ns,
  CAST(b_ns AS INTEGER) AS b_ns,
  b_count - a_count AS count_diff,
  CAST(b_ns - a_ns AS INTEGER) AS dur_diff_ns,
  CASE WHEN by_ns > 0 THEN '+' WHEN by_ns < 0 THEN '-' ELSE '=' END AS change,
  CAST(a_step_ns AS INTEGER) AS a_step_ns,
  CAST(b_step_ns AS INTEGER) AS b_step_ns,
  CAST(b_step_ns - a_step_ns AS INTEGER) AS step_diff_ns,
  CAST(a_recomputation_ns AS INTEGER) AS a_recomputation_ns,
  CAST(b_recomputation_ns AS INTEGER) AS b_recomputation_ns
FROM per_step
ORDER BY abs(by_ns) DESC, phase
