-- Kernels and copies, before and after
-- Time on the device, as kernel_diff and kernel_diff_steps have it.
-- page: compare 30
-- chart: compare
-- x: number
-- label: name
-- value: sum_ns
-- empty: No kernels were recorded.
WITH sums AS MATERIALIZED (
  SELECT work.profile_id AS profile_id, work.step_id AS step_id, name, sum(coalesce(weight, 1.0)) AS count,
    sum(dur_ns * coalesce(weight, 1.0)) AS sum_ns, sum(dur_ns) AS own_ns
  FROM temp.device_activities AS work LEFT JOIN temp.thinned_steps AS thinned ON thinned.step_id = work.step_id
  WHERE (:profile_id IS NULL OR work.profile_id = :profile_id) AND +kind <> 'sync' AND weight IS NOT 0
  GROUP BY work.profile_id, work.step_id, name
), dear AS (
  SELECT name FROM sums GROUP BY name ORDER BY sum(sum_ns) DESC, name LIMIT 80
)
SELECT sums.profile_id, run_id, number, is_warmup,
  iif(sums.name IN (SELECT name FROM dear), sums.name, '(all others)') AS name,
  CAST(round(sum(count)) AS INTEGER) AS count, CAST(sum(sum_ns) AS INTEGER) AS sum_ns,
  CAST(sum(own_ns) AS INTEGER) AS recorded_ns
FROM sums JOIN temp.profiles ON profiles.id = sums.profile_id LEFT JOIN temp.steps ON steps.id = sums.step_id
GROUP BY sums.profile_id, sums.step_id, 5
ORDER BY run_id, sums.profile_id, number, sum_ns DESC, 5 LIMIT 50000
