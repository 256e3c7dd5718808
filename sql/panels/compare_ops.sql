-- Ops, before and after
-- Own time on the host, as op_diff and op_diff_steps have it.
-- page: compare 20
-- chart: compare
-- x: number
-- label: name
-- value: self_ns
-- empty: No ops were recorded.
WITH sums AS MATERIALIZED (
  SELECT profile_id, step_id, name, sum(sample_weight) AS count, sum(self_ns * sample_weight) AS self_ns,
    sum(self_ns) AS own_ns
  FROM temp.ops WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND +category <> 'user'
  GROUP BY profile_id, step_id, name
), dear AS (
  SELECT name FROM sums GROUP BY name ORDER BY sum(self_ns) DESC, name LIMIT 80
)
SELECT sums.profile_id, run_id, number, is_warmup,
  iif(sums.name IN (SELECT name FROM dear), sums.name, '(all others)') AS name,
  CAST(round(sum(count)) AS INTEGER) AS count, CAST(sum(self_ns) AS INTEGER) AS self_ns,
  CAST(sum(own_ns) AS INTEGER) AS recorded_ns
FROM sums JOIN temp.profiles ON profiles.id = sums.profile_id LEFT JOIN temp.steps ON steps.id = step_id
GROUP BY sums.profile_id, step_id, 5
ORDER BY run_id, sums.profile_id, number, self_ns DESC, 5 LIMIT 50000
