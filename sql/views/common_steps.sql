-- Common steps: the steps that all hosts of a run went through together, as long as the slowest of them took.
--
-- One row for each pod_step of pod_steps of the runs that have several hosts, where it is warm-up on none of them.
-- Such a step ends for all with its slowest host: step_statistics and overview count these for all hosts of a run.
--   run_id
--   pod_step                the number of the step, as in pod_steps
--   dur_ns                  how long the slowest host took, the whole step
--   slowest_profile_id      the profile of that host
--   min_dur_ns              how long the fastest took
-- XProf and TensorFlow's profiler take the time of several hosts' steps so, and their parts from one of the hosts.
-- Cost: that of pod_steps; nothing where each run has one host.
-- Example: SELECT pod_step, dur_ns, dur_ns - min_dur_ns AS spread_ns, slowest_profile_id FROM common_steps;
SELECT
  profiles.run_id AS run_id,
  pod.pod_step AS pod_step,
  max(pod.dur_ns) AS dur_ns,
  pod.profile_id AS slowest_profile_id,
  pod.min_dur_ns AS min_dur_ns
FROM (
  SELECT profile_id, step_id, pod_step, dur_ns, dur_ns - behind_ns AS min_dur_ns FROM temp.pod_steps
  -- Where each run has one host pod_steps is not begun; LIMIT keeps it from being taken into the join, which would.
  WHERE EXISTS (SELECT 1 FROM temp.process_groups WHERE host = 'ALL_HOSTS') AND pod_step IS NOT NULL
  LIMIT -1
) AS pod
JOIN temp.profiles AS profiles ON profiles.id = pod.profile_id
JOIN temp.steps AS steps ON steps.id = pod.step_id
WHERE profiles.run_id IN (SELECT run_id FROM temp.process_groups WHERE host = 'ALL_HOSTS')
GROUP BY profiles.run_id, pod.pod_step
HAVING total(steps.is_warmup) = 0
ORDER BY run_id, pod_step
