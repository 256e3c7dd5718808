-- Operators on host and device, as the operator page of the PyTorch TensorBoard plugin has them.
--
-- One row for each profile and op name; ranges, data loading, modules and Python frames are no operators.  An op that
-- is the only op called by one of the same name is the same call, as with overloads that hand on to each other.  All
-- steps count, warm-up too, and nothing is weighed.
--   profile_id, rank, op_name
--   count                            calls
--   host_self_ns, host_total_ns      its time without the ops and the calls of the device's interfaces inside it; with
--                                    them
--   device_self_ns, device_total_ns  time of the kernels, copies and fills that it launched itself; with the ops inside
--                                    it
--   tensor_core_eligible             1: tensor cores can compute it
--   tensor_core_self_ratio           share of its own kernel time that ran on tensor cores
-- Cost: two passes over ops, one over api_calls and one over kernels.
-- Example: SELECT op_name, count, device_self_ns FROM operator_summary LIMIT 10;
WITH runtime AS (
  SELECT profile_id, op_name AS name, CAST(sum(1.0 * dur_ns) AS INTEGER) AS runtime_ns
  FROM temp.api_calls GROUP BY profile_id, op_name
), same_name AS MATERIALIZED (
  SELECT parent_id, profile_id, name, dur_ns, device_ns
  FROM temp.ops WHERE parent_name = name AND +category IN ('op', 'autograd')
), with_others AS (
  SELECT parent_id FROM temp.ops WHERE parent_id IN (SELECT parent_id FROM same_name)
  GROUP BY parent_id HAVING count(*) > 1
), repeated AS (
  SELECT profile_id, name, count(*) AS count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS dur_ns,
    CAST(sum(1.0 * device_ns) AS INTEGER) AS device_ns
  FROM same_name WHERE parent_id NOT IN (SELECT parent_id FROM with_others)
  GROUP BY profile_id, name
), kernel_time AS (
  SELECT profile_id, op_name AS name, max(tensor_core_eligible) AS eligible,
    1.0 * CAST(sum(1.0 * CASE WHEN uses_tensor_core THEN dur_ns ELSE 0 END) AS INTEGER) / nullif(total(dur_ns), 0)
      AS tensor_core_ratio
  FROM temp.kernels GROUP BY profile_id, op_name
), sums AS (
  SELECT profile_id, name, count(*) AS count, CAST(sum(1.0 * self_ns) AS INTEGER) AS self_ns,
    CAST(sum(1.0 * dur_ns) AS INTEGER) AS dur_ns,
    CAST(sum(1.0 * device_self_ns) AS INTEGER) AS device_self_ns, CAST(sum(1.0 * device_ns) AS INTEGER) AS device_ns
  FROM temp.ops WHERE CASE category WHEN 'op' THEN 1 WHEN 'autograd' THEN 1 END GROUP BY profile_id, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS op_name,
  sums.count - coalesce(repeated.count, 0) AS count,
  sums.self_ns - coalesce(runtime.runtime_ns, 0) AS host_self_ns,
  sums.dur_ns - coalesce(repeated.dur_ns, 0) AS host_total_ns,
  sums.device_self_ns AS device_self_ns,
  sums.device_ns - coalesce(repeated.device_ns, 0) AS device_total_ns,
  coalesce(kernel_time.eligible, 0) AS tensor_core_eligible,
  kernel_time.tensor_core_ratio AS tensor_core_self_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN repeated ON repeated.profile_id = sums.profile_id AND repeated.name = sums.name
LEFT JOIN runtime ON runtime.profile_id = sums.profile_id AND runtime.name = sums.name
LEFT JOIN kernel_time ON kernel_time.profile_id = sums.profile_id AND kernel_time.name = sums.name
ORDER BY device_self_ns DESC, host_self_ns DESC, profile_id, op_name
