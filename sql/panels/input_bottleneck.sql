-- What to change in the pipeline
-- Of each pipeline the iterator that its slow calls waited for.
-- page: input 27
-- chart: table
-- empty: No pipeline has slow calls.
SELECT profile_id, rank, host, pipeline, name, long_name, max_latency_ns, self_ns, suggestion
FROM temp.input_bottleneck
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, pipeline, name LIMIT 100
