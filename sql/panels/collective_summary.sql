-- Collectives
-- By operation and size.
-- page: ranks 40
-- chart: table
-- empty: No collectives were recorded.
SELECT profile_id, rank, name, process_group, group_size, dtype, bytes, count, total_bytes, sum_ns, mean_ns,
  transfer_ns, mean_transfer_ns, bytes_per_second, bus_bytes_per_second
FROM temp.collective_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, name, bytes, profile_id LIMIT 500
