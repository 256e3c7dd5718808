-- Kernels and copies, before and after
-- Time on the device, as kernel_diff and kernel_diff_steps have it.
-- page: compare 30
-- chart: compare
-- x: number
-- label: name
-- value: sum_ns
-- empty: No kernels were recorded.
WITH thinned AS MATERIALIZED (
  SELECT step_id, weight FROM temp.thinned_steps
), sums AS ( -- names are long: what is told step by step goes by the numbers of rows that have them
  SELECT activity_total_id AS id, sum(sum_ns * coalesce(weight, 1.0)) AS sum_ns
  FROM temp.step_activity_totals AS work LEFT JOIN thinned ON thinned.step_id = work.step_id
  WHERE (:profile_id IS NULL OR work.profile_id = :profile_id) AND weight IS NOT 0
  GROUP BY activity_total_id
), dear AS (
  SELECT name FROM sums JOIN temp.activity_totals AS totals ON totals.id = sums.id WHERE kind <> 'sync'
  GROUP BY name ORDER BY sum(sums.sum_ns) DESC, name LIMIT 80
), labels AS MATERIALIZED (
  SELECT name, row_number() OVER (ORDER BY name) AS place FROM (
    SELECT name FROM dear WHERE name IS NOT NULL UNION ALL SELECT '(all others)')
), places AS MATERIALIZED (
  SELECT totals.id AS id, labels.place AS place FROM temp.activity_totals AS totals
  CROSS JOIN labels ON labels.name = iif(totals.name IN (SELECT name FROM dear), totals.name, '(all others)')
  WHERE kind <> 'sync'
), in_step AS (
  SELECT work.profile_id AS profile_id, work.step_id AS step_id, place, sum(count * coalesce(weight, 1.0)) AS count,
    sum(sum_ns * coalesce(weight, 1.0)) AS sum_ns, sum(sum_ns) AS own_ns
  FROM places CROSS JOIN temp.step_activity_totals AS work ON work.activity_total_id = places.id
  LEFT JOIN thinned ON thinned.step_id = work.step_id
  WHERE (:profile_id IS NULL OR work.profile_id = :profile_id) AND weight IS NOT 0
  GROUP BY work.profile_id, work.step_id, place
), first AS ( -- without names, as what is sorted should be short
  SELECT in_step.profile_id AS profile_id, run_id, number, is_warmup, place, CAST(round(count) AS INTEGER) AS count,
    CAST(sum_ns AS INTEGER) AS sum_ns, CAST(own_ns AS INTEGER) AS recorded_ns
  FROM in_step JOIN temp.profiles ON profiles.id = in_step.profile_id LEFT JOIN temp.steps ON steps.id = step_id
  ORDER BY run_id, in_step.profile_id, number, sum_ns DESC, place LIMIT 50000
)
SELECT profile_id, run_id, number, is_warmup, (SELECT name FROM labels WHERE labels.place = first.place) AS name, count,
  sum_ns, recorded_ns
FROM first
ORDER BY run_id, profile_id, number, sum_ns DESC, place
