-- Devices at a glance: how much of the time they worked, and how well filled they were.
--
-- One row for each profile and device that ran kernels, over the time of all steps as step_breakdown has them, and over
-- the span of the kernels where a profile has no steps; without steps whose kernels were not recorded, where that is
-- so (thinned_steps).  The measures are those of the PyTorch TensorBoard plugin.
--   profile_id, rank, device_id, device, model   the device, its name and product name
--   span_ns, busy_ns, utilization_ratio   the time looked at; in which a kernel ran; its share
--   sm_efficiency_ratio                share of the multiprocessors that had a block, estimated: blocks per
--                                      multiprocessor of the kernels that run together, at most 1, over the span
--   occupancy_ratio                    mean achieved occupancy of the kernels, by their time
--   tensor_core_ratio, tensor_core_eligible_ratio   share of the kernel time that uses tensor cores; of ops that could
--   kernel_count, kernel_ns            kernels in that time; their durations
-- Cost: one pass over kernels, and one look at those that reach beyond that time, which is taken off.
-- Example: SELECT device, utilization_ratio, sm_efficiency_ratio FROM device_utilization;
WITH windows AS MATERIALIZED (
  SELECT id AS profile_id,
    coalesce((SELECT min(start_ns) FROM temp.step_segments AS segments WHERE segments.profile_id = profiles.id),
      (SELECT min(start_ns) FROM temp.kernels AS kernels WHERE kernels.profile_id = profiles.id)) AS start_ns,
    coalesce((SELECT max(end_ns) FROM temp.step_segments AS segments WHERE segments.profile_id = profiles.id),
      (SELECT max(end_ns) FROM temp.kernels AS kernels WHERE kernels.profile_id = profiles.id)) AS end_ns
  FROM temp.profiles AS profiles
), unknown AS MATERIALIZED ( -- time of steps whose kernels were not recorded
  SELECT steps.profile_id AS profile_id, sum(steps.dur_ns) AS dur_ns
  FROM temp.thinned_steps AS thinned CROSS JOIN temp.steps AS steps ON steps.id = thinned.step_id
  WHERE thinned.weight = 0 AND NOT thinned.has_work GROUP BY steps.profile_id
), whole AS ( -- of all kernels, which come in the order that they are grouped in
  SELECT profile_id, device_id, union_ns(start_ns, end_ns) AS busy_ns,
    capped_ns(start_ns, end_ns, blocks_per_multiprocessor, 1) AS filled_ns,
    count(blocks_per_multiprocessor) AS has_blocks,
    total(dur_ns * occupancy_ratio) AS occupied_ns,
    total(dur_ns) FILTER (WHERE occupancy_ratio IS NOT NULL) AS known_ns,
    total(dur_ns) FILTER (WHERE uses_tensor_core) AS tensor_core_ns,
    total(dur_ns) FILTER (WHERE tensor_core_eligible) AS eligible_ns,
    count(dur_ns) AS kernel_count, total(dur_ns) AS kernel_ns
  FROM temp.kernels
  GROUP BY profile_id, device_id
), beyond AS ( -- what lies before and after the time looked at, of the few kernels that reach beyond it
  SELECT kernels.profile_id AS profile_id, kernels.device_id AS device_id, kernels.start_ns AS start_ns,
    min(kernels.end_ns, windows.start_ns) AS end_ns, kernels.end_ns <= windows.start_ns AS is_outside,
    blocks_per_multiprocessor AS blocks, occupancy_ratio, uses_tensor_core, tensor_core_eligible
  FROM windows CROSS JOIN temp.kernels AS kernels
    ON kernels.profile_id = windows.profile_id AND kernels.start_ns <= windows.start_ns
  UNION ALL
  SELECT kernels.profile_id, kernels.device_id, max(kernels.start_ns, windows.end_ns), kernels.end_ns,
    kernels.start_ns >= windows.end_ns AND kernels.end_ns > windows.start_ns,
    blocks_per_multiprocessor, occupancy_ratio, uses_tensor_core, tensor_core_eligible
  FROM windows CROSS JOIN temp.kernels AS kernels
    ON kernels.profile_id = windows.profile_id AND kernels.end_ns >= windows.end_ns
), outside AS (
  SELECT profile_id, device_id, union_ns(start_ns, end_ns) AS busy_ns,
    capped_ns(start_ns, end_ns, blocks, 1) AS filled_ns,
    count(blocks) FILTER (WHERE is_outside) AS has_blocks,
    total((end_ns - start_ns) * occupancy_ratio) AS occupied_ns,
    total(end_ns - start_ns) FILTER (WHERE occupancy_ratio IS NOT NULL) AS known_ns,
    total(end_ns - start_ns) FILTER (WHERE uses_tensor_core) AS tensor_core_ns,
    total(end_ns - start_ns) FILTER (WHERE tensor_core_eligible) AS eligible_ns,
    count(*) FILTER (WHERE is_outside) AS kernel_count, total(end_ns - start_ns) AS kernel_ns
  FROM beyond GROUP BY profile_id, device_id
), sums AS (
  SELECT whole.profile_id AS profile_id, whole.device_id AS device_id,
    windows.end_ns - windows.start_ns
      - coalesce((SELECT dur_ns FROM unknown WHERE unknown.profile_id = whole.profile_id), 0) AS span_ns,
    whole.busy_ns - coalesce(outside.busy_ns, 0) AS busy_ns,
    whole.filled_ns - coalesce(outside.filled_ns, 0) AS filled_ns,
    whole.has_blocks - coalesce(outside.has_blocks, 0) AS has_blocks,
    whole.occupied_ns - coalesce(outside.occupied_ns, 0) AS occupied_ns,
    whole.known_ns - coalesce(outside.known_ns, 0) AS known_ns,
    whole.tensor_core_ns - coalesce(outside.tensor_core_ns, 0) AS tensor_core_ns,
    whole.eligible_ns - coalesce(outside.eligible_ns, 0) AS eligible_ns,
    whole.kernel_count - coalesce(outside.kernel_count, 0) AS kernel_count,
    CAST(whole.kernel_ns - coalesce(outside.kernel_ns, 0) AS INTEGER) AS kernel_ns
  FROM whole JOIN windows ON windows.profile_id = whole.profile_id
  LEFT JOIN outside ON outside.profile_id = whole.profile_id AND outside.device_id IS whole.device_id
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
  sums.tensor_core_ns / nullif(sums.kernel_ns, 0) AS tensor_core_ratio,
  sums.eligible_ns / nullif(sums.kernel_ns, 0) AS tensor_core_eligible_ratio,
  sums.kernel_count AS kernel_count,
  sums.kernel_ns AS kernel_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
WHERE sums.kernel_count > 0
ORDER BY profile_id, device_id
