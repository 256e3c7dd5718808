-- Roofline: how fast ops compute and move data, against what their device can do at best.
--
-- One row for each profile, op and kernel with known work, and one for the program as a whole, in order of time.  A
-- run of several hosts has the same rows for all of them.  In XPlane (profiles.is_xplane) with devices a row is a
-- kernel of an op, with the operations and bytes that are known of kernels or of the instructions of XLA that they run.
-- A file counts with all of the recording, and windows with the measured steps, weighed.  In other sources a row is an
-- op, with the operations counted from its shapes (ops.flops), of measured steps and weighed by ops.sample_weight.  Its
-- time is that of kernels launched inside it, and calls that launched none do not count.  Without a device its time is
-- that on the host.
--   profile_id             INTEGER  -        The profile: a process or rank.  NULL in the row for all hosts.
--   host                   TEXT     -        Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank                   INTEGER  -        Rank of the process.  NULL where it is unknown and in the row for all
--                                            hosts.
--   position               INTEGER  -        Place by time, from 1.  0 for the program.  A loop of a TPU counts here
--                                            and in sum_ratio without the time of the ops in it.
--   op_type                TEXT     -        Type of the op.  NULL for the program.
--   op                     TEXT     -        Name of the op.  NULL for the program.
--   kernel                 TEXT     -        Name of the kernel.  NULL for the program, and where a row is an op.
--   dtype                  TEXT     -        The number type of the peak that counts: that of the inputs of the op. It
--                                            is tf32 where kernels use tensor cores for float.  Where the inputs have
--                                            several it is the narrowest, as numbers of Python among them are double.
--                                            NULL where it is not known.  Then the highest peak counts, as in XProf,
--                                            without those of float8 and integers.
--   count                  INTEGER  count    Calls of the op, or kernels (weighed).  NULL for the program.
--   sum_ns                 INTEGER  ns       Time of these calls or kernels (weighed).  For the program it is the time
--                                            from the first work of each device to its last in XPlane files, and
--                                            elsewhere that of the steps on each device.
--   sum_ratio              REAL     ratio    Share in the time of the program.  NULL for what ran on the host beside
--                                            others.
--   flops                  INTEGER  flops    Floating point operations that they did.  NULL where nothing tells them,
--                                            as for most ops of PyTorch that are no products.
--   bytes_accessed         INTEGER  bytes    Bytes that they moved.  For ops of PyTorch inputs and outputs count, which
--                                            have to be moved, so that a rate above the peak of the memory shows
--                                            caches.  NULL where nothing tells them.
--   flops_per_second       REAL     flops/s  Flops by the time of those with known operations.  For the program it is
--                                            by all its time.
--   bytes_per_second       REAL     bytes/s  Bytes by the time of those with known bytes.  For the program it is by all
--                                            its time.
--   flops_per_byte         REAL     -        Operational intensity: flops by bytes_accessed.
--   peak_flops_per_second  REAL     flops/s  Highest rate of operations of the device (device_peaks).  NULL where it is
--                                            not known.
--   peak_bytes_per_second  INTEGER  bytes/s  Highest rate of the memory of the device (devices).  NULL where it is not
--                                            known.
--   ridge_flops_per_byte   REAL     -        Intensity above which computing bounds, and below which memory does.
--   bound_by               TEXT     -        The one that is nearer to its peak: compute or memory.  Ops of PyTorch
--                                            that are no products are bound by memory, because their operations are not
--                                            counted.
--   compute_efficiency     REAL     ratio    Ratio of flops_per_second to its peak.
--   memory_efficiency      REAL     ratio    Ratio of bytes_per_second to its peak.
--   roofline_efficiency    REAL     ratio    Ratio of the rate to the best that the intensity allows.
-- XProf lists no kernel whose op is unknown, and no ops of a CPU.  In what XLA compiled for GPUs it counts the cycles
-- that an element-wise instruction takes as operations.  Here they are those that the cost analysis of XLA counts.
-- Cost: linear in kernel_totals and op_shape_totals, once these are made.
-- Example: SELECT op, flops_per_second, compute_efficiency, bound_by FROM roofline LIMIT 10;
WITH hosts AS MATERIALIZED ( -- of runs of several
  SELECT member_id AS profile_id, run_id FROM temp._process_groups WHERE host = 'ALL_HOSTS'
), windows AS MATERIALIZED (
  SELECT id AS profile_id FROM temp.profiles WHERE is_xplane = 1 AND origin = 'tfprof'
), on_devices AS MATERIALIZED (
  SELECT profile_id, count(DISTINCT device_id) AS device_count,
    profile_id IN (SELECT id FROM temp.profiles WHERE has_xplane_kernels = 1) AS is_xplane
  FROM temp.kernel_totals GROUP BY profile_id
), worked AS ( -- from the first to the last work of each device, or all of it should that be more
  SELECT profile_id, sum(max(span_ns, sum_ns)) AS sum_ns FROM (
    SELECT profile_id, device_id, max(last_end_ns) - min(first_start_ns) AS span_ns, total(sum_ns) AS sum_ns
    FROM (
      SELECT profile_id, device_id, first_start_ns, last_end_ns, 1.0 * self_ns AS sum_ns FROM temp.kernel_totals
      UNION ALL
      SELECT profile_id, device_id, start_ns, end_ns, NULL FROM temp.transfers
      WHERE profile_id IN (SELECT profile_id FROM on_devices)
      UNION ALL
      SELECT steps.profile_id, devices.id, min(start_ns), max(end_ns), NULL
      FROM temp.steps AS steps JOIN temp.devices AS devices ON devices.profile_id = steps.profile_id
      WHERE origin = 'device' AND kind = 'tpu'
      GROUP BY steps.profile_id, devices.id
    ) GROUP BY profile_id, device_id
  ) GROUP BY profile_id
), stepped AS (
  SELECT profile_id, sum(dur_ns * sample_weight) AS sum_ns
  FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1 GROUP BY profile_id
), called AS ( -- from the first to the last op
  SELECT profile_id, 1.0 * (max(last_end_ns) - min(first_start_ns)) AS sum_ns
  FROM temp.op_totals WHERE category <> 'user' AND profile_id NOT IN (SELECT profile_id FROM stepped)
  GROUP BY profile_id
), counted AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, op_type, name AS op_name, NULL AS kernel_name,
    CASE
      WHEN input_types GLOB '*Float8*' THEN 'float8'
      WHEN input_types GLOB '*BFloat16*' THEN 'bfloat16'
      WHEN input_types GLOB '*Half*' THEN 'float16'
      WHEN input_types GLOB '*float*' THEN iif(uses_tensor_core, 'tf32', 'float32')
      WHEN input_types GLOB '*double*' THEN 'float64'
    END AS dtype,
    sum(work.count * sample_weight) AS count,
    sum(sample_weight * iif(on_devices.profile_id IS NULL, work.sum_ns, nullif(work.device_ns, 0))) AS sum_ns,
    sum(sample_weight * flops) AS flops, sum(sample_weight * bytes_accessed) AS bytes
  FROM temp.op_totals AS ops CROSS JOIN temp.op_shape_totals AS work ON work.op_total_id = ops.id
  LEFT JOIN on_devices ON on_devices.profile_id = ops.profile_id
  WHERE (has_flops = 1 OR has_bytes = 1) AND category <> 'user' AND is_measured = 1 AND is_xplane IS NOT 1
    AND (on_devices.profile_id IS NULL OR work.device_ns > 0)
  GROUP BY ops.profile_id, op_type, name, dtype
), pieces AS MATERIALIZED (
  SELECT profile_id, NULL AS run_id, op_type, op_name, kernel_name, dtype, count, sum_ns, flops,
    iif(flops IS NULL, NULL, sum_ns) AS flops_ns, bytes, iif(bytes IS NULL, NULL, sum_ns) AS bytes_ns,
    sum_ns AS self_ns, flops AS own_flops, bytes AS own_bytes
  FROM counted
  UNION ALL
  SELECT profile_id, NULL, op_type, op_name, name, NULL, sum(weight * count), sum(weight * sum_ns), sum(weight * flops),
    sum(weight * sum_ns) FILTER (WHERE flops IS NOT NULL), sum(weight * bytes_accessed),
    sum(weight * sum_ns) FILTER (WHERE bytes_accessed IS NOT NULL), sum(weight * self_ns),
    sum(weight * flops) FILTER (WHERE self_ns >= sum_ns), sum(weight * bytes_accessed) FILTER (WHERE self_ns >= sum_ns)
  FROM (
    SELECT totals.*, sample_weight AS weight FROM temp.kernel_totals AS totals
    WHERE is_measured = 1 OR profile_id NOT IN (SELECT profile_id FROM windows)
  )
  WHERE profile_id IN (SELECT profile_id FROM on_devices WHERE is_xplane)
  GROUP BY profile_id, op_type, op_name, name
), programs AS (
  SELECT profiles.id AS profile_id, NULL AS run_id,
    CASE WHEN on_devices.is_xplane AND profiles.id NOT IN (SELECT profile_id FROM windows) THEN worked.sum_ns
      ELSE coalesce(stepped.sum_ns, called.sum_ns) * coalesce(device_count, 1) END AS sum_ns,
    (SELECT sum(own_flops) FROM pieces WHERE pieces.profile_id = profiles.id) AS flops,
    (SELECT sum(own_bytes) FROM pieces WHERE pieces.profile_id = profiles.id) AS bytes
  FROM temp.profiles AS profiles
  LEFT JOIN on_devices ON on_devices.profile_id = profiles.id
  LEFT JOIN worked ON worked.profile_id = profiles.id
  LEFT JOIN stepped ON stepped.profile_id = profiles.id
  LEFT JOIN called ON called.profile_id = profiles.id
  WHERE profiles.id IN (SELECT profile_id FROM pieces)
), all_pieces AS (
  SELECT profile_id, run_id, op_type, op_name, kernel_name, dtype, count, sum_ns, self_ns, flops, flops_ns, bytes,
    bytes_ns
  FROM pieces
  UNION ALL
  SELECT NULL, hosts.run_id, op_type, op_name, kernel_name, dtype, sum(count), sum(sum_ns), sum(self_ns), sum(flops),
    sum(flops_ns), sum(bytes), sum(bytes_ns)
  FROM pieces JOIN hosts ON hosts.profile_id = pieces.profile_id
  GROUP BY hosts.run_id, op_type, op_name, kernel_name, dtype
), all_programs AS MATERIALIZED (
  SELECT * FROM programs
  UNION ALL
  SELECT NULL, hosts.run_id, sum(sum_ns), sum(flops), sum(bytes)
  FROM programs JOIN hosts ON hosts.profile_id = programs.profile_id
  GROUP BY hosts.run_id
), peaks AS (
  SELECT profile_id, NULL AS run_id, dtype, flops_per_second FROM temp.device_peaks
  UNION ALL
  SELECT NULL, run_id, dtype, flops_per_second
  FROM temp.device_peaks AS peaks JOIN hosts ON hosts.profile_id = peaks.profile_id
), ceilings AS MATERIALIZED (
  SELECT profile_id, run_id, dtype, max(flops_per_second) AS flops_per_second
  FROM peaks GROUP BY profile_id, run_id, dtype
  UNION ALL
  SELECT profile_id, run_id, NULL, max(flops_per_second)
  FROM peaks WHERE dtype NOT IN ('float8', 'int8') GROUP BY profile_id, run_id
), memories AS MATERIALIZED (
  SELECT profile_id, NULL AS run_id, max(memory_bytes_per_second) AS bytes_per_second
  FROM temp.devices WHERE kind <> 'cpu' GROUP BY profile_id
  UNION ALL
  SELECT NULL, run_id, max(memory_bytes_per_second)
  FROM temp.devices AS devices JOIN hosts ON hosts.profile_id = devices.profile_id
  WHERE kind <> 'cpu' GROUP BY run_id
), listed AS (
  SELECT profile_id, run_id, 0 AS position, NULL AS op_type, NULL AS op_name, NULL AS kernel_name, NULL AS dtype,
    NULL AS count, sum_ns, sum_ns AS self_ns, flops, sum_ns AS flops_ns, bytes, sum_ns AS bytes_ns
  FROM all_programs
  UNION ALL
  SELECT profile_id, run_id, row_number() OVER (PARTITION BY profile_id, run_id
      ORDER BY self_ns DESC, op_name, op_type, kernel_name, dtype),
    op_type, op_name, kernel_name, dtype, count, sum_ns, self_ns, flops, flops_ns, bytes, bytes_ns
  FROM all_pieces
), rated AS (
  SELECT listed.*, 1e9 * listed.flops / nullif(flops_ns, 0) AS flops_per_second,
    1e9 * listed.bytes / nullif(bytes_ns, 0) AS bytes_per_second, ceilings.flops_per_second AS peak_flops,
    memories.bytes_per_second AS peak_bytes, all_programs.sum_ns AS program_ns
  FROM listed
  LEFT JOIN all_programs ON all_programs.profile_id IS listed.profile_id AND all_programs.run_id IS listed.run_id
  LEFT JOIN ceilings ON ceilings.profile_id IS listed.profile_id AND ceilings.run_id IS listed.run_id
    AND ceilings.dtype IS listed.dtype
  LEFT JOIN memories ON memories.profile_id IS listed.profile_id AND memories.run_id IS listed.run_id
)
SELECT
  rated.profile_id AS profile_id,
  iif(rated.profile_id IS NULL, 'ALL_HOSTS', profiles.host) AS host,
  profiles.rank AS rank,
  rated.position AS position,
  rated.op_type AS op_type,
  rated.op_name AS op,
  rated.kernel_name AS kernel,
  rated.dtype AS dtype,
  CAST(round(rated.count) AS INTEGER) AS count,
  CAST(rated.sum_ns AS INTEGER) AS sum_ns,
  iif(rated.self_ns <= rated.program_ns, rated.self_ns / nullif(rated.program_ns, 0), NULL) AS sum_ratio,
  CAST(rated.flops AS INTEGER) AS flops,
  CAST(rated.bytes AS INTEGER) AS bytes_accessed,
  rated.flops_per_second AS flops_per_second,
  rated.bytes_per_second AS bytes_per_second,
  1.0 * rated.flops / nullif(rated.bytes, 0) AS flops_per_byte,
  rated.peak_flops AS peak_flops_per_second,
  rated.peak_bytes AS peak_bytes_per_second,
  rated.peak_flops / nullif(rated.peak_bytes, 0) AS ridge_flops_per_byte,
  CASE WHEN rated.flops_per_second / nullif(rated.peak_flops, 0) >= rated.bytes_per_second / nullif(rated.peak_bytes, 0)
    THEN 'compute'
    WHEN coalesce(rated.flops_per_second, iif(profiles.is_xplane, NULL, 0.0))
        / nullif(rated.peak_flops, 0)
      < rated.bytes_per_second / nullif(rated.peak_bytes, 0)
    THEN 'memory' END AS bound_by,
  rated.flops_per_second / nullif(rated.peak_flops, 0) AS compute_efficiency,
  rated.bytes_per_second / nullif(rated.peak_bytes, 0) AS memory_efficiency,
  max(rated.flops_per_second / nullif(rated.peak_flops, 0), rated.bytes_per_second / nullif(rated.peak_bytes, 0))
    AS roofline_efficiency
FROM rated LEFT JOIN temp.profiles AS profiles ON profiles.id = rated.profile_id
ORDER BY profile_id, rated.run_id, position, rated.op_name, rated.op_type, rated.kernel_name, rated.dtype
