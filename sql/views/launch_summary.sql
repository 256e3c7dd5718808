-- Launches at a glance: how many kernels are shorter than the call that launches them, and how many wait.
--
-- One row for each profile; the flags are those of kernel_launch_stats, and so is what counts.
--   profile_id, rank
--   count                                      kernels, copies and fills with their launching call
--   short_count, slow_count, long_delay_count  shorter than their call; launched by a call over 50 µs; delayed over 100
--                                              µs
--   short_ratio                                share of the short ones
--   cpu_ns, gpu_ns                             time of all launching calls, and of what they launched
--   mean_launch_delay_ns, max_launch_delay_ns  from the end of the call to the start, 0 where it started before
-- Cost: one pass over device_activities.  Example: SELECT rank, short_ratio FROM launch_summary;
WITH sums AS (
  SELECT activities.profile_id AS profile_id, count(*) AS count,
    sum(activities.dur_ns < activities.launch_end_ns - activities.launch_ns) AS short_count,
    sum(activities.launch_end_ns - activities.launch_ns > 50000) AS slow_count,
    sum(activities.start_ns - activities.launch_end_ns > 100000) AS long_delay_count,
    CAST(sum(1.0 * (activities.launch_end_ns - activities.launch_ns)) AS INTEGER) AS cpu_ns,
      CAST(sum(1.0 * activities.dur_ns) AS INTEGER) AS gpu_ns,
    avg(max(0, activities.start_ns - activities.launch_end_ns)) AS mean_delay_ns,
    max(max(0, activities.start_ns - activities.launch_end_ns)) AS max_delay_ns
  FROM temp.device_activities AS activities
  WHERE activities.kind <> 'sync' AND activities.api_call_id IS NOT NULL
    AND activities.api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
    AND activities.is_before_last_step = 1
  GROUP BY activities.profile_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.count AS count,
  sums.short_count AS short_count,
  sums.slow_count AS slow_count,
  sums.long_delay_count AS long_delay_count,
  1.0 * sums.short_count / sums.count AS short_ratio,
  sums.cpu_ns AS cpu_ns,
  sums.gpu_ns AS gpu_ns,
  CAST(sums.mean_delay_ns AS INTEGER) AS mean_launch_delay_ns,
  sums.max_delay_ns AS max_launch_delay_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY profile_id
