-- Counters
-- First, last, extremes and mean.
-- page: counters 20
-- chart: table
-- empty: No counters were recorded.
SELECT profile_id, rank, name, unit, device_id, count, first, last, min, max, mean FROM temp.counter_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY name, profile_id, device_id LIMIT 1000
