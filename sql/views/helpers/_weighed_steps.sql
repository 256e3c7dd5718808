-- Weighed steps: what the time of measured steps goes to, and for how many steps each of them stands.
--
-- One row for each step of _step_parts.  Those count that are measured: no warm-up, and every step of XPlane files, as
-- XProf counts them.  The columns are the parts of _step_parts that are added up over steps.  Only dur_ns,
-- input_ns, data_loader_ns, host_compute_ns, other_ns, marks_ns and outside_ns differ from it, by what recording took.
-- A part is NULL where it is not known there.
--   profile_id             INTEGER  -   The profile: a process or rank.
--   step_id                INTEGER  -   The step, as in steps.
--   is_measured            INTEGER  -   1 where the step counts for XProf: no warm-up, or a step of an XPlane file.
--   is_warmup              INTEGER  -   1 where the step is warm-up, as in steps.
--   dur_ns                 INTEGER  ns  Duration of the step, without what recording its ops took.
--   device_compute_ns      INTEGER  ns  Time in which devices ran kernels or fills.
--   device_to_device_ns    INTEGER  ns  Time of copies within and between devices.
--   device_collectives_ns  INTEGER  ns  Time of communication of devices and hosts.
--   host_compute_ns        INTEGER  ns  Time of the host without compiling, and without what recording took of it.
--   kernel_launch_ns       INTEGER  ns  Time of launching work.
--   input_ns               INTEGER  ns  Time of loading data and of copies to a device.
--   output_ns              INTEGER  ns  Time of copies from a device.
--   compile_ns             INTEGER  ns  Time of compiling while nothing else went on.
--   other_ns               INTEGER  ns  The rest of the step, without what recording took of it.
--   kernel_ns              INTEGER  ns  Time in which kernels ran, as the PyTorch TensorBoard plugin has it.
--   memcpy_ns              INTEGER  ns  Time of copies, as that plugin has it.
--   memset_ns              INTEGER  ns  Time of fills, as that plugin has it.
--   data_loader_ns         INTEGER  ns  Time of loading data, as that plugin has it.
--   marks_ns               INTEGER  ns  The part of host_compute_ns in marks, modules and Python frames, outside of
--                                       ops.
--   outside_ns             INTEGER  ns  The part of host_compute_ns and other_ns together that is time outside of ops.
--   host_weight            REAL     -   Number of steps that it stands for in host_compute_ns and other_ns, which ops
--                                       tell.  1 where every step has its ops.
--   device_weight          REAL     -   Number of steps that it stands for in all other parts, which the work of
--                                       devices tells.  Where windows of the profiler of the framework tell that work
--                                       (profiles.is_xplane), it is host_weight.
--   loader_weight          REAL     -   Number of steps that it stands for in data_loader_ns.  1 where that is known in
--                                       every step, and host_weight where windows of TensorFlow tell it.
-- Sums of parts times their weight speak for all steps.  _step_sums and xprof_step_statistics are such sums.
-- Cost: that of _step_parts and of host_steps.
-- Example: SELECT sum(kernel_ns * device_weight) FROM _weighed_steps;
WITH in_ops AS MATERIALIZED (
  SELECT step_id, op_recording_ns FROM temp.host_steps
  WHERE profile_id IN (SELECT profile_id FROM temp.steps WHERE recording_ns > 0)
), cuts AS (
  SELECT cut.*, steps.sample_weight AS host_weight, coalesce(in_ops.op_recording_ns, 0) AS op_cost_ns,
    coalesce(steps.recording_ns, 0) AS cost_ns, profiles.is_xplane AND profiles.origin = 'tfprof' AS is_in_windows,
    has_framework(profiles.framework, 'tensorflow') AND NOT has_framework(profiles.framework, 'pytorch')
      AS is_of_tensorflow, steps.is_warmup = 0 OR profiles.origin = 'xplane' AS is_measured,
    steps.is_warmup AS is_warmup,
    coalesce(min(in_loading.cost_ns, steps.recording_ns, cut.data_loader_ns, cut.input_ns), 0) AS in_loader_ns
  FROM temp._step_parts AS cut
  JOIN temp.steps AS steps ON steps.id = cut.step_id
  JOIN temp.profiles AS profiles ON profiles.id = cut.profile_id
  LEFT JOIN in_ops ON in_ops.step_id = cut.step_id
  LEFT JOIN temp._loading_costs AS in_loading ON in_loading.step_id = cut.step_id
    AND in_loading.thread_id = steps.thread_id
), outside AS ( -- what was paid between ops; devices may have been busy meanwhile, for which the time counts then
  SELECT cuts.*, min(max(cost_ns - max(op_cost_ns, in_loader_ns), 0), other_ns) AS other_cost_ns FROM cuts
), costs AS ( -- in ops, and in what is around them where that counts as the host's, as the program's own ranges do
  SELECT outside.*, min(cost_ns - in_loader_ns - other_cost_ns, host_compute_ns) AS compute_cost_ns FROM outside
), nets AS (
  SELECT costs.*, host_compute_ns - compute_cost_ns AS net_compute_ns, other_ns - other_cost_ns AS net_other_ns,
    -- what is left was paid in ops that loading data called, too
    coalesce(min(max(cost_ns - other_cost_ns - compute_cost_ns, in_loader_ns), data_loader_ns, input_ns), 0)
      AS loader_cost_ns
  FROM costs
)
SELECT
  cut.profile_id AS profile_id,
  cut.step_id AS step_id,
  cut.is_measured AS is_measured,
  cut.is_warmup AS is_warmup,
  cut.dur_ns - coalesce(cut.compute_cost_ns + cut.other_cost_ns, 0) - cut.loader_cost_ns AS dur_ns,
  cut.device_compute_ns AS device_compute_ns,
  cut.device_to_device_ns AS device_to_device_ns,
  cut.device_collectives_ns AS device_collectives_ns,
  cut.net_compute_ns AS host_compute_ns,
  cut.kernel_launch_ns AS kernel_launch_ns,
  cut.input_ns - cut.loader_cost_ns AS input_ns,
  cut.output_ns AS output_ns,
  cut.compile_ns AS compile_ns,
  cut.net_other_ns AS other_ns,
  cut.kernel_ns AS kernel_ns,
  cut.memcpy_ns AS memcpy_ns,
  cut.memset_ns AS memset_ns,
  cut.data_loader_ns - cut.loader_cost_ns AS data_loader_ns,
  max(cut.marks_ns - cut.compute_cost_ns, 0) AS marks_ns,
  min(max(cut.outside_ns - max(cut.cost_ns - max(cut.op_cost_ns, cut.in_loader_ns), 0), 0),
    cut.net_other_ns + cut.net_compute_ns) AS outside_ns,
  coalesce(cut.host_weight, 1.0) AS host_weight,
  coalesce(thinned.weight, iif(cut.is_in_windows, cut.host_weight, NULL), 1.0) AS device_weight,
  coalesce(iif(cut.is_in_windows AND cut.is_of_tensorflow, cut.host_weight, NULL), 1.0) AS loader_weight
FROM nets AS cut
LEFT JOIN temp._thinned_steps AS thinned ON thinned.step_id = cut.step_id
ORDER BY profile_id, step_id
