-- Frequent sequences of kernels: what the same op runs on the device again and again, and could be fused.
--
-- One row for each profile, outermost op and sequence of at least three kernels, copies and fills.  The sequence is all
-- that the op and the ops inside it launched, as HTA counts them.  HTA looks under one op name at a time, as WHERE
-- op LIKE ...  does here.  Left out is what HTA leaves out: see hta_temporal_breakdown.  Counts and times are
-- weighed by ops.sample_weight, as kernels have an op in the steps with recorded ops.
--   profile_id    INTEGER  -      The profile: a process or rank.
--   rank          INTEGER  -      Rank of the process.  NULL where it is unknown.
--   op            TEXT     -      Name of the outermost op.  Ranges, modules and Python frames do not count as ops.
--   pattern       TEXT     -      Short names of the kernels, copies and fills in the order of their starts, with |
--                                 between them.
--   kernel_count  INTEGER  count  Number of kernels, copies and fills in the sequence.
--   count         INTEGER  count  Number of times that the sequence occurs.
--   kernel_ns     INTEGER  ns     Time of all its kernels, copies and fills on the device.
--   op_ns         INTEGER  ns     Time of the ops on the host.
-- Cost: a look-up in device_activities for each op that launched three, once outermost_totals are made.
-- Example: SELECT count, pattern FROM hta_frequent_sequences LIMIT 5;
WITH calls AS (
  SELECT profile_id, outermost_op_id AS op_id, count AS kernel_count, sum_ns AS kernel_ns,
    (SELECT ordered_concat(short_name, ' | ', start_ns) FROM temp.device_activities AS activities
      WHERE activities.outermost_op_id = totals.outermost_op_id AND activities.is_before_last_step = 1) AS pattern
  FROM temp.outermost_totals AS totals
  WHERE outermost_op_id IS NOT NULL AND is_before_last_step = 1 AND count >= 3
)
SELECT
  calls.profile_id AS profile_id,
  min(profiles.rank) AS rank,
  ops.name AS op,
  calls.pattern AS pattern,
  max(calls.kernel_count) AS kernel_count,
  CAST(round(sum(ops.sample_weight)) AS INTEGER) AS count,
  CAST(sum(calls.kernel_ns * ops.sample_weight) AS INTEGER) AS kernel_ns,
  CAST(sum(ops.net_ns * ops.sample_weight) AS INTEGER) AS op_ns
FROM calls
JOIN temp.ops AS ops ON ops.id = calls.op_id
JOIN temp.profiles AS profiles ON profiles.id = calls.profile_id
GROUP BY calls.profile_id, ops.name, calls.pattern
ORDER BY count DESC, kernel_ns DESC, profile_id, op, pattern
