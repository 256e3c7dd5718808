-- Idle time of streams: what each stream waited for between one kernel and the next.
--
-- Three rows for each stream that ran anything, as HTA breaks it down.  A gap reaches from the end of all kernels,
-- copies and fills so far to the start of the next on the same stream.  HTA takes the end of the one before, so that
-- kernels that overlap give gaps below zero.  Here they give none.  Left out is what HTA leaves out: see
-- temporal_breakdown.
-- Where work was recorded only in some steps, idle_ns, idle_ratio, count and mean_ns are weighed (thinned_steps), and
-- the others are of the gaps that are known.  There is no gap before the first work of a step that follows one which
-- was not recorded (thinned_starts), and none before what no step launched.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   stream         INTEGER  -      Number of the stream.
--   idle_category  TEXT     -      Kind of gap.  host_wait: the next was launched after the others had ended.  No gap
--                                  is of this kind where the launch of the next is not known.  kernel_wait: another gap
--                                  shorter than 30 µs, which is what it takes to get one kernel after the other onto
--                                  the device.  other: all other gaps.
--   idle_ns        INTEGER  ns     Sum of the gaps of the kind.
--   idle_ratio     REAL     ratio  Share of idle_ns in all gaps of the stream.  NULL where it has none.
--   count          INTEGER  count  Number of gaps of the kind.
--   mean_ns        REAL     ns     Mean length of a gap.  NULL where there is none.
--   stddev_ns      REAL     ns     Standard deviation of the lengths of the gaps.  NULL where it is not known.
--   min_ns         INTEGER  ns     Length of the shortest gap.  NULL where there is none.
--   p25_ns         REAL     ns     Length that a quarter of the gaps have at most.  NULL where there is none.
--   median_ns      REAL     ns     Median length of the gaps.  NULL where there is none.
--   p75_ns         REAL     ns     Length that three quarters of the gaps have at most.  NULL where there is none.
--   max_ns         INTEGER  ns     Length of the longest gap.  NULL where there is none.
--   device_id      INTEGER  -      The device, as in devices.
--   thread_id      INTEGER  -      The stream, as in threads.
-- Not weighed: idle_ns, count, mean_ns, stddev_ns, p25_ns, p75_ns.  Gaps before the first work of a step count only
-- where the step before it was recorded, too.
-- Cost: linear in idle_totals, once these are made; where work was recorded only in some steps, in device_activities.
-- Example: SELECT stream, idle_ns FROM idle_breakdown WHERE idle_category = 'host_wait';
WITH thinned AS MATERIALIZED (
  SELECT profile_id, step_id, weight FROM temp.thinned_steps
), starts AS MATERIALIZED (
  SELECT profile_id, device_id, step_id, start_ns FROM temp.thinned_starts
), in_part AS MATERIALIZED (
  SELECT profile_id FROM thinned UNION SELECT profile_id FROM starts
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM in_part)
), known_gaps AS MATERIALIZED ( -- where work was recorded only in some steps
  SELECT activities.profile_id AS profile_id, device_id, thread_id, coalesce(weight, 1.0) AS weight,
    CASE WHEN launch_ns > previous_end_ns THEN 'host_wait' WHEN start_ns - previous_end_ns < 30000 THEN 'kernel_wait'
      WHEN previous_end_ns IS NOT NULL THEN 'other' END AS idle_category,
    max(0, start_ns - previous_end_ns) AS gap_ns
  FROM temp.device_activities AS activities LEFT JOIN thinned ON thinned.step_id = activities.step_id
  WHERE kind <> 'sync' AND thread_id IS NOT NULL AND activities.profile_id IN (SELECT profile_id FROM in_part)
    AND activities.step_id IS NOT NULL AND weight IS NOT 0
    AND NOT EXISTS (SELECT 1 FROM starts
      WHERE starts.step_id = activities.step_id AND starts.device_id IS activities.device_id
        AND starts.start_ns > activities.previous_end_ns)
), sums AS MATERIALIZED (
  SELECT profile_id, device_id, thread_id, category AS idle_category, 1.0 * count AS count, sum_ns AS idle_ns, mean_ns,
    stddev_ns, min_ns, p25_ns, median_ns, p75_ns, max_ns
  FROM temp.idle_totals WHERE count > 0 AND profile_id IN (SELECT profile_id FROM whole)
  UNION ALL
  SELECT profile_id, device_id, thread_id, idle_category, sum(weight),
    CAST(sum(gap_ns * weight) AS INTEGER), sum(gap_ns * weight) / sum(weight), stddev(gap_ns), min(gap_ns),
    percentile(gap_ns, 25), median(gap_ns), percentile(gap_ns, 75), max(gap_ns)
  FROM known_gaps WHERE idle_category IS NOT NULL
  GROUP BY profile_id, device_id, thread_id, idle_category
), streams AS (
  SELECT lanes.profile_id AS profile_id, lanes.device_id AS device_id, lanes.thread_id AS thread_id,
    sum(1.0 * sums.idle_ns) AS all_ns
  FROM (
    SELECT profile_id, device_id, thread_id FROM temp.idle_totals
    WHERE category = 'other' AND profile_id IN (SELECT profile_id FROM whole)
    UNION ALL SELECT DISTINCT profile_id, device_id, thread_id FROM known_gaps
  ) AS lanes
  LEFT JOIN sums ON sums.thread_id = lanes.thread_id AND sums.device_id IS lanes.device_id
  GROUP BY lanes.profile_id, lanes.device_id, lanes.thread_id
), categories(idle_category) AS (VALUES ('host_wait'), ('kernel_wait'), ('other'))
SELECT
  streams.profile_id AS profile_id,
  profiles.rank AS rank,
  threads.stream AS stream,
  categories.idle_category AS idle_category,
  coalesce(sums.idle_ns, 0) AS idle_ns,
  1.0 * coalesce(sums.idle_ns, 0) / nullif(streams.all_ns, 0) AS idle_ratio,
  CAST(round(coalesce(sums.count, 0)) AS INTEGER) AS count,
  sums.mean_ns AS mean_ns,
  sums.stddev_ns AS stddev_ns,
  sums.min_ns AS min_ns,
  sums.p25_ns AS p25_ns,
  sums.median_ns AS median_ns,
  sums.p75_ns AS p75_ns,
  sums.max_ns AS max_ns,
  streams.device_id AS device_id,
  streams.thread_id AS thread_id
FROM streams CROSS JOIN categories
JOIN temp.profiles AS profiles ON profiles.id = streams.profile_id
JOIN temp.threads AS threads ON threads.id = streams.thread_id
LEFT JOIN sums ON sums.thread_id = streams.thread_id AND sums.device_id IS streams.device_id
  AND sums.idle_category = categories.idle_category
ORDER BY profile_id, device_id, stream, thread_id, idle_category
