-- Kernels of ops: which kernels an op launches itself, in order, and how long it takes until they run.
--
-- One row for each profile, op name and sequence of kernels, as the table of ATen ops and kernels of HTA.  An op counts
-- with the kernels that it launched directly.  Copies and fills are not counted.  HTA has a row for each sequence of
-- full names, with the types of template arguments.  One row here holds all of these.  HTA leaves out ops other than
-- aten::*, and they are here.  What HTA leaves out by time is left out here, too (hta_temporal_breakdown).  Times and
-- counts are weighed by steps.sample_weight.  Steps for which others stand do not count, since only ranges around the
-- ops were recorded there.
--   profile_id       INTEGER  -      The profile: a process or rank.
--   rank             INTEGER  -      Rank of the process.  NULL where it is unknown.
--   op               TEXT     -      Name of the op.
--   kernel_sequence  TEXT     -      Short names of the kernels in the order of their launches, with -> between them.
--                                    Where no calls were recorded, the order is that of their starts.
--   count            INTEGER  count  How often the op ran with this sequence (weighed).
--   kernel_count     INTEGER  count  Kernels in the sequence.
--   launch_delay_ns  INTEGER  ns     Mean time from the start of the op to its first launch.  NULL where no calls were
--                                    recorded.
--   kernel_delay_ns  INTEGER  ns     Mean time from the start of the first launch to the start of what it launched.  A
--                                    start before the launch by the clocks counts as 0.  NULL where no calls were
--                                    recorded.
--   kernel_ns        INTEGER  ns     Time of all the kernels (weighed).
-- Cost: linear in op_kernel_totals, once these are made, a look-up in device_activities for each.
-- Example: SELECT op, count, kernel_sequence FROM hta_op_kernels ORDER BY count DESC LIMIT 10;
WITH weighed AS (
  SELECT *, coalesce(sample_weight, 1.0) AS weight FROM temp.op_kernel_totals WHERE like_op_id IS NOT NULL
), alike AS (
  SELECT profile_id, like_op_id AS op_id, sum(iif(is_first, count, 0)) AS op_count, sum(count) AS kernel_count,
    total(iif(is_first, weight * count, 0)) AS count,
    sum(weight * launch_delay_ns) FILTER (WHERE is_first) AS launch_delay_ns,
    sum(weight * max(0, kernel_delay_ns)) AS kernel_delay_ns, sum(weight * sum_ns) AS kernel_ns
  FROM weighed WHERE weight <> 0 GROUP BY profile_id, like_op_id
), named AS (
  SELECT alike.*, ops.name AS op,
    (SELECT ordered_concat(short_name, ' -> ', coalesce(launch_ns, start_ns)) FROM temp.device_activities
     WHERE op_id = alike.op_id AND like_op_id IS NOT NULL) AS kernel_sequence
  FROM alike CROSS JOIN temp.ops AS ops ON ops.id = alike.op_id
)
SELECT
  named.profile_id AS profile_id,
  (SELECT rank FROM temp.profiles WHERE id = named.profile_id) AS rank,
  named.op AS op,
  named.kernel_sequence AS kernel_sequence,
  CAST(round(sum(named.count)) AS INTEGER) AS count,
  max(named.kernel_count / named.op_count) AS kernel_count,
  CAST(round(sum(named.launch_delay_ns) / sum(named.count)) AS INTEGER) AS launch_delay_ns,
  CAST(round(sum(named.kernel_delay_ns) / sum(named.count)) AS INTEGER) AS kernel_delay_ns,
  CAST(sum(named.kernel_ns) AS INTEGER) AS kernel_ns
FROM named
GROUP BY named.profile_id, named.op, named.kernel_sequence
ORDER BY count DESC, profile_id, op, kernel_sequence
