-- Communication hidden behind computation: for how much of it compute kernels ran at the same time.
--
-- One row for each profile and device that communicated.  Left out is what HTA leaves out: see hta_temporal_breakdown.
-- Where work was recorded only in some steps, it is weighed step by step as there.
--   profile_id        INTEGER  -      The profile: a process or rank.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown.
--   communication_ns  INTEGER  ns     Time in which a communication kernel ran on the device.
--   overlap_ns        INTEGER  ns     Part of communication_ns in which a compute kernel ran, too.
--   overlap_ratio     REAL     ratio  Share of overlap_ns in communication_ns.  1 is communication that costs nothing.
--   device_id         INTEGER  -      The device, as in devices.
--   device            TEXT     -      Name of the device.
-- Cost: that of device_times.  Example: SELECT rank, overlap_ratio FROM hta_communication_overlap;
WITH covered AS (
  SELECT profile_id, device_id, CAST(sum(compute_communication_ns * sample_weight) AS INTEGER) AS both_ns,
    CAST(sum(compute_ns * sample_weight) AS INTEGER) AS compute_ns,
    CAST(sum(communication_ns * sample_weight) AS INTEGER) AS communication_ns
  FROM temp.device_times GROUP BY profile_id, device_id
)
SELECT
  covered.profile_id AS profile_id,
  profiles.rank AS rank,
  covered.communication_ns AS communication_ns,
  CAST(covered.communication_ns + covered.compute_ns - covered.both_ns AS INTEGER) AS overlap_ns,
  1.0 * (covered.communication_ns + covered.compute_ns - covered.both_ns) / covered.communication_ns AS overlap_ratio,
  covered.device_id AS device_id,
  devices.name AS device
FROM covered
JOIN temp.profiles AS profiles ON profiles.id = covered.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = covered.device_id
WHERE covered.communication_ns > 0
ORDER BY profile_id, device_id
