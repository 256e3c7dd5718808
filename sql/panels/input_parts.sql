-- Parts of the pipeline
-- Time by event.
-- page: input 30
-- chart: table
-- empty: No input pipeline was recorded.
SELECT profile_id, rank, name, count, sum_ns, sum_ratio, self_ns, self_ratio, working_ns, category, suggestion
FROM temp.xprof_input_op_stats
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY self_ns DESC, name LIMIT 300
