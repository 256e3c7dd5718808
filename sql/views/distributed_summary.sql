-- Distributed training at a glance: how each rank's steps divide into computing, communicating and the rest.
--
-- One row for each profile that communicated, means over its steps as step_breakdown has them; like the distributed
-- page of the PyTorch TensorBoard plugin.
--   profile_id, rank
--   step_count, step_ns          steps; mean time of one
--   computation_ns               mean time of a step in which a compute kernel ran
--   overlap_ns                   of it, while a communication kernel ran too
--   communication_ns             mean time of a step in which a communication kernel ran and no compute kernel
--   other_ns                     the rest of the step
--   collective_count, bytes      collectives in all; the data of all of them
-- Cost: one pass over kernels, step_segments and collectives.
-- Example: SELECT rank, overlap_ns FROM distributed_summary;
WITH spans AS (
  SELECT steps.profile_id AS profile_id, min(segments.start_ns) AS start_ns, max(segments.end_ns) AS end_ns,
    count(DISTINCT segments.step_id) AS step_count, CAST(sum(1.0 * segments.dur_ns) AS INTEGER) AS steps_ns
  FROM temp.step_segments AS segments JOIN temp.steps AS steps ON steps.id = segments.step_id
  GROUP BY steps.profile_id
), clipped AS (
  SELECT kernels.profile_id AS profile_id, kernels.kind AS kind, max(kernels.start_ns, spans.start_ns) AS start_ns,
    min(kernels.end_ns, spans.end_ns) AS end_ns
  FROM spans CROSS JOIN temp.kernels AS kernels
  WHERE kernels.profile_id = spans.profile_id AND kernels.start_ns < spans.end_ns AND kernels.end_ns > spans.start_ns
), covered AS (
  SELECT profile_id, union_ns(start_ns, end_ns) AS both_ns,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'compute') AS compute_ns,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'communication') AS communication_ns
  FROM clipped GROUP BY profile_id
), exchanged AS (
  SELECT profile_id, count(*) AS collective_count, CAST(sum(1.0 * bytes) AS INTEGER) AS bytes
    FROM temp.collectives GROUP BY profile_id
)
SELECT
  spans.profile_id AS profile_id,
  profiles.rank AS rank,
  spans.step_count AS step_count,
  spans.steps_ns / spans.step_count AS step_ns,
  covered.compute_ns / spans.step_count AS computation_ns,
  (covered.compute_ns + covered.communication_ns - covered.both_ns) / spans.step_count AS overlap_ns,
  (covered.both_ns - covered.compute_ns) / spans.step_count AS communication_ns,
  (spans.steps_ns - covered.both_ns) / spans.step_count AS other_ns,
  coalesce(exchanged.collective_count, 0) AS collective_count,
  exchanged.bytes AS bytes
FROM spans
JOIN covered ON covered.profile_id = spans.profile_id
JOIN temp.profiles AS profiles ON profiles.id = spans.profile_id
LEFT JOIN exchanged ON exchanged.profile_id = spans.profile_id
WHERE covered.communication_ns > 0
ORDER BY profile_id
