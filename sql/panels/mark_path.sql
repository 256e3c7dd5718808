-- Critical path
-- Where the critical path of each step lies, in at most four thousand stretches, by what most of it is.
-- page: timeline 30
-- chart: marks
-- empty: No path was found.
WITH pieces AS MATERIALIZED (
  SELECT profile_id, kind, start_ns, dur_ns FROM temp.critical_path
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
), spans AS (
  SELECT profile_id, max(1, (max(start_ns) - min(start_ns)) / 4000) AS bucket_ns, min(start_ns) AS start_ns FROM pieces
  GROUP BY profile_id
), stretches AS (
  SELECT pieces.profile_id AS profile_id, kind, (pieces.start_ns - spans.start_ns) / bucket_ns AS bucket,
    min(pieces.start_ns) AS start_ns, max(pieces.start_ns + dur_ns) AS end_ns, sum(dur_ns) AS busy_ns, count(*) AS count
  FROM pieces JOIN spans ON spans.profile_id = pieces.profile_id GROUP BY 1, 3, 2
)
SELECT profile_id, kind, max(busy_ns) AS busy_ns, min(start_ns) - coalesce(:origin_ns, 0) AS at_ns,
  max(end_ns) - min(start_ns) AS dur_ns, sum(count) AS count
FROM stretches GROUP BY profile_id, bucket ORDER BY profile_id, at_ns LIMIT 20000
