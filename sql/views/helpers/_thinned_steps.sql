-- Thinned steps: for how many steps each one stands where the work of devices was recorded only in some.
--
-- Kernels, copies, calls into CUDA and waits are recorded in every step, unless that would slow the program by more
-- than --overhead or exceed --max-gpu-rate.  Then they are recorded only in steps with recorded ops, and diagnostics
-- say so (capture_thinned).  Where the profiler of the framework records them (profiles.has_xplane_kernels) they are
-- those of its windows.  One row for each step of such a profile that stands for another number of steps than one.
-- The views that add up what devices did weigh by it, as those of ops do by ops.sample_weight, and state errors
-- (_sampled_steps).  What a device did before a step that follows one without recorded work is not known either
-- (_thinned_starts).
--   profile_id  INTEGER  -  The profile: a process or rank.
--   step_id     INTEGER  -  The step, as in steps.
--   weight      REAL     -  Number of steps that it stands for (steps.sample_weight).  0 where others stand for the
--                           step, also where its kernels were still recorded, and where it is warm-up outside of all
--                           windows.
--   has_work    INTEGER  -  1 where it has work on a device, else 0.  Where weight is 0, too, none was recorded though
--                           there was some, and what views state of such a step by itself, as _step_parts does, is
--                           not known of devices.
-- Cost: linear in steps and device_steps, where there is such a profile.
-- Example: SELECT count(*) FILTER (WHERE weight > 0) AS recorded, count(*) AS steps FROM _thinned_steps;
SELECT
  steps.profile_id AS profile_id,
  steps.id AS step_id,
  iif(steps.is_warmup = 1, 0.0, steps.sample_weight) AS weight,
  steps.id IN (SELECT step_id FROM temp.device_steps) AS has_work
FROM temp.profiles AS profiles CROSS JOIN temp.steps AS steps ON steps.profile_id = profiles.id
WHERE iif(steps.is_warmup = 1, profiles.has_xplane_kernels = 1 AND profiles.origin = 'tfprof'
    AND steps.ops_recorded = 0, steps.sample_weight <> 1)
  -- last, and with +: where all steps speak for themselves, what is wrong with a file need not be found out for this
  AND ((profiles.has_xplane_kernels = 1 AND profiles.origin = 'tfprof')
    OR +steps.profile_id IN (SELECT profile_id FROM temp.diagnostics
      WHERE reason = 'capture_thinned' AND table_name = 'kernels'))
ORDER BY profile_id, step_id
