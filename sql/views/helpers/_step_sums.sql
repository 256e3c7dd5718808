-- Sums over steps: what the measured steps of each profile went to, in the parts of step_breakdown.
--
-- One row for each profile with measured steps (no warm-up, also of XPlane files).  Sums are weighed, so that steps
-- with recorded work speak for the others.  A part divided by the time in which it is known is its share of the step
-- time.  run_summary and overview are made of these sums.
--   profile_id        INTEGER  -   The profile: a process or rank.
--   device_known_ns   REAL     ns  Time of the steps in which kernels, copies, communication and launching are known.
--   loader_known_ns   REAL     ns  Time of the steps in which loading data is known.
--   host_known_ns     REAL     ns  Time of the steps in which the work of the host is known.
--   kernel_ns         REAL     ns  Time of kernels.
--   copy_ns           REAL     ns  Time of copies and fills.
--   communication_ns  REAL     ns  Time of communication.
--   launch_ns         REAL     ns  Time of launching.
--   data_loader_ns    REAL     ns  Time of loading data.
--   host_ns           REAL     ns  Time of ops and of compiling on the host.
--   other_ns          REAL     ns  Time outside of all these.
-- Not weighed: loader_known_ns.  Loading is known in every step, but for windows of TensorFlow (loader_weight).
-- Cost: that of step_breakdown.
-- Example: SELECT profile_id, kernel_ns / device_known_ns FROM _step_sums;
SELECT
  profile_id AS profile_id,
  sum(iif(kernel_ns IS NULL, NULL, dur_ns * device_weight)) AS device_known_ns,
  sum(iif(data_loader_ns IS NULL, NULL, dur_ns * loader_weight)) AS loader_known_ns,
  sum(iif(host_compute_ns IS NULL, NULL, dur_ns * host_weight)) AS host_known_ns,
  sum(kernel_ns * device_weight) AS kernel_ns,
  sum((memcpy_ns + memset_ns) * device_weight) AS copy_ns,
  sum(device_collectives_ns * device_weight) AS communication_ns,
  sum(kernel_launch_ns * device_weight) AS launch_ns,
  sum(data_loader_ns * loader_weight) AS data_loader_ns,
  sum((host_compute_ns + compile_ns + other_ns - outside_ns) * host_weight) AS host_ns,
  sum(outside_ns * host_weight) AS other_ns
FROM temp._weighed_steps
WHERE is_warmup = 0
GROUP BY profile_id
ORDER BY profile_id
