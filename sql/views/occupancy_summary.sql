-- Occupancy: kernels that leave much of the device unused, by the time that they do.
--
-- One row for each profile and kernel name with a known occupancy or number of blocks; those that a warm-up step
-- launched are left out.  Shares are means weighed by the duration of the launches.  Where kernels were recorded only
-- in some steps, count and times are weighed, too (thinned_steps).
--   profile_id, rank, name
--   count, sum_ns                  launches and their time
--   occupancy_ratio                achieved occupancy as the source estimates it
--   blocks_per_multiprocessor      blocks over multiprocessors; below 1 some had nothing to do
--   threads_per_block              mean size of a block
--   registers_per_thread, shared_bytes   largest use of a launch, by which occupancy may be limited
--   unused_ns                      sum_ns times the part of the device that was not occupied
-- Cost: one pass over kernels.  Example: SELECT name, occupancy_ratio, unused_ns FROM occupancy_summary LIMIT 10;
WITH thinned AS MATERIALIZED (
  SELECT step_id, weight FROM temp.thinned_steps
), sums AS (
  SELECT profile_id, name,
    CAST(round(sum(coalesce(weight, 1.0))) AS INTEGER) AS count,
    CAST(sum(dur_ns * coalesce(weight, 1.0)) AS INTEGER) AS sum_ns,
    sum(occupancy_ratio * dur_ns) / nullif(sum(CASE WHEN occupancy_ratio IS NOT NULL THEN dur_ns END), 0)
      AS occupancy_ratio,
    sum(blocks_per_multiprocessor * dur_ns)
      / nullif(sum(CASE WHEN blocks_per_multiprocessor IS NOT NULL THEN dur_ns END), 0) AS blocks_per_multiprocessor,
    avg(block_x * block_y * block_z) AS threads_per_block, max(registers_per_thread) AS registers_per_thread,
    max(coalesce(static_shared_bytes, 0) + coalesce(dynamic_shared_bytes, 0)) AS shared_bytes
  FROM temp.kernels AS kernels LEFT JOIN thinned ON thinned.step_id = kernels.step_id
  WHERE (kernels.step_id IS NULL OR kernels.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
    AND weight IS NOT 0
  GROUP BY profile_id, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS name,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.occupancy_ratio AS occupancy_ratio,
  sums.blocks_per_multiprocessor AS blocks_per_multiprocessor,
  sums.threads_per_block AS threads_per_block,
  sums.registers_per_thread AS registers_per_thread,
  sums.shared_bytes AS shared_bytes,
  CAST(sums.sum_ns * (1 - sums.occupancy_ratio) AS INTEGER) AS unused_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
WHERE sums.occupancy_ratio IS NOT NULL OR sums.blocks_per_multiprocessor IS NOT NULL
ORDER BY unused_ns DESC, sum_ns DESC, profile_id, name
