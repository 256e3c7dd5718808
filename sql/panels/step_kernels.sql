-- Kernels and copies of one step
-- Time on the device of each kernel in one step, beside the median step.
-- page: steps 14
-- chart: against
-- x: number
-- label: name
-- value: sum_ns
-- empty: There are no steps with kernels.
WITH sums AS MATERIALIZED (
  SELECT profile_id, step_id, name, count(*) AS count, sum(dur_ns) AS sum_ns FROM temp.device_activities
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND +kind <> 'sync' AND step_id IS NOT NULL
  GROUP BY profile_id, step_id, name
), dear AS (
  SELECT name FROM sums GROUP BY name ORDER BY sum(sum_ns) DESC, name LIMIT 60
)
SELECT sums.profile_id, number, iif(sums.name IN (SELECT name FROM dear), sums.name, '(all others)') AS name,
  sum(count) AS count, sum(sum_ns) AS sum_ns
FROM sums JOIN temp.steps ON steps.id = step_id
WHERE is_warmup = 0
GROUP BY sums.profile_id, number, 3
ORDER BY sums.profile_id, number, sum_ns DESC, 3 LIMIT 20000
