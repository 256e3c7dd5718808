-- Step time as XProf divides it: what each step went to, by the categories of its overview and input pipeline pages.
--
-- One row for each step of _step_parts, warm-up too.  The parts from device_compute_ns to other_ns add up to dur_ns.
-- The profiler of TensorFlow takes copies by GPUs for device compute.  Its input there is input_ns without copies to
-- devices.  What recording took is in the parts.
--   profile_id             INTEGER  -   The profile: a process or rank.
--   host                   TEXT     -   Host that it ran on.
--   rank                   INTEGER  -   Rank of the process.  NULL where it is unknown.
--   step_id                INTEGER  -   The step, as in steps.
--   number                 INTEGER  -   Number of the step.
--   name                   TEXT     -   Name of the step.
--   dur_ns                 INTEGER  ns  Duration of the step.
--   device_compute_ns      INTEGER  ns  Time in which devices ran kernels or fills.
--   device_to_device_ns    INTEGER  ns  Time of copies within and between devices.
--   device_collectives_ns  INTEGER  ns  Time of communication of devices.
--   host_compute_ns        INTEGER  ns  Time of the host without compiling.
--   kernel_launch_ns       INTEGER  ns  Time of launching work.
--   input_ns               INTEGER  ns  Input as XProf counts it: loading data and copies to a device.
--   output_ns              INTEGER  ns  Output as XProf counts it: copies from a device.
--   compile_ns             INTEGER  ns  Time of compiling while nothing else went on.
--   other_ns               INTEGER  ns  All other time as XProf counts it: nothing that was recorded tells of it.
-- Cost: that of _step_parts.
-- Example: SELECT number, host_compute_ns, input_ns FROM xprof_step_breakdown;
SELECT
  profile_id AS profile_id,
  host AS host,
  rank AS rank,
  step_id AS step_id,
  number AS number,
  name AS name,
  dur_ns AS dur_ns,
  device_compute_ns AS device_compute_ns,
  device_to_device_ns AS device_to_device_ns,
  device_collectives_ns AS device_collectives_ns,
  host_compute_ns AS host_compute_ns,
  kernel_launch_ns AS kernel_launch_ns,
  input_ns AS input_ns,
  output_ns AS output_ns,
  compile_ns AS compile_ns,
  other_ns AS other_ns
FROM temp._step_parts
ORDER BY profile_id, number, step_id
