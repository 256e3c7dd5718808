-- Queues of streams over time: the length after each launch and each start.
--
-- One row for each event of each stream; what counts is said in queue_length, of which this is the time series.
--   profile_id, rank, stream
--   time_ms              from the start of the run
--   queue_length         launched and not yet started
--   device_id, thread_id  joins devices.id and threads.id
-- Cost: two passes over device_activities, in two orders.
-- Example: SELECT time_ms, queue_length FROM queue_length_series WHERE stream = 7;
WITH last_steps AS (
  SELECT profile_id, max(start_ns) AS start_ns FROM temp.steps
  WHERE origin = 'profiler' GROUP BY profile_id HAVING count(DISTINCT name) >= 2
), lanes AS MATERIALIZED (
  SELECT threads.id AS thread_id, threads.stream AS stream, profiles.rank AS rank, runs.start_ns AS run_ns,
    last_steps.start_ns AS last_ns
  FROM temp.threads AS threads
  JOIN temp.profiles AS profiles ON profiles.id = threads.profile_id
  JOIN temp.runs AS runs ON runs.id = profiles.run_id
  LEFT JOIN last_steps ON last_steps.profile_id = threads.profile_id
), events AS ( -- both halves come in the order in which they are counted, and are merged
  SELECT activities.profile_id AS profile_id, lanes.rank AS rank, activities.device_id AS device_id,
    lanes.stream AS stream,
    activities.thread_id AS thread_id, lanes.run_ns AS run_ns, activities.launch_ns AS time_ns,
    1 AS change
  FROM temp.device_activities AS activities CROSS JOIN lanes
  WHERE lanes.thread_id = activities.thread_id AND activities.kind <> 'sync' AND activities.launch_ns IS NOT NULL
    AND (lanes.last_ns IS NULL OR activities.launch_ns < lanes.last_ns)
    AND activities.api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
  UNION ALL
  SELECT activities.profile_id, lanes.rank, activities.device_id, lanes.stream,
    activities.thread_id, lanes.run_ns, activities.start_ns,
    -1
  FROM temp.device_activities AS activities CROSS JOIN lanes
  WHERE lanes.thread_id = activities.thread_id AND activities.kind <> 'sync' AND activities.launch_ns IS NOT NULL
    AND (lanes.last_ns IS NULL OR activities.launch_ns < lanes.last_ns)
    AND activities.api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
)
SELECT
  profile_id AS profile_id,
  rank AS rank,
  stream AS stream,
  (time_ns - run_ns) / 1e6 AS time_ms,
  sum(change) OVER in_order AS queue_length,
  device_id AS device_id,
  thread_id AS thread_id
FROM events
WINDOW in_order AS (PARTITION BY profile_id, device_id, thread_id ORDER BY time_ns, change DESC ROWS UNBOUNDED PRECEDING)
ORDER BY profile_id, device_id, thread_id, time_ns, change DESC
