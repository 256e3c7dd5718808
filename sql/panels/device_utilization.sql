-- How busy the devices are
-- Busy is the share of the time of all steps with a kernel (utilization_ratio); SM efficiency and occupancy say how
-- well those fill the device.
-- page: overview 40
-- chart: table
-- empty: No work on devices was recorded.
SELECT used.profile_id, rank, device, used.model AS model, compute_capability, multiprocessor_count, memory_bytes,
  busy_ns, utilization_ratio, sm_efficiency_ratio, occupancy_ratio, tensor_core_ratio, tensor_core_eligible_ratio,
  kernel_count
FROM temp.device_utilization AS used LEFT JOIN temp.devices ON devices.id = device_id
WHERE :profile_id IS NULL OR used.profile_id = :profile_id
ORDER BY used.profile_id, device_id
