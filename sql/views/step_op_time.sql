-- Ops in steps: how much of each measured step ops took, and how many there were.
--
-- One row for each step that is no warm-up and had its ops recorded.
--   profile_id, rank, step_id, number   the step
--   dur_ns                              of the step
--   sample_weight                       how many steps it speaks for
--   op_ns                               self time of ops on the step's own thread and on those that run the backward
--                                       pass for it; more than dur_ns where these overlap
--   optimizer_ns                        time in the ranges Optimizer.step#... that PyTorch marks
--   op_count                            ops that started in it, on any thread
-- No ops here are ranges, modules and Python frames.  A step without ops has 0.
-- Cost: one pass over ops.  Example: SELECT number, op_ns, dur_ns FROM step_op_time ORDER BY dur_ns DESC LIMIT 10;
WITH grouped AS MATERIALIZED ( -- by what tells below which of them count: a check for each op would cost twice the time
  SELECT step_id, thread_id, category, count(*) AS op_count, count(forward_op_id) AS backward_count,
    sum(1.0 * self_ns) AS self_ns
  FROM temp.ops WHERE is_measured = 1 GROUP BY step_id, thread_id, category
), backward_threads AS (
  SELECT thread_id FROM grouped WHERE category = 'autograd' OR backward_count > 0
), in_ops AS (
  SELECT grouped.step_id AS step_id, sum(grouped.op_count) AS op_count,
    sum(CASE WHEN grouped.thread_id = steps.thread_id OR grouped.thread_id IN (SELECT thread_id FROM backward_threads)
      THEN grouped.self_ns END) AS op_ns
  FROM grouped JOIN temp.steps AS steps ON steps.id = grouped.step_id
  WHERE grouped.category NOT IN ('user', 'python', 'module')
  GROUP BY grouped.step_id
), in_optimizer AS (
  SELECT step_id, sum(1.0 * dur_ns) AS optimizer_ns
  FROM temp.ops WHERE category = 'user' AND name GLOB 'Optimizer.step#*' AND is_measured = 1 GROUP BY step_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  steps.dur_ns AS dur_ns,
  steps.sample_weight AS sample_weight,
  CAST(coalesce(in_ops.op_ns, 0) AS INTEGER) AS op_ns,
  CAST(coalesce(in_optimizer.optimizer_ns, 0) AS INTEGER) AS optimizer_ns,
  coalesce(in_ops.op_count, 0) AS op_count
FROM temp.steps AS steps
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
LEFT JOIN in_ops ON in_ops.step_id = steps.id
LEFT JOIN in_optimizer ON in_optimizer.step_id = steps.id
WHERE steps.is_warmup = 0 AND steps.ops_recorded = 1
ORDER BY profile_id, step_id
