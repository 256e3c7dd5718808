-- Compiling by step: which steps spent time on compiling code, and by which compiler.
--
-- One row for each step in which something was compiled, and one without a step for what was compiled outside of all.
-- Warm-up steps are included, as most compiling is there.  Compiling by torch.compile is known in captures, from
-- PyTorch 2.6 on in every step, and in traces.  Compiling by XLA and by tf.function, which makes a graph of Python
-- code, is known in XPlane files.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_id        INTEGER  -      The step, as in steps.  NULL in the row for what lies outside of all steps.
--   number         INTEGER  -      Number of the step.  NULL without a step.
--   is_warmup      INTEGER  -      1: the step is no part of the statistics of other views.  NULL without a step.
--   dur_ns         INTEGER  ns     Duration of the step.  NULL without a step.
--   compile_ns     INTEGER  ns     Time in which something was compiled, on any thread.  Phases lie inside one another
--                                  and count once.
--   compile_ratio  REAL     ratio  Share of compile_ns in the duration of the step.  NULL without a step.
--   count          INTEGER  count  Number of compilations and of their phases.
--   inductor_ns    INTEGER  ns     Part of compile_ns in which the inductor of torch.compile made kernels.
-- Cost: linear in compilations, a sort of them.
-- Example: SELECT number, format_ns(compile_ns), compile_ratio FROM compilation_summary;
WITH sums AS (
  SELECT profile_id, step_id, count(*) AS count, union_ns(start_ns, end_ns) AS compile_ns,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'inductor') AS inductor_ns
  FROM temp.compilations GROUP BY profile_id, step_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.step_id AS step_id,
  steps.number AS number,
  steps.is_warmup AS is_warmup,
  steps.dur_ns AS dur_ns,
  sums.compile_ns AS compile_ns,
  1.0 * sums.compile_ns / nullif(max(steps.dur_ns, sums.compile_ns), 0) AS compile_ratio,
  sums.count AS count,
  sums.inductor_ns AS inductor_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.steps AS steps ON steps.id = sums.step_id
ORDER BY profile_id, number, step_id
