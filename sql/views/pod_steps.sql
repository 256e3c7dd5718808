-- Steps of several hosts side by side: where the time of each went to, and what took most of it.
--
-- One row for each step of each host, as the pod viewer of XProf has it; hosts are the profiles that were opened as one
-- run, ranks too.  Steps that the hosts went through at the same time share a pod_step: the host with the shortest span
-- of steps leads, and the steps of each other host are shifted against its own, by one number for all of them, so that
-- most of their time overlaps; a step of which some host has none to match has no pod_step, and XProf hides it.  Times
-- of XPlane files are compared from the start of each profile, as XProf does, those of others by their clocks.
--   profile_id, host, rank
--   pod_step              the number of the steps that were taken together, from 0; NULL where a host has no such step
--   step_id, number, name, dur_ns   of the host's own step
--   device_compute_ns, device_to_device_ns, device_collectives_ns   work of devices, as in step_breakdown
--   host_compute_ns, kernel_launch_ns, compile_ns                   work of the host, as there
--   input_ns, output_ns, other_ns                                   waiting for input, copies from devices, the rest
--   bottleneck            the largest of these, without its _ns; NULL where not all are known
--   behind_ns             how much longer it took than the fastest host's step of the same pod_step
-- The parts are those of step_breakdown, and differ from XProf's in what that says: there the copies and fills of GPUs
-- are device compute, and the newest versions leave out all of the host where there is a device.
-- Cost: that of step_breakdown, and a sort of the steps for each host.
-- Example: SELECT pod_step, host, dur_ns, bottleneck, behind_ns FROM pod_steps;
WITH placed AS MATERIALIZED ( -- the steps of each host in their order, on a time that hosts share
  SELECT profiles.run_id AS run_id, profiles.host AS host, parts.*,
    steps.start_ns - iif(profiles.format = 'xplane', profiles.clock_offset_ns, 0) AS from_ns,
    steps.end_ns - iif(profiles.format = 'xplane', profiles.clock_offset_ns, 0) AS until_ns,
    row_number() OVER (PARTITION BY steps.profile_id ORDER BY steps.start_ns, steps.id) - 1 AS position
  FROM temp.step_breakdown AS parts CROSS JOIN temp.steps AS steps ON steps.id = parts.step_id
  JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
), spans AS (
  SELECT run_id, profile_id, row_number() OVER (
      PARTITION BY run_id ORDER BY max(until_ns) - min(from_ns), profile_id) AS by_span
  FROM placed GROUP BY run_id, profile_id
), leading AS MATERIALIZED (
  SELECT run_id, profile_id FROM spans WHERE by_span = 1
), moments AS ( -- of each other host, at which a step of it or of the leading host begins or ends
  SELECT placed.profile_id AS profile_id, from_ns AS at_ns, 1 AS own, 0 AS leader FROM placed
  UNION ALL
  SELECT profile_id, until_ns, -1, 0 FROM placed
  UNION ALL
  SELECT others.profile_id, placed.from_ns, 0, 1
  FROM leading JOIN placed ON placed.profile_id = leading.profile_id
    JOIN spans AS others ON others.run_id = leading.run_id
  UNION ALL
  SELECT others.profile_id, placed.until_ns, 0, -1
  FROM leading JOIN placed ON placed.profile_id = leading.profile_id
    JOIN spans AS others ON others.run_id = leading.run_id
), pieces AS ( -- from each such moment to the next: the steps that go on, by their places
  SELECT profile_id, lead(at_ns) OVER by_time - at_ns AS dur_ns,
    sum(own) OVER by_time AS in_own, sum(leader) OVER by_time AS in_leader,
    sum(max(leader, 0)) OVER by_time - sum(max(own, 0)) OVER by_time AS shift
  FROM moments
  WINDOW by_time AS (PARTITION BY profile_id ORDER BY at_ns, own + leader ROWS UNBOUNDED PRECEDING)
), overlaps AS (
  SELECT profile_id, shift, sum(1.0 * dur_ns) AS dur_ns
  FROM pieces WHERE in_own > 0 AND in_leader > 0 AND dur_ns > 0
  GROUP BY profile_id, shift
), shifts AS MATERIALIZED (
  SELECT profile_id, shift FROM (
    SELECT profile_id, shift,
      row_number() OVER (PARTITION BY profile_id ORDER BY dur_ns DESC, shift < 0, abs(shift)) AS choice
    FROM overlaps
  ) WHERE choice = 1
), hosts AS (
  SELECT run_id, count(*) AS count FROM spans GROUP BY run_id
), shifted AS ( -- a place of the leading host at which every host has a step is a step of all
  SELECT placed.*, placed.position + shifts.shift AS leader_position,
    coalesce(count(placed.position + shifts.shift) OVER (PARTITION BY placed.run_id, placed.position + shifts.shift)
      = hosts.count, 0) AS is_matched
  FROM placed JOIN hosts ON hosts.run_id = placed.run_id LEFT JOIN shifts ON shifts.profile_id = placed.profile_id
), matched AS (
  SELECT shifted.*, iif(is_matched,
    dense_rank() OVER (PARTITION BY run_id, is_matched ORDER BY leader_position) - 1, NULL) AS pod_step
  FROM shifted
)
SELECT
  matched.profile_id AS profile_id,
  matched.host AS host,
  matched.rank AS rank,
  matched.pod_step AS pod_step,
  matched.step_id AS step_id,
  matched.number AS number,
  matched.name AS name,
  matched.dur_ns AS dur_ns,
  matched.device_compute_ns AS device_compute_ns,
  matched.device_to_device_ns AS device_to_device_ns,
  matched.device_collectives_ns AS device_collectives_ns,
  matched.host_compute_ns AS host_compute_ns,
  matched.kernel_launch_ns AS kernel_launch_ns,
  matched.input_ns AS input_ns,
  matched.output_ns AS output_ns,
  matched.compile_ns AS compile_ns,
  matched.other_ns AS other_ns,
  CASE max(matched.device_compute_ns, matched.device_to_device_ns, matched.device_collectives_ns,
      matched.host_compute_ns, matched.kernel_launch_ns, matched.input_ns, matched.output_ns, matched.compile_ns,
      matched.other_ns)
    WHEN matched.output_ns THEN 'output'
    WHEN matched.kernel_launch_ns THEN 'kernel_launch'
    WHEN matched.input_ns THEN 'input'
    WHEN matched.host_compute_ns THEN 'host_compute'
    WHEN matched.device_to_device_ns THEN 'device_to_device'
    WHEN matched.device_compute_ns THEN 'device_compute'
    WHEN matched.device_collectives_ns THEN 'device_collectives'
    WHEN matched.compile_ns THEN 'compile'
    WHEN matched.other_ns THEN 'other'
  END AS bottleneck,
  iif(matched.pod_step IS NULL, NULL,
    matched.dur_ns - min(matched.dur_ns) OVER (PARTITION BY matched.run_id, matched.pod_step)) AS behind_ns
FROM matched
ORDER BY matched.run_id, matched.pod_step IS NULL, matched.pod_step, profile_id, matched.position, step_id
