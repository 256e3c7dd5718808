-- Steps of several hosts side by side: where the time of each went to, and what took most of it.
--
-- One row for each step of each host, as the pod viewer of XProf has it.  Hosts are the profiles that were opened as
-- one run, and ranks are, too.  Steps that the hosts went through at the same time share a pod_step (_pod_step_members
-- says how they are found).  A step without a match on some host has no pod_step, and XProf hides it.
--   profile_id             INTEGER  -   The profile: a process or rank.
--   host                   TEXT     -   Host that it ran on.
--   rank                   INTEGER  -   Rank of the process.  NULL where it is unknown.
--   pod_step               INTEGER  -   Number of the steps that were taken together, from 0.  NULL where a host has no
--                                       such step.
--   step_id                INTEGER  -   The step of the host, as in steps.
--   number                 INTEGER  -   Number of this step on its host.
--   name                   TEXT     -   Name of the step of the host.
--   dur_ns                 INTEGER  ns  Duration of the step of the host.
--   device_compute_ns      INTEGER  ns  Time in which devices ran kernels or fills, as in _step_parts, like all
--                                       parts here.
--   device_to_device_ns    INTEGER  ns  Time in which devices copied within or between each other.
--   device_collectives_ns  INTEGER  ns  Time in which devices communicated.
--   host_compute_ns        INTEGER  ns  Time in which the host worked without compiling.
--   kernel_launch_ns       INTEGER  ns  Time in which the host launched work.
--   input_ns               INTEGER  ns  Time of input: loading data and copies to devices.
--   output_ns              INTEGER  ns  Time of output: copies from devices.
--   compile_ns             INTEGER  ns  Time in which the host compiled.
--   other_ns               INTEGER  ns  The rest of the step.
--   bottleneck             TEXT     -   The largest of these parts, without its _ns.  NULL where not all are known.
--   behind_ns              INTEGER  ns  How much longer it took than the step of the fastest host in the same pod_step.
--                                       NULL without a pod_step.
-- The parts are those of _step_parts, and differ from those of XProf in what that view says.  In XProf the copies
-- and fills of GPUs are device compute, and the newest versions leave out all of the host where there is a device.
-- Cost: that of _step_parts and of _pod_step_members.
-- Example: SELECT pod_step, host, dur_ns, bottleneck, behind_ns FROM xprof_pod_steps;
WITH sides AS ( -- of each step where it belongs, and its parts: grouped, since a join has no index before SQLite 3.41
  SELECT step_id, run_id, pod_step, position, NULL AS profile_id, NULL AS host, NULL AS rank, NULL AS number,
    NULL AS name, NULL AS dur_ns, NULL AS device_compute_ns, NULL AS device_to_device_ns,
    NULL AS device_collectives_ns, NULL AS host_compute_ns, NULL AS kernel_launch_ns, NULL AS input_ns,
    NULL AS output_ns, NULL AS compile_ns, NULL AS other_ns
  FROM temp._pod_step_members
  UNION ALL
  SELECT step_id, NULL, NULL, NULL, profile_id, host, rank, number, name, dur_ns, device_compute_ns,
    device_to_device_ns, device_collectives_ns, host_compute_ns, kernel_launch_ns, input_ns, output_ns, compile_ns,
    other_ns
  FROM temp._step_parts
), parts AS (
  SELECT step_id, max(run_id) AS run_id, max(pod_step) AS pod_step, max(position) AS position,
    max(profile_id) AS profile_id, max(host) AS host, max(rank) AS rank, max(number) AS number, max(name) AS name,
    max(dur_ns) AS dur_ns, max(device_compute_ns) AS device_compute_ns,
    max(device_to_device_ns) AS device_to_device_ns, max(device_collectives_ns) AS device_collectives_ns,
    max(host_compute_ns) AS host_compute_ns, max(kernel_launch_ns) AS kernel_launch_ns, max(input_ns) AS input_ns,
    max(output_ns) AS output_ns, max(compile_ns) AS compile_ns, max(other_ns) AS other_ns
  FROM sides GROUP BY step_id HAVING count(run_id) AND count(profile_id)
)
SELECT
  parts.profile_id AS profile_id,
  parts.host AS host,
  parts.rank AS rank,
  parts.pod_step AS pod_step,
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
  CASE max(parts.device_compute_ns, parts.device_to_device_ns, parts.device_collectives_ns,
      parts.host_compute_ns, parts.kernel_launch_ns, parts.input_ns, parts.output_ns, parts.compile_ns,
      parts.other_ns)
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
  iif(parts.pod_step IS NULL, NULL,
    parts.dur_ns - min(parts.dur_ns) OVER (PARTITION BY parts.run_id, parts.pod_step)) AS behind_ns
FROM parts
ORDER BY parts.run_id, parts.pod_step IS NULL, parts.pod_step, profile_id, parts.position, step_id
