-- Devices at a glance: how much of the time they worked, and how well filled they were.
--
-- One row for each profile and device that ran kernels.  The time looked at is that of all steps as _step_parts has
-- them, and the span of the kernels where a profile has no steps.  Where each step was recorded by itself (steps.origin
-- is session), what lies between them does not count.  The measures are those of the PyTorch TensorBoard plugin.  Where
-- kernels were recorded only in some steps, these stand for the others (_thinned_steps): each with what it launched,
-- over the time of all steps.  The time of _calibration_steps does not count.
--   profile_id                  INTEGER  -      The profile: a process or rank.
--   rank                        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id                   INTEGER  -      The device, as in devices.
--   device                      TEXT     -      Name of the device.
--   model                       TEXT     -      Product name of the device.
--   span_ns                     INTEGER  ns     The time looked at.
--   busy_ns                     INTEGER  ns     Part of span_ns in which a kernel ran.
--   utilization_ratio           REAL     ratio  Share of busy_ns in span_ns.
--   utilization_error_ratio     REAL     ratio  Error of utilization_ratio where only some steps were recorded
--                                               (sampling_summary).  0 where all were, NULL where too few were.
--   sm_efficiency_ratio         REAL     ratio  Share of the multiprocessors that had a block, over span_ns.  It is
--                                               estimated from the blocks per multiprocessor of the kernels that run
--                                               together, at most 1.  NULL where blocks are not known.
--   occupancy_ratio             REAL     ratio  Mean achieved occupancy of the kernels, weighed by their durations.
--                                               NULL where it is not known of any.
--   tensor_core_ratio           REAL     ratio  Share of the kernel time in kernels that use tensor cores.  NULL for a
--                                               device that is no GPU.
--   tensor_core_eligible_ratio  REAL     ratio  Share of the kernel time in kernels of ops that tensor cores could
--                                               compute.  NULL for a device that is no GPU.
--   kernel_count                INTEGER  count  Number of kernels in the time looked at.
--   kernel_ns                   INTEGER  ns     Sum of their durations.
-- Cost: one pass over device_kernel_totals, once they are made, and one look at those that reach beyond that time,
-- which is taken off. step_kernel_totals of thinned recordings.
-- Example: SELECT device, utilization_ratio, sm_efficiency_ratio FROM device_utilization;
WITH thinned AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp._thinned_steps
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), windows AS MATERIALIZED (
  SELECT id AS profile_id,
    coalesce((SELECT min(first_start_ns) FROM temp.step_segment_totals AS cut WHERE cut.profile_id = profiles.id),
      (SELECT min(start_ns) FROM temp.kernels AS kernels WHERE kernels.profile_id = profiles.id)) AS start_ns,
    coalesce((SELECT max(last_end_ns) FROM temp.step_segment_totals AS cut WHERE cut.profile_id = profiles.id),
      (SELECT max(end_ns) FROM temp.kernels AS kernels WHERE kernels.profile_id = profiles.id)) AS end_ns
  FROM temp.profiles AS profiles
), sessions AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * dur_ns) FILTER (WHERE origin = 'session') AS span_ns,
    total(dur_ns) FILTER (WHERE is_warmup = 1 AND sample_weight = 0) AS left_out_ns -- _calibration_steps
  FROM temp.steps GROUP BY 1
), all_kernels AS (
  SELECT profile_id, device_id, busy_ns, coalesce(busy_ns * filled_ratio, 0.0) AS filled_ns,
    blocks_known_count AS has_blocks, coalesce(occupancy_known_ns * occupancy_ratio, 0.0) AS occupied_ns,
    1.0 * occupancy_known_ns AS known_ns, 1.0 * tensor_core_ns AS tensor_core_ns, 1.0 * eligible_ns AS eligible_ns,
    count AS kernel_count, 1.0 * sum_ns AS kernel_ns
  FROM temp.device_kernel_totals WHERE profile_id IN (SELECT profile_id FROM whole)
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
), in_step AS MATERIALIZED (
  SELECT totals.profile_id AS profile_id, totals.device_id AS device_id, totals.step_id AS step_id,
    coalesce(steps.sample_weight, 1.0) AS weight, totals.busy_ns AS busy_ns,
    coalesce(totals.busy_ns * totals.filled_ratio, 0.0) AS filled_ns, totals.blocks_known_count AS has_blocks,
    coalesce(totals.occupancy_known_ns * totals.occupancy_ratio, 0.0) AS occupied_ns,
    1.0 * totals.occupancy_known_ns AS known_ns, 1.0 * totals.tensor_core_ns AS tensor_core_ns,
    1.0 * totals.eligible_ns AS eligible_ns, totals.count AS kernel_count, 1.0 * totals.sum_ns AS kernel_ns
  FROM temp.step_kernel_totals AS totals JOIN temp.steps AS steps ON steps.id = totals.step_id
  WHERE totals.profile_id IN (SELECT profile_id FROM thinned)
), spans AS ( -- the time of all steps, of which those that were recorded tell
  SELECT profile_id, sum(coalesce(pace_ns, dur_ns) * coalesce(sample_weight, 1.0)) AS span_ns
  FROM temp.steps
  WHERE profile_id IN (SELECT profile_id FROM thinned)
    AND (sample_weight IS NOT NULL OR id IN (SELECT step_id FROM temp.device_steps))
  GROUP BY profile_id
), weighed AS MATERIALIZED (
  SELECT in_step.profile_id AS profile_id, device_id, max(spans.span_ns) AS span_ns, sum(busy_ns * weight) AS busy_ns,
    sum(filled_ns * weight) AS filled_ns, sum(has_blocks) AS has_blocks, sum(occupied_ns * weight) AS occupied_ns,
    sum(known_ns * weight) AS known_ns, sum(tensor_core_ns * weight) AS tensor_core_ns,
    sum(eligible_ns * weight) AS eligible_ns, sum(kernel_count * weight) AS kernel_count,
    sum(kernel_ns * weight) AS kernel_ns
  FROM in_step JOIN spans ON spans.profile_id = in_step.profile_id
  GROUP BY in_step.profile_id, device_id
), estimated AS ( -- the error is that of a share of the time: how much steps differ from it
  SELECT weighed.*,
    sqrt(pow(sample_error(coalesce(in_step.busy_ns, 0) - weighed.busy_ns / weighed.span_ns * coalesce(steps.pace_ns,
          steps.dur_ns), drawn.step_id), 2)
      + pow(max(drawn.unseen_ratio) * weighed.busy_ns, 2)) / weighed.span_ns AS utilization_error_ratio
  FROM weighed
  JOIN temp._sampled_steps AS drawn ON drawn.profile_id = weighed.profile_id
  JOIN temp.steps AS steps ON steps.id = drawn.step_id
  LEFT JOIN in_step ON in_step.step_id = drawn.step_id AND in_step.device_id IS weighed.device_id
  GROUP BY weighed.profile_id, weighed.device_id
), sums AS (
  SELECT profile_id, device_id, CAST(max(span_ns, busy_ns) AS INTEGER) AS span_ns, CAST(busy_ns AS INTEGER) AS busy_ns,
    filled_ns, has_blocks, occupied_ns, known_ns, tensor_core_ns, eligible_ns,
    CAST(round(kernel_count) AS INTEGER) AS kernel_count, CAST(kernel_ns AS INTEGER) AS kernel_ns,
    utilization_error_ratio
  FROM estimated
  UNION ALL
  SELECT all_kernels.profile_id AS profile_id, all_kernels.device_id AS device_id,
    CAST(coalesce(max(sessions.span_ns, all_kernels.busy_ns), windows.end_ns - windows.start_ns
        - coalesce(sessions.left_out_ns, 0)) AS INTEGER) AS span_ns,
    all_kernels.busy_ns - coalesce(outside.busy_ns, 0) AS busy_ns,
    all_kernels.filled_ns - coalesce(outside.filled_ns, 0) AS filled_ns,
    all_kernels.has_blocks - coalesce(outside.has_blocks, 0) AS has_blocks,
    all_kernels.occupied_ns - coalesce(outside.occupied_ns, 0) AS occupied_ns,
    all_kernels.known_ns - coalesce(outside.known_ns, 0) AS known_ns,
    all_kernels.tensor_core_ns - coalesce(outside.tensor_core_ns, 0) AS tensor_core_ns,
    all_kernels.eligible_ns - coalesce(outside.eligible_ns, 0) AS eligible_ns,
    all_kernels.kernel_count - coalesce(outside.kernel_count, 0) AS kernel_count,
    CAST(all_kernels.kernel_ns - coalesce(outside.kernel_ns, 0) AS INTEGER) AS kernel_ns, 0
  FROM all_kernels JOIN windows ON windows.profile_id = all_kernels.profile_id
  LEFT JOIN sessions ON sessions.profile_id = all_kernels.profile_id
  LEFT JOIN outside ON outside.profile_id = all_kernels.profile_id AND outside.device_id IS all_kernels.device_id
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
  sums.utilization_error_ratio AS utilization_error_ratio,
  CASE WHEN sums.has_blocks > 0 THEN sums.filled_ns / nullif(sums.span_ns, 0) END AS sm_efficiency_ratio,
  sums.occupied_ns / nullif(sums.known_ns, 0) AS occupancy_ratio,
  CASE WHEN coalesce(devices.kind, 'gpu') = 'gpu' THEN sums.tensor_core_ns / nullif(sums.kernel_ns, 0) END
    AS tensor_core_ratio,
  CASE WHEN coalesce(devices.kind, 'gpu') = 'gpu' THEN sums.eligible_ns / nullif(sums.kernel_ns, 0) END
    AS tensor_core_eligible_ratio,
  sums.kernel_count AS kernel_count,
  sums.kernel_ns AS kernel_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
WHERE sums.kernel_count > 0
ORDER BY profile_id, device_id
