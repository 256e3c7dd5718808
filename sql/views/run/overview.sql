-- Overview: how long steps take, what their time goes to, and how well devices are used.
--
-- One row for each process but the workers of others, and one more for all hosts of a run that has several.  That row
-- has ALL_HOSTS for host and NULL for profile_id and rank.  Steps are the measured ones (no warm-up).  The ratios from
-- kernel_ratio to other_ratio are shares of the time of these steps, in the parts of step_breakdown.  They add up to 1,
-- in recordings of the ops of some steps nearly.  The row for all hosts is of all steps of all hosts.  A host without
-- known input counts as one that waited for none.
-- What the words mean: docs/words.md.  The overviews of XProf and of the PyTorch TensorBoard plugin draw the lines
-- elsewhere: xprof_overview and tb_overview equal theirs.
--   profile_id           INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host                 TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank                 INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   run_id               INTEGER  -      The run, as in runs.
--   step_count           INTEGER  count  Number of measured steps, in the row for all hosts those of all.  0 without
--                                        steps.
--   mean_step_ns         INTEGER  ns     Mean time of a step, as in step_summary.  NULL without steps.
--   stddev_step_ns       INTEGER  ns     Standard deviation of the time of a step.  NULL without steps.
--   min_step_ns          INTEGER  ns     Time of the shortest step.  NULL without steps.
--   max_step_ns          INTEGER  ns     Time of the longest step.  NULL without steps.
--   kernel_ratio         REAL     ratio  Share of the step time in which a kernel ran that is no communication.
--   copy_ratio           REAL     ratio  Share of the step time in which copies and fills ran, and no kernel.
--   communication_ratio  REAL     ratio  Share of the step time in communication, with none of the parts before.
--   launch_ratio         REAL     ratio  Share of the step time in launching work, with none of the parts before.
--   data_loader_ratio    REAL     ratio  Share of the step time in loading data, with none of the parts before: the
--                                        part of input_ratio that nothing hides.
--   host_ratio           REAL     ratio  Share of the step time in ops on the host, with none of the parts before.
--   other_ratio          REAL     ratio  Share of the step time outside of ops, with none of the parts before.
--   input_ratio          REAL     ratio  Share of the step time that waited for input, as in input_summary.
--   verdict              TEXT     -      What input_ratio means: highly (from 20 %), moderately (from 5 %) or not
--                                        input-bound.  NULL where the input is not known.
--   utilization_ratio    REAL     ratio  Share of the time in which devices were busy: a kernel ran
--                                        (device_utilization).  It is the mean over devices.  NULL without devices.
--   sm_efficiency_ratio  REAL     ratio  Share of the multiprocessors that had a block (device_utilization), as a mean
--                                        over devices.  NULL where it is not known.
--   occupancy_ratio      REAL     ratio  Achieved occupancy of kernels (device_utilization), weighed by the kernel time
--                                        of each device.  NULL where it is not known.
--   tensor_core_ratio    REAL     ratio  Share of kernel time on tensor cores (device_utilization), weighed by the
--                                        kernel time of each device.
-- Cost: that of step_breakdown, step_summary and device_utilization.
-- Example: SELECT mean_step_ns, input_ratio, verdict, utilization_ratio FROM overview;
WITH members AS MATERIALIZED (
  SELECT run_id, profile_id, host, rank, member_id FROM temp._process_groups
), durations AS MATERIALIZED (
  SELECT profile_id, training_ns FROM temp.steps WHERE is_warmup = 0
), step_times AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id, count(*) AS step_count,
    CAST(avg(training_ns) AS INTEGER) AS mean_ns, CAST(stddev(training_ns) AS INTEGER) AS stddev_ns,
    min(training_ns) AS min_ns, max(training_ns) AS max_ns
  FROM durations JOIN members ON members.member_id = durations.profile_id GROUP BY members.run_id, members.profile_id
), parts AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id,
    sum(kernel_ns) / nullif(sum(device_known_ns), 0) AS kernel,
    sum(copy_ns) / nullif(sum(device_known_ns), 0) AS copy,
    sum(communication_ns) / nullif(sum(device_known_ns), 0) AS communication,
    sum(launch_ns) / nullif(sum(device_known_ns), 0) AS launch,
    sum(data_loader_ns) / nullif(sum(loader_known_ns), 0) AS data_loader,
    sum(host_ns) / nullif(sum(host_known_ns), 0) AS host,
    sum(other_ns) / nullif(sum(host_known_ns), 0) AS other
  FROM temp._step_sums AS sums JOIN members ON members.member_id = sums.profile_id
  GROUP BY members.run_id, members.profile_id
), input AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id,
    sum(wait_ns) / nullif(sum(step_ns) FILTER (WHERE wait_ns IS NOT NULL), 0) AS ratio
  FROM temp._input_shares AS shares JOIN members ON members.member_id = shares.profile_id
  GROUP BY members.run_id, members.profile_id
), devices AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id,
    avg(used.utilization_ratio) AS utilization, avg(used.sm_efficiency_ratio) AS sm_efficiency,
    sum(used.occupancy_ratio * used.kernel_ns)
      / nullif(total(1.0 * used.kernel_ns) FILTER (WHERE used.occupancy_ratio IS NOT NULL), 0)
      AS occupancy,
    sum(used.tensor_core_ratio * used.kernel_ns) / nullif(sum(1.0 * used.kernel_ns), 0) AS tensor_core
  FROM temp.device_utilization AS used JOIN members ON members.member_id = used.profile_id
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
  parts.kernel AS kernel_ratio,
  parts.copy AS copy_ratio,
  parts.communication AS communication_ratio,
  parts.launch AS launch_ratio,
  parts.data_loader AS data_loader_ratio,
  parts.host AS host_ratio,
  parts.other AS other_ratio,
  min(1.0, input.ratio) AS input_ratio,
  CASE WHEN input.ratio >= 0.20 THEN 'highly input-bound' WHEN input.ratio >= 0.05 THEN 'moderately input-bound'
    WHEN input.ratio IS NOT NULL THEN 'not input-bound' END AS verdict,
  devices.utilization AS utilization_ratio,
  devices.sm_efficiency AS sm_efficiency_ratio,
  devices.occupancy AS occupancy_ratio,
  devices.tensor_core AS tensor_core_ratio
FROM shown
LEFT JOIN parts ON parts.run_id = shown.run_id AND parts.profile_id IS shown.profile_id
LEFT JOIN step_times ON step_times.run_id = shown.run_id AND step_times.profile_id IS shown.profile_id
LEFT JOIN input ON input.run_id = shown.run_id AND input.profile_id IS shown.profile_id
LEFT JOIN devices ON devices.run_id = shown.run_id AND devices.profile_id IS shown.profile_id
ORDER BY shown.run_id, shown.profile_id
