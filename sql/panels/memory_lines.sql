-- Lines that hold memory
-- What each line allocated, still holds, and held when most was in use.
-- page: memory 20
-- chart: table
-- empty: No allocations with stacks were recorded.
SELECT profile_id, rank, device, location, text, count, bytes, live_count, live_bytes, peak_bytes, peak_ratio,
  function
FROM temp.memory_by_line
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY peak_bytes DESC, bytes DESC, location LIMIT 300
