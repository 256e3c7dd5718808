-- The pipeline
-- Which iterator asks which; the time of each by itself, and in how many of the calls it was what they waited for
-- longest.
-- page: input 25
-- chart: tree
-- label: name
-- value: self_ns
-- mark: bottleneck_count
-- empty: No pipeline of iterators was recorded.
SELECT profile_id, rank, pipeline, coalesce(CAST(iterator AS TEXT), name) AS id,
  CAST(parent_iterator AS TEXT) AS parent_id,
  name, max(is_async) AS is_async, sum(count) AS count, CAST(sum(1.0 * sum_ns) AS INTEGER) AS sum_ns,
  CAST(sum(1.0 * self_ns) AS INTEGER) AS self_ns, sum(is_blocking) AS blocking_count,
  sum(is_bottleneck) AS bottleneck_count, count(DISTINCT call_id) AS call_count
FROM temp.input_pipeline_graph
WHERE :profile_id IS NULL OR profile_id = :profile_id
GROUP BY profile_id, pipeline, 4, name
ORDER BY profile_id, pipeline, self_ns DESC, 4, name LIMIT 500
