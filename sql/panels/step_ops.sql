-- Ops of one step
-- Own time on the host of each op in one step, beside the median step; the chosen step, else the slowest.
-- page: steps 12
-- chart: against
-- x: number
-- label: name
-- value: self_ns
-- empty: There are no steps whose ops were recorded.
WITH sums AS MATERIALIZED (
  SELECT profile_id, step_id, name, count(*) AS count, sum(self_ns) AS self_ns FROM temp.ops
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND +category <> 'user' AND step_id IS NOT NULL
  GROUP BY profile_id, step_id, name
), dear AS (
  SELECT name FROM sums GROUP BY name ORDER BY sum(self_ns) DESC, name LIMIT 60
)
SELECT sums.profile_id, number, iif(sums.name IN (SELECT name FROM dear), sums.name, '(all others)') AS name,
  sum(count) AS count, sum(self_ns) AS self_ns
FROM sums JOIN temp.steps ON steps.id = step_id
WHERE is_warmup = 0
GROUP BY sums.profile_id, number, 3
ORDER BY sums.profile_id, number, self_ns DESC, 3 LIMIT 20000
