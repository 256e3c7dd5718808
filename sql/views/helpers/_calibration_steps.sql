-- Calibration steps: their work on devices was left out to see what recording it takes.
--
-- At first a recorder does not know what recording a launch takes of the program.  It leaves kernels, copies and calls
-- out of every other one of some of the first steps (capture_calibrated in diagnostics).  These count as warm-up, and
-- their time belongs to no share of the time of a device.  No other step is warm-up and has a sample_weight of 0.
--   profile_id  INTEGER  -   The profile: a process or rank.
--   step_id     INTEGER  -   The step, as in steps.
--   dur_ns      INTEGER  ns  Duration of the step.
-- Cost: one pass over steps.
-- Example: SELECT profile_id, count(*) FROM _calibration_steps GROUP BY 1;
SELECT profile_id AS profile_id, id AS step_id, dur_ns AS dur_ns
FROM temp.steps
WHERE is_warmup = 1 AND sample_weight = 0
ORDER BY profile_id, step_id
