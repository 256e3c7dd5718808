-- Time by kernel: what each kernel name costs on the devices.
--
-- One row for each profile, device and kernel name.  Kernels that a warm-up step launched are left out, kernels
-- launched outside of any step count.  Where kernels were recorded only in some steps, all except min_ns, max_ns and
-- uses_tensor_core is weighed (sample_weight).
--   profile_id                 INTEGER  -      The profile: a process or rank.
--   rank                       INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id                  INTEGER  -      The device, as in devices.
--   device                     TEXT     -      Name of the device.
--   kernel                     TEXT     -      Name of the kernel.
--   kind                       TEXT     -      Kind of kernel, as in kernels: compute or communication.
--   count                      INTEGER  count  Number of launches.
--   sum_ns                     INTEGER  ns     Time of the launches on the device.
--   sum_error_ns               INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary).
--                                              0 where all were, NULL where too few were.
--   sum_ratio                  REAL     ratio  Share of sum_ns in all kernel time of the device.
--   mean_ns                    INTEGER  ns     Mean duration.
--   min_ns                     INTEGER  ns     Shortest duration.
--   max_ns                     INTEGER  ns     Longest duration.
--   launch_delay_ns            INTEGER  ns     Mean time from the end of the launching call to the start on the device,
--                                              as in kernels.  NULL where no such call was recorded.
--   per_step_count             REAL     count  Number of launches in a step, the mean over steps that launched any of
--                                              them.  NULL where no step did.
--   uses_tensor_core           INTEGER  -      1: it computes on tensor cores, judged by its name.  NULL where the name
--                                              does not tell.
--   blocks_per_multiprocessor  REAL     -      Mean number of blocks for each multiprocessor of the device, weighed by
--                                              the durations.  NULL where it is not known.
--   occupancy_ratio            REAL     ratio  Mean share of the warp slots of the device that it filled, weighed by
--                                              the durations.  NULL where it is not known.
-- Cost: linear in kernel_totals and step_activity_totals, once these are made.
-- Example: SELECT kernel, count, sum_ns FROM kernel_summary LIMIT 10;
WITH in_steps AS (
  SELECT activity_total_id AS id, sum(sample_weight) AS step_count FROM temp.step_activity_totals
  WHERE is_measured = 1 AND step_id IS NOT NULL GROUP BY activity_total_id
), parts AS (
  SELECT profile_id, device_id, name, kind, sampled_step_id, sample_weight AS weight, count, 1.0 * sum_ns AS sum_ns,
    min_ns, max_ns, launch_delay_ns, delayed_count, iif(ops_recorded IS NULL, 0, count) AS in_steps, 0 AS with_steps,
    uses_tensor_core, blocks_per_multiprocessor, blocks_known_ns, occupancy_ratio, occupancy_known_ns
  FROM temp.kernel_totals WHERE is_measured = 1
  UNION ALL
  SELECT profile_id, device_id, name, NULL, NULL, 1.0, 0, 0.0, NULL, NULL, NULL, 0, 0, in_steps.step_count, NULL, NULL,
    NULL, NULL, NULL
  FROM in_steps CROSS JOIN temp.activity_totals AS totals ON totals.id = in_steps.id
  WHERE kind IN ('compute', 'communication')
), sums AS (
  SELECT profile_id, device_id, name, min(kind) AS kind, CAST(round(sum(count * weight)) AS INTEGER) AS count,
    CAST(sum(sum_ns * weight) AS INTEGER) AS sum_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
    CAST(sample_error(sum_ns, sampled_step_id) AS INTEGER) AS sum_error_ns,
    total(launch_delay_ns * weight) / nullif(sum(delayed_count * weight), 0) AS launch_delay_ns,
    sum(in_steps * weight) / nullif(sum(with_steps), 0) AS per_step_count, max(uses_tensor_core) AS uses_tensor_core,
    sum(blocks_per_multiprocessor * blocks_known_ns * weight) / nullif(total(blocks_known_ns * weight), 0)
      AS blocks_per_multiprocessor,
    sum(occupancy_ratio * occupancy_known_ns * weight) / nullif(total(occupancy_known_ns * weight), 0)
      AS occupancy_ratio
  FROM parts GROUP BY profile_id, device_id, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.name AS kernel,
  sums.kind AS kind,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_error_ns AS sum_error_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id, sums.device_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  CAST(sums.launch_delay_ns AS INTEGER) AS launch_delay_ns,
  sums.per_step_count AS per_step_count,
  sums.uses_tensor_core AS uses_tensor_core,
  sums.blocks_per_multiprocessor AS blocks_per_multiprocessor,
  sums.occupancy_ratio AS occupancy_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY sum_ns DESC, profile_id, device_id, kernel
