-- Who is waited for
-- How often and how long the others waited for a rank.
-- page: ranks 30
-- chart: table
-- empty: None is late, or one rank alone is open.
SELECT profile_id, rank, metric, count, late_ns, step_count FROM temp.stragglers
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY late_ns DESC, rank
