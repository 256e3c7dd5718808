-- Kernels and copies of one step
-- Time on the device of each kernel in one step, beside the median step.
-- page: steps 14
-- chart: against
-- x: number
-- label: name
-- value: sum_ns
-- empty: There are no steps with kernels.
WITH sums AS ( -- names are long: what is told step by step goes by the numbers of rows that have them
  SELECT activity_total_id AS id, sum(sum_ns) AS sum_ns
  FROM temp.step_activity_totals
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND step_id IS NOT NULL
  GROUP BY activity_total_id
), dear AS (
  SELECT name FROM sums JOIN temp.activity_totals AS totals ON totals.id = sums.id WHERE kind <> 'sync'
  GROUP BY name ORDER BY sum(sums.sum_ns) DESC, name LIMIT 60
), labels AS MATERIALIZED (
  SELECT name, row_number() OVER (ORDER BY name) AS place FROM (
    SELECT name FROM dear WHERE name IS NOT NULL UNION ALL SELECT '(all others)')
), places AS MATERIALIZED (
  SELECT totals.id AS id, labels.place AS place FROM temp.activity_totals AS totals
  CROSS JOIN labels ON labels.name = iif(totals.name IN (SELECT name FROM dear), totals.name, '(all others)')
  WHERE kind <> 'sync'
), in_step AS (
  SELECT steps.profile_id AS profile_id, number, place, sum(count) AS count, sum(sum_ns) AS sum_ns
  FROM places CROSS JOIN temp.step_activity_totals AS work ON work.activity_total_id = places.id
  CROSS JOIN temp.steps ON steps.id = work.step_id
  WHERE (:profile_id IS NULL OR steps.profile_id = :profile_id) AND is_warmup = 0
  GROUP BY steps.profile_id, number, place
)
SELECT profile_id, number, name, count, sum_ns FROM in_step JOIN labels ON labels.place = in_step.place
ORDER BY profile_id, number, sum_ns DESC, name LIMIT 20000
