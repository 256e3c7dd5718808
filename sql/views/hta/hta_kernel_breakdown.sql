-- Device time by kernel within each type of work.
--
-- One row for each profile, type and name of a kernel, copy or fill.  HTA puts all except the ten longest of a type
-- together as others.  Here are all of them, each with its own statistics.  Left out is what HTA leaves out: see
-- hta_temporal_breakdown.  Where work was recorded only in some steps, all except max_ns and min_ns is weighed
-- (sample_weight).
--   profile_id   INTEGER  -      The profile: a process or rank.
--   rank         INTEGER  -      Rank of the process.  NULL where it is unknown.
--   kernel_type  TEXT     -      Type of work: COMPUTATION, COMMUNICATION or MEMORY.
--   kernel       TEXT     -      Name of the kernel, copy or fill.
--   count        INTEGER  count  Number of times that it ran.
--   sum_ns       INTEGER  ns     Sum of the durations.
--   max_ns       INTEGER  ns     Longest duration.
--   min_ns       INTEGER  ns     Shortest duration.
--   mean_ns      REAL     ns     Mean duration.
--   stddev_ns    REAL     ns     Standard deviation of the durations, that of a sample.  NULL for a single one.
-- Cost: one pass over device_activities.
-- Example: SELECT kernel, sum_ns FROM hta_kernel_breakdown WHERE kernel_type = 'COMMUNICATION';
WITH counted AS (
  SELECT profile_id, kind, name, sample_weight AS weight, count, known_count, 1.0 * sum_ns AS sum_ns, max_ns, min_ns,
    stddev_ns, 1.0 * sum_ns / known_count AS mean_ns,
    sum(sum_ns * sample_weight) OVER alike / sum(known_count * sample_weight) OVER alike AS mean_of_all_ns
  FROM temp.stream_totals
  WHERE kind <> 'sync' AND is_before_last_step = 1 AND sample_weight > 0
  WINDOW alike AS (PARTITION BY profile_id, kind, name)
), sums AS ( -- of the streams and steps, each of which has its mean and deviation
  SELECT profile_id, kind, name, CAST(round(sum(count * weight)) AS INTEGER) AS count,
    CAST(sum(sum_ns * weight) AS INTEGER) AS sum_ns, max(max_ns) AS max_ns, min(min_ns) AS min_ns,
    max(mean_of_all_ns) AS mean_ns, CASE WHEN sum(known_count * weight) > 1
      THEN sqrt((total((known_count - 1) * stddev_ns * stddev_ns * weight)
        + total(known_count * (mean_ns - mean_of_all_ns) * (mean_ns - mean_of_all_ns) * weight))
        / (sum(known_count * weight) - 1)) END AS stddev_ns
  FROM counted GROUP BY profile_id, kind, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  CASE sums.kind WHEN 'compute' THEN 'COMPUTATION' WHEN 'communication' THEN 'COMMUNICATION' ELSE 'MEMORY' END
    AS kernel_type,
  sums.name AS kernel,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.max_ns AS max_ns,
  sums.min_ns AS min_ns,
  sums.mean_ns AS mean_ns,
  sums.stddev_ns AS stddev_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY profile_id, kernel_type, sum_ns DESC, kernel
