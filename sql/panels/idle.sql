-- What streams wait for
-- Time between kernels, by its cause.
-- page: devices 20
-- chart: table
-- empty: No work on devices was recorded.
SELECT profile_id, rank, stream, idle_category, idle_ns, idle_ratio, count, mean_ns, median_ns, max_ns
FROM temp.hta_idle_breakdown
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND count > 0
ORDER BY idle_ns DESC, stream, idle_category LIMIT 300
