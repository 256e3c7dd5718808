-- Ops of one step
-- Own time on the host of each op in one step, beside the median step; the chosen step, else the slowest.
-- page: steps 12
-- chart: against
-- x: number
-- label: name
-- value: self_ns
-- empty: There are no steps whose ops were recorded.
WITH shown AS MATERIALIZED ( -- of many steps fewer names, so that all steps have their rows
  SELECT max(8, min(60, 40000 / max(1, count(*)))) AS names FROM temp.steps
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND is_warmup = 0
    AND ops_recorded IS NOT 0
), places AS MATERIALIZED ( -- names are long: what is told step by step goes by their places; 0: all others
  SELECT id, name, iif(place <= names, place, 0) AS place FROM temp._work_names CROSS JOIN shown WHERE side = 'host'
), labels AS MATERIALIZED (
  SELECT place, iif(place = 0, '(all others)', min(name)) AS name FROM places GROUP BY place
), in_step AS (
  SELECT steps.profile_id AS profile_id, number, place, sum(count) AS count, sum(self_ns) AS self_ns
  FROM places CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = places.id
  CROSS JOIN temp.steps ON steps.id = work.step_id
  WHERE (:profile_id IS NULL OR steps.profile_id = :profile_id) AND is_warmup = 0
  GROUP BY steps.profile_id, number, place
)
SELECT profile_id, number, name, count, self_ns FROM in_step JOIN labels ON labels.place = in_step.place
ORDER BY profile_id, number, self_ns DESC, name LIMIT 200000
