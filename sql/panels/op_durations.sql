-- How long one op takes
-- How many calls took how long, of one op: each bar is a quarter wider than the one before.
-- page: ops 15
-- chart: distribution
-- label: name
-- value: from_ns
-- series: place
-- empty: No ops were recorded.
WITH named AS MATERIALIZED (
  SELECT id, name FROM temp.op_totals
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND is_measured = 1 AND category <> 'user'
), edges AS MATERIALIZED (
  SELECT 'host, own' AS place, name, from_ns, count, sum_ns
  FROM named CROSS JOIN temp.op_durations AS durations ON durations.op_total_id = named.id
  UNION ALL
  SELECT 'device', name, from_ns, count, sum_ns
  FROM named CROSS JOIN temp.op_device_durations AS durations ON durations.op_total_id = named.id WHERE from_ns > 0
), dear AS (
  SELECT name FROM edges WHERE place = 'host, own' GROUP BY name ORDER BY sum(sum_ns) DESC, name LIMIT 100
)
SELECT name, place, iif(from_ns < 1000, 0, from_ns) AS from_ns, max(1000, from_ns + from_ns / 4) AS to_ns,
  sum(count) AS count, sum(sum_ns) AS sum_ns
FROM edges WHERE from_ns IS NOT NULL AND name IN (SELECT name FROM dear)
GROUP BY name, place, 3
ORDER BY name, place, from_ns LIMIT 10000
