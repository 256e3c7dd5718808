-- Time by op: what each op name costs, in all and per step.
--
-- One row for each profile, op name, category and framework.  The ops of measured steps count (no warm-up, ops
-- recorded), and every op in a profile without such steps.  Where a capture recorded ops only in some steps, counts and
-- times are weighed by ops.sample_weight, so that they stand for all steps.  All times are without what recording took
-- (ops.net_ns).  Ranges of the program (category user) are left to range_summary.
--   profile_id              INTEGER  -      The profile: a process or rank.
--   rank                    INTEGER  -      Rank of the process.  NULL where it is unknown.
--   op                      TEXT     -      Name of the op.
--   category                TEXT     -      Kind of the op: op, autograd, module, python, runtime or input.
--   framework               TEXT     -      Framework that the op is of.  NULL where it is unknown.
--   count                   INTEGER  count  Calls (weighed).
--   self_ns                 INTEGER  ns     Time in the op itself, without the ops inside it (weighed).
--   self_ratio              REAL     ratio  Share of self_ns in the self time of all ops of the framework in the
--                                           profile.
--   sum_ns                  INTEGER  ns     Time of all calls from start to end (weighed).
--   mean_ns                 INTEGER  ns     Mean time of a call from start to end.
--   min_ns                  INTEGER  ns     Time of the shortest call.
--   max_ns                  INTEGER  ns     Time of the longest call.
--   per_step_count          REAL     count  Mean calls in a measured step.  NULL without steps.
--   per_step_self_ns        INTEGER  ns     Mean self time in a measured step.  NULL without steps.
--   per_step_count_error    REAL     count  Error of per_step_count where only some steps were recorded
--                                           (sampling_summary).  0 where all were, NULL where too few were and without
--                                           steps.
--   per_step_self_error_ns  INTEGER  ns     Error of per_step_self_ns where only some steps were recorded
--                                           (sampling_summary).  0 where all were, NULL where too few were and without
--                                           steps.
--   device_self_ns          INTEGER  ns     Time of the kernels that it launched itself (weighed).  NULL without a
--                                           device.
-- Cost: that of op_totals.  Where ops of only some steps were recorded, one pass over ops.
-- Example: SELECT op, count, self_ns FROM op_summary LIMIT 10;
WITH step_counts AS (
  SELECT profile_id, sum(sample_weight) AS step_count FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1
  GROUP BY profile_id
), sampled AS ( -- only there do steps have to be told apart, for the error
  SELECT DISTINCT profile_id FROM temp.steps WHERE sample_weight > 1
), sums AS MATERIALIZED (
  SELECT profile_id, name, category, framework, sum(count) AS count, sum(1.0 * self_ns) AS self_ns,
    sum(1.0 * sum_ns) AS sum_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
    sum(1.0 * device_self_ns) AS device_self_ns, 0 AS count_error, 0 AS self_error_ns
  FROM temp.op_totals
  WHERE category <> 'user' AND is_measured = 1
    AND profile_id IN (SELECT id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM sampled))
  GROUP BY profile_id, name, category, framework
  UNION ALL
  SELECT profile_id, name, category, framework, sum(sample_weight), sum(self_ns * sample_weight),
    sum(net_ns * sample_weight), min(net_ns), max(net_ns), sum(device_self_ns * sample_weight),
    sample_error(1, step_id), sample_error(self_ns, step_id)
  FROM temp.ops
  WHERE category <> 'user' AND is_measured = 1 AND profile_id IN (SELECT profile_id FROM sampled)
  GROUP BY profile_id, name, category, framework
), totals AS (
  SELECT profile_id, framework, sum(self_ns) AS all_self_ns FROM sums GROUP BY profile_id, framework
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS op,
  sums.category AS category,
  sums.framework AS framework,
  CAST(round(sums.count) AS INTEGER) AS count,
  CAST(sums.self_ns AS INTEGER) AS self_ns,
  sums.self_ns / nullif(totals.all_self_ns, 0) AS self_ratio,
  CAST(sums.sum_ns AS INTEGER) AS sum_ns,
  CAST(sums.sum_ns / sums.count AS INTEGER) AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  sums.count / step_counts.step_count AS per_step_count,
  CAST(sums.self_ns / step_counts.step_count AS INTEGER) AS per_step_self_ns,
  sums.count_error / step_counts.step_count AS per_step_count_error,
  CAST(sums.self_error_ns / step_counts.step_count AS INTEGER) AS per_step_self_error_ns,
  CAST(sums.device_self_ns AS INTEGER) AS device_self_ns
FROM sums
JOIN totals ON totals.profile_id = sums.profile_id AND totals.framework IS sums.framework
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN step_counts ON step_counts.profile_id = sums.profile_id
ORDER BY self_ns DESC, profile_id, op, category, framework
