-- Causes of gaps: each moment in which nothing ran on a device, and what the host was at when it began.
--
-- One row for each stretch between the end of all kernels, copies and fills so far on a device and the start of the
-- next, however short.  gpu_gaps shows the longer ones for people; the checks of devices add them up.
-- Where work was recorded only in some steps, only the gaps within these are known: what lies before the first work of
-- a step that follows one which was not recorded (thinned_starts), or before what no step launched, is left out.
--   profile_id, device_id, step_id   the step that launched what came next
--   activity_id, op_id               what came next, joins device_activities.id; the op that launched it
--   busy_until_ns, gap_ns            when the gap began, and how long it was
--   reason                           what the device lacked: wait: the host waited for it in that moment (a call that
--                                    synchronises, a copy to the host that was done when its call returned), and so
--                                    had nothing ready when it ran dry; input: the host waited for input in the middle
--                                    of the gap; host: the call that launched what came next had not returned when the
--                                    gap began; device: it had, and what it launched had to wait for something else,
--                                    such as another stream; NULL where calls were not recorded
--   weight                           for how many steps it stands, as measured_steps has them; NULL where it is in none
--                                    of these, as in warm-up steps
-- Cost: one pass over device_activities, api_calls, transfers and input_events each, and what is not empty is sorted.
-- Example: SELECT reason, sum(gap_ns * weight) FROM gap_causes GROUP BY 1;
WITH thinned AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp.thinned_steps
), starts AS MATERIALIZED (
  SELECT device_id, step_id, start_ns FROM temp.thinned_starts
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), gaps AS MATERIALIZED (
  SELECT id, profile_id, device_id, step_id, op_id, start_ns - device_idle_ns AS busy_until_ns,
    device_idle_ns AS gap_ns, launch_end_ns
  FROM temp.device_activities WHERE device_idle_ns > 0 AND profile_id IN (SELECT profile_id FROM whole)
  UNION ALL
  SELECT id, profile_id, device_id, step_id, op_id, start_ns - device_idle_ns, device_idle_ns, launch_end_ns
  FROM temp.device_activities AS activities
  WHERE device_idle_ns > 0 AND profile_id IN (SELECT profile_id FROM thinned) AND step_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM starts
      WHERE starts.step_id = activities.step_id AND starts.device_id IS activities.device_id
        AND starts.start_ns >= activities.start_ns)
), waits AS (
  SELECT profile_id, start_ns, end_ns FROM temp.api_calls WHERE name GLOB '*Synchronize*'
  UNION ALL
  SELECT calls.profile_id, calls.start_ns, calls.end_ns
  FROM temp.transfers AS transfers CROSS JOIN temp.api_calls AS calls ON calls.id = transfers.api_call_id
  WHERE transfers.direction = 'DtoH' AND calls.end_ns >= transfers.end_ns
), moments AS ( -- a gap is looked at where it begins, against waits; and in its middle, against input
  SELECT profile_id, 1 AS is_wait, start_ns AS time_ns, end_ns AS until_ns, NULL AS id FROM waits
  UNION ALL
  SELECT profile_id, 0, start_ns, end_ns, NULL FROM temp.input_events
  UNION ALL
  SELECT profile_id, 1, busy_until_ns, NULL, id FROM gaps WHERE launch_end_ns > busy_until_ns
  UNION ALL
  SELECT profile_id, 0, busy_until_ns + gap_ns / 2, NULL, id FROM gaps
  WHERE launch_end_ns > busy_until_ns AND profile_id IN (SELECT profile_id FROM temp.input_events)
), seen AS (
  SELECT id, is_wait, time_ns, max(until_ns) OVER (
    PARTITION BY profile_id, is_wait ORDER BY time_ns, id ROWS UNBOUNDED PRECEDING) AS until_ns
  FROM moments
), found AS MATERIALIZED (
  SELECT id, max(is_wait) AS is_wait FROM seen WHERE id IS NOT NULL AND until_ns >= time_ns GROUP BY id
)
SELECT
  gaps.profile_id AS profile_id,
  gaps.device_id AS device_id,
  gaps.step_id AS step_id,
  gaps.id AS activity_id,
  gaps.op_id AS op_id,
  gaps.busy_until_ns AS busy_until_ns,
  gaps.gap_ns AS gap_ns,
  CASE WHEN gaps.id IN (SELECT id FROM found WHERE is_wait = 1) THEN 'wait'
    WHEN gaps.id IN (SELECT id FROM found WHERE is_wait = 0) THEN 'input'
    WHEN gaps.launch_end_ns > gaps.busy_until_ns THEN 'host' WHEN gaps.launch_end_ns IS NOT NULL THEN 'device' END
    AS reason,
  CASE WHEN steps.id IS NULL THEN -- the same as in measured_steps, by a look-up
    CASE WHEN gaps.profile_id NOT IN (SELECT profile_id FROM temp.steps) THEN 1.0 END
    WHEN steps.is_warmup = 1 THEN NULL WHEN steps.ops_recorded = 1 THEN steps.sample_weight
    WHEN gaps.profile_id NOT IN (SELECT profile_id FROM temp.steps WHERE ops_recorded = 1) THEN 1.0 END AS weight
FROM gaps
LEFT JOIN temp.steps AS steps ON steps.id = gaps.step_id
ORDER BY activity_id
