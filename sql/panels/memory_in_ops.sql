-- What ops allocate and keep
-- Increase is what was allocated less what was released, in the op itself and in all that it called.
-- page: memory 35
-- chart: table
-- empty: No allocations were recorded.
SELECT profile_id, rank, op, count, increase_bytes, increase_self_bytes, allocation_count, allocation_self_count,
  allocated_bytes, allocated_self_bytes
FROM temp.tb_operator_memory
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY allocated_self_bytes DESC, op, profile_id LIMIT 500
