-- Queues of streams over time: the length after each launch and each start.
--
-- One row for each event of each stream; what counts is said in queue_length, of which this is the time series.
-- Of steps whose launches were not recorded (thinned_steps) there are no events.
--   profile_id    INTEGER  -  Profile id.
--   rank          INTEGER  -  Rank.
--   stream        INTEGER  -  Stream.
--   time_ms       REAL     -  From the start of the run.
--   queue_length  INTEGER  -  Launched and not yet started.
--   device_id     INTEGER  -  Joins devices.id and threads.id.
--   thread_id     INTEGER  -  Joins devices.id and threads.id.
-- Cost: one pass over queue_events.
-- Example: SELECT time_ms, queue_length FROM queue_length_series WHERE stream = 7;
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
