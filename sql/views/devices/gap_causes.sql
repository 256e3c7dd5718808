-- Causes of gaps: each moment in which nothing ran on a device, and what the host was at when it began.
--
-- One row for each gap, however short: the time between the end of all kernels, copies and fills so far on a device and
-- the start of the next.  gpu_gaps shows the longer ones for people, and the checks of devices add them up.  Where work
-- was recorded only in some steps, only the gaps within these are known.  Left out is what lies before the first work
-- of a step that follows one which was not recorded (_thinned_starts), and before what no step launched.
--   profile_id     INTEGER  -   The profile: a process or rank.
--   device_id      INTEGER  -   The device, as in devices.
--   step_id        INTEGER  -   The step that launched what came next, as in steps.  NULL where no step did.
--   activity_id    INTEGER  -   What came next, as in device_activities.
--   op_id          INTEGER  -   The op that launched what came next, as in ops.  NULL where none was recorded.
--   busy_until_ns  INTEGER  ns  When the gap began.
--   gap_ns         INTEGER  ns  Length of the gap.
--   reason         TEXT     -   What the device lacked (device_activities.idle_reason).  wait: the host waited for the
--                               device when the gap began, and so had nothing ready when it ran dry.  It waits in a
--                               call that synchronises, or in a copy to the host that was done when its call returned.
--                               input: the host waited for input in the middle of the gap.  host: the call that
--                               launched what came next had not returned when the gap began.  device: it had returned,
--                               and what it launched had to wait for something else, such as another stream.  NULL
--                               where calls were not recorded.
--   weight         REAL     -   Number of steps that the step stands for, as in _measured_steps.  NULL where it is none
--                               of these, as a warm-up step.  1 in a profile without steps.
-- Cost: one pass over device_activities.
-- Example: SELECT reason, sum(gap_ns * weight) FROM gap_causes GROUP BY 1;
WITH weights AS MATERIALIZED ( -- as in _measured_steps
  SELECT id AS step_id, CASE WHEN is_warmup = 1 THEN NULL WHEN ops_recorded = 1 THEN sample_weight
    WHEN profile_id NOT IN (SELECT profile_id FROM temp.steps WHERE ops_recorded = 1) THEN 1.0 END AS weight
  FROM temp.steps
)
SELECT
  gaps.profile_id AS profile_id,
  gaps.device_id AS device_id,
  gaps.step_id AS step_id,
  gaps.id AS activity_id,
  gaps.op_id AS op_id,
  gaps.start_ns - gaps.device_idle_ns AS busy_until_ns,
  gaps.device_idle_ns AS gap_ns,
  gaps.idle_reason AS reason,
  CASE WHEN weights.step_id IS NOT NULL THEN weights.weight
    WHEN gaps.profile_id NOT IN (SELECT profile_id FROM temp.steps) THEN 1.0 END AS weight
FROM temp.device_activities AS gaps
LEFT JOIN weights ON weights.step_id = gaps.step_id
WHERE gaps.device_idle_ns > 0 AND gaps.is_device_gap_known = 1
ORDER BY activity_id
