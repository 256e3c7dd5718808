-- Lines that hold memory
-- What each line allocated, still holds, and held when most was in use; ops or modules of what has no line.
-- page: memory 20
-- chart: table
-- empty: No allocations were recorded.
SELECT profile_id, rank, device, location, iif(location IS NULL, name, text) AS text, count, bytes, bytes_ratio,
  live_count, live_bytes, peak_bytes, peak_ratio, function
FROM temp.memory_by_line
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY peak_bytes DESC, bytes DESC, name LIMIT 300
