-- Kernels that cost most
-- Time on the device.
-- page: overview 70
-- chart: bars
-- label: kernel
-- value: sum_ns
-- width: half
-- empty: No kernels were recorded.
SELECT profile_id, rank, kernel, count, sum_ns, mean_ns, uses_tensor_core FROM temp.kernel_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, kernel LIMIT 10
