-- Gaps of devices: the moments in which nothing ran, the longest first, with what came next and who launched it.
--
-- One row for each gap of at least 10 µs: the time between the end of all kernels, copies and fills so far on a device
-- and the start of the next.  Everything counts, warm-up too.  Where work was recorded only in some steps, there is
-- what is known of these (gap_causes).
--   profile_id   INTEGER  -   The profile: a process or rank.
--   rank         INTEGER  -   Rank of the process.  NULL where it is unknown.
--   device_id    INTEGER  -   The device, as in devices.
--   start_ms     REAL     -   When the gap began, in milliseconds since the start of the run.
--   gap_ns       INTEGER  ns  Length of the gap.
--   reason       TEXT     -   What the device lacked, as in gap_causes.  host: what came next had not been launched
--                             yet.  wait: it had not been launched, for the host waited for the device.  input: it had
--                             not been launched, for the host waited for input.  device: it had been launched, and
--                             waited for something else.  NULL where calls were not recorded.
--   next_name    TEXT     -   Name of the kernel, copy or fill that came next.
--   next_op      TEXT     -   Name of the op that launched what came next.  NULL where none was recorded.
--   step_id      INTEGER  -   The step that launched what came next, as in steps.  NULL where no step did.
--   activity_id  INTEGER  -   What came next, as in device_activities.
-- Cost: that of gap_causes.  Example: SELECT start_ms, gap_ns, next_op FROM gpu_gaps LIMIT 10;
SELECT
  causes.profile_id AS profile_id,
  profiles.rank AS rank,
  causes.device_id AS device_id,
  (causes.busy_until_ns - runs.start_ns) / 1e6 AS start_ms,
  causes.gap_ns AS gap_ns,
  causes.reason AS reason,
  activities.name AS next_name,
  ops.name AS next_op,
  causes.step_id AS step_id,
  causes.activity_id AS activity_id
FROM temp.gap_causes AS causes
JOIN temp.device_activities AS activities ON activities.id = causes.activity_id
JOIN temp.profiles AS profiles ON profiles.id = causes.profile_id
JOIN temp.runs AS runs ON runs.id = profiles.run_id
LEFT JOIN temp.ops AS ops ON ops.id = causes.op_id
WHERE causes.gap_ns >= 10000
ORDER BY gap_ns DESC, activity_id
