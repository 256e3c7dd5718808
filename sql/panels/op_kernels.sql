-- Kernels of ops
-- Which kernels an op launches.
-- page: ops 40
-- chart: table
-- empty: No kernels were recorded.
SELECT profile_id, rank, op, kernel, kind, count, sum_ns, sum_ratio, mean_ns FROM temp.kernel_by_op
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, op, kernel LIMIT 500
