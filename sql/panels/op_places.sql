-- Lines of ops
-- The line of the program that called an op, by its stack: what the timeline says of the op that is selected.
-- page: timeline 50
-- chart: lanes
-- needs: events
-- empty: No stacks were recorded.
SELECT profile_id, code_trace_id, location, function, text FROM temp._code_trace_lines
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY code_trace_id LIMIT 50000
