-- Queues of streams: how much launched work waits for its turn.
--
-- One row for each stream.  A launch makes the queue one longer when the launching call begins, and the start of the
-- kernel, copy or fill makes it one shorter.  At the same moment launches come first.  The statistics are of the length
-- after each such event, as in HTA.  A queue of 1024 is full, and the host waits.  Launches of whole device graphs do
-- not count, nor does what no recorded call launched.  What HTA leaves out is left out here, too
-- (hta_temporal_breakdown).  Where launches were recorded only in some steps, the statistics are of these as they are,
-- and full_ns is weighed step by step (_thinned_steps).
--   profile_id  INTEGER  -      The profile: a process or rank.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   stream      INTEGER  -      Number of the stream on its device.
--   count       INTEGER  count  Events: launches and starts.
--   mean        REAL     -      Mean length of the queue after an event.
--   stddev      REAL     -      Standard deviation of the length.
--   min         INTEGER  -      The shortest length.
--   p25         REAL     -      The length that a quarter of the events stay below.
--   p50         REAL     -      Median of the length.
--   p75         REAL     -      The length that three quarters of the events stay below.
--   max         INTEGER  -      The greatest length.
--   full_ns     INTEGER  ns     For how long 1024 or more were waiting.
--   device_id   INTEGER  -      The device, as in devices.
--   thread_id   INTEGER  -      The stream, as in threads.
-- Not weighed: count.  The lengths are those after the events that were recorded.
-- Cost: linear in queue_totals, once these are made.  Where launches were recorded only in some steps one pass over
-- device_activities.  Example: SELECT stream, mean, max FROM hta_queue_length;
WITH full_in_step AS (
  SELECT device_id, thread_id, max(sample_weight) AS weight, depth_ns(launch_ns, start_ns, 1024) AS full_ns
  FROM temp.device_activities AS activities
  WHERE kind <> 'sync' AND launch_ns IS NOT NULL AND thread_id IS NOT NULL
    AND activities.profile_id IN (SELECT profile_id FROM temp._thinned_steps)
    AND api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
  GROUP BY activities.profile_id, device_id, thread_id, activities.step_id
), weighed AS MATERIALIZED (
  SELECT device_id, thread_id, CAST(sum(full_ns * weight) AS INTEGER) AS full_ns
  FROM full_in_step GROUP BY device_id, thread_id
)
SELECT
  queues.profile_id AS profile_id,
  profiles.rank AS rank,
  threads.stream AS stream,
  queues.count AS count,
  queues.mean AS mean,
  queues.stddev AS stddev,
  queues.min AS min,
  queues.p25 AS p25,
  queues.median AS p50,
  queues.p75 AS p75,
  queues.max AS max,
  coalesce(weighed.full_ns, queues.full_ns) AS full_ns,
  queues.device_id AS device_id,
  queues.thread_id AS thread_id
FROM temp.queue_totals AS queues
JOIN temp.profiles AS profiles ON profiles.id = queues.profile_id
JOIN temp.threads AS threads ON threads.id = queues.thread_id
LEFT JOIN weighed ON weighed.thread_id = queues.thread_id AND weighed.device_id IS queues.device_id
ORDER BY profile_id, device_id, stream, thread_id
