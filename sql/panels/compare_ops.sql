-- Ops, before and after
-- Own time on the host, as op_diff has it.
-- page: compare 20
-- chart: compare
-- x: number
-- label: name
-- value: self_ns
-- empty: No ops were recorded.
WITH shown AS MATERIALIZED ( -- of many steps fewer names, so that all steps have their rows
  SELECT max(8, min(80, 45000 / max(1, count(*)))) AS names FROM temp.steps
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND ops_recorded IS NOT 0
), places AS MATERIALIZED ( -- names are long: what is told step by step goes by their places; 0: all others
  SELECT id, name, iif(place <= names, place, 0) AS place FROM temp._work_names CROSS JOIN shown WHERE side = 'host'
), labels AS MATERIALIZED (
  SELECT place, iif(place = 0, '(all others)', min(name)) AS name FROM places GROUP BY place
), in_step AS (
  SELECT work.profile_id AS profile_id, work.step_id AS step_id, place, sum(count * sample_weight) AS count,
    sum(self_ns * sample_weight) AS self_ns, sum(self_ns) AS own_ns
  FROM places CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = places.id
  WHERE :profile_id IS NULL OR work.profile_id = :profile_id
  GROUP BY work.profile_id, work.step_id, place
), first AS ( -- without names, as what is sorted should be short
  SELECT in_step.profile_id AS profile_id, run_id, number, is_warmup, place, CAST(round(count) AS INTEGER) AS count,
    CAST(self_ns AS INTEGER) AS self_ns, CAST(own_ns AS INTEGER) AS recorded_ns,
    row_number() OVER (PARTITION BY run_id ORDER BY in_step.profile_id, number, self_ns DESC, place) AS row
  FROM in_step JOIN temp.profiles ON profiles.id = in_step.profile_id LEFT JOIN temp.steps ON steps.id = step_id
)
SELECT profile_id, run_id, number, is_warmup, (SELECT name FROM labels WHERE labels.place = first.place) AS name, count,
  self_ns, recorded_ns
FROM first WHERE row <= 200000 / (SELECT max(1, count(*)) FROM temp.runs) + 1 -- no run has none because of another
ORDER BY run_id, profile_id, number, self_ns DESC, place LIMIT 200000
