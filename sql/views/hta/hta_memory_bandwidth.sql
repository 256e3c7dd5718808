-- Memory bandwidth: the rate of copies and fills that go on together, by direction.
--
-- One row for each profile and direction.  It has statistics of hta_memory_bandwidth_series, of the rates above 0, as
-- in HTA.  Where copies were recorded only in some steps, the rates are those of these steps, and are not weighed.
--   profile_id  INTEGER  -      The profile: a process or rank.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   name        TEXT     -      The direction: Memset, Memcpy HtoD, Memcpy DtoH, Memcpy DtoD or Memcpy PtoP.
--   count       INTEGER  count  Rates above 0 in hta_memory_bandwidth_series.
--   mean        REAL     -      Mean of these rates, in GB/s.
--   stddev      REAL     -      Standard deviation of the rates, in GB/s.
--   min         REAL     -      The lowest rate, in GB/s.
--   p25         REAL     -      The rate that a quarter of the rates stays below, in GB/s.
--   p50         REAL     -      Median of the rates, in GB/s.
--   p75         REAL     -      The rate that three quarters of the rates stay below, in GB/s.
--   max         REAL     -      The highest rate, in GB/s.
-- Not weighed: count.  The rates are of the copies that were recorded.
-- Cost: one pass over device_activities, two sorts of transfers.
-- Example: SELECT name, mean, max FROM hta_memory_bandwidth;
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
FROM temp.hta_memory_bandwidth_series
WHERE gigabytes_per_second > 0
GROUP BY profile_id, name
ORDER BY profile_id, name
