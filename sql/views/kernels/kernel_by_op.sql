-- Kernels by op: which op launched which kernels, and what they cost.
--
-- One row for each profile, op name and kernel name.  Kernels that no recorded op launched have a row without an op
-- name.  Kernels that a warm-up step launched are left out, kernels launched outside of any step count.  Where kernels
-- were recorded only in some steps, count and times are weighed (sample_weight).
--   profile_id    INTEGER  -      The profile: a process or rank.
--   rank          INTEGER  -      Rank of the process.  NULL where it is unknown.
--   op            TEXT     -      Name of the op that launched the kernel: the one that the source names, otherwise the
--                                 innermost.  NULL where none was recorded.
--   kernel        TEXT     -      Name of the kernel.
--   kind          TEXT     -      Kind of kernel, as in kernels: compute or communication.
--   count         INTEGER  count  Number of launches.
--   sum_ns        INTEGER  ns     Time of the launches on the device.
--   sum_error_ns  INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary).  0 where all
--                                 were, NULL where too few were.
--   sum_ratio     REAL     ratio  Share of sum_ns in the kernel time of the profile.
--   mean_ns       INTEGER  ns     Mean duration.
-- Cost: linear in kernel_totals, once these are made.  Example: SELECT * FROM kernel_by_op LIMIT 10;
WITH sums AS (
  SELECT profile_id, op_name, name, min(kind) AS kind, CAST(round(sum(count * sample_weight)) AS INTEGER) AS count,
    CAST(sum(1.0 * sum_ns * sample_weight) AS INTEGER) AS sum_ns,
    CAST(sample_error(sum_ns, sampled_step_id) AS INTEGER) AS sum_error_ns
  FROM temp.kernel_totals WHERE is_measured = 1
  GROUP BY profile_id, op_name, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.op_name AS op,
  sums.name AS kernel,
  sums.kind AS kind,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_error_ns AS sum_error_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, op, kernel
