-- Kernels by op: which op launched which kernels, and what they cost.
--
-- One row for each profile, op name and kernel name; kernels that no recorded op launched have a row without an op
-- name.  Those that a warm-up step launched are left out, those launched outside any step count.  Where kernels were
-- recorded only in some steps, count and times are weighed (thinned_steps).
--   profile_id, rank
--   op_name                 the innermost op that launched the kernel
--   kernel_name, kind       of the kernel
--   count, sum_ns           launches and their time on the device
--   sum_ratio               share of all kernel time of the profile
--   mean_ns                 of their durations
-- Cost: one pass over kernels.  Example: SELECT * FROM kernel_by_op LIMIT 10;
WITH thinned AS MATERIALIZED (
  SELECT step_id, weight FROM temp.thinned_steps
), sums AS (
  SELECT profile_id, op_name, name AS kernel_name, min(kind) AS kind,
    CAST(round(sum(coalesce(weight, 1.0))) AS INTEGER) AS count,
    CAST(sum(dur_ns * coalesce(weight, 1.0)) AS INTEGER) AS sum_ns
  FROM temp.kernels AS kernels LEFT JOIN thinned ON thinned.step_id = kernels.step_id
  WHERE (kernels.step_id IS NULL OR kernels.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
    AND weight IS NOT 0
  GROUP BY profile_id, op_name, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.op_name AS op_name,
  sums.kernel_name AS kernel_name,
  sums.kind AS kind,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, op_name, kernel_name
