-- Time by op type: xprof_op_stats summed over what kind of op they are, on the host and on devices.
--
-- One row for each profile, side, framework and op_type, and for a run of several hosts one for all of them.  In
-- PyTorch the op_type is the name of the op, with its namespace.  IDLE is a type with a row of its own on each side on
-- which xprof_op_stats has one.
--   profile_id        INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host              TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   side              TEXT     -      The side: host or device.
--   op_type           TEXT     -      Type of the ops, or IDLE.
--   framework         TEXT     -      Framework that the ops are of.  NULL for IDLE.
--   name_count        INTEGER  count  Op names that have that type.
--   count             INTEGER  count  Calls of these ops (weighed).
--   self_ns           INTEGER  ns     Self time of these calls (weighed).
--   self_error_ns     INTEGER  ns     Error of self_ns where only some steps were recorded (sampling_summary).  0 where
--                                     all were, NULL where too few were.
--   self_ratio        REAL     ratio  Share of self_ns in the self time of the side and framework in the profile,
--                                     without IDLE.  NULL for IDLE.
--   cumulative_ratio  REAL     ratio  Sum of self_ratio with all rows before.  NULL for IDLE.
--   idle_in_ratio     REAL     ratio  Share of self_ns in all self time of the side, IDLE included.
--   execution_mode    TEXT     -      How the ops were run: eager, function or graph, and mixed where they differ.
--                                     NULL where that is not known.
--   is_idle           INTEGER  -      1 for IDLE, else 0.
-- Cost: that of xprof_op_stats.  One pass over ops where they were sampled.
-- Example: SELECT op_type, self_ratio, cumulative_ratio FROM xprof_op_type_stats WHERE side = 'host' LIMIT 10;
WITH hosts AS MATERIALIZED ( -- of runs of several
  SELECT member_id AS profile_id, run_id FROM temp._process_groups WHERE host = 'ALL_HOSTS'
), by_name AS MATERIALIZED (
  SELECT profile_id, side, op_type, framework, op AS name, count, 1.0 * self_ns AS self_ns, self_error_ns,
    execution_mode, is_idle
  FROM temp.xprof_op_stats WHERE profile_id IS NOT NULL
), by_type AS (
  SELECT profile_id, NULL AS run_id, side, op_type, framework, count(DISTINCT name) AS name_count,
    sum(1.0 * count) AS count,
    sum(self_ns) AS self_ns, max(self_error_ns) AS self_error_ns, max(is_idle) AS is_idle,
    min(execution_mode) AS first_mode, max(execution_mode) AS last_mode
  FROM by_name GROUP BY profile_id, side, op_type, framework
  UNION ALL
  SELECT NULL, run_id, side, op_type, framework, count(DISTINCT name), sum(1.0 * count), sum(self_ns),
    CASE WHEN count(*) = count(self_error_ns) THEN sqrt(sum(1.0 * self_error_ns * self_error_ns)) END, max(is_idle),
    min(execution_mode), max(execution_mode)
  FROM by_name JOIN hosts ON hosts.profile_id = by_name.profile_id
  GROUP BY run_id, side, op_type, framework
), sampled AS (
  SELECT DISTINCT profile_id FROM temp.steps WHERE sample_weight > 1
), errors_of_types AS MATERIALIZED (
  SELECT profile_id, coalesce(op_type, name) AS op_type, sample_error(self_ns, step_id) AS self_ns,
    sample_error(device_self_ns, step_id) AS device_self_ns
  FROM temp.ops
  WHERE category NOT IN ('user', 'python') AND is_measured = 1 AND profile_id IN (SELECT profile_id FROM sampled)
  GROUP BY profile_id, coalesce(op_type, name)
), errors_of_profiles AS (
  SELECT profile_id, 'host' AS side, op_type, self_ns FROM errors_of_types
  UNION ALL
  SELECT profile_id, 'device', op_type, device_self_ns FROM errors_of_types
), errors AS (
  SELECT profile_id, NULL AS run_id, side, op_type, self_ns FROM errors_of_profiles
  UNION ALL
  SELECT NULL, run_id, side, op_type, CASE WHEN count(*) = count(self_ns) THEN sqrt(sum(self_ns * self_ns)) END
  FROM errors_of_profiles JOIN hosts ON hosts.profile_id = errors_of_profiles.profile_id
  GROUP BY run_id, side, op_type
)
SELECT
  by_type.profile_id AS profile_id,
  iif(by_type.profile_id IS NULL, 'ALL_HOSTS', profiles.host) AS host,
  profiles.rank AS rank,
  by_type.side AS side,
  by_type.op_type AS op_type,
  by_type.framework AS framework,
  by_type.name_count AS name_count,
  CAST(by_type.count AS INTEGER) AS count,
  CAST(by_type.self_ns AS INTEGER) AS self_ns,
  CASE WHEN by_type.is_idle = 1 THEN CAST(by_type.self_error_ns AS INTEGER)
    WHEN by_type.profile_id IN (SELECT profile_id FROM sampled) OR by_type.run_id IN (
      SELECT run_id FROM hosts WHERE profile_id IN (SELECT profile_id FROM sampled))
    THEN CAST(errors.self_ns AS INTEGER)
    ELSE 0 END AS self_error_ns,
  CASE WHEN by_type.is_idle = 0
    THEN by_type.self_ns / nullif(total(by_type.self_ns) FILTER (WHERE by_type.is_idle = 0) OVER (
      PARTITION BY by_type.profile_id, by_type.run_id, by_type.side, by_type.framework), 0) END AS self_ratio,
  CASE WHEN by_type.is_idle = 0
    THEN sum(by_type.self_ns) OVER (
        PARTITION BY by_type.profile_id, by_type.run_id, by_type.side, by_type.framework, by_type.is_idle
        ORDER BY by_type.self_ns DESC, by_type.op_type)
      / nullif(total(by_type.self_ns) FILTER (WHERE by_type.is_idle = 0) OVER (
        PARTITION BY by_type.profile_id, by_type.run_id, by_type.side, by_type.framework), 0) END AS cumulative_ratio,
  by_type.self_ns / nullif(total(by_type.self_ns) OVER (
    PARTITION BY by_type.profile_id, by_type.run_id, by_type.side), 0) AS idle_in_ratio,
  iif(by_type.first_mode = by_type.last_mode, by_type.first_mode, iif(by_type.first_mode IS NULL, NULL, 'mixed'))
    AS execution_mode,
  by_type.is_idle AS is_idle
FROM by_type
LEFT JOIN temp.profiles AS profiles ON profiles.id = by_type.profile_id
LEFT JOIN errors ON errors.profile_id IS by_type.profile_id AND errors.run_id IS by_type.run_id
  AND errors.side = by_type.side AND errors.op_type IS by_type.op_type
ORDER BY profile_id, by_type.run_id, side DESC, is_idle, self_ns DESC, op_type, framework
