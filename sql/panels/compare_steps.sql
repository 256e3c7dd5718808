-- Steps, before and after
-- How long steps take on each side: from one end of their work on devices to the next where the host runs ahead.
-- page: compare 10
-- chart: compare
-- x: number
-- value: training_ns
-- empty: There are no steps.
SELECT steps.profile_id, run_id, number, is_warmup, training_ns
FROM temp.steps JOIN temp.profiles ON profiles.id = steps.profile_id
WHERE (:profile_id IS NULL OR steps.profile_id = :profile_id) AND training_ns IS NOT NULL
ORDER BY run_id, steps.profile_id, number LIMIT 200000
