-- Time by op type: host ops summed over what kind of op they are.
--
-- One row for each profile and op_type (for PyTorch the name of the op, with its namespace), and of a run of several
-- hosts one for all of them.  Counted are the ops of measured steps (no warm-up, ops recorded); in a profile without
-- such steps all; weighed by ops.sample_weight.  Of XPlane files, as in op_stats, ops and stages of the input pipeline
-- of the whole recording by their ops.op_self_ns.
--   profile_id, host, rank    of rows for all hosts of a run NULL, ALL_HOSTS and NULL
--   op_type
--   name_count                how many op names have that type
--   count, self_ns            calls and their self time (weighed)
--   self_error_ns             error of self_ns where only some steps were recorded; 0 where all were, NULL
--                             where too few were (sampling_summary)
--   self_ratio, cumulative_ratio   share of all self time of the profile, and with all rows before
-- Cost: linear in op_totals, once they are made; one pass over ops where they were sampled.
-- Example: SELECT op_type, self_ratio, cumulative_ratio FROM op_type_stats LIMIT 10;
WITH hosts AS MATERIALIZED ( -- of runs of several
  SELECT id AS profile_id, run_id FROM temp.profiles
  WHERE run_id IN (SELECT run_id FROM temp.profiles GROUP BY run_id HAVING count(DISTINCT host) > 1)
), by_name AS MATERIALIZED (
  SELECT profile_id, op_type, name, sum(count) AS count, sum(1.0 * self_ns) AS self_ns
  FROM temp.op_totals
  WHERE category <> 'user' AND is_measured = 1 AND count > 0
    AND profile_id IN (SELECT id FROM temp.profiles WHERE format IS NOT 'xplane')
  GROUP BY profile_id, op_type, name
  UNION ALL
  SELECT profile_id, op_type, name, sum(count), sum(1.0 * op_self_ns)
  FROM temp.op_totals
  WHERE category IN ('op', 'input') AND profile_id IN (SELECT id FROM temp.profiles WHERE format = 'xplane')
  GROUP BY profile_id, op_type, name
), by_type AS (
  SELECT profile_id, NULL AS run_id, coalesce(op_type, name) AS op_type, count(DISTINCT name) AS name_count,
    sum(count) AS count, sum(self_ns) AS self_ns
  FROM by_name GROUP BY profile_id, coalesce(op_type, name)
  UNION ALL
  SELECT NULL, run_id, coalesce(op_type, name), count(DISTINCT name), sum(count), sum(self_ns)
  FROM by_name JOIN hosts ON hosts.profile_id = by_name.profile_id
  GROUP BY run_id, coalesce(op_type, name)
), name_in_step AS (
  SELECT profile_id, op_type, name, step_id, sum(1.0 * self_ns) AS self_ns
  FROM temp.ops
  WHERE category <> 'user' AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY op_type, name, step_id, profile_id
), in_step AS (
  SELECT profile_id, coalesce(op_type, name) AS op_type, step_id, sum(self_ns) AS self_ns
  FROM name_in_step GROUP BY profile_id, coalesce(op_type, name), step_id
), sampled AS (
  SELECT DISTINCT profile_id FROM temp.steps WHERE sample_weight > 1
), errors_of_profiles AS (
  SELECT in_step.profile_id AS profile_id, op_type,
    sample_error(self_ns, drawn.weight, drawn.lead_ns, drawn.step_count, drawn.spread_factor, drawn.lead_factor,
      drawn.unseen_ratio) AS self_ns
  FROM in_step JOIN temp.sampled_steps AS drawn ON drawn.step_id = in_step.step_id
  GROUP BY in_step.profile_id, op_type
), errors AS (
  SELECT profile_id, NULL AS run_id, op_type, self_ns FROM errors_of_profiles
  UNION ALL
  SELECT NULL, run_id, op_type, CASE WHEN count(*) = count(self_ns) THEN sqrt(sum(self_ns * self_ns)) END
  FROM errors_of_profiles JOIN hosts ON hosts.profile_id = errors_of_profiles.profile_id
  GROUP BY run_id, op_type
)
SELECT
  by_type.profile_id AS profile_id,
  iif(by_type.profile_id IS NULL, 'ALL_HOSTS', profiles.host) AS host,
  profiles.rank AS rank,
  by_type.op_type AS op_type,
  by_type.name_count AS name_count,
  CAST(round(by_type.count) AS INTEGER) AS count,
  CAST(by_type.self_ns AS INTEGER) AS self_ns,
  CASE WHEN by_type.profile_id IN (SELECT profile_id FROM sampled) OR by_type.run_id IN (
      SELECT run_id FROM hosts WHERE profile_id IN (SELECT profile_id FROM sampled))
    THEN CAST(errors.self_ns AS INTEGER)
    ELSE 0 END AS self_error_ns,
  by_type.self_ns / nullif(total(by_type.self_ns) OVER (PARTITION BY by_type.profile_id, by_type.run_id), 0)
    AS self_ratio,
  sum(by_type.self_ns) OVER (
    PARTITION BY by_type.profile_id, by_type.run_id ORDER BY by_type.self_ns DESC, by_type.op_type)
    / nullif(total(by_type.self_ns) OVER (PARTITION BY by_type.profile_id, by_type.run_id), 0) AS cumulative_ratio
FROM by_type
LEFT JOIN temp.profiles AS profiles ON profiles.id = by_type.profile_id
LEFT JOIN errors ON errors.profile_id IS by_type.profile_id AND errors.run_id IS by_type.run_id
  AND errors.op_type IS by_type.op_type
ORDER BY profile_id, by_type.run_id, self_ns DESC, op_type
