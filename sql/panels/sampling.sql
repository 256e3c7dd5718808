-- Sampling
-- In how many steps ops were recorded, and for how many they speak.
-- page: overview 92
-- chart: table
-- empty: Nothing was sampled: all steps were recorded.
SELECT profile_id, rank, recorded_count, drawn_count, step_count, unseen_ratio, note FROM temp.sampling_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
