-- Time by kernel: what each kernel name costs on the devices.
--
-- One row for each profile, device and kernel name.  Those that a warm-up step launched are left out, those launched
-- outside any step count.  Where kernels were recorded only in some steps, count and sum_ns are weighed
-- (thinned_steps).
--   profile_id, rank, device_id, device   where it ran; device is the device's name
--   name, kind                            of the kernel; the kind is compute or communication
--   count, sum_ns, sum_ratio              launches, their time, its share of all kernel time of the device
--   mean_ns, min_ns, max_ns               of their durations
--   launch_delay_ns                       mean time from the end of the launching call to the start
--   per_step_count                        launches by the number of steps that launched any of them
--   uses_tensor_core                      1: it computes on tensor cores, judged by its name
--   blocks_per_multiprocessor, occupancy_ratio   means weighed by the durations
-- Cost: one pass over kernels.  Example: SELECT name, count, sum_ns FROM kernel_summary LIMIT 10;
WITH thinned AS MATERIALIZED (
  SELECT step_id, weight FROM temp.thinned_steps
), sums AS (
  SELECT profile_id, device_id, name, min(kind) AS kind, CAST(round(sum(coalesce(weight, 1.0))) AS INTEGER) AS count,
    CAST(sum(dur_ns * coalesce(weight, 1.0)) AS INTEGER) AS sum_ns,
    min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, avg(launch_delay_ns) AS launch_delay_ns,
    count(kernels.step_id) AS in_steps, count(DISTINCT kernels.step_id) AS step_count,
    max(uses_tensor_core) AS uses_tensor_core,
    sum(blocks_per_multiprocessor * dur_ns)
      / nullif(sum(CASE WHEN blocks_per_multiprocessor IS NOT NULL THEN dur_ns END), 0) AS blocks_per_multiprocessor,
    sum(occupancy_ratio * dur_ns) / nullif(sum(CASE WHEN occupancy_ratio IS NOT NULL THEN dur_ns END), 0)
      AS occupancy_ratio
  FROM temp.kernels AS kernels LEFT JOIN thinned ON thinned.step_id = kernels.step_id
  WHERE (kernels.step_id IS NULL OR kernels.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
    AND weight IS NOT 0
  GROUP BY profile_id, device_id, name
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
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id, sums.device_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  CAST(sums.launch_delay_ns AS INTEGER) AS launch_delay_ns,
  1.0 * sums.in_steps / nullif(sums.step_count, 0) AS per_step_count,
  sums.uses_tensor_core AS uses_tensor_core,
  sums.blocks_per_multiprocessor AS blocks_per_multiprocessor,
  sums.occupancy_ratio AS occupancy_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY sum_ns DESC, profile_id, device_id, name
