-- Calibration steps: whose work on devices was left out, to see what recording it takes.
--
-- A recorder that does not know yet what recording a launch takes of the program leaves kernels, copies and calls out
-- of every other one of some of the first steps (capture_calibrated in diagnostics).  They count as warm-up, and their
-- time belongs to no share of a device's time.
--   profile_id  INTEGER  -   How long the step took.
--   step_id     INTEGER  -   How long the step took.
--   dur_ns      INTEGER  ns  How long the step took.
-- They are the only steps that are warm-up and have a sample_weight of 0.
-- Cost: one pass over steps.
-- Example: SELECT profile_id, count(*) FROM calibration_steps GROUP BY 1;
SELECT profile_id AS profile_id, id AS step_id, dur_ns AS dur_ns
FROM temp.steps
WHERE is_warmup = 1 AND sample_weight = 0
ORDER BY profile_id, step_id
