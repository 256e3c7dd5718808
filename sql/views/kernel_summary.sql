-- Time by kernel: what each kernel name costs on the devices.
--
-- One row for each profile, device and kernel name.  Kernels that a warm-up step launched are left out, kernels
-- launched outside of any step count.  Where kernels were recorded only in some steps, all except min_ns, max_ns and
-- uses_tensor_core is weighed (thinned_steps).
--   profile_id                 INTEGER  -      The profile: a process or rank.
--   rank                       INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id                  INTEGER  -      The device, as in devices.
--   device                     TEXT     -      Name of the device.
--   name                       TEXT     -      Name of the kernel.
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
-- Example: SELECT name, count, sum_ns FROM kernel_summary LIMIT 10;
WITH thinned AS MATERIALIZED (
  SELECT profile_id, step_id, weight FROM temp.thinned_steps
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), parts AS ( -- steps are told apart only where they stand for different numbers of steps
  SELECT profile_id, device_id, name, NULL AS step_id, 1.0 AS weight,
    min(kind) AS kind, sum(count) AS count, sum(1.0 * sum_ns) AS sum_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
    total(launch_delay_ns) AS delay_ns, sum(delayed_count) AS delay_count,
    total(count) FILTER (WHERE is_warmup IS NOT NULL) AS in_steps, 0 AS with_steps,
    max(uses_tensor_core) AS uses_tensor_core,
    sum(blocks_per_multiprocessor * blocks_known_ns) AS blocks_per_multiprocessor_ns,
    total(blocks_known_ns) AS blocks_per_multiprocessor_of_ns,
    sum(occupancy_ratio * occupancy_known_ns) AS occupancy_ratio_ns, total(occupancy_known_ns) AS occupancy_ratio_of_ns
  FROM temp.kernel_totals
  WHERE profile_id IN (SELECT profile_id FROM whole) AND is_warmup IS NOT 1
  GROUP BY profile_id, device_id, name
  UNION ALL
  SELECT totals.profile_id, device_id, name, NULL, 1.0, NULL, 0, 0.0, NULL, NULL, 0.0, 0, 0, sum(in_step.step_count),
    NULL, NULL, 0.0, NULL, 0.0
  FROM (
    SELECT activity_total_id AS id, count(*) AS step_count FROM temp.step_activity_totals
    WHERE profile_id IN (SELECT profile_id FROM whole)
      AND step_id IS NOT NULL AND step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1)
    GROUP BY activity_total_id
  ) AS in_step CROSS JOIN temp.activity_totals AS totals ON totals.id = in_step.id
  WHERE kind IN ('compute', 'communication')
  GROUP BY totals.profile_id, device_id, name
  UNION ALL
  SELECT kernels.profile_id, device_id, name, kernels.step_id, coalesce(max(weight), 1.0), 
    min(kind), count(*), sum(1.0 * dur_ns), min(dur_ns), max(dur_ns), total(launch_delay_ns), count(launch_delay_ns),
    count(kernels.step_id), count(DISTINCT kernels.step_id), max(uses_tensor_core),
    sum(dur_ns * blocks_per_multiprocessor), total(CASE WHEN blocks_per_multiprocessor IS NOT NULL THEN dur_ns END),
    sum(dur_ns * occupancy_ratio), total(CASE WHEN occupancy_ratio IS NOT NULL THEN dur_ns END)
  FROM temp.kernels AS kernels LEFT JOIN thinned ON thinned.step_id = kernels.step_id
  WHERE kernels.profile_id IN (SELECT profile_id FROM thinned) AND weight IS NOT 0
    AND (kernels.step_id IS NULL OR kernels.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
  GROUP BY kernels.profile_id, device_id, name, kernels.step_id
), sums AS (
  SELECT parts.profile_id AS profile_id, device_id, name,
    min(kind) AS kind, CAST(round(sum(count * parts.weight)) AS INTEGER) AS count,
    CAST(sum(sum_ns * parts.weight) AS INTEGER) AS sum_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
    sum(delay_ns * parts.weight) / nullif(sum(delay_count * parts.weight), 0) AS launch_delay_ns,
    sum(in_steps * parts.weight) AS in_steps, sum(with_steps * parts.weight) AS with_steps,
    max(uses_tensor_core) AS uses_tensor_core,
    sum(blocks_per_multiprocessor_ns * parts.weight)
      / nullif(sum(blocks_per_multiprocessor_of_ns * parts.weight), 0) AS blocks_per_multiprocessor,
    sum(occupancy_ratio_ns * parts.weight) / nullif(sum(occupancy_ratio_of_ns * parts.weight), 0) AS occupancy_ratio,
    CASE WHEN count(drawn.step_id) = 0 THEN 0
      ELSE CAST(sample_error(iif(drawn.step_id IS NULL, NULL, sum_ns), drawn.step_id) AS INTEGER) END AS sum_error_ns
  FROM parts LEFT JOIN temp.sampled_steps AS drawn ON drawn.step_id = parts.step_id
  GROUP BY parts.profile_id, device_id, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.name AS name,
  sums.kind AS kind,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_error_ns AS sum_error_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id, sums.device_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  CAST(sums.launch_delay_ns AS INTEGER) AS launch_delay_ns,
  sums.in_steps / nullif(sums.with_steps, 0) AS per_step_count,
  sums.uses_tensor_core AS uses_tensor_core,
  sums.blocks_per_multiprocessor AS blocks_per_multiprocessor,
  sums.occupancy_ratio AS occupancy_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY sum_ns DESC, profile_id, device_id, name
