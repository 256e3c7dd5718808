-- Steps, before and after
-- How long steps take on each side.
-- page: compare 10
-- chart: compare
-- x: number
-- value: dur_ns
-- empty: There are no steps.
SELECT steps.profile_id, run_id, number, is_warmup, steps.dur_ns AS dur_ns
FROM temp.steps JOIN temp.profiles ON profiles.id = steps.profile_id
WHERE (:profile_id IS NULL OR steps.profile_id = :profile_id) AND steps.dur_ns IS NOT NULL
ORDER BY run_id, steps.profile_id, number LIMIT 200000
