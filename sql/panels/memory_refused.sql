-- Allocations that failed
-- How much was asked for, and how much was in use.
-- page: memory 50
-- chart: table
-- empty: None failed.
SELECT profile_id, rank, device, time_ns - coalesce(:origin_ns, 0) AS at_ns, bytes, in_use_bytes, reserved_bytes,
  capacity_bytes, op, location, text
FROM temp.memory_failures
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, at_ns LIMIT 300
