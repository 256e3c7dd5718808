-- Counters: what was measured again and again, one row for each name.
--
-- Everything counts, warm-up too.
--   profile_id  INTEGER  -      Profile id.
--   rank        INTEGER  -      Rank.
--   name        TEXT     -      Name.
--   unit        TEXT     -      Unit.
--   device_id   INTEGER  -      Device id.
--   count       INTEGER  count  Of the readings, in `unit`.
--   first       REAL     -      Of the readings, in `unit`.
--   last        REAL     -      Of the readings, in `unit`.
--   minimum     REAL     -      Of the readings, in `unit`.
--   maximum     REAL     -      Of the readings, in `unit`.
--   mean        REAL     -      Of the readings, in `unit`.
-- Cost: one pass over counters.  Example: SELECT name, mean, maximum FROM counter_summary;
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
  min(ordered.value) AS minimum,
  max(ordered.value) AS maximum,
  avg(ordered.value) AS mean
FROM ordered JOIN temp.profiles AS profiles ON profiles.id = ordered.profile_id
GROUP BY ordered.profile_id, ordered.name, ordered.device_id
ORDER BY profile_id, name, device_id
