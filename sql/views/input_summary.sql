-- Input at a glance: the share of the step time that waits for input.
--
-- One row for each profile with input_events and measured steps (no warm-up).
--   profile_id, rank, step_count
--   step_ns, input_ns, input_ratio   sums over those steps, and the share
--   mean_input_ns, max_input_ns      per step
--   verdict                          not input-bound under 5 %, moderately under 20 %, else highly (the thresholds of
--                                    the TensorFlow 2 Profiler)
-- Cost: linear in steps and input_events.  Example: SELECT input_ratio, verdict FROM input_summary;
WITH sums AS (
  SELECT profile_id, rank, count(*) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS step_ns,
    CAST(sum(1.0 * input_ns) AS INTEGER) AS input_ns,
    max(input_ns) AS max_input_ns
  FROM temp.input_steps GROUP BY profile_id, rank
)
SELECT
  profile_id AS profile_id,
  rank AS rank,
  step_count AS step_count,
  step_ns AS step_ns,
  input_ns AS input_ns,
  1.0 * input_ns / nullif(step_ns, 0) AS input_ratio,
  input_ns / step_count AS mean_input_ns,
  max_input_ns AS max_input_ns,
  CASE WHEN input_ns < 0.05 * step_ns THEN 'not input-bound'
    WHEN input_ns < 0.20 * step_ns THEN 'moderately input-bound' ELSE 'highly input-bound' END AS verdict
FROM sums
ORDER BY profile_id
