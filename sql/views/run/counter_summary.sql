-- Counters: what was measured again and again.
--
-- One row for each profile, name and device.  Everything counts, warm-up too.
--   profile_id  INTEGER  -      The profile: a process or rank.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   name        TEXT     -      What was measured, as in counters.
--   unit        TEXT     -      Unit of the readings.  NULL where the source names none.
--   device_id   INTEGER  -      The device, as in devices.  NULL where the process or the host was measured.
--   count       INTEGER  count  Number of readings.
--   first       REAL     -      The earliest reading, in the unit of the column unit.
--   last        REAL     -      The latest reading, in that unit.
--   min         REAL     -      The smallest reading, in that unit.
--   max         REAL     -      The largest reading, in that unit.
--   mean        REAL     -      Mean of the readings, in that unit.
-- Not weighed: count, last, max, mean.  They are of readings, as these were taken.
-- Cost: one pass over counters.  Example: SELECT name, mean, max FROM counter_summary;
WITH ordered AS (
  SELECT profile_id, name, unit, device_id, value,
    first_value(value) OVER (PARTITION BY profile_id, name, device_id ORDER BY time_ns, id) AS first,
    first_value(value) OVER (PARTITION BY profile_id, name, device_id ORDER BY time_ns DESC, id DESC) AS last
  FROM temp.counters
)
SELECT
  ordered.profile_id AS profile_id,
  min(profiles.rank) AS rank,
  ordered.name AS name,
  min(ordered.unit) AS unit,
  ordered.device_id AS device_id,
  count(*) AS count,
  min(ordered.first) AS first,
  min(ordered.last) AS last,
  min(ordered.value) AS min,
  max(ordered.value) AS max,
  avg(ordered.value) AS mean
FROM ordered JOIN temp.profiles AS profiles ON profiles.id = ordered.profile_id
GROUP BY ordered.profile_id, ordered.name, ordered.device_id
ORDER BY profile_id, name, device_id
