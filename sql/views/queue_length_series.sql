-- Queues of streams over time: the length after each launch and each start.
--
-- One row for each event of each stream; what counts is said in queue_length, of which this is the time series.
--   profile_id, rank, stream
--   time_ms              from the start of the run
--   queue_length         launched and not yet started
--   device_id, thread_id  joins devices.id and threads.id
-- Cost: one pass over device_activities, sorted.
-- Example: SELECT time_ms, queue_length FROM queue_length_series WHERE stream = 7;
WITH last_steps AS (
  SELECT profile_id, max(start_ns) AS start_ns FROM temp.steps
  WHERE origin = 'profiler' GROUP BY profile_id HAVING count(DISTINCT name) >= 2
), launches AS (
  SELECT activities.profile_id AS profile_id, activities.device_id AS device_id, activities.thread_id AS thread_id,
    activities.launch_ns AS launch_ns, activities.start_ns AS start_ns
  FROM temp.device_activities AS activities
  LEFT JOIN last_steps ON last_steps.profile_id = activities.profile_id
  WHERE activities.kind <> 'sync' AND activities.launch_ns IS NOT NULL AND activities.thread_id IS NOT NULL
    AND (last_steps.start_ns IS NULL OR activities.launch_ns < last_steps.start_ns)
    AND activities.api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
), events AS (
  SELECT profile_id, device_id, thread_id, launch_ns AS time_ns, 1 AS change FROM launches
  UNION ALL SELECT profile_id, device_id, thread_id, start_ns, -1 FROM launches
)
SELECT
  events.profile_id AS profile_id,
  profiles.rank AS rank,
  threads.stream AS stream,
  (events.time_ns - runs.start_ns) / 1e6 AS time_ms,
  sum(events.change) OVER (
    PARTITION BY events.thread_id ORDER BY events.time_ns, events.change DESC ROWS UNBOUNDED PRECEDING) AS queue_length,
  events.device_id AS device_id,
  events.thread_id AS thread_id
FROM events
JOIN temp.profiles AS profiles ON profiles.id = events.profile_id
JOIN temp.runs AS runs ON runs.id = profiles.run_id
JOIN temp.threads AS threads ON threads.id = events.thread_id
ORDER BY profile_id, device_id, stream, thread_id, events.time_ns, events.change DESC
