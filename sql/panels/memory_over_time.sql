-- Memory over time
-- What is in use, by what it holds: of each thousandth of the time the moment when most was.
-- page: memory 10
-- also: overview 35
-- chart: area
-- x: at_ns
-- y: bytes
-- series: category
-- group: device
-- empty: Memory was not recorded: profile_memory=True in torch.profiler.
WITH memories AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY profile_id, device_id, allocator) AS number FROM temp._memory_names
), changes AS MATERIALIZED (
  SELECT number, time_ns, category, bytes, device_bytes,
    row_number() OVER (ORDER BY number, time_ns, event_id) AS place
  FROM temp.memory_timeline JOIN memories ON memories.profile_id = memory_timeline.profile_id
    AND memories.device_id IS memory_timeline.device_id AND memories.allocator IS memory_timeline.allocator
  WHERE (:profile_id IS NULL OR memory_timeline.profile_id = :profile_id) AND time_ns IS NOT NULL
), spans AS (
  SELECT max(1, (max(time_ns) - min(time_ns)) / 1000) AS bucket_ns, min(time_ns) AS start_ns FROM changes
), moments AS ( -- of each stretch of time the one with most; before one without any the last, which holds through it
  SELECT place FROM (
    SELECT place, max(device_bytes) FROM changes CROSS JOIN spans GROUP BY number, (time_ns - start_ns) / bucket_ns
  )
  UNION ALL SELECT place FROM (
    SELECT place, bucket, lead(bucket) OVER (PARTITION BY number ORDER BY bucket) AS next_bucket FROM (
      SELECT number, max(place) AS place, (time_ns - start_ns) / bucket_ns AS bucket
      FROM changes CROSS JOIN spans GROUP BY number, bucket)
  ) WHERE next_bucket IS NOT bucket + 1
), placed AS ( -- until which moment a change comes
  SELECT number, category, bytes, place, min(iif(is_moment, place, NULL)) OVER later AS at_place,
    min(iif(is_moment, time_ns, NULL)) OVER later AS moment_ns
  FROM (SELECT *, place IN (SELECT place FROM moments) AS is_moment FROM changes)
  WINDOW later AS (PARTITION BY number ORDER BY place DESC)
), kept AS ( -- the last one of each category is what it has then
  SELECT number, category, at_place, moment_ns, bytes, max(place) FROM placed GROUP BY at_place, category
)
SELECT profile_id, device_id, name AS device, category, moment_ns - coalesce(:origin_ns, 0) AS at_ns, bytes
FROM kept JOIN memories ON memories.number = kept.number
ORDER BY at_place, category
