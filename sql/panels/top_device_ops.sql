-- Ten ops that keep the devices busy
-- Their own time on devices, and the share of all of it; cumulative_ratio is that of the first ones together.
-- page: overview 75
-- chart: table
-- empty: No work on devices was recorded.
SELECT profile_id, rank, host, position, op_type, op, count, self_ns, self_ratio, cumulative_ratio,
  flops_per_second, is_tensor_core_eligible, uses_tensor_core
FROM temp.xprof_top_device_ops
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id IS NOT NULL, profile_id, position LIMIT 500
