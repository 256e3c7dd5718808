-- Memory, before and after
-- The most that was in use in each step.
-- page: compare 50
-- chart: compare
-- x: number
-- label: device
-- value: peak_bytes
-- empty: Memory was not recorded.
SELECT moments.profile_id, run_id, number, is_warmup, coalesce(device, moments.allocator, '?') AS device,
  max(device_bytes) AS peak_bytes
FROM temp.memory_timeline AS moments JOIN temp.memory_events ON memory_events.id = event_id
JOIN temp.profiles ON profiles.id = moments.profile_id LEFT JOIN temp.steps ON steps.id = memory_events.step_id
WHERE :profile_id IS NULL OR moments.profile_id = :profile_id
GROUP BY moments.profile_id, steps.id, 5
ORDER BY run_id, moments.profile_id, number, 5 LIMIT 200000
