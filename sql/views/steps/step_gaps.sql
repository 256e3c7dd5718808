-- Time between steps: what passes after the step before has ended, until a step begins.
--
-- One row for each measured step (no warm-up, none that a hang made long: _hung_steps).  The number of steps a second
-- that a loop makes follows from it: marks of 200 µs that come every 2 ms are 500 steps a second, not 5,000.
--   profile_id  INTEGER  -   The profile: a process or rank.
--   step_id     INTEGER  -   The step, as in steps.
--   number      INTEGER  -   Number of the step.
--   taken_ns    INTEGER  ns  How long it takes, evaluation in it included: steps.net_ns, or training_ns where the host
--                            runs ahead of its devices.  That is its pace (steps.pace_ns).
--   gap_ns      INTEGER  ns  Time from the end of all steps before it until it begins, without steps.paused_ns, which
--                            the recorder took.  Where the host runs ahead, the steps before end with their work on
--                            devices, and with the host where that work was not recorded (_thinned_steps).  Where steps
--                            of several threads overlap, it is below 0 by what they have in common.  NULL where the
--                            step before it by number is not among them, so that others may lie between.  NULL where
--                            each step was recorded by itself (steps.origin is session), since mostly the work of the
--                            recorder passes there.  NULL between batches of requests (serving), which come as they are
--                            asked for.
-- Cost: a sort of the measured steps. device_steps of profiles with a host that runs ahead. Example: SELECT
-- profile_id, 1e9 / (avg(taken_ns) + avg(gap_ns)) FROM step_gaps GROUP BY profile_id;
WITH worked AS (
  SELECT steps.id AS step_id, max(device_steps.end_ns) AS end_ns
  FROM temp.steps AS steps CROSS JOIN temp.device_steps AS device_steps ON device_steps.step_id = steps.id
  WHERE steps.pace_ns IS NOT NULL AND steps.is_warmup = 0 GROUP BY steps.id
), measured AS (
  SELECT steps.profile_id AS profile_id, steps.id AS step_id, steps.number AS number, steps.start_ns AS start_ns,
    max(steps.net_ns, steps.training_ns) AS taken_ns,
    max(steps.end_ns, coalesce(worked.end_ns, steps.end_ns)) AS end_ns, steps.pace_ns IS NOT NULL AS runs_ahead,
    coalesce(steps.paused_ns, 0) AS paused_ns, coalesce(steps.origin IN ('session', 'serving'), 0) AS is_alone
  FROM temp.steps AS steps LEFT JOIN worked ON worked.step_id = steps.id
  WHERE steps.is_warmup = 0 AND steps.is_hung IS NOT 1
), ordered AS (
  SELECT measured.*, number - lag(number) OVER before AS distance, start_ns - max(end_ns) OVER (PARTITION BY profile_id
    ORDER BY start_ns, step_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns
  FROM measured WINDOW before AS (PARTITION BY profile_id ORDER BY start_ns, step_id)
)
SELECT
  profile_id AS profile_id,
  step_id AS step_id,
  number AS number,
  taken_ns AS taken_ns,
  CASE WHEN distance BETWEEN 0 AND 1 AND NOT is_alone THEN
    max(gap_ns - max(0, min(gap_ns, paused_ns)), iif(runs_ahead, 0, -taken_ns)) END AS gap_ns
FROM ordered
ORDER BY profile_id, start_ns, step_id
