-- Ops that allocate
-- What is allocated in each op, and what of it is still held.
-- page: memory 30
-- chart: table
-- empty: No allocations were recorded.
SELECT profile_id, rank, device, op, count, bytes, mean_bytes, max_bytes, live_count, live_bytes, mean_held_ns,
  bytes_ratio
FROM temp.memory_by_op
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY bytes DESC, op LIMIT 300
