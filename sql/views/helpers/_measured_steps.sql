-- Measured steps: what the checks of devices measure in, and against.
--
-- One row for each step that is no warm-up and has recorded ops.  A profile with recorded ops in no step
-- has one for each step that is no warm-up.  A profile without steps, such as one of a CUDA program of another kind,
-- has one row for all of it: from the first launch or start on a device to the last end there.
--   profile_id  INTEGER  -   The profile: a process or rank.
--   step_id     INTEGER  -   The step, as in steps.  NULL where the profile has no steps, as in the rows of what ran in
--                            it.
--   dur_ns      INTEGER  ns  How long it is.  Where the host runs ahead of its devices this is steps.pace_ns.
--   weight      REAL     -   Number of steps that it stands for: steps.sample_weight, and 1 where ops were recorded in
--                            no step.
-- Cost: linear in steps.  One pass over device_activities where there are none.
-- Example: SELECT profile_id, sum(dur_ns * weight) / sum(weight) FROM _measured_steps GROUP BY 1;
WITH with_ops AS (
  SELECT profile_id FROM temp.steps WHERE ops_recorded = 1
), spans AS (
  SELECT profile_id, id AS step_id, coalesce(pace_ns, dur_ns) AS dur_ns,
    CASE WHEN ops_recorded = 1 THEN sample_weight ELSE 1.0 END AS weight
  FROM temp.steps
  WHERE is_warmup = 0 AND (ops_recorded = 1 AND sample_weight IS NOT NULL
    OR profile_id NOT IN (SELECT profile_id FROM with_ops))
  UNION ALL
  SELECT without_steps.id, NULL, max(end_ns) - min(min(start_ns), coalesce(min(launch_ns), min(start_ns))), 1.0
  FROM (SELECT id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM temp.steps)) AS without_steps
  CROSS JOIN temp.device_activities AS activities ON activities.profile_id = without_steps.id
  GROUP BY without_steps.id
)
SELECT
  profile_id AS profile_id,
  step_id AS step_id,
  dur_ns AS dur_ns,
  weight AS weight
FROM spans
ORDER BY profile_id, step_id
