-- Time by kernel: what each kernel name costs on the devices, and how much of them it leaves unused.
--
-- One row for each profile, device and kernel name.  Kernels that a warm-up step launched are left out, kernels
-- launched outside of any step count.  Where kernels were recorded only in some steps, all except min_ns, max_ns,
-- uses_tensor_core, registers_per_thread and shared_bytes is weighed (sample_weight).
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
--   occupancy_ratio            REAL     ratio  Mean share of the warp slots of the device that it filled, as the source
--                                              estimates it, weighed by the durations.  NULL where it is not known.
--   unused_ns                  INTEGER  ns     Time sum_ns times the part of the device that it did not fill.  NULL
--                                              where occupancy_ratio is not known.
--   threads_per_block          REAL     -      Mean size of a block.  NULL where it is not known.
--   registers_per_thread       INTEGER  -      Most registers for a thread that a launch uses, which may limit
--                                              occupancy.  NULL where it is not known.
--   shared_bytes               INTEGER  bytes  Most shared memory for a block that a launch uses, which may limit
--                                              occupancy.  NULL where it is not known.
-- Cost: linear in kernel_totals and step_activity_totals, once these are made.
-- Example: SELECT kernel, count, sum_ns, occupancy_ratio FROM kernel_summary ORDER BY unused_ns DESC LIMIT 10;
WITH in_steps AS (
  SELECT activity_total_id AS id, sum(sample_weight) AS step_count FROM temp.step_activity_totals
  WHERE is_measured = 1 AND step_id IS NOT NULL GROUP BY activity_total_id
), parts AS (
  SELECT totals.profile_id AS profile_id, totals.device_id AS device_id, totals.name AS name, totals.kind AS kind,
    totals.sampled_step_id AS sampled_step_id, totals.sample_weight AS weight, totals.count AS count,
    1.0 * totals.sum_ns AS sum_ns, totals.min_ns AS min_ns, totals.max_ns AS max_ns,
    totals.launch_delay_ns AS launch_delay_ns, totals.delayed_count AS delayed_count,
    iif(totals.ops_recorded IS NULL, 0, totals.count) AS in_steps, 0 AS with_steps,
    totals.uses_tensor_core AS uses_tensor_core, totals.blocks_per_multiprocessor AS blocks_per_multiprocessor,
    blocks_known_ns, totals.occupancy_ratio AS occupancy_ratio, occupancy_known_ns,
    1.0 * block_x * block_y * block_z AS threads, registers_per_thread,
    iif(coalesce(static_shared_bytes, dynamic_shared_bytes) IS NULL, NULL,
      coalesce(static_shared_bytes, 0) + coalesce(dynamic_shared_bytes, 0)) AS shared_bytes
  FROM temp.kernel_totals AS totals LEFT JOIN temp.kernels AS first ON first.id = totals.kernel_id
  WHERE totals.is_measured = 1
  UNION ALL
  SELECT profile_id, device_id, name, NULL, NULL, 1.0, 0, 0.0, NULL, NULL, NULL, 0, 0, in_steps.step_count, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL
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
      AS occupancy_ratio,
    sum(threads * count * weight) / nullif(sum(iif(threads IS NULL, 0, count) * weight), 0) AS threads_per_block,
    max(registers_per_thread) AS registers_per_thread, max(shared_bytes) AS shared_bytes
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
  sums.occupancy_ratio AS occupancy_ratio,
  CAST(sums.sum_ns * (1 - sums.occupancy_ratio) AS INTEGER) AS unused_ns,
  sums.threads_per_block AS threads_per_block,
  sums.registers_per_thread AS registers_per_thread,
  sums.shared_bytes AS shared_bytes
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY sum_ns DESC, profile_id, device_id, kernel
