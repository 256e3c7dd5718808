-- What bounds one step
-- The longest chain of ops, launches, kernels and waits, by kind of piece; beside the median step.
-- page: steps 9
-- chart: against
-- x: number
-- label: kind
-- value: sum_ns
-- empty: No path was found.
SELECT profile_id, rank, number, kind, count, sum_ns, sum_ratio FROM temp.critical_path_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, number, sum_ns DESC, kind LIMIT 5000
