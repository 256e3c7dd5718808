-- Frequent sequences of kernels: what the same op runs on the device again and again, and could be fused.
--
-- One row for each profile, outermost op and sequence of at least three kernels that all ops inside it launched (HTA
-- looks for them under one op name at a time; WHERE op_name LIKE '%conv%' does that).  Copies and fills are not counted.
--   profile_id, rank
--   op_name                          of the outermost op; ranges, modules and Python frames do not count as ops
--   pattern                          short names of the kernels in the order of their launches, with | between them
--   kernel_count                     how many kernels that are
--   count                            how often it occurs
--   kernel_ns, op_ns                 time of all those kernels on the device, and of the ops on the host
-- Cost: one pass over kernels, one look-up of an op for each.
-- Example: SELECT count, pattern FROM frequent_sequences LIMIT 5;
WITH calls AS (
  SELECT kernels.profile_id AS profile_id, ops.outermost_id AS op_id, count(*) AS kernel_count,
    ordered_concat(kernels.short_name, ' | ', kernels.start_ns) AS pattern, CAST(sum(1.0 * kernels.dur_ns) AS INTEGER)
      AS kernel_ns
  FROM temp.kernels AS kernels JOIN temp.ops AS ops ON ops.id = kernels.op_id
  WHERE ops.outermost_id IS NOT NULL
  GROUP BY kernels.profile_id, ops.outermost_id
  HAVING count(*) >= 3
)
SELECT
  calls.profile_id AS profile_id,
  min(profiles.rank) AS rank,
  ops.name AS op_name,
  calls.pattern AS pattern,
  max(calls.kernel_count) AS kernel_count,
  count(*) AS count,
  sum(calls.kernel_ns) AS kernel_ns,
  CAST(sum(1.0 * ops.dur_ns) AS INTEGER) AS op_ns
FROM calls
JOIN temp.ops AS ops ON ops.id = calls.op_id
JOIN temp.profiles AS profiles ON profiles.id = calls.profile_id
GROUP BY calls.profile_id, ops.name, calls.pattern
ORDER BY count DESC, kernel_ns DESC, profile_id, op_name, pattern
