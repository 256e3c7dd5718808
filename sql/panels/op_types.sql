-- Types of ops
-- Own time by type on the host and on devices, with the share of all down to it, and of all with IDLE.
-- page: ops 20
-- chart: table
-- empty: No ops were recorded.
SELECT profile_id, rank, side, framework, op_type, name_count, count, self_ns, self_error_ns, self_ratio,
  cumulative_ratio, idle_in_ratio, execution_mode
FROM temp.xprof_op_type_stats
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY side DESC, is_idle, self_ns DESC, op_type LIMIT 500
