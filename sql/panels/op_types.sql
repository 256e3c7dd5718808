-- Types of ops
-- Own time by type, with the share of all down to it.
-- page: ops 20
-- chart: table
-- empty: No ops were recorded.
SELECT profile_id, rank, op_type, name_count, count, self_ns, self_error_ns, self_ratio, cumulative_ratio
FROM temp.op_type_stats
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY self_ns DESC, op_type LIMIT 500
