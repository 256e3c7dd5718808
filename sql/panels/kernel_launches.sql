-- Kernels by launch configuration and op
-- Registers, shared memory, blocks and grid of each, and which op launched it.
-- page: devices 15
-- chart: table
-- empty: No kernels were recorded.
SELECT profile_id, rank, position, kernel, op, count, sum_ns, mean_ns, min_ns, max_ns,
  registers_per_thread, shared_bytes, block, grid, occupancy_ratio, is_tensor_core_eligible, uses_tensor_core
FROM temp.xprof_kernel_stats
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, profile_id, position LIMIT 500
