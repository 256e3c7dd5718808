-- Counters over time
-- At most five hundred moments of each counter; the mean of what was measured.
-- page: counters 10
-- chart: multiples
-- x: at_ns
-- y: value
-- series: name
-- unit: unit
-- empty: No counters were recorded.
WITH readings AS MATERIALIZED (
  SELECT profile_id, name, unit, device_id, time_ns, value FROM temp.counters
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND value IS NOT NULL AND time_ns IS NOT NULL
), spans AS (
  SELECT max(1, (max(time_ns) - min(time_ns)) / 500) AS bucket_ns, min(time_ns) AS start_ns FROM readings
)
SELECT readings.profile_id AS profile_id, readings.name AS name, unit, device_id, devices.name AS device,
  min(time_ns) - coalesce(:origin_ns, 0) AS at_ns, avg(value) AS value
FROM readings CROSS JOIN spans LEFT JOIN temp.devices ON devices.id = device_id
GROUP BY readings.profile_id, readings.name, unit, device_id, (time_ns - start_ns) / bucket_ns
ORDER BY readings.name, readings.profile_id, device_id, at_ns LIMIT 50000
