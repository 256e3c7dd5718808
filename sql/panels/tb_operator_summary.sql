-- Ops
-- Time on host and device, own and with what was called.
-- page: ops 10
-- chart: table
-- empty: No ops were recorded.
SELECT profile_id, rank, op, count, host_self_ns, host_self_error_ns, host_sum_ns, device_self_ns,
  device_sum_ns, is_tensor_core_eligible, tensor_core_self_ratio, tensor_core_sum_ratio
FROM temp.tb_operator_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY host_self_ns DESC, op LIMIT 1000
