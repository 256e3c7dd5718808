-- Device time: how much of it was idle, computing, or busy with something else.
--
-- One row for each profile and device, as HolisticTraceAnalysis (HTA) breaks it down: kernel_ns reaches from the first
-- start to the last end on the device; compute is the time in which a compute kernel ran, idle that in which nothing
-- did, and the rest (communication, copies, fills, waits that lie on a stream) is non_compute.  Overlaps count once.
-- Like HTA it leaves out what was launched after the start of the last of two or more marked steps, which is
-- incomplete as a rule; warm-up counts.  Of a trace without any launching call HTA would then leave out everything:
-- there steps of ops, or else the starts of kernels, tell (device_activities.is_before_last_step).
--   profile_id, rank
--   idle_ns, compute_ns, non_compute_ns, kernel_ns
--   idle_ratio, compute_ratio, non_compute_ratio   shares of kernel_ns
--   device_id, device                              joins devices.id; its name
-- Cost: one pass over device_activities.  Example: SELECT rank, idle_ratio FROM temporal_breakdown;
WITH busy AS (
  SELECT activities.profile_id AS profile_id, activities.device_id AS device_id,
    max(activities.end_ns) - min(activities.start_ns) AS kernel_ns,
    union_ns(activities.start_ns, activities.end_ns) AS busy_ns,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind = 'compute') AS compute_ns
  FROM temp.device_activities AS activities
  WHERE activities.is_before_last_step = 1
  GROUP BY activities.profile_id, activities.device_id
)
SELECT
  busy.profile_id AS profile_id,
  profiles.rank AS rank,
  busy.kernel_ns - busy.busy_ns AS idle_ns,
  busy.compute_ns AS compute_ns,
  busy.busy_ns - busy.compute_ns AS non_compute_ns,
  busy.kernel_ns AS kernel_ns,
  1.0 * (busy.kernel_ns - busy.busy_ns) / nullif(busy.kernel_ns, 0) AS idle_ratio,
  1.0 * busy.compute_ns / nullif(busy.kernel_ns, 0) AS compute_ratio,
  1.0 * (busy.busy_ns - busy.compute_ns) / nullif(busy.kernel_ns, 0) AS non_compute_ratio,
  busy.device_id AS device_id,
  devices.name AS device
FROM busy
JOIN temp.profiles AS profiles ON profiles.id = busy.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = busy.device_id
ORDER BY profile_id, device_id
