-- Gaps of devices: the moments in which nothing ran, the longest first, with what came next and who launched it.
--
-- One row for each stretch of at least 10 µs between the end of all kernels, copies and fills so far on a device and the
-- start of the next.  Everything counts, warm-up too.
--   profile_id, rank, device_id
--   start_ms                from the start of the run
--   gap_ns                  how long nothing ran
--   reason                  host: what came next was launched after the gap had begun; device: it had been waiting
--   next_name, next_op      what came next; the op that launched it
--   step_id                 the step that launched it
--   activity_id             joins device_activities.id
-- Cost: a sort of device_activities.  Example: SELECT start_ms, gap_ns, next_op FROM gpu_gaps LIMIT 10;
WITH ordered AS (
  SELECT id, profile_id, device_id, start_ns, name, launch_ns, op_id, step_id,
    max(end_ns) OVER (PARTITION BY device_id ORDER BY start_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      AS busy_until_ns
  FROM temp.device_activities WHERE kind <> 'sync'
)
SELECT
  ordered.profile_id AS profile_id,
  profiles.rank AS rank,
  ordered.device_id AS device_id,
  (ordered.busy_until_ns - runs.start_ns) / 1e6 AS start_ms,
  ordered.start_ns - ordered.busy_until_ns AS gap_ns,
  CASE WHEN ordered.launch_ns > ordered.busy_until_ns THEN 'host' WHEN ordered.launch_ns IS NOT NULL THEN 'device' END
    AS reason,
  ordered.name AS next_name,
  ops.name AS next_op,
  ordered.step_id AS step_id,
  ordered.id AS activity_id
FROM ordered
JOIN temp.profiles AS profiles ON profiles.id = ordered.profile_id
JOIN temp.runs AS runs ON runs.id = profiles.run_id
LEFT JOIN temp.ops AS ops ON ops.id = ordered.op_id
WHERE ordered.start_ns - ordered.busy_until_ns >= 10000
ORDER BY gap_ns DESC, activity_id
