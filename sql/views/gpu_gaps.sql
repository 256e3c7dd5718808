-- Gaps of devices: the moments in which nothing ran, the longest first, with what came next and who launched it.
--
-- One row for each stretch of at least 10 µs between the end of all kernels, copies and fills so far on a device and
-- the start of the next.  Everything counts, warm-up too; where work was recorded only in some steps, what is known of
-- these (gap_causes).
--   profile_id   INTEGER  -   Profile id.
--   rank         INTEGER  -   Rank.
--   device_id    INTEGER  -   Device id.
--   start_ms     REAL     -   From the start of the run.
--   gap_ns       INTEGER  ns  How long nothing ran.
--   reason       TEXT     -   What the device lacked, as in gap_causes: host: what came next had not been launched yet;
--                             wait: nor was it, for the host waited for the device; input: for it waited for input;
--                             device: it had been launched, and waited for something else.
--   next_name    TEXT     -   What came next; the op that launched it.
--   next_op      TEXT     -   What came next; the op that launched it.
--   step_id      INTEGER  -   The step that launched it.
--   activity_id  INTEGER  -   Joins device_activities.id.
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
