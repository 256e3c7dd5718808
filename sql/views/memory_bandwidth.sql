-- Memory bandwidth: the rate of copies and fills that go on together, by direction.
--
-- One row for each profile and direction.  The start of a copy raises the rate by its own, its end lowers it; the
-- statistics are of the rate after each such event where it is above 0, as in HTA.  Rates are added up as whole numbers,
-- so that what is left when all have ended is 0 and not a rounding error; what claims to be faster than 100 TB/s is no
-- copy.  Left out is what HTA leaves out: see temporal_breakdown.
--   profile_id, rank
--   name                                           Memset, Memcpy HtoD, Memcpy DtoH, Memcpy DtoD, Memcpy PtoP
--   count, mean, stddev, min, p25, p50, p75, max   of the rate, in GB/s
-- Cost: two sorts of transfers.  Example: SELECT name, mean, max FROM memory_bandwidth;
WITH last_steps AS (
  SELECT profile_id, max(start_ns) AS start_ns FROM temp.steps
  WHERE origin = 'profiler' GROUP BY profile_id HAVING count(DISTINCT name) >= 2
), copies AS (
  SELECT transfers.profile_id AS profile_id,
    CASE transfers.kind WHEN 'memset' THEN 'Memset' ELSE 'Memcpy ' || coalesce(transfers.direction, '') END AS name,
    transfers.start_ns AS start_ns, max(transfers.end_ns, transfers.start_ns + 1000) AS end_ns,
    CAST(1e2 * coalesce(transfers.bytes_per_second, 1e9 * transfers.bytes / transfers.dur_ns) AS INTEGER) AS rate
  FROM temp.transfers AS transfers
  LEFT JOIN temp.api_calls AS launches ON launches.id = transfers.api_call_id
  LEFT JOIN last_steps ON last_steps.profile_id = transfers.profile_id
  WHERE last_steps.start_ns IS NULL OR launches.start_ns < last_steps.start_ns
), events AS (
  SELECT profile_id, name, start_ns AS time_ns, rate AS change FROM copies WHERE rate BETWEEN 0 AND 1e16
  UNION ALL SELECT profile_id, name, end_ns, -rate FROM copies WHERE rate BETWEEN 0 AND 1e16
), rates AS (
  SELECT profile_id, name,
    sum(change) OVER (PARTITION BY profile_id, name ORDER BY time_ns,
      change DESC ROWS UNBOUNDED PRECEDING) / 1e11 AS rate
  FROM events
)
SELECT
  rates.profile_id AS profile_id,
  min(profiles.rank) AS rank,
  rates.name AS name,
  count(*) AS count,
  avg(rates.rate) AS mean,
  stddev(rates.rate) AS stddev,
  min(rates.rate) AS min,
  percentile(rates.rate, 25) AS p25,
  median(rates.rate) AS p50,
  percentile(rates.rate, 75) AS p75,
  max(rates.rate) AS max
FROM rates JOIN temp.profiles AS profiles ON profiles.id = rates.profile_id
WHERE rates.rate > 0
GROUP BY rates.profile_id, rates.name
ORDER BY profile_id, name
