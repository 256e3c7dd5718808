-- Compiling by step: which steps spent time on compiling code, and by which compiler.
--
-- One row for each step in which something was compiled, warm-up steps included, as that is where most is; and one
-- without a step for what was compiled outside of all.
--   profile_id   INTEGER  -      Profile id.
--   rank         INTEGER  -      Rank.
--   step_id      INTEGER  -      Step id.
--   number       INTEGER  -      Number.
--   is_warmup    INTEGER  -      1: the step is no part of the statistics of other views.
--   dur_ns       INTEGER  ns     Of the step.
--   compile_ns   INTEGER  ns     Time of it in which something was compiled, on any thread; phases lie inside one
--                                another and count once.
--   ratio        REAL     ratio  Its share of the step.
--   count        INTEGER  count  Compilations and their phases.
--   inductor_ns  INTEGER  ns     Time of it in which torch.compile's inductor made kernels.
-- Of torch.compile captures have it, from PyTorch 2.6 on in every step, and traces; of XLA and tf.function, whose
-- compiling is to make a graph of Python code, XPlane files.
-- Cost: linear in compilations, a sort of them.
-- Example: SELECT number, format_ns(compile_ns), ratio FROM compilation_summary;
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
  1.0 * sums.compile_ns / nullif(max(steps.dur_ns, sums.compile_ns), 0) AS ratio,
  sums.count AS count,
  sums.inductor_ns AS inductor_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.steps AS steps ON steps.id = sums.step_id
ORDER BY profile_id, number, step_id
