-- Ops on host and device, in order of cost
-- Own time as a share of its side, with idle time; rates where the file tells what ops compute and move.
-- page: ops 22
-- chart: table
-- empty: No ops were recorded.
SELECT profile_id, rank, side, position, op_type, op, count, sum_ns, mean_ns, self_ns, self_error_ns, mean_self_ns,
  self_ratio, cumulative_ratio, flops_per_second, bytes_per_second, tensor_core_ratio, bound_by,
  execution_mode, is_idle
FROM temp.xprof_op_stats
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, side, position LIMIT 1000
