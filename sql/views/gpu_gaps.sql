-- Gaps of devices: the moments in which nothing ran, the longest first, with what came next and who launched it.
--
-- One row for each stretch of at least 10 µs between the end of all kernels, copies and fills so far on a device and
-- the start of the next.  Everything counts, warm-up too.
--   profile_id, rank, device_id
--   start_ms                from the start of the run
--   gap_ns                  how long nothing ran
--   reason                  host: what came next was launched after the gap had begun; device: it had been waiting
--   next_name, next_op      what came next; the op that launched it
--   step_id                 the step that launched it
--   activity_id             joins device_activities.id
-- Cost: one pass over device_activities.  Example: SELECT start_ms, gap_ns, next_op FROM gpu_gaps LIMIT 10;
WITH gaps AS (
  SELECT id, profile_id, device_id, start_ns, start_ns - device_idle_ns AS busy_until_ns, device_idle_ns, name,
    launch_ns, op_id, step_id
  FROM temp.device_activities WHERE device_idle_ns >= 10000
)
SELECT
  gaps.profile_id AS profile_id,
  profiles.rank AS rank,
  gaps.device_id AS device_id,
  (gaps.busy_until_ns - runs.start_ns) / 1e6 AS start_ms,
  gaps.device_idle_ns AS gap_ns,
  CASE WHEN gaps.launch_ns > gaps.busy_until_ns THEN 'host' WHEN gaps.launch_ns IS NOT NULL THEN 'device' END
    AS reason,
  gaps.name AS next_name,
  ops.name AS next_op,
  gaps.step_id AS step_id,
  gaps.id AS activity_id
FROM gaps
JOIN temp.profiles AS profiles ON profiles.id = gaps.profile_id
JOIN temp.runs AS runs ON runs.id = profiles.run_id
LEFT JOIN temp.ops AS ops ON ops.id = gaps.op_id
ORDER BY gap_ns DESC, activity_id
