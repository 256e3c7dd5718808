-- Waiting for input: for how long the measured steps (no warm-up) of each process waited for their next element.
--
-- One row for each profile with input_events and measured steps.  The checks of the input measure against it.  Where
-- the profiler of TensorFlow recorded some steps in windows, the steps are these.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   step_count     INTEGER  count  Number of the steps.
--   step_ns        INTEGER  ns     Time of the steps.
--   wait_ns        INTEGER  ns     Time of waiting for the input pipeline in the steps (input_steps.input_ns).  Steps
--                                  that stand for more of the others count for more of it.
--   stands_for     REAL     -      Time of all steps that these stand for, as a multiple of their own time.  1 where
--                                  they are all.
--   has_iterators  INTEGER  -      1: the pipeline is one of tf.data, which tells iterators apart.
-- Cost: that of input_steps, and linear in input_events.
-- Example: SELECT profile_id, 1.0 * wait_ns / step_ns FROM _input_waits;
WITH kinds AS MATERIALIZED (
  SELECT profile_id, max(iterator IS NOT NULL) AS has_iterators FROM temp.input_events GROUP BY profile_id
)
SELECT
  kinds.profile_id AS profile_id,
  count(*) AS step_count,
  CAST(sum(1.0 * steps.dur_ns) AS INTEGER) AS step_ns,
  CAST(sum(steps.input_ns * steps.weight) / nullif(sum(steps.dur_ns * steps.weight), 0) * sum(1.0 * steps.dur_ns)
    AS INTEGER) AS wait_ns,
  coalesce(sum(steps.dur_ns * steps.weight) / nullif(sum(1.0 * steps.dur_ns), 0), 1.0) AS stands_for,
  kinds.has_iterators AS has_iterators
FROM kinds CROSS JOIN temp.input_steps AS steps ON steps.profile_id = kinds.profile_id
JOIN temp.steps AS marks ON marks.id = steps.step_id
WHERE marks.is_warmup = 0
GROUP BY kinds.profile_id
ORDER BY kinds.profile_id
