-- How long one op takes
-- How many calls took how long, of one op: each bar is a quarter wider than the one before.
-- page: ops 15
-- chart: distribution
-- label: name
-- value: from_ns
-- series: place
-- empty: No ops were recorded.
WITH RECURSIVE bins(bin, from_ns, to_ns) AS (
  SELECT 0, 0, 1000
  UNION ALL SELECT bin + 1, to_ns, CAST(to_ns * 1.25 AS INTEGER) FROM bins WHERE bin < 90
), measured AS MATERIALIZED (
  SELECT profile_id, name, self_ns, nullif(device_ns, 0) AS device_ns FROM temp.ops
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND +is_measured = 1 AND +category <> 'user'
), dear AS (
  SELECT name FROM measured GROUP BY name ORDER BY sum(self_ns) DESC, name LIMIT 100
), edges AS MATERIALIZED (
  SELECT 'host, own' AS place, name, self_ns AS ns, count(*) AS count FROM measured
  WHERE name IN (SELECT name FROM dear) GROUP BY name, self_ns
  UNION ALL
  SELECT 'device', name, device_ns, count(*) FROM measured
  WHERE device_ns IS NOT NULL AND name IN (SELECT name FROM dear) GROUP BY name, device_ns
)
SELECT name, place, from_ns, to_ns, sum(count) AS count, sum(ns * count) AS sum_ns
FROM edges JOIN bins ON ns >= from_ns AND ns < to_ns
GROUP BY name, place, bin
ORDER BY name, place, from_ns LIMIT 10000
