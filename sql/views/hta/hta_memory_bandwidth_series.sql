-- Memory bandwidth over time: the rate after each start and each end of a copy or fill, by direction.
--
-- One row for each event.  The start of a copy raises the rate by its own, and its end lowers it.  Rates are added up
-- as whole numbers, so that 0 is left when all have ended, and no rounding error.  What claims to be faster than 100
-- TB/s is no copy.  What HTA leaves out is left out here (hta_temporal_breakdown).  Steps without recorded copies
-- (_thinned_steps) have no events.
--   profile_id            INTEGER  -  The profile: a process or rank.
--   rank                  INTEGER  -  Rank of the process.  NULL where it is unknown.
--   name                  TEXT     -  The direction: Memset, Memcpy HtoD, Memcpy DtoH, Memcpy DtoD or Memcpy PtoP.
--   time_ms               REAL     -  Time of the event from the start of the run, in ms.
--   gigabytes_per_second  REAL     -  Rate of all copies of that direction that go on after the event, in GB/s.
-- Cost: one pass over device_activities, a sort of transfers.
-- Example: SELECT time_ms, gigabytes_per_second FROM hta_memory_bandwidth_series WHERE name = 'Memcpy HtoD';
WITH copies AS (
  SELECT transfers.profile_id AS profile_id,
    CASE transfers.kind WHEN 'memset' THEN 'Memset' ELSE 'Memcpy ' || coalesce(transfers.direction, '') END AS name,
    transfers.start_ns AS start_ns, max(transfers.end_ns, transfers.start_ns + 1000) AS end_ns,
    CAST(1e2 * coalesce(transfers.bytes_per_second, 1e9 * transfers.bytes / transfers.dur_ns) AS INTEGER) AS rate
  FROM temp.device_activities AS activities
  JOIN temp.transfers AS transfers ON transfers.id = activities.transfer_id
  WHERE activities.is_before_last_step = 1
), events AS (
  SELECT profile_id, name, start_ns AS time_ns, rate AS change FROM copies WHERE rate BETWEEN 0 AND 1e16
  UNION ALL SELECT profile_id, name, end_ns, -rate FROM copies WHERE rate BETWEEN 0 AND 1e16
)
SELECT
  events.profile_id AS profile_id,
  profiles.rank AS rank,
  events.name AS name,
  (events.time_ns - runs.start_ns) / 1e6 AS time_ms,
  sum(1.0 * events.change) OVER (PARTITION BY events.profile_id, events.name
    ORDER BY events.time_ns, events.change DESC ROWS UNBOUNDED PRECEDING) / 1e11 AS gigabytes_per_second
FROM events
JOIN temp.profiles AS profiles ON profiles.id = events.profile_id
JOIN temp.runs AS runs ON runs.id = profiles.run_id
ORDER BY profile_id, name, events.time_ns, events.change DESC
