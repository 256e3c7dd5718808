-- Operators on host and device, as the operator page of the PyTorch TensorBoard plugin has them.
--
-- One row for each profile and op name.  Ranges, data loading, modules and Python frames are no operators.  An op that
-- is the only op called by one of the same name is the same call, as with overloads that hand on to each other.  All
-- steps count, warm-up too.  Where a capture recorded ops only in some steps, counts and times are weighed by
-- ops.sample_weight, and those of calls and kernels by that of the op that asked for them.
--   profile_id               INTEGER  -      The profile: a process or rank.
--   rank                     INTEGER  -      Rank of the process.  NULL where it is unknown.
--   op                       TEXT     -      Name of the op.
--   count                    INTEGER  count  Calls (weighed).
--   host_self_ns             INTEGER  ns     Time of the op without the ops and the calls of the interfaces of devices
--                                            inside it (weighed).
--   host_self_error_ns       INTEGER  ns     Error of host_self_ns where only some steps were recorded
--                                            (sampling_summary).  0 where all were, NULL where too few were.
--   host_sum_ns              INTEGER  ns     Time of the op from start to end, with all that is inside it (weighed).
--   device_self_ns           INTEGER  ns     Time of the kernels, copies and fills that it launched itself (weighed).
--                                            NULL without a device.
--   device_self_error_ns     INTEGER  ns     Error of device_self_ns where only some steps were recorded
--                                            (sampling_summary).  0 where all were, NULL without a device and where too
--                                            few were.
--   device_sum_ns            INTEGER  ns     Time of the kernels, copies and fills that it and the ops inside it
--                                            launched (weighed).  NULL without a device.
--   is_tensor_core_eligible  INTEGER  -      1 where tensor cores can compute it, else 0.
--   tensor_core_self_ratio   REAL     ratio  Share of kernels on tensor cores in device_self_ns.  NULL where it
--                                            launched none itself.
--   tensor_core_sum_ratio    REAL     ratio  Share of kernels on tensor cores in device_sum_ns.  NULL where none was
--                                            launched.
-- Cost: one pass over ops (three where only some steps were recorded) and one over api_calls.  Else linear in op_totals
-- and kernel_totals.
-- Example: SELECT op, count, device_self_ns FROM tb_operator_summary LIMIT 10;
WITH sampled AS ( -- only there do calls and kernels have to be told apart by their op
  SELECT DISTINCT profile_id FROM temp.steps WHERE sample_weight > 1
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM sampled)
), sampled_calls AS (
  SELECT calls.profile_id AS profile_id, calls.op_name AS name, ops.step_id AS step_id, ops.is_measured AS is_measured,
    ops.sample_weight AS weight, 1.0 * calls.op_ns AS dur_ns
  FROM temp.api_calls AS calls CROSS JOIN temp.ops AS ops ON ops.id = calls.op_id
  WHERE calls.profile_id IN (SELECT profile_id FROM sampled)
), runtime AS (
  SELECT profile_id, op_name AS name, sum(1.0 * op_ns) AS runtime_ns
  FROM temp.api_calls WHERE profile_id IN (SELECT profile_id FROM whole) GROUP BY profile_id, op_name
  UNION ALL
  SELECT profile_id, name, sum(dur_ns * weight) FROM sampled_calls GROUP BY profile_id, name
), callers AS MATERIALIZED ( -- few pairs of names, so that not every op has to be compared with its caller
  SELECT DISTINCT name, parent_name FROM temp.ops
), same_name AS MATERIALIZED (
  SELECT parent_id, profile_id, name, sample_weight, net_ns, device_ns, tensor_core_ns
  FROM temp.ops
  WHERE parent_name IN (SELECT name FROM callers WHERE parent_name = name) AND parent_name = name
    AND +category IN ('op', 'autograd')
), with_others AS (
  SELECT parent_id FROM temp.ops WHERE parent_id IN (SELECT parent_id FROM same_name)
  GROUP BY parent_id HAVING count(*) > 1
), repeated AS (
  SELECT profile_id, name, sum(sample_weight) AS count, sum(net_ns * sample_weight) AS dur_ns,
    sum(device_ns * sample_weight) AS device_ns, sum(tensor_core_ns * sample_weight) AS tensor_core_ns
  FROM same_name WHERE parent_id NOT IN (SELECT parent_id FROM with_others)
  GROUP BY profile_id, name
), kernel_time AS (
  SELECT profile_id, op_name AS name, max(tensor_core_eligible) AS eligible,
    total(sum_ns) FILTER (WHERE uses_tensor_core = 1) AS tensor_core_ns
  FROM temp.kernel_totals WHERE profile_id IN (SELECT profile_id FROM whole) GROUP BY profile_id, op_name
  UNION ALL
  SELECT kernels.profile_id, kernels.op_name, max(kernels.tensor_core_eligible),
    total(CASE WHEN kernels.uses_tensor_core THEN kernels.dur_ns * ops.sample_weight END)
  FROM temp.kernels AS kernels CROSS JOIN temp.ops AS ops ON ops.id = kernels.op_id
  WHERE kernels.profile_id IN (SELECT profile_id FROM sampled)
  GROUP BY kernels.profile_id, kernels.op_name
), sums AS MATERIALIZED (
  SELECT profile_id, name, sum(count) AS count, sum(1.0 * self_ns) AS self_ns, sum(1.0 * sum_ns) AS dur_ns,
    sum(1.0 * device_self_ns) AS device_self_ns, sum(1.0 * device_ns) AS device_ns,
    sum(1.0 * tensor_core_ns) AS tensor_core_ns
  FROM temp.op_totals
  WHERE category IN ('op', 'autograd') AND count > 0 AND profile_id IN (SELECT profile_id FROM whole)
  GROUP BY profile_id, name
  UNION ALL
  SELECT profile_id, name, sum(sample_weight), sum(self_ns * sample_weight), sum(net_ns * sample_weight),
    sum(device_self_ns * sample_weight), sum(device_ns * sample_weight), sum(tensor_core_ns * sample_weight)
  FROM temp.ops
  WHERE +category IN ('op', 'autograd') AND sample_weight IS NOT NULL
    AND profile_id IN (SELECT profile_id FROM sampled)
  GROUP BY profile_id, name
), errors AS ( -- a warm-up step speaks for itself alone, and adds no error
  SELECT profile_id, name, sample_error(self_ns, step_id) AS self_ns,
    sample_error(device_self_ns, step_id) AS device_self_ns
  FROM (
    SELECT profile_id, name, step_id, self_ns, device_self_ns FROM temp.ops
    WHERE +category IN ('op', 'autograd') AND is_measured = 1 AND profile_id IN (SELECT profile_id FROM sampled)
    UNION ALL
    SELECT profile_id, name, step_id, -dur_ns, NULL FROM sampled_calls WHERE is_measured = 1
  ) GROUP BY profile_id, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS op,
  CAST(round(sums.count - coalesce(repeated.count, 0)) AS INTEGER) AS count,
  CAST(sums.self_ns - coalesce(runtime.runtime_ns, 0) AS INTEGER) AS host_self_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.self_ns AS INTEGER) ELSE 0 END AS host_self_error_ns,
  CAST(sums.dur_ns - coalesce(repeated.dur_ns, 0) AS INTEGER) AS host_sum_ns,
  CAST(sums.device_self_ns AS INTEGER) AS device_self_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.device_self_ns AS INTEGER)
    WHEN sums.device_self_ns IS NOT NULL THEN 0 END AS device_self_error_ns,
  CAST(sums.device_ns - coalesce(repeated.device_ns, 0) AS INTEGER) AS device_sum_ns,
  coalesce(kernel_time.eligible, 0) AS is_tensor_core_eligible,
  kernel_time.tensor_core_ns / nullif(sums.device_self_ns, 0) AS tensor_core_self_ratio,
  (sums.tensor_core_ns - coalesce(repeated.tensor_core_ns, 0))
    / nullif(sums.device_ns - coalesce(repeated.device_ns, 0), 0) AS tensor_core_sum_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN repeated ON repeated.profile_id = sums.profile_id AND repeated.name = sums.name
LEFT JOIN runtime ON runtime.profile_id = sums.profile_id AND runtime.name = sums.name
LEFT JOIN kernel_time ON kernel_time.profile_id = sums.profile_id AND kernel_time.name = sums.name
LEFT JOIN errors ON errors.profile_id = sums.profile_id AND errors.name = sums.name
ORDER BY device_self_ns DESC, host_self_ns DESC, profile_id, op
