-- Steps that a hang made long, which checks and sums of steps leave out (steps.is_hung).
--
-- One row for each step that was going on when its process was found hanging (hangs) and nothing else went on in it.
-- The check hangs tells of their time.  Where a data loader was waited for, the check input_loading does.
--   profile_id  INTEGER  -   The profile: a process or rank.
--   step_id     INTEGER  -   The step, as in steps.
--   noticed_ns  INTEGER  ns  When the process was found hanging.
-- Cost: linear in the steps of processes that hung.  Next to nothing without hangs.
-- Example: SELECT number, dur_ns FROM steps WHERE id IN (SELECT step_id FROM _hung_steps);
SELECT
  steps.profile_id AS profile_id,
  steps.id AS step_id,
  hangs.noticed_ns AS noticed_ns
FROM temp.hangs AS hangs JOIN temp.steps AS steps
  ON steps.profile_id = hangs.profile_id AND steps.start_ns < hangs.noticed_ns AND steps.end_ns > hangs.noticed_ns
WHERE hangs.is_working = 0
ORDER BY hangs.noticed_ns, steps.id
