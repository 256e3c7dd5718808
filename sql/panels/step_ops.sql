-- Ops of one step
-- Own time on the host of each op in one step, beside the median step; the chosen step, else the slowest.
-- page: steps 12
-- chart: against
-- x: number
-- label: name
-- value: self_ns
-- empty: There are no steps whose ops were recorded.
WITH sums AS ( -- names are long: what is told step by step goes by the numbers of rows that have them
  SELECT op_total_id AS id, sum(self_ns) AS self_ns FROM temp.step_op_totals
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND step_id IS NOT NULL
  GROUP BY op_total_id
), dear AS (
  SELECT name FROM sums JOIN temp.op_totals AS totals ON totals.id = sums.id WHERE category <> 'user'
  GROUP BY name ORDER BY sum(sums.self_ns) DESC, name LIMIT 60
), labels AS MATERIALIZED (
  SELECT name, row_number() OVER (ORDER BY name) AS place FROM (
    SELECT name FROM dear WHERE name IS NOT NULL UNION ALL SELECT '(all others)')
), places AS MATERIALIZED (
  SELECT totals.id AS id, labels.place AS place FROM temp.op_totals AS totals
  CROSS JOIN labels ON labels.name = iif(totals.name IN (SELECT name FROM dear), totals.name, '(all others)')
  WHERE category <> 'user'
), in_step AS (
  SELECT steps.profile_id AS profile_id, number, place, sum(count) AS count, sum(self_ns) AS self_ns
  FROM places CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = places.id
  CROSS JOIN temp.steps ON steps.id = work.step_id
  WHERE (:profile_id IS NULL OR steps.profile_id = :profile_id) AND is_warmup = 0
  GROUP BY steps.profile_id, number, place
)
SELECT profile_id, number, name, count, self_ns FROM in_step JOIN labels ON labels.place = in_step.place
ORDER BY profile_id, number, self_ns DESC, name LIMIT 20000
