-- Stacks
-- Own time of ops by the stack that called them: wide is dear. Click to look closer.
-- page: code 20
-- chart: flame
-- label: label
-- value: self_ns
-- empty: No stacks were recorded.
SELECT code_traces.profile_id, code_traces.id, parent_id, coalesce(function, '?') AS label,
  coalesce(file || ':' || line, file) AS location, self_ns
FROM temp.code_traces LEFT JOIN temp.code_frames ON code_frames.id = leaf_frame_id
WHERE :profile_id IS NULL OR code_traces.profile_id = :profile_id
ORDER BY code_traces.id LIMIT 50000
