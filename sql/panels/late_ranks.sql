-- Who is waited for
-- What share of a step the others waited for a rank on average, in how many steps most for it, and how long in all.
-- page: ranks 30
-- chart: table
-- empty: None is late, or one rank alone is open.
SELECT profile_id, coalesce(rank, (SELECT name FROM temp._process_names AS names
    WHERE names.profile_id = late_ranks.profile_id)) AS rank, metric AS late_ratio, count, late_ns, step_count
FROM temp.late_ranks
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY late_ns DESC, rank
