-- Ops in steps: what the time of each measured step went to, and how many ops there were.
--
-- One row for each step that is no warm-up and had its ops recorded.  Ranges, modules and Python frames are no ops
-- here.  A step without ops has 0.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_id        INTEGER  -      The step, as in steps.
--   number         INTEGER  -      Number of the step.
--   dur_ns         INTEGER  ns     Duration of the step.
--   recording_ns   INTEGER  ns     The part of dur_ns that recording its ops took, which is in none of the other times.
--                                  NULL where that is not known.
--   sample_weight  REAL     -      Number of steps that it speaks for.
--   op_ns          INTEGER  ns     How long an op ran on the thread of the step or on one that runs the backward pass
--                                  for it, overlaps counted once.  NULL where its thread is not known.
--   loading_ns     INTEGER  ns     How long its thread was in the input pipeline while no op ran.  All of its input is
--                                  input_steps.input_ns.  NULL where its thread is not known.
--   wait_ns        INTEGER  ns     How long, beside op_ns and loading_ns, it took part in a collective of hosts or
--                                  waited for a device.  NULL where its thread is not known.
--   outside_ns     INTEGER  ns     The rest of the step: Python, locks, files.  NULL where its thread is not known.
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
  host_steps.input_ns AS loading_ns,
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
