-- Thinned starts: before which work of devices a gap is not known, since steps before it were not recorded.
--
-- One row for each step and device where work was recorded only in some steps (_thinned_steps) and the step before is
-- none of those that count.  So is there where the work of the step before was left out (_calibration_steps).  What the
-- step before launched may have run until then, so that a gap which ends here, or began before, is no idle time.  Views
-- and checks of gaps leave it out.  On devices that work on several streams the end of such work may lie in later gaps,
-- too, and nothing shows it.
--   profile_id  INTEGER  -   The profile of the step.
--   device_id   INTEGER  -   The device, as in devices.
--   step_id     INTEGER  -   The step with recorded work, as in steps.
--   start_ns    INTEGER  ns  Start of the first kernel, copy or fill that the step launched on the device.
-- Cost: one pass over steps where there is such a profile, and a look-up in device_steps for each of its steps.
-- Example: SELECT count(*) FROM _thinned_starts;
WITH left_out AS MATERIALIZED (
  SELECT profile_id, step_id FROM temp._thinned_steps WHERE weight = 0
  UNION ALL SELECT profile_id, step_id FROM temp._calibration_steps
), in_order AS (
  SELECT id AS step_id, lag(id) OVER (PARTITION BY profile_id ORDER BY start_ns, id) AS step_before
  FROM temp.steps WHERE profile_id IN (SELECT profile_id FROM left_out)
)
SELECT
  device_steps.profile_id AS profile_id,
  device_steps.device_id AS device_id,
  device_steps.step_id AS step_id,
  device_steps.start_ns AS start_ns
FROM in_order CROSS JOIN temp.device_steps AS device_steps ON device_steps.step_id = in_order.step_id
WHERE in_order.step_before IN (SELECT step_id FROM left_out)
ORDER BY profile_id, device_id, step_id
