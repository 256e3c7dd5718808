-- Occupancy: kernels that leave much of the device unused, by the time that they do.
--
-- One row for each profile and kernel name with a known occupancy or number of blocks.  Those that a warm-up step
-- launched are left out.  Where kernels were recorded only in some steps, everything but the largest uses is weighed by
-- what these stand for (sample_weight).
--   profile_id                 INTEGER  -      The profile: a process or rank.
--   rank                       INTEGER  -      Rank of the process.  NULL where it is unknown.
--   kernel                     TEXT     -      Name of the kernel.
--   count                      INTEGER  count  Launches of the kernel.
--   sum_ns                     INTEGER  ns     Time of these launches.
--   sum_error_ns               INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary).
--                                              0 where all were, NULL where too few were.
--   occupancy_ratio            REAL     ratio  Mean of the achieved occupancy as the source estimates it, weighed by
--                                              the durations of the launches.  NULL where it is not known.
--   blocks_per_multiprocessor  REAL     -      Mean number of blocks by multiprocessors, weighed by the durations of
--                                              the launches.  Below 1 some had nothing to do.  NULL where it is not
--                                              known.
--   threads_per_block          REAL     -      Mean size of a block.
--   registers_per_thread       INTEGER  -      Most registers for a thread that a launch uses, which may limit
--                                              occupancy.
--   shared_bytes               INTEGER  bytes  Most shared memory for a block that a launch uses, which may limit
--                                              occupancy.
--   unused_ns                  INTEGER  ns     Time sum_ns times the part of the device that was not occupied.  NULL
--                                              where occupancy_ratio is not known.
-- Cost: linear in kernel_totals, once these are made.  One pass over kernels where only some steps were recorded.
-- Example: SELECT kernel, occupancy_ratio, unused_ns FROM occupancy_summary LIMIT 10;
WITH sums AS (
  SELECT totals.profile_id AS profile_id, totals.name AS name,
    CAST(round(sum(totals.count * totals.sample_weight)) AS INTEGER) AS count,
    CAST(sum(1.0 * totals.sum_ns * totals.sample_weight) AS INTEGER) AS sum_ns,
    CAST(sample_error(totals.sum_ns, totals.sampled_step_id) AS INTEGER) AS sum_error_ns,
    sum(totals.occupancy_ratio * occupancy_known_ns * totals.sample_weight)
      / nullif(total(occupancy_known_ns * totals.sample_weight), 0) AS occupancy_ratio,
    sum(totals.blocks_per_multiprocessor * blocks_known_ns * totals.sample_weight)
      / nullif(total(blocks_known_ns * totals.sample_weight), 0) AS blocks_per_multiprocessor,
    total(1.0 * totals.count * block_x * block_y * block_z * totals.sample_weight)
      / nullif(sum(iif(block_x IS NULL, 0, totals.count) * totals.sample_weight), 0) AS threads_per_block,
    max(registers_per_thread) AS registers_per_thread,
    max(coalesce(static_shared_bytes, 0) + coalesce(dynamic_shared_bytes, 0)) AS shared_bytes
  FROM temp.kernel_totals AS totals CROSS JOIN temp.kernels AS first ON first.id = totals.kernel_id
  WHERE totals.is_measured = 1
  GROUP BY totals.profile_id, totals.name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS kernel,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_error_ns AS sum_error_ns,
  sums.occupancy_ratio AS occupancy_ratio,
  sums.blocks_per_multiprocessor AS blocks_per_multiprocessor,
  sums.threads_per_block AS threads_per_block,
  sums.registers_per_thread AS registers_per_thread,
  sums.shared_bytes AS shared_bytes,
  CAST(sums.sum_ns * (1 - sums.occupancy_ratio) AS INTEGER) AS unused_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
WHERE sums.occupancy_ratio IS NOT NULL OR sums.blocks_per_multiprocessor IS NOT NULL
ORDER BY unused_ns DESC, sum_ns DESC, profile_id, kernel
