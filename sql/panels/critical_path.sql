-- What bounds each step
-- The longest chain of ops, launches, kernels and waits, by kind of piece.
-- page: steps 20
-- chart: table
-- step: number
-- empty: No path was found.
SELECT profile_id, rank, number, kind, count, sum_ns, sum_ratio FROM temp.critical_path_summary
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number, sum_ns DESC, kind LIMIT 5000
