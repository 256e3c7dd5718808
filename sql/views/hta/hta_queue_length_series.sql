-- Queues of streams over time: the length after each launch and each start.
--
-- One row for each event of each stream.  It is the time series of hta_queue_length, which says what counts.  Steps
-- without recorded launches (_thinned_steps) have no events.
--   profile_id    INTEGER  -  The profile: a process or rank.
--   rank          INTEGER  -  Rank of the process.  NULL where it is unknown.
--   stream        INTEGER  -  Number of the stream on its device.
--   time_ms       REAL     -  Time of the event from the start of the run, in ms.
--   queue_length  INTEGER  -  What is launched and not yet started after the event.
--   device_id     INTEGER  -  The device, as in devices.
--   thread_id     INTEGER  -  The stream, as in threads.
-- Cost: one pass over queue_events.
-- Example: SELECT time_ms, queue_length FROM hta_queue_length_series WHERE stream = 7;
WITH lanes AS MATERIALIZED (
  SELECT threads.id AS thread_id, threads.stream AS stream, profiles.rank AS rank, runs.start_ns AS run_ns
  FROM temp.threads AS threads
  JOIN temp.profiles AS profiles ON profiles.id = threads.profile_id
  JOIN temp.runs AS runs ON runs.id = profiles.run_id
)
SELECT
  events.profile_id AS profile_id,
  lanes.rank AS rank,
  lanes.stream AS stream,
  (events.time_ns - lanes.run_ns) / 1e6 AS time_ms,
  events.queue_length AS queue_length,
  events.device_id AS device_id,
  events.thread_id AS thread_id
FROM temp.queue_events AS events CROSS JOIN lanes ON lanes.thread_id = events.thread_id -- events are in order
ORDER BY events.id
