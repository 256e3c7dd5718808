-- Ops, before and after
-- Own time on the host, as op_diff and op_diff_steps have it.
-- page: compare 20
-- chart: compare
-- x: number
-- label: name
-- value: self_ns
-- empty: No ops were recorded.
WITH sums AS ( -- names are long: what is told step by step goes by the numbers of rows that have them
  SELECT op_total_id AS id, sum(self_ns * sample_weight) AS self_ns
  FROM temp.step_op_totals WHERE :profile_id IS NULL OR profile_id = :profile_id
  GROUP BY op_total_id
), dear AS (
  SELECT name FROM sums JOIN temp.op_totals AS totals ON totals.id = sums.id WHERE category <> 'user'
  GROUP BY name ORDER BY sum(sums.self_ns) DESC, name LIMIT 80
), labels AS MATERIALIZED (
  SELECT name, row_number() OVER (ORDER BY name) AS place FROM (
    SELECT name FROM dear WHERE name IS NOT NULL UNION ALL SELECT '(all others)')
), places AS MATERIALIZED (
  SELECT totals.id AS id, labels.place AS place FROM temp.op_totals AS totals
  CROSS JOIN labels ON labels.name = iif(totals.name IN (SELECT name FROM dear), totals.name, '(all others)')
  WHERE category <> 'user'
), in_step AS (
  SELECT work.profile_id AS profile_id, work.step_id AS step_id, place, sum(count * sample_weight) AS count,
    sum(self_ns * sample_weight) AS self_ns, sum(self_ns) AS own_ns
  FROM places CROSS JOIN temp.step_op_totals AS work ON work.op_total_id = places.id
  WHERE :profile_id IS NULL OR work.profile_id = :profile_id
  GROUP BY work.profile_id, work.step_id, place
), first AS ( -- without names, as what is sorted should be short
  SELECT in_step.profile_id AS profile_id, run_id, number, is_warmup, place, CAST(round(count) AS INTEGER) AS count,
    CAST(self_ns AS INTEGER) AS self_ns, CAST(own_ns AS INTEGER) AS recorded_ns
  FROM in_step JOIN temp.profiles ON profiles.id = in_step.profile_id LEFT JOIN temp.steps ON steps.id = step_id
  ORDER BY run_id, in_step.profile_id, number, self_ns DESC, place LIMIT 50000
)
SELECT profile_id, run_id, number, is_warmup, (SELECT name FROM labels WHERE labels.place = first.place) AS name, count,
  self_ns, recorded_ns
FROM first
ORDER BY run_id, profile_id, number, self_ns DESC, place
