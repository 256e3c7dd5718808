-- At a glance
-- What stands at the head of the page, for people to read.
-- page: overview 1
-- chart: header
SELECT name AS name, value AS value FROM (
  SELECT 1 AS place, 'processes' AS name, format_count(count(*)) AS value FROM temp.profiles
  UNION ALL SELECT 2, 'framework', group_concat(DISTINCT framework_versions(framework, framework_version))
  FROM temp.profiles
  UNION ALL SELECT 3, 'host', CASE WHEN count(DISTINCT host) > 1 THEN count(DISTINCT host) || ' hosts'
    ELSE max(host) END FROM temp.profiles
  UNION ALL SELECT 4, 'recorded', format_ns(max(dur_ns)) FROM (
    SELECT max(end_ns) - min(start_ns) AS dur_ns FROM temp.profiles GROUP BY run_id)
  UNION ALL SELECT 5, 'steps', format_count(count(*)) FROM temp.steps HAVING count(*) > 0
  UNION ALL SELECT 6, 'median step', format_ns(max(median_ns)) FROM temp.step_summary
  UNION ALL SELECT 7, 'ops', format_count(count(*)) FROM temp.ops HAVING count(*) > 0
  UNION ALL SELECT 8, 'kernels', format_count(count(*)) FROM temp.kernels HAVING count(*) > 0
  UNION ALL SELECT 9, 'devices busy', format('%.0f %%', 100 * avg(utilization_ratio)) FROM temp.device_utilization
  HAVING avg(utilization_ratio) IS NOT NULL
  UNION ALL SELECT 10, 'memory at its peak', format_bytes(max(coalesce(peak_bytes, lifetime_peak_bytes)))
  FROM temp.memory_summary
)
WHERE value IS NOT NULL ORDER BY place
