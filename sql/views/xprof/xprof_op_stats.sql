-- Op statistics: host and device time of each op in order of cost, as the TensorFlow 2 Profiler lists them.
--
-- One row for each profile, side and op, and for a run of several hosts one for all of them.  The side host is time on
-- the processor, and the side device is the time of the kernels that ops launched (none without a device).  On the host
-- one row IDLE says how long no op ran on the thread of the steps itself nor on one that runs the backward pass.  It
-- counts in no share.  The ops of measured steps count (no warm-up, ops recorded), without functions of Python, and all
-- ops in a profile without such steps.  They are weighed by ops.sample_weight.
--
-- In XPlane (profiles.is_xplane) it is what XProf lists, and in windows of a capture that is weighed and of measured
-- steps.  On the host there are ops and stages of the input pipeline of the whole recording, and their self time
-- without other such ones inside (ops.op_self_ns).  On the device there are kernels by the op that they name, with the
-- count of the most frequent kernel of each.  IDLE on each side is what is left of the time from its first to its last
-- row, summed over threads or devices.
-- XProf differs: allocations and launches that name an op are calls of it there, and the time of such launches is in
-- the total of the op twice.  It leaves out ops that XLA compiled.  Ops that only launches or allocations name have
-- rows there, and these stretch IDLE.  An op that ends with the one around it is lost, and so is one of two equal ones.
-- An op of a TPU has the category that XLA gave it as type.  The self time of a loop is without the ops in it, and IDLE
-- counts from the first step to the last.  XProf has the type Unknown there.  Its mode is always Function, and what is
-- not known of the roofline is NULL here.  Its shares with IDLE are self_ns over the sum of all rows of the side.  In
-- the profile of TensorFlow before XPlane the device has the nodes that ran there.
--   profile_id         INTEGER  -        The profile: a process or rank.  NULL in the row for all hosts.
--   host               TEXT     -        Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank               INTEGER  -        Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   position           INTEGER  -        Place by self_ns among the ops of its side, from 1.  NULL for IDLE.
--   side               TEXT     -        The side: host or device.
--   op_type            TEXT     -        Type of the op.  For frameworks without types of ops it is the name, and for
--                                        IDLE it is IDLE.
--   op                 TEXT     -        Name of the op, or IDLE.
--   framework          TEXT     -        Framework that the op is of.  NULL for IDLE.
--   count              INTEGER  count    Calls (weighed).  For IDLE it is the number of steps, and 0 in XPlane files.
--   sum_ns             INTEGER  ns       Time of all calls from start to end, with the ops inside (weighed).
--   mean_ns            INTEGER  ns       Mean time of a call from start to end, with the ops inside.
--   self_ns            INTEGER  ns       Time of all calls without the ops inside (weighed).
--   self_error_ns      INTEGER  ns       Error of self_ns where only some steps were recorded (sampling_summary). 0
--                                        where all were, NULL where too few were.
--   mean_self_ns       INTEGER  ns       Mean time of a call without the ops inside.
--   self_ratio         REAL     ratio    Share of self_ns in the self time of its side.  Where a process uses several
--                                        frameworks, it is the share in that of its framework.  NULL for IDLE.
--   cumulative_ratio   REAL     ratio    Sum of self_ratio from the first position to this one.  NULL for IDLE.
--   flops_per_second   REAL     flops/s  Floating point operations over the time of the calls in which they are known.
--                                        On the side of the device these are calls that launched kernels. NULL where
--                                        there are none.
--   bytes_per_second   REAL     bytes/s  Bytes moved over the time of the calls in which they are known.  On the side
--                                        of the device these are calls that launched kernels.  NULL where there are
--                                        none.
--   tensor_core_ratio  REAL     ratio    Share of kernels on tensor cores in the time of the op on the device, in
--                                        XPlane files.  NULL elsewhere (tb_operator_summary has it), and where the
--                                        names of its kernels do not tell it, as for TPUs and for older profiles of
--                                        TensorFlow.
--   bound_by           TEXT     -        On the device compute or memory: the one that is nearer to its highest rate.
--                                        That is the rate that the device allows for the number types of the inputs.
--                                        Ops of PyTorch without counted operations are bound by memory.  NULL on the
--                                        host and where a rate is not known (roofline has more).
--   execution_mode     TEXT     -        How the op was run: eager, function or graph.  NULL where that is not known.
--   is_idle            INTEGER  -        1 for the row IDLE, else 0.
-- Cost: linear in op_totals, op_shape_totals, kernel_totals and transfers, once these are made.
-- Example: SELECT position, op, cumulative_ratio FROM xprof_op_stats WHERE side = 'host';
WITH hosts AS MATERIALIZED ( -- of runs of several
  SELECT member_id AS profile_id, run_id FROM temp._process_groups WHERE host = 'ALL_HOSTS'
), xplanes AS MATERIALIZED (
  SELECT id, framework FROM temp.profiles WHERE is_xplane = 1
), windows AS MATERIALIZED (
  SELECT id FROM temp.profiles WHERE is_xplane = 1 AND origin = 'tfprof'
), with_kernels AS MATERIALIZED (
  SELECT id, origin = 'tfprof' AS is_window FROM temp.profiles WHERE has_xplane_kernels = 1
), kernels AS (
  SELECT totals.*, sample_weight AS weight
  FROM (SELECT kernel_totals.*, profile_id IN (SELECT id FROM with_kernels WHERE is_window = 1) AS is_weighed
    FROM temp.kernel_totals AS kernel_totals) AS totals
  WHERE is_measured = 1 OR NOT is_weighed
), others AS MATERIALIZED (
  SELECT id FROM temp.profiles WHERE is_xplane = 0
), counted AS MATERIALIZED (
  SELECT profile_id, op_type, name, framework, execution_mode, sum(count) AS count, sum(1.0 * sum_ns) AS sum_ns,
    sum(1.0 * self_ns) AS self_ns, sum(1.0 * device_ns) AS device_ns, sum(1.0 * device_self_ns) AS device_self_ns,
    sum(device_count) AS device_count
  FROM temp.op_totals
  WHERE category NOT IN ('user', 'python') AND is_measured = 1 AND count > 0
    AND profile_id IN (SELECT id FROM others)
  GROUP BY profile_id, op_type, name, framework, execution_mode
  UNION ALL
  SELECT profile_id, op_type, name, framework, execution_mode, sum(count), sum(1.0 * sum_ns), sum(1.0 * op_self_ns),
    sum(1.0 * device_ns), sum(1.0 * device_self_ns), sum(device_count)
  FROM temp.op_totals
  WHERE category IN ('op', 'input') AND profile_id IN (SELECT id FROM xplanes)
    AND (is_measured = 1 OR profile_id NOT IN (SELECT id FROM windows))
  GROUP BY profile_id, op_type, name, framework, execution_mode
), peaks AS MATERIALIZED ( -- by number type; NULL: not told, the highest
  SELECT profile_id, dtype, max(flops_per_second) AS flops_per_second FROM temp.device_peaks GROUP BY profile_id, dtype
  UNION ALL
  SELECT profile_id, NULL, max(flops_per_second)
  FROM temp.device_peaks WHERE dtype NOT IN ('float8', 'int8') GROUP BY profile_id
), shaped AS (
  SELECT ops.profile_id AS profile_id, op_type, name, execution_mode, has_flops, has_bytes, flops, bytes_accessed,
    1.0 * work.sum_ns AS host_ns, 1.0 * nullif(work.device_ns, 0) AS device_ns,
    CASE -- as in roofline
      WHEN input_types GLOB '*Float8*' THEN 'float8'
      WHEN input_types GLOB '*BFloat16*' THEN 'bfloat16'
      WHEN input_types GLOB '*Half*' THEN 'float16'
      WHEN input_types GLOB '*float*' THEN iif(work.uses_tensor_core = 1, 'tf32', 'float32')
      WHEN input_types GLOB '*double*' THEN 'float64'
    END AS dtype
  FROM temp.op_totals AS ops CROSS JOIN temp.op_shape_totals AS work ON work.op_total_id = ops.id
  WHERE (has_flops = 1 OR has_bytes = 1) AND category <> 'user' AND is_measured = 1
), working AS ( -- a call that launched work did it on the device
  SELECT shaped.profile_id AS profile_id, op_type, name, execution_mode,
    sum(flops) FILTER (WHERE device_ns IS NULL AND has_flops = 1) AS host_flops,
    sum(host_ns) FILTER (WHERE device_ns IS NULL AND has_flops = 1) AS host_flops_ns,
    sum(bytes_accessed) FILTER (WHERE device_ns IS NULL AND has_bytes = 1) AS host_bytes,
    sum(host_ns) FILTER (WHERE device_ns IS NULL AND has_bytes = 1) AS host_bytes_ns,
    sum(flops) FILTER (WHERE device_ns > 0 AND has_flops = 1) AS device_flops,
    sum(device_ns) FILTER (WHERE has_flops = 1) AS device_flops_ns,
    sum(bytes_accessed) FILTER (WHERE device_ns > 0 AND has_bytes = 1) AS device_bytes,
    sum(device_ns) FILTER (WHERE has_bytes = 1) AS device_bytes_ns,
    sum(1e9 * flops / nullif(flops_per_second, 0)) FILTER (WHERE device_ns > 0 AND has_flops = 1) AS ideal_ns
  FROM shaped LEFT JOIN peaks ON peaks.profile_id = shaped.profile_id AND peaks.dtype IS shaped.dtype
  GROUP BY shaped.profile_id, op_type, name, execution_mode
), errors AS (
  SELECT profile_id, op_type, name, execution_mode, sample_error(self_ns, step_id) AS self_ns,
    sample_error(device_self_ns, step_id) AS device_self_ns
  FROM temp.ops
  WHERE category NOT IN ('user', 'python') AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY profile_id, op_type, name, execution_mode
), rated AS MATERIALIZED (
  SELECT counted.*, host_flops, host_flops_ns, host_bytes, host_bytes_ns, device_flops, device_flops_ns, device_bytes,
    device_bytes_ns, ideal_ns,
    CASE WHEN errors.profile_id IS NOT NULL THEN errors.self_ns ELSE 0 END AS self_error_ns,
    CASE WHEN errors.profile_id IS NOT NULL THEN errors.device_self_ns ELSE 0 END AS device_self_error_ns
  FROM counted
  LEFT JOIN working ON working.profile_id = counted.profile_id AND working.name IS counted.name
    AND working.op_type IS counted.op_type AND working.execution_mode IS counted.execution_mode
  LEFT JOIN errors ON errors.profile_id = counted.profile_id AND errors.name IS counted.name
    AND errors.op_type IS counted.op_type AND errors.execution_mode IS counted.execution_mode
), named_kernels AS ( -- of sources whose kernels name their ops
  SELECT profile_id, op_type, op_name, sum(weight * count) AS count, sum(weight * sum_ns) AS sum_ns,
    sum(weight * self_ns) AS self_ns, sum(weight * flops) AS flops,
    sum(weight * bytes_accessed) AS bytes, sum(weight * sum_ns * uses_tensor_core) AS tensor_core_ns,
    max(is_weighed) AS is_weighed
  FROM kernels
  WHERE op_name IS NOT NULL AND (last_op_id IS NULL OR profile_id IN (SELECT id FROM with_kernels))
  GROUP BY profile_id, op_type, op_name, name
), sides AS (
  SELECT profile_id, 'host' AS side, op_type, name, framework, execution_mode, count, sum_ns, self_ns,
    self_error_ns, host_flops AS flops, host_flops_ns AS flops_ns, host_bytes AS bytes, host_bytes_ns AS bytes_ns,
    NULL AS ideal_ns, NULL AS tensor_core_ns
  FROM rated
  UNION ALL
  SELECT profile_id, 'device', op_type, name, framework, execution_mode, device_count, device_ns, device_self_ns,
    device_self_error_ns, device_flops, device_flops_ns, device_bytes, device_bytes_ns, ideal_ns, NULL
  FROM rated WHERE device_self_ns > 0 AND profile_id NOT IN (SELECT id FROM with_kernels)
  UNION ALL
  SELECT profile_id, 'device', op_type, op_name, (SELECT framework FROM xplanes WHERE xplanes.id = profile_id), NULL,
    max(count), sum(sum_ns), sum(self_ns), iif(is_weighed, NULL, 0),
    sum(flops), sum(sum_ns) FILTER (WHERE flops >= 0), sum(bytes), sum(sum_ns) FILTER (WHERE bytes >= 0),
    NULL, sum(tensor_core_ns)
  FROM named_kernels GROUP BY profile_id, op_type, op_name
), step_time AS (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS step_count
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), in_ops AS (
  SELECT profile_id, sum(1.0 * sample_weight * op_ns) AS op_ns
  FROM temp.step_op_time WHERE op_ns > 0 AND profile_id IN (SELECT id FROM others) GROUP BY profile_id
), idle_errors AS ( -- of the share of the time of steps: how much they differ from it
  SELECT step_time.profile_id AS profile_id,
    sqrt(pow(sample_error(of_step.op_ns - in_ops.op_ns / step_ns * drawn.duration_ns, drawn.step_id), 2)
      + pow(max(drawn.unseen_ratio) * max(in_ops.op_ns), 2)) / step_ns AS ratio
  FROM step_time JOIN in_ops ON in_ops.profile_id = step_time.profile_id
  JOIN temp.step_op_time AS of_step ON of_step.profile_id = step_time.profile_id
  JOIN temp._sampled_steps AS drawn ON drawn.step_id = of_step.step_id
  GROUP BY step_time.profile_id
), idle AS (
  SELECT step_time.profile_id AS profile_id, 'host' AS side, step_time.step_count AS step_count,
    (step_ns - op_ns) / step_ns * all_ns AS self_ns,
    CASE WHEN idle_errors.profile_id IS NOT NULL THEN idle_errors.ratio * all_ns ELSE 0 END AS self_error_ns
  FROM step_time JOIN in_ops ON in_ops.profile_id = step_time.profile_id
  LEFT JOIN idle_errors ON idle_errors.profile_id = step_time.profile_id
  WHERE step_ns > op_ns AND step_time.profile_id IN (SELECT id FROM others)
  UNION ALL
  SELECT profile_id, 'host', 0, sum(max(span_ns - self_ns, 0)), 0 FROM (
    SELECT profile_id, thread_id, max(last_end_ns) - min(first_start_ns) AS span_ns, sum(1.0 * op_self_ns) AS self_ns
    FROM temp.op_totals
    WHERE category IN ('op', 'input') AND profile_id IN (SELECT id FROM xplanes)
      AND (is_measured = 1 OR profile_id NOT IN (SELECT id FROM windows))
    GROUP BY profile_id, thread_id
  ) GROUP BY profile_id
  UNION ALL
  SELECT profile_id, 'device', 0, sum(max(span_ns - self_ns, 0)), 0 FROM (
    SELECT profile_id, device_id, max(end_ns) - min(start_ns) AS span_ns, total(self_ns) AS self_ns
    FROM (
      SELECT profile_id, device_id, first_start_ns AS start_ns, last_end_ns AS end_ns,
        iif(op_name IS NULL, NULL, weight * self_ns) AS self_ns
      FROM kernels
      UNION ALL
      SELECT profile_id, device_id, start_ns, end_ns, NULL FROM temp.transfers
      UNION ALL
      SELECT steps.profile_id, devices.id, min(start_ns), max(end_ns), NULL
      FROM temp.steps AS steps JOIN temp.devices AS devices ON devices.profile_id = steps.profile_id
      WHERE origin = 'device' AND kind = 'tpu'
      GROUP BY steps.profile_id, devices.id
    )
    WHERE profile_id IN (SELECT id FROM with_kernels)
    GROUP BY profile_id, device_id
  ) GROUP BY profile_id
), all_sides AS (
  SELECT profile_id, NULL AS run_id, side, op_type, name, framework, execution_mode, count, sum_ns, self_ns,
    self_error_ns, flops,
    flops_ns, bytes, bytes_ns, ideal_ns, tensor_core_ns
  FROM sides
  UNION ALL
  SELECT NULL, run_id, side, op_type, name, framework, execution_mode, sum(count), sum(sum_ns), sum(self_ns),
    CASE WHEN count(*) = count(self_error_ns) THEN sqrt(sum(self_error_ns * self_error_ns)) END, sum(flops),
    sum(flops_ns), sum(bytes), sum(bytes_ns), sum(ideal_ns), sum(tensor_core_ns)
  FROM sides JOIN hosts ON hosts.profile_id = sides.profile_id
  GROUP BY run_id, side, op_type, name, framework, execution_mode
), ceilings AS MATERIALIZED ( -- hosts of a run are alike
  SELECT devices.profile_id AS profile_id, peaks.flops_per_second AS flops_per_second,
    max(memory_bytes_per_second) AS bytes_per_second
  FROM temp.devices AS devices JOIN peaks ON peaks.profile_id = devices.profile_id AND peaks.dtype IS NULL
  GROUP BY devices.profile_id
), listed AS (
  SELECT profile_id, run_id, row_number() OVER of_side AS position, side, op_type, name, count, sum_ns, self_ns,
    self_error_ns,
    framework, self_ns / nullif(total(self_ns) OVER of_framework, 0) AS self_ratio,
    sum(self_ns) OVER (of_framework ORDER BY self_ns DESC, name, op_type, execution_mode)
      / nullif(total(self_ns) OVER of_framework, 0) AS cumulative_ratio,
    1e9 * flops / nullif(flops_ns, 0) AS flops_per_second, 1e9 * bytes / nullif(bytes_ns, 0) AS bytes_per_second,
    ideal_ns / nullif(flops_ns, 0) AS ideal_ratio, tensor_core_ns / nullif(sum_ns, 0) AS tensor_core_ratio,
    execution_mode, 0 AS is_idle
  FROM all_sides
  WINDOW of_side AS (PARTITION BY profile_id, run_id, side ORDER BY self_ns DESC, name, op_type, framework,
      execution_mode), of_framework AS (PARTITION BY profile_id, run_id, side, framework)
  UNION ALL
  SELECT profile_id, NULL, NULL, side, 'IDLE', 'IDLE', step_count, self_ns, self_ns, self_error_ns, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, 1
  FROM idle
  UNION ALL
  SELECT NULL, run_id, NULL, side, 'IDLE', 'IDLE', sum(step_count), sum(self_ns), sum(self_ns),
    CASE WHEN count(*) = count(self_error_ns) THEN sqrt(sum(self_error_ns * self_error_ns)) END, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, 1
  FROM idle JOIN hosts ON hosts.profile_id = idle.profile_id
  GROUP BY run_id, side
)
SELECT
  listed.profile_id AS profile_id,
  iif(listed.profile_id IS NULL, 'ALL_HOSTS', profiles.host) AS host,
  profiles.rank AS rank,
  listed.position AS position,
  listed.side AS side,
  coalesce(listed.op_type, listed.name) AS op_type,
  listed.name AS op,
  listed.framework AS framework,
  CAST(round(listed.count) AS INTEGER) AS count,
  CAST(listed.sum_ns AS INTEGER) AS sum_ns,
  CAST(listed.sum_ns / nullif(listed.count, 0) AS INTEGER) AS mean_ns,
  CAST(listed.self_ns AS INTEGER) AS self_ns,
  CAST(listed.self_error_ns AS INTEGER) AS self_error_ns,
  CAST(listed.self_ns / nullif(listed.count, 0) AS INTEGER) AS mean_self_ns,
  listed.self_ratio AS self_ratio,
  listed.cumulative_ratio AS cumulative_ratio,
  listed.flops_per_second AS flops_per_second,
  listed.bytes_per_second AS bytes_per_second,
  listed.tensor_core_ratio AS tensor_core_ratio,
  CASE
    WHEN listed.side = 'host' THEN NULL
    WHEN coalesce(listed.ideal_ratio, listed.flops_per_second / ceilings.flops_per_second)
      >= listed.bytes_per_second / ceilings.bytes_per_second
    THEN 'compute'
    WHEN coalesce(listed.ideal_ratio, listed.flops_per_second / ceilings.flops_per_second,
        iif(profiles.is_xplane, NULL, 0.0))
      < listed.bytes_per_second / ceilings.bytes_per_second
    THEN 'memory' END AS bound_by,
  listed.execution_mode AS execution_mode,
  listed.is_idle AS is_idle
FROM listed LEFT JOIN temp.profiles AS profiles ON profiles.id = listed.profile_id
LEFT JOIN ceilings ON ceilings.profile_id = coalesce(
  listed.profile_id, (SELECT min(hosts.profile_id) FROM hosts WHERE hosts.run_id = listed.run_id))
ORDER BY profile_id, listed.run_id, side DESC, is_idle, position, name
