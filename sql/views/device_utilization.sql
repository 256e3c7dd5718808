-- Devices at a glance: how much of the time they worked, and how well filled they were.
--
-- One row for each profile and device that ran kernels, over the time of all steps as step_breakdown has them, and over
-- the span of the kernels where a profile has no steps.  The measures are those of the PyTorch TensorBoard plugin.
--   profile_id, rank, device_id, device, model   the device, its name and product name
--   span_ns, busy_ns, utilization_ratio   the time looked at; in which a kernel ran; its share
--   sm_efficiency_ratio                share of the multiprocessors that had a block, estimated: blocks per
--                                      multiprocessor of the kernels that run together, at most 1, over the span
--   occupancy_ratio                    mean achieved occupancy of the kernels, by their time
--   tensor_core_ratio, tensor_core_eligible_ratio   share of the kernel time that uses tensor cores; of ops that could
--   kernel_count, kernel_ns            kernels in that time; their durations
-- Cost: one pass over kernels.  Example: SELECT device, utilization_ratio, sm_efficiency_ratio FROM device_utilization;
WITH spans AS (
  SELECT steps.profile_id AS profile_id, min(segments.start_ns) AS start_ns, max(segments.end_ns) AS end_ns
  FROM temp.step_segments AS segments JOIN temp.steps AS steps ON steps.id = segments.step_id
  GROUP BY steps.profile_id
), without_steps AS (
  SELECT profile_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
  FROM temp.kernels
  WHERE profile_id IN (SELECT id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM spans)) GROUP BY profile_id
), windows AS (
  SELECT profile_id, start_ns, end_ns FROM spans UNION ALL SELECT profile_id, start_ns, end_ns FROM without_steps
), clipped AS (
  SELECT kernels.profile_id AS profile_id, kernels.device_id AS device_id,
    max(kernels.start_ns, windows.start_ns) AS start_ns, min(kernels.end_ns, windows.end_ns) AS end_ns,
    kernels.blocks_per_multiprocessor AS blocks, kernels.occupancy_ratio AS occupancy_ratio,
    kernels.uses_tensor_core AS uses_tensor_core, kernels.tensor_core_eligible AS tensor_core_eligible,
    windows.end_ns - windows.start_ns AS span_ns
  FROM temp.kernels AS kernels CROSS JOIN windows -- kernels come in the order that they are grouped in
  WHERE kernels.profile_id = windows.profile_id
    AND kernels.start_ns < windows.end_ns AND kernels.end_ns > windows.start_ns
), sums AS (
  SELECT profile_id, device_id, min(span_ns) AS span_ns, union_ns(start_ns, end_ns) AS busy_ns,
    capped_ns(start_ns, end_ns, blocks, 1) AS filled_ns, count(blocks) AS has_blocks,
    sum((end_ns - start_ns) * occupancy_ratio) AS occupied_ns,
    CAST(sum(1.0 * CASE WHEN occupancy_ratio IS NOT NULL THEN end_ns - start_ns END) AS INTEGER) AS known_ns,
    CAST(sum(1.0 * CASE WHEN uses_tensor_core THEN end_ns - start_ns ELSE 0 END) AS INTEGER) AS tensor_core_ns,
    CAST(sum(1.0 * CASE WHEN tensor_core_eligible THEN end_ns - start_ns ELSE 0 END) AS INTEGER) AS eligible_ns,
    count(*) AS kernel_count, CAST(sum(1.0 * (end_ns - start_ns)) AS INTEGER) AS kernel_ns
  FROM clipped GROUP BY profile_id, device_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  devices.model AS model,
  sums.span_ns AS span_ns,
  sums.busy_ns AS busy_ns,
  1.0 * sums.busy_ns / nullif(sums.span_ns, 0) AS utilization_ratio,
  CASE WHEN sums.has_blocks > 0 THEN sums.filled_ns / nullif(sums.span_ns, 0) END AS sm_efficiency_ratio,
  sums.occupied_ns / nullif(sums.known_ns, 0) AS occupancy_ratio,
  1.0 * sums.tensor_core_ns / nullif(sums.kernel_ns, 0) AS tensor_core_ratio,
  1.0 * sums.eligible_ns / nullif(sums.kernel_ns, 0) AS tensor_core_eligible_ratio,
  sums.kernel_count AS kernel_count,
  sums.kernel_ns AS kernel_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY profile_id, device_id
