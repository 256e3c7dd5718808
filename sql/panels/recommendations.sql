-- Where the overview would look first
-- What the TensorFlow 2 Profiler says about input, output, launching, precision and eager functions, by its
-- thresholds; findings go further.
-- page: overview 45
-- chart: table
-- empty: There are no steps to speak of.
SELECT profile_id, rank, host, topic, level, value AS value_ratio, threshold AS threshold_ratio, statement, look_at
FROM temp.xprof_recommendations
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id IS NOT NULL, profile_id, CASE level WHEN 'high' THEN 0 WHEN 'moderate' THEN 1 ELSE 2 END, topic
LIMIT 500
