-- Kernels
-- Time, launches and how well they fill the device.
-- page: devices 10
-- chart: table
-- empty: No kernels were recorded.
SELECT profile_id, rank, device, kernel, kind, count, sum_ns, sum_ratio, mean_ns, min_ns, max_ns, launch_delay_ns,
  per_step_count, uses_tensor_core, blocks_per_multiprocessor, occupancy_ratio
FROM temp.kernel_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, kernel LIMIT 1000
