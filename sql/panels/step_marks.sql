-- Steps
-- Each step as a mark above the lanes.
-- page: timeline 10
-- chart: marks
-- empty: There are no steps.
SELECT profile_id, number, name, start_ns - coalesce(:origin_ns, 0) AS at_ns, dur_ns, is_warmup, ops_recorded
FROM temp.steps
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, start_ns, id LIMIT 20000
