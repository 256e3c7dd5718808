-- Pipelines, and how long they let the program wait
-- A call is slow that takes more than 50 µs, since one that finds its element ready does not.
-- page: input 22
-- chart: table
-- empty: No input pipelines were recorded.
SELECT profile_id, rank, host, pipeline, iterator, count, mean_ns, min_ns, max_ns, slow_count
FROM temp.input_pipelines
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY max_ns DESC, profile_id, pipeline LIMIT 100
