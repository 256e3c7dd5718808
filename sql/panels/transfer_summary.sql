-- Copies and fills
-- Sizes and rates by direction and kinds of memory.
-- page: devices 40
-- chart: table
-- empty: No copies or fills were recorded.
SELECT profile_id, rank, kind, direction, source_memory, target_memory, count, bytes, mean_bytes, sum_ns, sum_ratio,
  mean_ns, max_ns, bytes_per_second
FROM temp.transfer_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, kind, direction LIMIT 300
