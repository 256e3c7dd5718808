-- Input of each profile: how much of the time of its measured steps waited for input.
--
-- One row for each profile with measured steps.  It is the share that every view and check calls input (_input_waits).
--   profile_id  INTEGER  -      The profile: a process or rank.
--   step_ns     REAL     ns     Time of the steps.
--   wait_ns     REAL     ns     Time of these in which they waited for input (input_steps).  0 where no waiting was
--                               recorded.  NULL in recordings of TensorFlow and JAX alone, unless a window tells of it.
-- Cost: that of input_steps.
-- Example: SELECT profile_id, wait_ns / step_ns FROM _input_shares;
WITH measured AS (
  SELECT profile_id, total(coalesce(pace_ns, net_ns)) AS step_ns FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), waits AS (
  SELECT profile_id, sum(dur_ns * weight) AS step_ns, sum(input_ns * weight) AS wait_ns FROM temp.input_steps
  GROUP BY profile_id
)
SELECT
  measured.profile_id AS profile_id,
  coalesce(waits.step_ns, measured.step_ns) AS step_ns,
  CASE WHEN waits.profile_id IS NOT NULL THEN waits.wait_ns
    WHEN profiles.origin IS NOT 'tfprof' OR profiles.framework IS NULL OR has_framework(profiles.framework, 'pytorch')
    THEN 0.0 END AS wait_ns
FROM measured
JOIN temp.profiles AS profiles ON profiles.id = measured.profile_id
LEFT JOIN waits ON waits.profile_id = measured.profile_id
ORDER BY profile_id
