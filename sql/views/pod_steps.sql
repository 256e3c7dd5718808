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
WITH parts AS MATERIALIZED (
  SELECT * FROM temp.step_breakdown
), placed AS MATERIALIZED ( -- the steps of each host in their order, on a time that hosts share
  SELECT profiles.run_id AS run_id, steps.profile_id AS profile_id, steps.id AS step_id,
    steps.start_ns - iif(profiles.format = 'xplane', profiles.clock_offset_ns, 0) AS start_ns,
    steps.end_ns - iif(profiles.format = 'xplane', profiles.clock_offset_ns, 0) AS end_ns,
    row_number() OVER (PARTITION BY steps.profile_id ORDER BY steps.start_ns, steps.id) - 1 AS position
  FROM temp.steps AS steps JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
  WHERE steps.id IN (SELECT step_id FROM parts)
), spans AS (
  SELECT run_id, profile_id, row_number() OVER (
      PARTITION BY run_id ORDER BY max(end_ns) - min(start_ns), profile_id) AS by_span
  FROM placed GROUP BY run_id, profile_id
), leading AS MATERIALIZED (
  SELECT run_id, profile_id FROM spans WHERE by_span = 1
), moments AS ( -- of each other host, at which a step of it or of the leading host begins or ends
  SELECT placed.profile_id AS profile_id, start_ns AS at_ns, 1 AS own, 0 AS leader FROM placed
  UNION ALL
  SELECT profile_id, end_ns, -1, 0 FROM placed
  UNION ALL
  SELECT others.profile_id, placed.start_ns, 0, 1
  FROM leading JOIN placed ON placed.profile_id = leading.profile_id
    JOIN spans AS others ON others.run_id = leading.run_id
  UNION ALL
  SELECT others.profile_id, placed.end_ns, 0, -1
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
), matched AS MATERIALIZED (
  SELECT run_id, leader_position, row_number() OVER (PARTITION BY run_id ORDER BY leader_position) - 1 AS pod_step
  FROM (
    SELECT placed.run_id AS run_id, placed.position + shifts.shift AS leader_position
    FROM placed JOIN shifts ON shifts.profile_id = placed.profile_id
      JOIN hosts ON hosts.run_id = placed.run_id
    GROUP BY placed.run_id, placed.position + shifts.shift HAVING count(*) = max(hosts.count)
  )
)
SELECT
  parts.profile_id AS profile_id,
  profiles.host AS host,
  parts.rank AS rank,
  matched.pod_step AS pod_step,
  parts.step_id AS step_id,
  parts.number AS number,
  parts.name AS name,
  parts.dur_ns AS dur_ns,
  parts.device_compute_ns AS device_compute_ns,
  parts.device_to_device_ns AS device_to_device_ns,
  parts.device_collectives_ns AS device_collectives_ns,
  parts.host_compute_ns AS host_compute_ns,
  parts.kernel_launch_ns AS kernel_launch_ns,
  parts.input_ns AS input_ns,
  parts.output_ns AS output_ns,
  parts.compile_ns AS compile_ns,
  parts.other_ns AS other_ns,
  CASE max(parts.device_compute_ns, parts.device_to_device_ns, parts.device_collectives_ns, parts.host_compute_ns,
      parts.kernel_launch_ns, parts.input_ns, parts.output_ns, parts.compile_ns, parts.other_ns)
    WHEN parts.output_ns THEN 'output'
    WHEN parts.kernel_launch_ns THEN 'kernel_launch'
    WHEN parts.input_ns THEN 'input'
    WHEN parts.host_compute_ns THEN 'host_compute'
    WHEN parts.device_to_device_ns THEN 'device_to_device'
    WHEN parts.device_compute_ns THEN 'device_compute'
    WHEN parts.device_collectives_ns THEN 'device_collectives'
    WHEN parts.compile_ns THEN 'compile'
    WHEN parts.other_ns THEN 'other'
  END AS bottleneck,
  iif(matched.pod_step IS NULL, NULL,
    parts.dur_ns - min(parts.dur_ns) OVER (PARTITION BY placed.run_id, matched.pod_step)) AS behind_ns
FROM parts
JOIN temp.profiles AS profiles ON profiles.id = parts.profile_id
JOIN placed ON placed.step_id = parts.step_id
LEFT JOIN shifts ON shifts.profile_id = parts.profile_id
LEFT JOIN matched ON matched.run_id = placed.run_id AND matched.leader_position = placed.position + shifts.shift
ORDER BY placed.run_id, matched.pod_step IS NULL, matched.pod_step, profile_id, placed.position, step_id
