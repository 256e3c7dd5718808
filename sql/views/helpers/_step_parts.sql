-- Parts of steps: what the time of each step went to, one thing at a time, by the names of every profiler.
--
-- One row for each step, cut as the overview of the PyTorch TensorBoard plugin cuts it (see the table step_segments).
-- A step reaches to the end of its work on devices.  At each moment only the first of what goes on counts: kernel,
-- memcpy, memset, communication, runtime, data_loader and cpu, in this order.  Communication is all of the kernels of
-- NCCL and all ops nccl:* and gloo:*.  The plugin knows broadcast, reduce, all_reduce, all_gather and reduce_scatter
-- only.  Steps at the end without recorded work to its end are left out, and warm-up counts.
-- What the host did is not known in steps of a capture without recorded ops: cpu_ns and rest_ns, and the same
-- under other names, are NULL.  Where the work of devices was not recorded either (_thinned_steps), and in
-- _calibration_steps, all but dur_ns and data_loader_ns is NULL.  data_loader_ns is NULL, too, where TensorFlow
-- recorded its ops in windows, which wait for tf.data.
--
-- Sources that number their steps, as XPlane does, are cut as the profiler of TensorFlow 2 cuts them, and no step is
-- left out.  cpu_ns is what a step caused on the host, on any thread, with marks without length of what is handed to
-- thread pools until the next op of the step has ended.  data_loader_ns is waiting for the next element of the input
-- pipeline, before communication.  runtime_ns is launching, executors included where there is a device.  The profiler
-- takes copies by GPUs, fills too, for device compute (here input_ns, output_ns, device_to_device_ns).  Newer ones
-- leave out all of the host where there is a device, and with several hosts it shows only the steps that overlap.
-- Nothing ever fills its category Compilation.  What tf.function, XLA and JAX mark as compiling it shows as compute of
-- the host, so that its Host compute is host_compute_ns and compile_ns together.  The other categories are the same.
--   profile_id             INTEGER  -   The profile: a process or rank.
--   host                   TEXT     -   Host that it ran on.
--   rank                   INTEGER  -   Rank of the process.  NULL where it is unknown.
--   step_id                INTEGER  -   The step, as in steps.
--   number                 INTEGER  -   Number of the step.
--   name                   TEXT     -   Name of the step.
--   dur_ns                 INTEGER  ns  Duration of the step to the end of its work on devices.
--   kernel_ns              INTEGER  ns  Time in which a kernel ran that is no communication.
--   memcpy_ns              INTEGER  ns  Time in which copies ran and no kernel did.
--   memset_ns              INTEGER  ns  Time in which fills ran, and none of the parts before.
--   communication_ns       INTEGER  ns  Time of communication, with none of the parts before.
--   runtime_ns             INTEGER  ns  Time of calls that launch work, with none of the parts before.
--   data_loader_ns         INTEGER  ns  Time of loading data, with none of the parts before.
--   cpu_ns                 INTEGER  ns  Time of all else on the host, with none of the parts before, compiling
--                                       included.
--   rest_ns                INTEGER  ns  The rest of the step, in which none of the parts went on.
--   device_compute_ns      INTEGER  ns  Time of kernels and fills: kernel_ns and memset_ns.
--   device_to_device_ns    INTEGER  ns  The part of memcpy_ns in copies within and between devices.
--   device_collectives_ns  INTEGER  ns  Time of communication under the name of TensorFlow: communication_ns.
--   host_compute_ns        INTEGER  ns  Time of the host without compiling: cpu_ns less compile_ns.
--   kernel_launch_ns       INTEGER  ns  Time of launching under the name of TensorFlow: runtime_ns.
--   input_ns               INTEGER  ns  Time of loading data and of copies to a device.
--   output_ns              INTEGER  ns  Time of copies from a device.
--   compile_ns             INTEGER  ns  Time of compiling (compilations) while none of the others went on.  The plugin,
--                                       and so cpu_ns, has it as cpu.
--   other_ns               INTEGER  ns  The rest under the name of TensorFlow: rest_ns.
--   marks_ns               INTEGER  ns  The part of cpu_ns in what the program marked, in modules and Python frames
--                                       while no op ran.  Both profilers count it as cpu.
--   outside_ns             INTEGER  ns  The part of cpu_ns and rest_ns together that is time outside of ops in
--                                       step_op_time and in the check host_bound.  What recording took there is in
--                                       it.  Where devices worked it is no more than rest and marks, since their work
--                                       counts first.  Where it is not known it is rest and marks.  It is the
--                                       part other of step_breakdown, run_summary, overview and the page.
-- Cost: one pass over step_segment_totals, over host_steps and over counters.
-- Example: SELECT number, kernel_ns, data_loader_ns FROM _step_parts;
WITH sums AS (
  SELECT step_id, category, sum_ns AS dur_ns FROM temp.step_segment_totals
), on_host AS MATERIALIZED (
  SELECT step_id, op_recording_ns, outside_ns FROM temp.host_steps
), without_ops AS (
  SELECT id FROM temp.steps
  WHERE ops_recorded = 0 AND profile_id IN (SELECT profile_id FROM temp.counters WHERE name = 'capture_ops_recorded'
    UNION SELECT profile_id FROM temp.profiler_windows)
), without_work AS (
  SELECT step_id FROM temp._thinned_steps WHERE weight = 0 AND NOT has_work
  UNION ALL SELECT id FROM temp.steps WHERE is_warmup = 1 AND sample_weight = 0 -- _calibration_steps
), parts AS (
  SELECT step_id, CAST(sum(dur_ns) AS INTEGER) AS dur_ns,
    total(dur_ns) FILTER (WHERE category = 'kernel') AS kernel_ns,
    total(dur_ns) FILTER (WHERE category GLOB 'memcpy*') AS memcpy_ns,
    total(dur_ns) FILTER (WHERE category = 'memcpy_HtoD') AS to_device_ns,
    total(dur_ns) FILTER (WHERE category = 'memcpy_DtoH') AS from_device_ns,
    total(dur_ns) FILTER (WHERE category = 'memset') AS memset_ns,
    total(dur_ns) FILTER (WHERE category = 'communication') AS communication_ns,
    total(dur_ns) FILTER (WHERE category = 'runtime') AS runtime_ns,
    total(dur_ns) FILTER (WHERE category = 'data_loader') AS data_loader_ns,
    total(dur_ns) FILTER (WHERE category = 'compilation') AS compile_ns,
    total(dur_ns) FILTER (WHERE category IN ('cpu', 'mark')) AS cpu_ns,
    total(dur_ns) FILTER (WHERE category = 'other') AS rest_ns,
    total(dur_ns) FILTER (WHERE category = 'mark') AS marks_ns,
    step_id NOT IN (SELECT id FROM without_ops) AS has_ops,
    step_id NOT IN (SELECT step_id FROM without_work) AS has_work
  FROM sums GROUP BY step_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  steps.name AS name,
  parts.dur_ns AS dur_ns,
  iif(parts.has_work, CAST(parts.kernel_ns AS INTEGER), NULL) AS kernel_ns,
  iif(parts.has_work, CAST(parts.memcpy_ns AS INTEGER), NULL) AS memcpy_ns,
  iif(parts.has_work, CAST(parts.memset_ns AS INTEGER), NULL) AS memset_ns,
  iif(parts.has_work, CAST(parts.communication_ns AS INTEGER), NULL) AS communication_ns,
  iif(parts.has_work, CAST(parts.runtime_ns AS INTEGER), NULL) AS runtime_ns,
  iif(steps.ops_recorded = 0 AND profiles.is_xplane AND profiles.origin = 'tfprof' -- tf.data hands over within ops
    AND has_framework(profiles.framework, 'tensorflow') AND NOT has_framework(profiles.framework, 'pytorch'), NULL,
    CAST(parts.data_loader_ns AS INTEGER)) AS data_loader_ns,
  iif(parts.has_ops AND parts.has_work, CAST(parts.cpu_ns + parts.compile_ns AS INTEGER), NULL) AS cpu_ns,
  iif(parts.has_ops AND parts.has_work, CAST(parts.rest_ns AS INTEGER), NULL) AS rest_ns,
  iif(parts.has_work, CAST(parts.kernel_ns + parts.memset_ns AS INTEGER), NULL) AS device_compute_ns,
  iif(parts.has_work, CAST(parts.memcpy_ns - parts.to_device_ns - parts.from_device_ns AS INTEGER), NULL)
    AS device_to_device_ns,
  iif(parts.has_work, CAST(parts.communication_ns AS INTEGER), NULL) AS device_collectives_ns,
  iif(parts.has_ops AND parts.has_work, CAST(parts.cpu_ns AS INTEGER), NULL) AS host_compute_ns,
  iif(parts.has_work, CAST(parts.runtime_ns AS INTEGER), NULL) AS kernel_launch_ns,
  iif(NOT parts.has_work OR (steps.ops_recorded = 0 AND profiles.is_xplane AND profiles.origin = 'tfprof'
    AND has_framework(profiles.framework, 'tensorflow') AND NOT has_framework(profiles.framework, 'pytorch')), NULL,
    CAST(parts.data_loader_ns + parts.to_device_ns AS INTEGER)) AS input_ns,
  iif(parts.has_work, CAST(parts.from_device_ns AS INTEGER), NULL) AS output_ns,
  iif(parts.has_work, CAST(parts.compile_ns AS INTEGER), NULL) AS compile_ns,
  iif(parts.has_ops AND parts.has_work, CAST(parts.rest_ns AS INTEGER), NULL) AS other_ns,
  iif(parts.has_ops AND parts.has_work, CAST(parts.marks_ns AS INTEGER), NULL) AS marks_ns,
  iif(parts.has_ops AND parts.has_work, CAST(min(
    coalesce(on_host.outside_ns + coalesce(steps.recording_ns - on_host.op_recording_ns, 0), rest_ns + marks_ns),
    rest_ns + iif(kernel_ns + memcpy_ns + memset_ns > 0, marks_ns, cpu_ns)) AS INTEGER), NULL) AS outside_ns
FROM parts
JOIN temp.steps AS steps ON steps.id = parts.step_id
LEFT JOIN on_host ON on_host.step_id = parts.step_id
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
ORDER BY profile_id, steps.start_ns, step_id
