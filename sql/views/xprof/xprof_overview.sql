-- Overview as XProf has it: how long steps take, and what their time goes to by its categories.
--
-- One row for each process but the workers of others, and one more for all hosts of a run that has several.  That row
-- has ALL_HOSTS for host and NULL for profile_id and rank.  Steps are those of _weighed_steps.  In the row for all
-- hosts they are the steps that the hosts share, each as long as its slowest host took (_common_steps).  The ratios
-- from device_compute_ratio to other_ratio are shares of the time of all these steps and add up to 1.
--   profile_id                INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host                      TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank                      INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all
--                                             hosts.
--   run_id                    INTEGER  -      The run, as in runs.
--   step_count                INTEGER  count  Number of steps.  0 without steps.
--   mean_step_ns              INTEGER  ns     Mean time of a step.  NULL without steps.
--   stddev_step_ns            INTEGER  ns     Standard deviation of the time of a step, as that of a sample.  NULL
--                                             without steps.
--   min_step_ns               INTEGER  ns     Time of the shortest step.  NULL without steps.
--   max_step_ns               INTEGER  ns     Time of the longest step.  NULL without steps.
--   device_compute_ratio      REAL     ratio  Share of the step time in which devices ran kernels or fills.
--   device_to_device_ratio    REAL     ratio  Share of the step time in which devices copied within or between each
--                                             other.
--   device_collectives_ratio  REAL     ratio  Share of the step time in which devices communicated.
--   host_compute_ratio        REAL     ratio  Share of the step time in which the host ran ops.
--   kernel_launch_ratio       REAL     ratio  Share of the step time in which the host launched work.
--   input_ratio               REAL     ratio  Input as XProf counts it: share of the step time in loading data and
--                                             copies to devices.
--   output_ratio              REAL     ratio  Share of the step time that went to output: copies from devices.
--   compile_ratio             REAL     ratio  Share of the step time in which the host compiled.
--   other_ratio               REAL     ratio  All other time, as XProf counts it: share of the step time in which
--                                             nothing recorded went on.
--   idle_ratio                REAL     ratio  Idle time as XProf counts it: share of the step time that is no input,
--                                             output, device compute or collective.
--   memcpy_ratio              REAL     ratio  Share of the step time in copies, which the profiler of TensorFlow takes
--                                             for device compute.
--   data_loader_ratio         REAL     ratio  Share of the step time in loading data, which is all of its input where
--                                             it takes copies for device compute.
--   verdict                   TEXT     -      Whether input bounds the program.  highly: input_ratio from 20 %.
--                                             moderately: from 5 %.  potentially: from 3 % that nothing recorded
--                                             explains.  Else not input-bound.  NULL without steps.
--   half_precision_ratio      REAL     ratio  Share of kernel time in 16 bits or less in that of known precision.
--   host_op_ratio             REAL     ratio  Share of calls of ops on hosts in those on hosts and devices.
--   device_op_ratio           REAL     ratio  Share of calls of ops on devices in those on hosts and devices.
--   host_eager_ratio          REAL     ratio  Share of the time in which an op runs that TensorFlow runs it eagerly,
--                                             without waiting for input.  NULL for other frameworks.
-- The profiler of TensorFlow takes copies of GPUs for device compute, and of 32 bits.  It takes bfloat16 for 32 bits,
-- and eager ops for none where there is no device.  Newer ones leave out all of the host where there is a device.
-- More: xprof_step_statistics, xprof_top_device_ops, run_environment, xprof_recommendations, diagnostics.
-- Not weighed: step_count.  It is of the steps that are told, as in _step_parts.
-- Cost: that of _step_parts.
-- Example: SELECT mean_step_ns, input_ratio, verdict FROM xprof_overview;
WITH members AS MATERIALIZED (
  SELECT run_id, profile_id, host, rank, member_id FROM temp._process_groups
), weighed AS MATERIALIZED (
  SELECT * FROM temp._weighed_steps WHERE is_measured = 1
), parts AS ( -- as xprof_step_statistics has them: of a step its share, of the time in which it is known
  SELECT members.run_id AS run_id, members.profile_id AS profile_id,
    sum(device_compute_ns * device_weight)
      / nullif(sum(iif(device_compute_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS device_compute,
    sum(device_to_device_ns * device_weight)
      / nullif(sum(iif(device_to_device_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS device_to_device,
    sum(device_collectives_ns * device_weight)
      / nullif(sum(iif(device_collectives_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS device_collectives,
    sum(host_compute_ns * host_weight)
      / nullif(sum(iif(host_compute_ns IS NULL, NULL, dur_ns * host_weight)), 0) AS host_compute,
    sum(kernel_launch_ns * device_weight)
      / nullif(sum(iif(kernel_launch_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS kernel_launch,
    sum(input_ns * device_weight) / nullif(sum(iif(input_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS input,
    sum(output_ns * device_weight) / nullif(sum(iif(output_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS output,
    sum(compile_ns * device_weight)
      / nullif(sum(iif(compile_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS compile,
    sum(other_ns * host_weight) / nullif(sum(iif(other_ns IS NULL, NULL, dur_ns * host_weight)), 0) AS other,
    sum(memcpy_ns * device_weight) / nullif(sum(iif(memcpy_ns IS NULL, NULL, dur_ns * device_weight)), 0) AS memcpy,
    sum(data_loader_ns * loader_weight)
      / nullif(sum(iif(data_loader_ns IS NULL, NULL, dur_ns * loader_weight)), 0) AS data_loader
  FROM weighed AS steps JOIN members ON members.member_id = steps.profile_id
  GROUP BY members.run_id, members.profile_id
), whole_steps AS ( -- of each process its own, of all hosts of a run those that they went through together
  SELECT members.run_id AS run_id, members.profile_id AS profile_id, weighed.dur_ns AS dur_ns
  FROM weighed JOIN members ON members.member_id = weighed.profile_id
  WHERE members.profile_id IS NOT NULL
  UNION ALL
  SELECT run_id, NULL, dur_ns FROM temp._common_steps
), step_times AS (
  SELECT run_id, profile_id, count(*) AS step_count,
    CAST(round(avg(dur_ns)) AS INTEGER) AS mean_ns, CAST(round(stddev(dur_ns)) AS INTEGER) AS stddev_ns,
    min(dur_ns) AS min_ns, max(dur_ns) AS max_ns
  FROM whole_steps GROUP BY run_id, profile_id
), precisions AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id,
    total(1.0 * sum_ns) FILTER (WHERE precision IN ('8 bit', '16 bit')) / nullif(total(1.0 * sum_ns), 0) AS half
  FROM temp.precision_breakdown AS used JOIN members ON members.member_id = used.profile_id
  WHERE precision <> 'unknown' GROUP BY members.run_id, members.profile_id
), xplanes AS MATERIALIZED (
  SELECT id AS profile_id, origin = 'tfprof' AS is_window, has_xplane_kernels AS has_kernels
  FROM temp.profiles WHERE is_xplane = 1
), named_ops AS ( -- an op has run as often as the kernel that it launched most often
  SELECT profile_id, sum(count) AS count FROM (
    SELECT profile_id, op_type, op_name, max(count) AS count FROM (
      SELECT profile_id, op_type, op_name, name, sum(count * sample_weight) AS count
      FROM (SELECT totals.*,
          profile_id IN (SELECT profile_id FROM xplanes WHERE has_kernels AND is_window) AS is_weighed
        FROM temp.kernel_totals AS totals)
      WHERE op_name IS NOT NULL
        AND (last_op_id IS NULL OR profile_id IN (SELECT profile_id FROM xplanes WHERE has_kernels))
        AND (is_measured = 1 OR NOT is_weighed)
      GROUP BY profile_id, op_type, op_name, name
    ) GROUP BY profile_id, op_type, op_name
  ) GROUP BY profile_id
), calls AS (
  SELECT profile_id, total(count) AS on_host, 0 AS on_device FROM temp.op_totals
  WHERE category IN ('op', 'input') AND profile_id IN (SELECT profile_id FROM xplanes)
    AND (is_measured = 1 OR profile_id IN (SELECT profile_id FROM xplanes WHERE NOT is_window))
  GROUP BY profile_id
  UNION ALL
  SELECT profile_id, 0, count FROM named_ops
  UNION ALL
  SELECT profile_id, total(count), total(device_count) FROM temp.op_totals
  WHERE category <> 'user' AND is_measured = 1
    AND profile_id NOT IN (SELECT profile_id FROM xplanes)
  GROUP BY profile_id
), op_counts AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id, total(calls.on_host) AS on_host,
    total(calls.on_device) AS on_device
  FROM members JOIN calls ON calls.profile_id = members.member_id
  GROUP BY members.run_id, members.profile_id
), may_be_eager AS MATERIALIZED ( -- attributes are read from the file once more
  SELECT DISTINCT profile_id FROM temp.ops WHERE name = 'EagerExecute'
), eager AS MATERIALIZED (
  SELECT profile_id, thread_id, start_ns, end_ns FROM temp.ops
  WHERE profile_id IN (SELECT profile_id FROM may_be_eager)
    AND name = 'EagerExecute' AND execution_mode = 'eager'
    AND attributes LIKE '%"is_func":0%' AND attributes NOT LIKE '%"eager_op":"Iterator%'
), eager_time AS (
  SELECT profile_id, sum(eager_ns) AS eager_ns, sum(ns) AS ns FROM (
    SELECT profile_id, thread_id, union_ns(start_ns, end_ns) AS ns,
      union_ns(start_ns, end_ns) FILTER (WHERE is_eager) AS eager_ns
    FROM (
      SELECT profile_id, thread_id, start_ns, end_ns, 1 AS is_eager FROM eager
      UNION ALL
      SELECT profile_id, thread_id, start_ns, end_ns, 0 FROM temp.ops
      WHERE category IN ('op', 'input') AND profile_id IN (SELECT profile_id FROM eager)
    ) GROUP BY profile_id, thread_id
  ) GROUP BY profile_id
), eager_share AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id,
    total(eager_time.eager_ns) / coalesce(nullif(total(eager_time.ns), 0), 1) AS ratio
  FROM members JOIN temp.profiles AS profiles ON profiles.id = members.member_id
  LEFT JOIN eager_time ON eager_time.profile_id = members.member_id
  WHERE has_framework(profiles.framework, 'tensorflow')
    AND profiles.is_xplane = 1
  GROUP BY members.run_id, members.profile_id
), shown AS (
  SELECT run_id, profile_id, host, rank FROM members
  WHERE member_id NOT IN (SELECT profile_id FROM temp._process_names WHERE is_helper = 1)
  GROUP BY run_id, profile_id, host, rank
)
SELECT
  shown.profile_id AS profile_id,
  shown.host AS host,
  shown.rank AS rank,
  shown.run_id AS run_id,
  coalesce(step_times.step_count, 0) AS step_count,
  step_times.mean_ns AS mean_step_ns,
  step_times.stddev_ns AS stddev_step_ns,
  step_times.min_ns AS min_step_ns,
  step_times.max_ns AS max_step_ns,
  parts.device_compute AS device_compute_ratio,
  parts.device_to_device AS device_to_device_ratio,
  parts.device_collectives AS device_collectives_ratio,
  parts.host_compute AS host_compute_ratio,
  parts.kernel_launch AS kernel_launch_ratio,
  parts.input AS input_ratio,
  parts.output AS output_ratio,
  parts.compile AS compile_ratio,
  parts.other AS other_ratio,
  max(0.0, 1 - parts.input - parts.output - parts.device_compute - parts.device_collectives) AS idle_ratio,
  parts.memcpy AS memcpy_ratio,
  parts.data_loader AS data_loader_ratio,
  CASE WHEN parts.input >= 0.20 THEN 'highly input-bound' WHEN parts.input >= 0.05 THEN 'moderately input-bound'
    WHEN parts.other >= 0.03 THEN 'potentially input-bound'
    WHEN parts.input IS NOT NULL THEN 'not input-bound' END AS verdict,
  precisions.half AS half_precision_ratio,
  op_counts.on_host / nullif(op_counts.on_host + op_counts.on_device, 0) AS host_op_ratio,
  op_counts.on_device / nullif(op_counts.on_host + op_counts.on_device, 0) AS device_op_ratio,
  eager_share.ratio AS host_eager_ratio
FROM shown
LEFT JOIN parts ON parts.run_id = shown.run_id AND parts.profile_id IS shown.profile_id
LEFT JOIN step_times ON step_times.run_id = shown.run_id AND step_times.profile_id IS shown.profile_id
LEFT JOIN precisions ON precisions.run_id = shown.run_id AND precisions.profile_id IS shown.profile_id
LEFT JOIN op_counts ON op_counts.run_id = shown.run_id AND op_counts.profile_id IS shown.profile_id
LEFT JOIN eager_share ON eager_share.run_id = shown.run_id AND eager_share.profile_id IS shown.profile_id
ORDER BY shown.run_id, shown.profile_id
