-- Input events by name: what the input pipeline spends its time on.
--
-- One row for each profile and name of input_events, warm-up steps left out; event rows are recorded in every step, so
-- nothing is weighed.
--   profile_id, rank, name
--   count, sum_ns, sum_ratio    events, their time, its share of all of them
--   self_ns, self_ratio         without the events inside them
--   category                    input_events.stage
-- Cost: one pass over input_events.  Example: SELECT name, count, self_ratio FROM input_op_stats;
WITH sums AS (
  SELECT profile_id, name, stage, count(*) AS count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS sum_ns,
    CAST(sum(1.0 * self_ns) AS INTEGER) AS self_ns
  FROM temp.input_events
  WHERE step_id IS NULL OR step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1)
  GROUP BY profile_id, name, stage
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS name,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.self_ns AS self_ns,
  1.0 * sums.self_ns / nullif(total(sums.self_ns) OVER (PARTITION BY sums.profile_id), 0) AS self_ratio,
  sums.stage AS category
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY profile_id, self_ns DESC, name, category
