-- Kernel statistics: what runs on the devices, by kernel, launch configuration and op.
--
-- One row for each profile, kernel name, configuration (blocks, grid, registers, shared memory) and op.  It is the
-- table of kernel statistics of XProf and TensorBoard, for every source.  Kernels that a warm-up step launched are left
-- out, kernels launched outside of any step count.  Where kernels were recorded only in some steps, all except min_ns
-- and max_ns is weighed (sample_weight).  The configuration is NULL where the source does not tell it.
--   profile_id               INTEGER  -      The profile: a process or rank.
--   host                     TEXT     -      Host that it ran on.
--   rank                     INTEGER  -      Rank of the process.  NULL where it is unknown.
--   position                 INTEGER  -      Place of the row in its profile, from 1 for the one with the most time.
--   kernel                   TEXT     -      Name of the kernel, in full.
--   registers_per_thread     INTEGER  count  Number of registers of a thread.
--   shared_bytes             INTEGER  bytes  Shared memory of a block, static and dynamic together.
--   block                    TEXT     -      Size of a block in threads, as x,y,z.
--   grid                     TEXT     -      Size of the grid in blocks, as x,y,z.
--   occupancy_ratio          REAL     ratio  Share of the warp slots of a multiprocessor that the configuration allows
--                                            to be filled.  It is the mean, weighed by time.  NULL where the source
--                                            does not tell it and the device is not known.
--   is_tensor_core_eligible  INTEGER  -      1: the op is one that tensor cores can compute.  NULL without an op.
--   uses_tensor_core         INTEGER  -      1: the kernel computes on tensor cores, judged by its name.  NULL where
--                                            the name does not tell.
--   op                       TEXT     -      Name of the op that launched it: the one that the source names, otherwise
--                                            the innermost.  NULL where none was recorded.
--   count                    INTEGER  count  Number of launches.
--   sum_ns                   INTEGER  ns     Time of the launches on the device.
--   mean_ns                  INTEGER  ns     Mean duration.
--   min_ns                   INTEGER  ns     Shortest duration.
--   max_ns                   INTEGER  ns     Longest duration.
--   sum_error_ns             INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary). 0
--                                            where all were, NULL where too few were.
-- The list of names for tensor cores that XProf has lacks the convolutions of Ampere and later
-- (xmma_fprop_implicit_gemm), which use them.  It contains products of xmma that do not use them (ffma).  XProf also
-- calls eligible what only changes the layout for an op.  It shows the first 1,000 rows, and keeps the first occupancy
-- that it meets of a row.
-- Cost: linear in kernel_launch_totals, of captures in kernel_totals, once they are made.
-- Example: SELECT position, kernel, block, grid, occupancy_ratio, count, sum_ns FROM xprof_kernel_stats LIMIT 10;
WITH weighed AS ( -- steps can be warm-up, and stand for others, in captures; elsewhere nobody has to find them
  SELECT profile_id, launch_group, op_name, kernel_id, uses_tensor_core, tensor_core_eligible,
    theoretical_occupancy_ratio, count, sum_ns, min_ns, max_ns, 1.0 AS weight, NULL AS sampled_step_id
  FROM temp.kernel_launch_totals WHERE profile_id IN (SELECT id FROM temp.profiles WHERE origin <> 'tfprof')
  UNION ALL
  SELECT profile_id, launch_group, op_name, kernel_id, uses_tensor_core, tensor_core_eligible,
    theoretical_occupancy_ratio, count, sum_ns, min_ns, max_ns, sample_weight, sampled_step_id
  FROM temp.kernel_totals
  WHERE is_measured = 1 AND profile_id IN (SELECT id FROM temp.profiles WHERE origin = 'tfprof')
), summed AS (
  SELECT profile_id, launch_group, op_name, min(kernel_id) AS kernel_id,
    max(uses_tensor_core) AS uses_tensor_core, max(tensor_core_eligible) AS tensor_core_eligible,
    CAST(round(sum(count * weight)) AS INTEGER) AS count, CAST(sum(sum_ns * weight) AS INTEGER) AS sum_ns,
    CAST(sample_error(sum_ns, sampled_step_id) AS INTEGER) AS sum_error_ns, min(min_ns) AS min_ns,
    max(max_ns) AS max_ns, sum(theoretical_occupancy_ratio * sum_ns * weight)
      / nullif(sum(CASE WHEN theoretical_occupancy_ratio IS NOT NULL THEN sum_ns * weight END), 0) AS occupancy_ratio
  FROM weighed
  GROUP BY profile_id, launch_group, op_name
), sums AS (
  SELECT summed.*, name, block_x, block_y, block_z, grid_x, grid_y, grid_z, registers_per_thread, static_shared_bytes,
    dynamic_shared_bytes
  FROM summed JOIN temp.kernels AS kernels ON kernels.id = summed.kernel_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  row_number() OVER (
    PARTITION BY sums.profile_id
    ORDER BY sums.sum_ns DESC, sums.name, sums.grid_x, sums.grid_y, sums.grid_z, sums.block_x, sums.block_y,
      sums.block_z, sums.registers_per_thread, sums.static_shared_bytes, sums.dynamic_shared_bytes,
      sums.uses_tensor_core, sums.tensor_core_eligible, sums.op_name) AS position,
  sums.name AS kernel,
  sums.registers_per_thread AS registers_per_thread,
  CASE WHEN coalesce(sums.static_shared_bytes, sums.dynamic_shared_bytes) IS NOT NULL
    THEN coalesce(sums.static_shared_bytes, 0) + coalesce(sums.dynamic_shared_bytes, 0) END AS shared_bytes,
  sums.block_x || ',' || sums.block_y || ',' || sums.block_z AS block,
  sums.grid_x || ',' || sums.grid_y || ',' || sums.grid_z AS grid,
  sums.occupancy_ratio AS occupancy_ratio,
  sums.tensor_core_eligible AS is_tensor_core_eligible,
  sums.uses_tensor_core AS uses_tensor_core,
  sums.op_name AS op,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  sums.sum_error_ns AS sum_error_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY profile_id, position
