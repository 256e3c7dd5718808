-- Time by precision
-- What is computed in 16 bits, in 32 and in others, and how much of it on tensor cores.
-- page: devices 12
-- chart: table
-- empty: No kernels were recorded.
SELECT profile_id, rank, device, precision, count, sum_ns, sum_ratio, tensor_core_ns
FROM temp.precision_breakdown
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, device_id, sum_ns DESC, precision LIMIT 500
