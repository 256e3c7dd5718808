-- Communication hidden behind computation: for how much of it compute kernels ran at the same time.
--
-- One row for each profile and device that communicated.  Left out is what HTA leaves out: see temporal_breakdown.
-- Where work was recorded only in some steps, it is weighed step by step as there.
--   profile_id        INTEGER  -      The profile: a process or rank.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown.
--   communication_ns  INTEGER  ns     Time in which a communication kernel ran on the device.
--   overlap_ns        INTEGER  ns     Part of communication_ns in which a compute kernel ran, too.
--   overlap_ratio     REAL     ratio  Share of overlap_ns in communication_ns.  1 is communication that costs nothing.
--   device_id         INTEGER  -      The device, as in devices.
--   device            TEXT     -      Name of the device.
-- Cost: that of device_times.  Example: SELECT rank, overlap_ratio FROM communication_overlap;
WITH thinned AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp.thinned_steps
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), in_step AS (
  SELECT activities.profile_id AS profile_id, activities.device_id AS device_id, activities.step_id AS step_id,
    max(activities.sample_weight) AS weight, union_ns(activities.start_ns, activities.end_ns) AS both_ns,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind = 'compute') AS compute_ns,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind = 'communication')
      AS communication_ns
  FROM temp.device_activities AS activities
  WHERE activities.kind IN ('compute', 'communication')
    AND activities.profile_id IN (SELECT profile_id FROM thinned) AND activities.step_id IS NOT NULL
  GROUP BY activities.profile_id, activities.device_id, activities.step_id
), covered AS (
  SELECT profile_id, device_id, compute_communication_ns AS both_ns, compute_ns, communication_ns
  FROM temp.device_times WHERE profile_id IN (SELECT profile_id FROM whole)
  UNION ALL
  SELECT profile_id, device_id, CAST(sum(both_ns * weight) AS INTEGER), CAST(total(compute_ns * weight) AS INTEGER),
    CAST(total(communication_ns * weight) AS INTEGER)
  FROM in_step GROUP BY profile_id, device_id
)
SELECT
  covered.profile_id AS profile_id,
  profiles.rank AS rank,
  covered.communication_ns AS communication_ns,
  covered.communication_ns + covered.compute_ns - covered.both_ns AS overlap_ns,
  1.0 * (covered.communication_ns + covered.compute_ns - covered.both_ns) / covered.communication_ns AS overlap_ratio,
  covered.device_id AS device_id,
  devices.name AS device
FROM covered
JOIN temp.profiles AS profiles ON profiles.id = covered.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = covered.device_id
WHERE covered.communication_ns > 0
ORDER BY profile_id, device_id
