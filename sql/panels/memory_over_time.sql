-- Memory over time
-- What is in use, by what it holds: at most a thousand moments, each with the most that was in use.
-- page: memory 10
-- also: overview 35
-- chart: area
-- x: at_ns
-- y: bytes
-- series: category
-- group: device
-- empty: Memory was not recorded: profile_memory=True in torch.profiler.
WITH moments AS MATERIALIZED (
  SELECT profile_id, device_id, device, time_ns, category, bytes FROM temp.memory_timeline
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND time_ns IS NOT NULL
), spans AS (
  SELECT max(1, (max(time_ns) - min(time_ns)) / 1000) AS bucket_ns, min(time_ns) AS start_ns FROM moments
)
SELECT profile_id, device, category, max(time_ns) - coalesce(:origin_ns, 0) AS at_ns, max(bytes) AS bytes
FROM moments CROSS JOIN spans
GROUP BY profile_id, device_id, category, (time_ns - start_ns) / bucket_ns
ORDER BY profile_id, device_id, at_ns, category
