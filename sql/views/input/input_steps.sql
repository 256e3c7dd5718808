-- Input by step: how long each step waited for its input.
--
-- One row for each measured step (no warm-up) of a profile that has input_events.  Of XPlane files there is one for
-- every such step, and of TensorFlow in a capture one for each in windows of its profiler.  In both cases steps are cut
-- as the profiler of TensorFlow cuts them (_step_parts).  That profiler takes copies by GPUs for computing, and so has
-- input_ns for its input.
--   profile_id   INTEGER  -      The profile: a process or rank.
--   host         TEXT     -      Host that it ran on.
--   rank         INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_id      INTEGER  -      The step, as in steps.
--   number       INTEGER  -      Number of the step.
--   name         TEXT     -      Name of the step.
--   dur_ns       INTEGER  ns     Duration of the step without what recording took (steps.net_ns).  It is steps.pace_ns
--                                where the host runs ahead.
--   input_ns     INTEGER  ns     Time of waiting for input: the outermost input_events on the thread of the step.
--                                Recording of ops in them is not in it.  In steps cut as by the profiler of TensorFlow
--                                it is the time in which nothing ran that counts for another part of the step.
--   input_ratio  REAL     ratio  Share of input_ns in dur_ns.
--   copy_ns      INTEGER  ns     Time of copies to devices in steps cut as by the profiler of TensorFlow.  XProf counts
--                                them as input, too (xprof_step_breakdown).  NULL in other steps.
--   untold_ns    INTEGER  ns     Time that nothing recorded tells of, which is reading or Python, in steps cut as by
--                                the profiler of TensorFlow.  NULL in other steps.
--   weight       REAL     -      Number of steps that it stands for.  Above 1 where TensorFlow knows the input of some
--                                steps in windows.
-- Cost: linear in steps and input_events, or that of _step_parts.
-- Example: SELECT number, input_ratio FROM input_steps LIMIT 10;
WITH input_time AS (
  SELECT step_id, thread_id, CAST(sum(1.0 * dur_ns) AS INTEGER) AS input_ns
  FROM temp.input_events WHERE parent_id IS NULL AND step_id IS NOT NULL GROUP BY step_id, thread_id
), waited AS (
  SELECT steps.profile_id AS profile_id, steps.id AS step_id, steps.number AS number, steps.name AS name,
    coalesce(steps.pace_ns, steps.net_ns) AS dur_ns,
    CAST(max(0, coalesce(input_time.input_ns, 0) - coalesce(recorded.cost_ns, 0)) AS INTEGER) AS input_ns,
    NULL AS copy_ns, NULL AS untold_ns, 1.0 AS weight
  FROM temp.steps AS steps
  LEFT JOIN input_time ON input_time.step_id = steps.id AND input_time.thread_id = steps.thread_id
  LEFT JOIN temp._loading_costs AS recorded ON recorded.step_id = steps.id AND recorded.thread_id = steps.thread_id
  WHERE steps.is_warmup = 0
    AND (steps.ops_recorded = 1 OR input_time.step_id IS NOT NULL -- else what it waited for is not known
      OR steps.profile_id NOT IN (SELECT profile_id FROM temp.profiler_windows))
    AND steps.profile_id IN (SELECT profile_id FROM temp.input_events
    WHERE profile_id NOT IN (SELECT id FROM temp.profiles WHERE is_xplane = 1 AND (origin <> 'tfprof'
      OR (has_framework(framework, 'tensorflow') AND NOT has_framework(framework, 'pytorch')))))
  UNION ALL
  SELECT parts.profile_id, parts.step_id, parts.number, parts.name, parts.dur_ns, parts.data_loader_ns,
    parts.input_ns - parts.data_loader_ns, parts.other_ns,
    iif(files.origin = 'tfprof', coalesce(marks.sample_weight, 1.0), 1.0)
  FROM temp._step_parts AS parts CROSS JOIN temp.profiles AS files ON files.id = parts.profile_id
  CROSS JOIN temp.steps AS marks ON marks.id = parts.step_id
  WHERE files.is_xplane = 1 AND marks.is_warmup = 0 AND (files.origin <> 'tfprof' OR (marks.ops_recorded = 1
    AND has_framework(files.framework, 'tensorflow') AND NOT has_framework(files.framework, 'pytorch')))
)
SELECT
  waited.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  waited.step_id AS step_id,
  waited.number AS number,
  waited.name AS name,
  waited.dur_ns AS dur_ns,
  waited.input_ns AS input_ns,
  1.0 * waited.input_ns / nullif(waited.dur_ns, 0) AS input_ratio,
  waited.copy_ns AS copy_ns,
  waited.untold_ns AS untold_ns,
  waited.weight AS weight
FROM waited JOIN temp.profiles AS profiles ON profiles.id = waited.profile_id
ORDER BY profile_id, number, step_id
