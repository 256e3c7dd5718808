-- Launches at a glance: how many kernels are shorter than the call that launches them, and how many wait.
--
-- One row for each profile.  The limits are those of kernel_launch_stats, and the same launches count.  Where launches
-- were recorded only in some steps, everything but the longest delay is weighed (thinned_steps).
--   profile_id            INTEGER  -      The profile: a process or rank.
--   rank                  INTEGER  -      Rank of the process.  NULL where it is unknown.
--   count                 INTEGER  count  Kernels, copies and fills whose launching call is known.
--   short_count           INTEGER  count  Those that are shorter than the call that launches them.
--   slow_count            INTEGER  count  Those whose launching call takes more than 50 µs.
--   long_delay_count      INTEGER  count  Those that start more than 100 µs after the end of their launching call.
--   short_ratio           REAL     ratio  Share of short_count in count.
--   cpu_ns                INTEGER  ns     Time of all launching calls.
--   gpu_ns                INTEGER  ns     Time of all that these calls launched.
--   mean_launch_delay_ns  INTEGER  ns     Mean time from the end of the launching call to the start on the device.  A
--                                         start before that end counts as 0.
--   max_launch_delay_ns   INTEGER  ns     The longest such delay, not weighed.
-- Cost: linear in launch_totals, once these are made; where launches were recorded only in some steps, one pass over
-- device_activities.  Example: SELECT rank, short_ratio FROM launch_summary;
WITH thinned AS MATERIALIZED (
  SELECT profile_id, step_id, weight FROM temp.thinned_steps
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), parts AS ( -- steps are told apart only where they stand for different numbers of steps
  SELECT profile_id, 1.0 AS weight, count, short_count, slow_count, long_delay_count, 1.0 * call_ns AS cpu_ns,
    1.0 * sum_ns AS gpu_ns, 1.0 * delay_ns AS delay_ns, delayed_count AS delay_count, max_delay_ns
  FROM temp.launch_totals WHERE is_graph = 0 AND profile_id IN (SELECT profile_id FROM whole)
  UNION ALL
  SELECT activities.profile_id, coalesce(max(weight), 1.0), count(*),
    sum(dur_ns < launch_end_ns - launch_ns), sum(launch_end_ns - launch_ns > 50000),
    sum(start_ns - launch_end_ns > 100000), sum(1.0 * (launch_end_ns - launch_ns)),
    sum(1.0 * dur_ns), total(max(0, start_ns - launch_end_ns)),
    count(launch_end_ns), max(max(0, start_ns - launch_end_ns))
  FROM temp.device_activities AS activities LEFT JOIN thinned ON thinned.step_id = activities.step_id
  WHERE kind <> 'sync' AND api_call_id IS NOT NULL
    AND api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
    AND activities.profile_id IN (SELECT profile_id FROM thinned) AND weight IS NOT 0
  GROUP BY activities.profile_id, activities.step_id
), sums AS (
  SELECT profile_id, sum(count * weight) AS count, sum(short_count * weight) AS short_count,
    sum(slow_count * weight) AS slow_count, sum(long_delay_count * weight) AS long_delay_count,
    CAST(sum(cpu_ns * weight) AS INTEGER) AS cpu_ns, CAST(sum(gpu_ns * weight) AS INTEGER) AS gpu_ns,
    sum(delay_ns * weight) / nullif(sum(delay_count * weight), 0) AS mean_delay_ns, max(max_delay_ns) AS max_delay_ns
  FROM parts GROUP BY profile_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  CAST(round(sums.count) AS INTEGER) AS count,
  CAST(round(sums.short_count) AS INTEGER) AS short_count,
  CAST(round(sums.slow_count) AS INTEGER) AS slow_count,
  CAST(round(sums.long_delay_count) AS INTEGER) AS long_delay_count,
  sums.short_count / sums.count AS short_ratio,
  sums.cpu_ns AS cpu_ns,
  sums.gpu_ns AS gpu_ns,
  CAST(sums.mean_delay_ns AS INTEGER) AS mean_launch_delay_ns,
  sums.max_delay_ns AS max_launch_delay_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY profile_id
