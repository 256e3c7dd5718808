-- Memory bandwidth: the rate of copies and fills that go on together, by direction.
--
-- One row for each profile and direction: statistics of memory_bandwidth_series, of the rates above 0, as in HTA.
-- Where copies were recorded only in some steps, they are of those as they are, and are not weighed.
--   profile_id  INTEGER  -      Profile id.
--   rank        INTEGER  -      Rank.
--   name        TEXT     -      Memset, Memcpy HtoD, Memcpy DtoH, Memcpy DtoD, Memcpy PtoP.
--   count       INTEGER  count  Of the rate, in GB/s.
--   mean        REAL     -      Of the rate, in GB/s.
--   stddev      REAL     -      Of the rate, in GB/s.
--   min         REAL     -      Of the rate, in GB/s.
--   p25         REAL     -      Of the rate, in GB/s.
--   p50         REAL     -      Of the rate, in GB/s.
--   p75         REAL     -      Of the rate, in GB/s.
--   max         REAL     -      Of the rate, in GB/s.
-- Cost: one pass over device_activities, two sorts of transfers.
-- Example: SELECT name, mean, max FROM memory_bandwidth;
SELECT
  profile_id AS profile_id,
  min(rank) AS rank,
  name AS name,
  count(*) AS count,
  avg(gigabytes_per_second) AS mean,
  stddev(gigabytes_per_second) AS stddev,
  min(gigabytes_per_second) AS min,
  percentile(gigabytes_per_second, 25) AS p25,
  median(gigabytes_per_second) AS p50,
  percentile(gigabytes_per_second, 75) AS p75,
  max(gigabytes_per_second) AS max
FROM temp.memory_bandwidth_series
WHERE gigabytes_per_second > 0
GROUP BY profile_id, name
ORDER BY profile_id, name
