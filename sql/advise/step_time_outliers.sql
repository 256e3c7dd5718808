-- Advice: single steps that take much longer than the others.
--
-- For each profile the measured steps (no warm-up) that last more than 1.5 times the median, once there are ten steps
-- to compare and the outliers cost at least 2 % of all step time: below that, chance alone makes some.  It is critical
-- from a tenth of all step time on, when that is a millisecond per step or more.
-- What it would save: their time beyond the median.
-- Columns: those of every check, see sql/README.md.  Cost: linear in steps.
-- Example: SELECT message FROM advise WHERE check_name = 'step_time_outliers';
WITH measured AS (
  SELECT profile_id, id, number, dur_ns FROM temp.steps WHERE is_warmup = 0
), typical AS (
  SELECT profile_id, count(*) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS step_ns, median(dur_ns) AS median_ns
  FROM measured GROUP BY profile_id
), outliers AS (
  SELECT measured.profile_id AS profile_id, count(*) AS outlier_count, max(measured.dur_ns) AS longest_ns,
    sum(measured.dur_ns - typical.median_ns) AS lost_ns
  FROM typical JOIN measured ON measured.profile_id = typical.profile_id
  WHERE measured.dur_ns > 1.5 * typical.median_ns
  GROUP BY measured.profile_id
)
SELECT
  'step_time_outliers' AS check_name,
  CASE WHEN lost_ns >= 0.10 * step_ns AND lost_ns >= 1000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  format('%d of %d steps take more than 1.5 times the median of %s; the longest takes %s', outlier_count, step_count,
    format_ns(CAST(median_ns AS INTEGER)), format_ns(longest_ns)) AS message,
  1.0 * lost_ns / step_ns AS value,
  0.02 AS threshold,
  CAST(lost_ns AS INTEGER) AS saves_ns,
  'Look at what the long steps do that the others do not: checkpoints, evaluation, logging, garbage collection, a '
    || 'batch of another shape, other load on the machine.' AS suggestion,
  'SELECT number, start_ns, dur_ns FROM temp.steps WHERE is_warmup = 0 AND profile_id = ' || typical.profile_id
    || ' ORDER BY 3 DESC LIMIT ' || outlier_count AS evidence
FROM typical
JOIN outliers ON outliers.profile_id = typical.profile_id
JOIN temp.profiles AS profiles ON profiles.id = typical.profile_id
WHERE step_count >= 10 AND lost_ns >= 0.02 * step_ns
ORDER BY saves_ns DESC, typical.profile_id
