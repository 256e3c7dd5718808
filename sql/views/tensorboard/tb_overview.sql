-- Overview as the PyTorch TensorBoard plugin has it: the mean step, its parts, and how well devices are used.
--
-- One row for each process with steps.  Steps are those of tb_step_breakdown without warm-up, without what recording
-- took.  The ratios from kernel_ratio to other_ratio are shares of their time.
--   profile_id           INTEGER  -      The profile: a process or rank.
--   rank                 INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_count           INTEGER  count  Number of steps.
--   mean_step_ns         INTEGER  ns     Average Step Time: to the end of the work of the step on devices.
--   kernel_ratio         REAL     ratio  Kernel: share of the step time in kernels.
--   memcpy_ratio         REAL     ratio  Memcpy: share of the step time in copies.
--   memset_ratio         REAL     ratio  Memset: share of the step time in fills.
--   communication_ratio  REAL     ratio  Communication: share of the step time.
--   runtime_ratio        REAL     ratio  Runtime: share of the step time in calls that launch work.
--   data_loader_ratio    REAL     ratio  DataLoader: share of the step time in loading data.
--   cpu_ratio            REAL     ratio  CPU Exec: share of the step time in all else on the host.
--   other_ratio          REAL     ratio  Other, as the plugin counts it: the rest of the step time.
--   utilization_ratio    REAL     ratio  GPU Utilization, as a mean over devices.  NULL without devices.
--   sm_efficiency_ratio  REAL     ratio  Est. SM Efficiency, as a mean over devices.  NULL where it is not known.
--   occupancy_ratio      REAL     ratio  Est. Achieved Occupancy, weighed by the kernel time of each device.  NULL
--                                        where it is not known.
--   tensor_core_ratio    REAL     ratio  Kernel Time using Tensor Cores.  NULL without devices.
-- Not weighed: step_count.  It is of the steps that are told, as in _step_parts.
-- Cost: that of _weighed_steps and of device_utilization.
-- Example: SELECT mean_step_ns, data_loader_ratio, utilization_ratio FROM tb_overview;
WITH sums AS (
  SELECT profile_id, count(*) AS step_count, avg(dur_ns) AS mean_ns,
    sum(iif(kernel_ns IS NULL, NULL, dur_ns * device_weight)) AS device_ns,
    sum(iif(data_loader_ns IS NULL, NULL, dur_ns * loader_weight)) AS loader_ns,
    sum(iif(host_compute_ns IS NULL, NULL, dur_ns * host_weight)) AS host_ns,
    sum(kernel_ns * device_weight) AS kernel_ns, sum(memcpy_ns * device_weight) AS memcpy_ns,
    sum(memset_ns * device_weight) AS memset_ns, sum(device_collectives_ns * device_weight) AS communication_ns,
    sum(kernel_launch_ns * device_weight) AS runtime_ns, sum(data_loader_ns * loader_weight) AS data_loader_ns,
    sum((host_compute_ns + compile_ns) * host_weight) AS cpu_ns, sum(other_ns * host_weight) AS other_ns
  FROM temp._weighed_steps WHERE is_measured = 1 GROUP BY profile_id
), devices AS (
  SELECT profile_id, avg(utilization_ratio) AS utilization, avg(sm_efficiency_ratio) AS sm_efficiency,
    sum(occupancy_ratio * kernel_ns) / nullif(total(1.0 * kernel_ns) FILTER (WHERE occupancy_ratio IS NOT NULL), 0)
      AS occupancy,
    sum(tensor_core_ratio * kernel_ns) / nullif(sum(1.0 * kernel_ns), 0) AS tensor_core
  FROM temp.device_utilization GROUP BY profile_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.step_count AS step_count,
  CAST(round(sums.mean_ns) AS INTEGER) AS mean_step_ns,
  sums.kernel_ns / nullif(sums.device_ns, 0) AS kernel_ratio,
  sums.memcpy_ns / nullif(sums.device_ns, 0) AS memcpy_ratio,
  sums.memset_ns / nullif(sums.device_ns, 0) AS memset_ratio,
  sums.communication_ns / nullif(sums.device_ns, 0) AS communication_ratio,
  sums.runtime_ns / nullif(sums.device_ns, 0) AS runtime_ratio,
  sums.data_loader_ns / nullif(sums.loader_ns, 0) AS data_loader_ratio,
  sums.cpu_ns / nullif(sums.host_ns, 0) AS cpu_ratio,
  sums.other_ns / nullif(sums.host_ns, 0) AS other_ratio,
  devices.utilization AS utilization_ratio,
  devices.sm_efficiency AS sm_efficiency_ratio,
  devices.occupancy AS occupancy_ratio,
  devices.tensor_core AS tensor_core_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN devices ON devices.profile_id = sums.profile_id
ORDER BY profile_id
