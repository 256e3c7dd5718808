-- Top device ops: the ten ops with the kernels that take longest.
--
-- Ten rows for each process with ops that launched work on devices, and ten more for all hosts of a run that has
-- several. Those have ALL_HOSTS for host and NULL for profile_id and rank.  Ops are those of xprof_op_stats, of
-- measured steps and weighed.  In XPlane (profiles.has_xplane_kernels) they are those that kernels name.
--   profile_id               INTEGER  -        The profile: a process or rank.  NULL in the rows for all hosts.
--   host                     TEXT     -        Host that it ran on.  ALL_HOSTS in the rows for all hosts.
--   rank                     INTEGER  -        Rank of the process.  NULL where it is unknown and in the rows for all
--                                              hosts.
--   run_id                   INTEGER  -        The run, as in runs.
--   position                 INTEGER  -        Place by self_ns, from 1 for the longest.
--   op_type                  TEXT     -        Type of the op that launched it, and its name where ops have no types.
--   op                       TEXT     -        Name of the op that launched it.
--   count                    INTEGER  count    Calls of the op that launched work.  In XPlane it is the count of the
--                                              kernel that the op launched most often.
--   self_ns                  INTEGER  ns       Time of its kernels, and of its copies and fills where the source does
--                                              not name ops of kernels.
--   self_ratio               REAL     ratio    Share of self_ns in that of all ops.
--   cumulative_ratio         REAL     ratio    Sum of self_ratio with all rows before.
--   flops_per_second         REAL     flops/s  Operations by time on devices, in calls with known operations. NULL
--                                              where there are none.
--   is_tensor_core_eligible  INTEGER  -        1 where one of its kernels could have used tensor cores, else 0. NULL
--                                              where that is not known.
--   uses_tensor_core         INTEGER  -        1 where one of its kernels used tensor cores, else 0.  NULL where that
--                                              is not known.
-- All of them, with those on hosts, are in xprof_op_stats.
-- Cost: linear in op_totals and kernel_totals, once these are made.  A look at ops with known operations.
-- Example: SELECT position, op, self_ratio, uses_tensor_core FROM xprof_top_device_ops;
WITH xplanes AS MATERIALIZED (
  SELECT id AS profile_id FROM temp.profiles WHERE has_xplane_kernels = 1
), windows AS MATERIALIZED (
  SELECT id AS profile_id FROM temp.profiles WHERE has_xplane_kernels = 1 AND origin = 'tfprof'
), kernels AS ( -- of windows those of measured steps, weighed
  SELECT totals.*, sample_weight AS weight FROM temp.kernel_totals AS totals
  WHERE is_measured = 1 OR profile_id NOT IN (SELECT profile_id FROM windows)
), by_kernel AS (
  SELECT profile_id, op_type, op_name, name, sum(weight * count) AS count, sum(weight * self_ns) AS self_ns,
    sum(weight * flops) AS flops, sum(weight * sum_ns) FILTER (WHERE flops >= 0) AS flops_ns,
    max(uses_tensor_core) AS uses_tensor_core, max(tensor_core_eligible) AS tensor_core_eligible,
    max(last_op_id) AS last_op_id
  FROM kernels
  WHERE op_name IS NOT NULL
  GROUP BY profile_id, op_type, op_name, name
), named AS MATERIALIZED (
  SELECT profile_id, op_type, op_name, max(count) AS count, sum(self_ns) AS self_ns, sum(flops) AS flops,
    sum(flops_ns) AS flops_ns, max(uses_tensor_core) AS uses_tensor_core,
    max(tensor_core_eligible) AS tensor_core_eligible, max(last_op_id) AS last_op_id
  FROM by_kernel GROUP BY profile_id, op_type, op_name
), launched AS (
  SELECT profile_id, op_type, name AS op_name, sum(device_count) AS count, sum(1.0 * device_self_ns) AS self_ns
  FROM temp.op_totals
  WHERE device_self_ns > 0 AND category <> 'user' AND is_measured = 1
    AND profile_id NOT IN (SELECT profile_id FROM xplanes)
  GROUP BY profile_id, op_type, name
), computing AS (
  SELECT profile_id, op_type, name AS op_name, sum(flops * sample_weight) AS flops,
    sum(device_ns * sample_weight) AS flops_ns
  FROM temp.ops
  WHERE flops >= 0 AND device_ns > 0 AND category <> 'user' AND is_measured = 1
  GROUP BY profile_id, op_type, name
), by_op AS (
  SELECT profile_id, op_type, op_name, count, self_ns, flops, flops_ns, uses_tensor_core, tensor_core_eligible
  FROM named
  WHERE last_op_id IS NULL OR profile_id IN (SELECT profile_id FROM xplanes)
  UNION ALL
  SELECT launched.profile_id, launched.op_type, launched.op_name, launched.count, launched.self_ns, computing.flops,
    computing.flops_ns, named.uses_tensor_core, named.tensor_core_eligible
  FROM launched
  LEFT JOIN named ON named.profile_id = launched.profile_id AND named.op_name = launched.op_name
  LEFT JOIN computing ON computing.profile_id = launched.profile_id AND computing.op_name = launched.op_name
    AND computing.op_type IS launched.op_type
), grouped AS (
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id, groups.host AS host, groups.rank AS rank, op_type,
    op_name, sum(count) AS count, sum(self_ns) AS self_ns, sum(flops) AS flops, sum(flops_ns) AS flops_ns,
    max(uses_tensor_core) AS uses_tensor_core, max(tensor_core_eligible) AS tensor_core_eligible
  FROM by_op JOIN temp._process_groups AS groups ON groups.member_id = by_op.profile_id
  GROUP BY groups.run_id, groups.profile_id, groups.host, groups.rank, op_type, op_name
), listed AS (
  SELECT grouped.*, row_number() OVER ordered AS position,
    self_ns / nullif(total(self_ns) OVER (PARTITION BY run_id, profile_id), 0) AS self_ratio,
    sum(self_ns) OVER ordered / nullif(total(self_ns) OVER (PARTITION BY run_id, profile_id), 0) AS cumulative_ratio
  FROM grouped WINDOW ordered AS (PARTITION BY run_id, profile_id ORDER BY self_ns DESC, op_name, op_type)
)
SELECT
  profile_id AS profile_id,
  host AS host,
  rank AS rank,
  run_id AS run_id,
  position AS position,
  coalesce(op_type, op_name) AS op_type,
  op_name AS op,
  CAST(round(count) AS INTEGER) AS count,
  CAST(self_ns AS INTEGER) AS self_ns,
  self_ratio AS self_ratio,
  cumulative_ratio AS cumulative_ratio,
  1e9 * flops / nullif(flops_ns, 0) AS flops_per_second,
  tensor_core_eligible AS is_tensor_core_eligible,
  uses_tensor_core AS uses_tensor_core
FROM listed WHERE position <= 10
ORDER BY run_id, profile_id, position
