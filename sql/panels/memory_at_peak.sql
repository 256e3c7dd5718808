-- What was in use at the peak
-- By op, region, type, shape and module.
-- page: memory 40
-- chart: table
-- empty: No allocations were recorded.
SELECT profile_id, rank, allocator, op, bytes, requested_bytes, count, region, dtype, shape, module, location,
  peak_ratio
FROM temp.memory_breakdown
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY bytes DESC, op LIMIT 300
