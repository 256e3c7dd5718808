-- In use and reserved
-- What the program holds of what its allocator holds, and how scattered the free rest is, on the axis to the right.
-- page: memory 14
-- chart: line
-- x: at_ns
-- y: in_use_bytes reserved_bytes
-- right: fragmentation_ratio
-- group: device
-- empty: No totals of an allocator were recorded.
WITH moments AS MATERIALIZED (
  SELECT profile_id, device_id, allocator, time_ns, in_use_bytes, reserved_bytes, fragmentation_ratio
  FROM temp.memory_events
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND time_ns IS NOT NULL
    AND coalesce(in_use_bytes, reserved_bytes) IS NOT NULL
), spans AS (
  SELECT max(1, (max(time_ns) - min(time_ns)) / 1000) AS bucket_ns, min(time_ns) AS start_ns FROM moments
)
SELECT moments.profile_id, name AS device,
  max(time_ns) - coalesce(:origin_ns, 0) AS at_ns, max(in_use_bytes) AS in_use_bytes,
  max(moments.reserved_bytes) AS reserved_bytes, max(fragmentation_ratio) AS fragmentation_ratio
FROM moments CROSS JOIN spans
JOIN temp._memory_names ON _memory_names.profile_id = moments.profile_id
  AND _memory_names.device_id IS moments.device_id AND _memory_names.allocator IS moments.allocator
GROUP BY moments.profile_id, moments.device_id, moments.allocator, (time_ns - start_ns) / bucket_ns
ORDER BY moments.profile_id, moments.device_id, moments.allocator, at_ns
