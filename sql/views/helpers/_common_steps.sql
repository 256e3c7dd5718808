-- Common steps: the steps that all hosts of a run went through together, as long as the slowest of them took.
--
-- One row for each pod_step of xprof_pod_steps, in runs that have several hosts, where it is warm-up on none of them.
-- Steps of XPlane files all count, as XProf counts them.  Such a step ends for all hosts with the slowest one.
-- xprof_step_statistics and xprof_overview count these for all hosts of a run.  XProf and the profiler of TensorFlow
-- take the time of several hosts so, and the parts of the time from one of the hosts.
--   run_id              INTEGER  -   The run, as in runs.
--   pod_step            INTEGER  -   Number of the step, as in xprof_pod_steps.
--   dur_ns              INTEGER  ns  Time that the slowest host took for the whole step, whatever was recorded of it.
--   slowest_profile_id  INTEGER  -   The profile of that host, as in profiles.
--   min_dur_ns          INTEGER  ns  Time that the fastest host took.
-- Cost: that of _pod_step_members.  Nothing where each run has one host.
-- Example: SELECT pod_step, dur_ns, dur_ns - min_dur_ns AS spread_ns, slowest_profile_id FROM _common_steps;
WITH several AS MATERIALIZED (
  SELECT DISTINCT run_id FROM temp._process_groups WHERE host = 'ALL_HOSTS'
), members AS (
  -- Where each run has one host this is not begun; LIMIT keeps it from being taken into the join, which would.
  SELECT run_id, profile_id, step_id, pod_step FROM temp._pod_step_members
  WHERE EXISTS (SELECT 1 FROM several) AND pod_step IS NOT NULL LIMIT -1
), timed AS ( -- as _step_parts has it
  SELECT members.run_id AS run_id, members.pod_step AS pod_step, members.profile_id AS profile_id,
    members.step_id AS step_id, CAST(sum(parts.sum_ns) AS INTEGER) AS dur_ns
  FROM members JOIN temp.step_segment_totals AS parts ON parts.step_id = members.step_id
  WHERE members.run_id IN (SELECT run_id FROM several)
  GROUP BY members.run_id, members.pod_step, members.profile_id, members.step_id
), ordered AS (
  SELECT timed.*, min(dur_ns) OVER (PARTITION BY run_id, pod_step) AS min_dur_ns FROM timed
)
SELECT
  ordered.run_id AS run_id,
  ordered.pod_step AS pod_step,
  max(ordered.dur_ns) AS dur_ns,
  ordered.profile_id AS slowest_profile_id,
  ordered.min_dur_ns AS min_dur_ns
FROM ordered JOIN temp.steps AS steps ON steps.id = ordered.step_id
JOIN temp.profiles AS profiles ON profiles.id = ordered.profile_id
GROUP BY ordered.run_id, ordered.pod_step
HAVING total(steps.is_warmup AND profiles.origin <> 'xplane') = 0
ORDER BY ordered.run_id, ordered.pod_step
