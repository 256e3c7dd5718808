-- Computing against moving data
-- How near ops and kernels come to the peaks of their device, and which of the two peaks bounds them.
-- page: ops 50
-- chart: table
-- empty: Nothing tells how many operations the ops compute.
SELECT profile_id, rank, op_type, op, kernel, dtype, count, sum_ns, sum_ratio, flops, flops_per_second,
  bytes_per_second, flops_per_byte, ridge_flops_per_byte, bound_by, compute_efficiency AS compute_efficiency_ratio,
  memory_efficiency AS memory_efficiency_ratio
FROM temp.roofline
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, position LIMIT 500
