-- Time by op: what each op name costs, in all and per step.
--
-- One row for each profile and op name.  Counted are the ops of measured steps (no warm-up, ops recorded); in a profile
-- without such steps every op counts.  Where a capture recorded ops only in some steps, counts and times are weighed by
-- ops.sample_weight, so that they stand for all steps.  Ranges of the program (category user) are left to
-- range_summary.
--   profile_id, rank              the profile
--   name, category                of the op; the category is op, autograd, module, python, runtime or input
--   count                         calls (weighed)
--   self_ns, self_ratio           time in the op itself without the ops inside it; share of all self time of the
--                                 profile
--   sum_ns, mean_ns               time from its start to its end, in all and per call
--   min_ns, max_ns                the shortest and the longest call
--   per_step_count, per_step_self_ns   per measured step; NULL without steps
--   per_step_count_error, per_step_self_error_ns   their standard errors where only some steps were recorded; 0 where
--                                 all were, NULL where fewer than two were (sampling_summary)
--   device_self_ns                time of the kernels that it launched itself; NULL without a device
-- Cost: one pass over ops.  Example: SELECT name, count, self_ns FROM op_summary LIMIT 10;
WITH measured AS (
  SELECT profile_id, id, sample_weight FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1
), step_counts AS (
  SELECT profile_id, sum(sample_weight) AS step_count FROM measured GROUP BY profile_id
), sampled AS ( -- only there do steps have to be told apart, for the error
  SELECT profile_id FROM temp.sampling_summary
), in_step AS (
  SELECT profile_id, name, category, step_id, max(sample_weight) AS weight, 1.0 * count(*) AS step_count,
    sum(1.0 * self_ns) AS step_self_ns, sum(sample_weight) AS count, sum(self_ns * sample_weight) AS self_ns,
    sum(dur_ns * sample_weight) AS sum_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns,
    sum(device_self_ns * sample_weight) AS device_self_ns
  FROM temp.ops
  WHERE category <> 'user' AND is_measured = 1 AND profile_id IN (SELECT profile_id FROM sampled)
  GROUP BY profile_id, name, category, step_id
), sums AS MATERIALIZED (
  SELECT profile_id, name, category, sum(sample_weight) AS count, sum(self_ns * sample_weight) AS self_ns,
    sum(dur_ns * sample_weight) AS sum_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns,
    sum(device_self_ns * sample_weight) AS device_self_ns, NULL AS count_squares, NULL AS self_squares
  FROM temp.ops
  WHERE category <> 'user' AND is_measured = 1
    AND profile_id IN (SELECT id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM sampled))
  GROUP BY profile_id, name, category
  UNION ALL
  SELECT profile_id, name, category, sum(count), sum(self_ns), sum(sum_ns), min(min_ns), max(max_ns),
    sum(device_self_ns), sum(weight * step_count * step_count), sum(weight * step_self_ns * step_self_ns)
  FROM in_step GROUP BY profile_id, name, category
), totals AS (
  SELECT profile_id, sum(self_ns) AS all_self_ns FROM sums GROUP BY profile_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS name,
  sums.category AS category,
  CAST(round(sums.count) AS INTEGER) AS count,
  CAST(sums.self_ns AS INTEGER) AS self_ns,
  sums.self_ns / nullif(totals.all_self_ns, 0) AS self_ratio,
  CAST(sums.sum_ns AS INTEGER) AS sum_ns,
  CAST(sums.sum_ns / sums.count AS INTEGER) AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  sums.count / step_counts.step_count AS per_step_count,
  CAST(sums.self_ns / step_counts.step_count AS INTEGER) AS per_step_self_ns,
  CASE WHEN sampling.profile_id IS NOT NULL THEN sqrt(max(0, sampling.error_factor * (sums.count_squares
    - sums.count * sums.count / sampling.step_count))) / sampling.step_count
    WHEN step_counts.step_count > 0 THEN 0 END AS per_step_count_error,
  CASE WHEN sampling.profile_id IS NOT NULL THEN CAST(sqrt(max(0, sampling.error_factor * (sums.self_squares
    - sums.self_ns * sums.self_ns / sampling.step_count))) / sampling.step_count AS INTEGER)
    WHEN step_counts.step_count > 0 THEN 0 END AS per_step_self_error_ns,
  CAST(sums.device_self_ns AS INTEGER) AS device_self_ns
FROM sums
JOIN totals ON totals.profile_id = sums.profile_id
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN step_counts ON step_counts.profile_id = sums.profile_id
LEFT JOIN temp.sampling_summary AS sampling ON sampling.profile_id = sums.profile_id
ORDER BY self_ns DESC, profile_id, name, category
