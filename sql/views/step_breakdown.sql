-- Steps in parts: what the time of each step went to, one thing at a time.
--
-- One row for each step, cut as the overview of the PyTorch TensorBoard plugin cuts it (see the table step_segments): a
-- step reaches to the end of its work on devices, and of all that goes on at a moment only the first of kernel, memcpy,
-- memset, communication, runtime, data_loader and cpu counts.  Communication is all of NCCL's kernels and all ops
-- nccl:* and gloo:*; the plugin knows broadcast, reduce, all_reduce, all_gather and reduce_scatter only.  Steps at the
-- end whose work was not recorded to its end are left out; warm-up counts.  Of a capture's steps whose ops were not
-- recorded it is not known what the host did: cpu_ns and rest_ns, and the same under other names, are NULL; where the
-- work of devices was not recorded either (thinned_steps), and of calibration_steps, all but dur_ns and data_loader_ns
-- is; data_loader_ns, too, where TensorFlow recorded its ops in windows, which wait for tf.data.
--
-- Sources that number their steps, as XPlane does, are cut as TensorFlow 2's profiler cuts them, and no step is left
-- out.  cpu_ns is what a step caused on the host, on any thread, marks without length of what is handed to thread pools
-- until the next op of the step has ended; data_loader_ns is waiting for the next element of the input pipeline, before
-- communication; runtime_ns is launching, executors included where there is a device.  The profiler takes copies by
-- GPUs, fills too, for device compute (here input_ns, output_ns, device_to_device_ns), newer ones leave out all of the
-- host where there is a device, and of several hosts it shows only the steps that overlap.  Nothing ever fills its
-- category Compilation: what tf.function, XLA and JAX mark as compiling it shows as compute of the host, so that its
-- Host compute is host_compute_ns and compile_ns together; the other categories are the same.
--   profile_id             INTEGER  -   Profile id.
--   host                   TEXT     -   Host.
--   rank                   INTEGER  -   Rank.
--   step_id                INTEGER  -   Step id.
--   number                 INTEGER  -   Number.
--   name                   TEXT     -   Name.
--   dur_ns                 INTEGER  ns  Dur ns.
--   kernel_ns              INTEGER  ns  The parts.
--   memcpy_ns              INTEGER  ns  The parts.
--   memset_ns              INTEGER  ns  The parts.
--   communication_ns       INTEGER  ns  The parts.
--   runtime_ns             INTEGER  ns  The parts.
--   data_loader_ns         INTEGER  ns  The parts.
--   cpu_ns                 INTEGER  ns  The parts.
--   rest_ns                INTEGER  ns  The parts.
--   device_compute_ns      INTEGER  ns  Kernels and fills; copies within and between devices; communication.
--   device_to_device_ns    INTEGER  ns  Kernels and fills; copies within and between devices; communication.
--   device_collectives_ns  INTEGER  ns  Kernels and fills; copies within and between devices; communication.
--   host_compute_ns        INTEGER  ns  Cpu without compiling; runtime.
--   kernel_launch_ns       INTEGER  ns  Cpu without compiling; runtime.
--   input_ns               INTEGER  ns  Data loading and copies to a device; copies from a device.
--   output_ns              INTEGER  ns  Data loading and copies to a device; copies from a device.
--   compile_ns             INTEGER  ns  Compiling (compilations) while none of the others went on; the plugin, and so
--                                       cpu_ns, has it as cpu.
--   other_ns               INTEGER  ns  Rest_ns under the name of TensorFlow.
--   marks_ns               INTEGER  ns  Of cpu_ns, which both profilers count so, in what the program marked, in
--                                       modules and Python frames while no op ran.
--   outside_ns             INTEGER  ns  Of cpu_ns and rest_ns together, what step_op_time and the check host_bound have
--                                       as time outside of ops, with what recording took there; where devices worked no
--                                       more of it than is rest or in marks, since their work counts first.  Where that
--                                       is not known, rest and marks.  run_summary, overview and the page cut the host
--                                       by this one.
-- Cost: one pass over step_segment_totals, over host_steps and over counters.
-- Example: SELECT number, kernel_ns, data_loader_ns FROM step_breakdown;
WITH sums AS (
  SELECT step_id, category, sum_ns AS dur_ns FROM temp.step_segment_totals
), on_host AS MATERIALIZED (
  SELECT step_id, op_recording_ns, outside_ns FROM temp.host_steps
), without_ops AS (
  SELECT id FROM temp.steps
  WHERE ops_recorded = 0 AND profile_id IN (SELECT profile_id FROM temp.counters WHERE name = 'capture_ops_recorded'
    UNION SELECT profile_id FROM temp.profiler_windows)
), without_work AS (
  SELECT step_id FROM temp.thinned_steps WHERE weight = 0 AND NOT has_work
  UNION ALL SELECT id FROM temp.steps WHERE is_warmup = 1 AND sample_weight = 0 -- calibration_steps
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
