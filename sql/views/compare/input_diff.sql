-- Input of two profiles or runs side by side: input_diff(a, b).
--
-- One row for each part of the input pipeline that either has, as xprof_input_op_stats has them, and one without a name
-- for how long steps waited for their input, as input_steps has it.  a and b select profiles as the hidden argument of
-- every table does (an id, a path or a pattern over paths).  Measured steps count (no warm-up).  The row of the waiting
-- is first.  The others go by their difference in time per step, so that runs need not be equally long.
--   name          TEXT     -      Name of the part.  NULL in the row of the waiting.
--   category      TEXT     -      What the part does, as input_events.stage.  It is wait in the row of the waiting.
--   a_count       INTEGER  count  Number of events of a.  In the row of the waiting it is that of the steps.  0 where a
--                                 has none.
--   b_count       INTEGER  count  Number of events of b.  In the row of the waiting it is that of the steps.  0 where b
--                                 has none.
--   a_ns          INTEGER  ns     Time of the events of a without the events inside them.  In the row of the waiting it
--                                 is how long steps waited.
--   b_ns          INTEGER  ns     Time of the events of b without the events inside them.  In the row of the waiting it
--                                 is how long steps waited.
--   count_diff    INTEGER  count  Difference of the counts, b less a.
--   dur_diff_ns   INTEGER  ns     Difference of the times, b less a.
--   change        TEXT     -      What became of it: + where b has more of them in a step, - where it has fewer, =
--                                 otherwise.  In the row of the waiting it goes by the time in a step.
--   a_step_ns     INTEGER  ns     Value of a_ns over the number of measured steps of a.  NULL where a has no steps.
--   b_step_ns     INTEGER  ns     Value of b_ns over the number of measured steps of b.  NULL where b has no steps.
--   step_diff_ns  INTEGER  ns     Difference of the times per step, b less a.  NULL where a side has no steps.
-- parameters: a, b
-- Cost: that of input_steps and xprof_input_op_stats.
-- Example: SELECT name, step_diff_ns FROM input_diff('before*', 'after*');
WITH parts AS (
  SELECT profile_id, name, category, count, self_ns FROM temp.xprof_input_op_stats WHERE profile_id IS NOT NULL
  UNION ALL
  SELECT profile_id, NULL, 'wait', weight, input_ns * weight FROM temp.input_steps
), sides AS (
  SELECT parts.*,
    profile_id IN (SELECT id FROM temp.profiles(:a)) AS is_a, profile_id IN (SELECT id FROM temp.profiles(:b)) AS is_b
  FROM parts
), both AS (
  SELECT name, category, CAST(total(count) FILTER (WHERE is_a) AS INTEGER) AS a_count,
    CAST(total(count) FILTER (WHERE is_b) AS INTEGER) AS b_count, total(self_ns) FILTER (WHERE is_a) AS a_ns,
    total(self_ns) FILTER (WHERE is_b) AS b_ns
  FROM sides WHERE is_a OR is_b GROUP BY name, category
), steps AS (
  SELECT (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:a) WHERE is_warmup = 0) AS a,
    (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:b) WHERE is_warmup = 0) AS b
), per_step AS (
  SELECT both.*, a_ns / steps.a AS a_step_ns, b_ns / steps.b AS b_step_ns,
    coalesce(b_ns / steps.b - a_ns / steps.a, b_ns - a_ns) AS by_ns,
    iif(name IS NULL, coalesce(b_ns / steps.b - a_ns / steps.a, 0),
      coalesce(b_count / steps.b - a_count / steps.a, b_count - a_count)) AS more
  FROM both CROSS JOIN steps
)
SELECT
  name AS name,
  category AS category,
  a_count AS a_count,
  b_count AS b_count,
  CAST(a_ns AS INTEGER) AS a_ns,
  CAST(b_ns AS INTEGER) AS b_ns,
  b_count - a_count AS count_diff,
  CAST(b_ns - a_ns AS INTEGER) AS dur_diff_ns,
  CASE WHEN more > 0 THEN '+' WHEN more < 0 THEN '-' ELSE '=' END AS change,
  CAST(a_step_ns AS INTEGER) AS a_step_ns,
  CAST(b_step_ns AS INTEGER) AS b_step_ns,
  CAST(b_step_ns - a_step_ns AS INTEGER) AS step_diff_ns
FROM per_step
ORDER BY name IS NOT NULL, abs(by_ns) DESC, name, category
