-- Ops in steps: what the time of each measured step went to, and how many ops there were.
--
-- One row for each step that is no warm-up and had its ops recorded.
--   profile_id     INTEGER  -      The step.
--   rank           INTEGER  -      The step.
--   step_id        INTEGER  -      The step.
--   number         INTEGER  -      The step.
--   dur_ns         INTEGER  ns     Of the step, and how much of it recording its ops took, which is in none of the
--                                  other times (NULL: that is not told).
--   recording_ns   INTEGER  ns     Of the step, and how much of it recording its ops took, which is in none of the
--                                  other times (NULL: that is not told).
--   sample_weight  REAL     -      How many steps it speaks for.
--   op_ns          INTEGER  ns     How long an op ran on the step's own thread or on one that runs the backward pass
--                                  for it, overlaps counted once.
--   input_ns       INTEGER  ns     How long its thread was in the input pipeline while no op ran.
--   wait_ns        INTEGER  ns     How long, beside both, it took part in a collective of hosts or waited for a device.
--   outside_ns     INTEGER  ns     The rest of the step: Python, locks, files; these four are NULL where its thread is
--                                  not known.
--   optimizer_ns   INTEGER  ns     Time in the phase optimizer (step_phases), without closures that it calls.
--   op_count       INTEGER  count  Ops that began in it, on any thread.
-- No ops here are ranges, modules and Python frames.  A step without ops has 0.
-- Cost: one pass over ops, when host_steps is derived from them.
-- Example: SELECT number, op_ns, outside_ns FROM step_op_time ORDER BY dur_ns DESC LIMIT 10;
WITH in_optimizer AS (
  SELECT step_id, sum(1.0 * net_ns) AS optimizer_ns FROM temp.step_phases WHERE phase = 'optimizer' GROUP BY step_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  steps.dur_ns AS dur_ns,
  steps.recording_ns AS recording_ns,
  steps.sample_weight AS sample_weight,
  host_steps.op_ns AS op_ns,
  host_steps.input_ns AS input_ns,
  host_steps.wait_ns AS wait_ns,
  host_steps.outside_ns AS outside_ns,
  CAST(coalesce(in_optimizer.optimizer_ns, 0) AS INTEGER) AS optimizer_ns,
  host_steps.op_count AS op_count
FROM temp.host_steps AS host_steps
JOIN temp.steps AS steps ON steps.id = host_steps.step_id
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
LEFT JOIN in_optimizer ON in_optimizer.step_id = steps.id
WHERE steps.is_warmup = 0
ORDER BY profile_id, step_id
