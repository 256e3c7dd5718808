-- Ranges
-- What the program marked with record_function, NVTX and the like.
-- page: code 40
-- chart: table
-- empty: Nothing was marked.
SELECT profile_id, rank, domain, name, category, count, sum_ns, mean_ns, min_ns, max_ns, step_count, device_ns,
  kernel_count, nullif(crossing_count, 0) AS crossing_count
FROM temp.range_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, name LIMIT 500
