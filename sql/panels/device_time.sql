-- Device time, as HolisticTraceAnalysis divides it
-- From the first work on a device to the last: how much it computes, does something else, or nothing.
-- page: devices 5
-- chart: hstack
-- label: device
-- y: compute_ns non_compute_ns idle_ns
-- empty: No work on devices was recorded.
SELECT profile_id, rank, device, compute_ns, non_compute_ns, idle_ns, kernel_ns, compute_ratio, non_compute_ratio,
  idle_ratio
FROM temp.hta_temporal_breakdown
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, device_id
