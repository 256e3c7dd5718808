-- Launches at a glance: how many kernels are shorter than the call that launches them, and how many wait.
--
-- One row for each profile.  The limits are those of hta_kernel_launch_stats, and the same launches count.  Where
-- launches were recorded only in some steps, everything but the longest delay is weighed (sample_weight).
--   profile_id            INTEGER  -      The profile: a process or rank.
--   rank                  INTEGER  -      Rank of the process.  NULL where it is unknown.
--   count                 INTEGER  count  Kernels, copies and fills with a known launching call.
--   short_count           INTEGER  count  Those that are shorter than the call that launches them.
--   slow_count            INTEGER  count  Those with a launching call of more than 50 µs.
--   long_delay_count      INTEGER  count  Those that start more than 100 µs after the end of their launching call.
--   short_ratio           REAL     ratio  Share of short_count in count.
--   cpu_ns                INTEGER  ns     Time of all launching calls.
--   gpu_ns                INTEGER  ns     Time of all that these calls launched.
--   mean_launch_delay_ns  INTEGER  ns     Mean time from the end of the launching call to the start on the device.  A
--                                         start before that end counts as 0.
--   max_launch_delay_ns   INTEGER  ns     The longest such delay, not weighed.
-- Cost: linear in launch_totals, once these are made.  Where launches were recorded only in some steps, one pass over
-- device_activities.  Example: SELECT rank, short_ratio FROM hta_launch_summary;
WITH sums AS (
  SELECT profile_id, sum(count * sample_weight) AS count, sum(short_count * sample_weight) AS short_count,
    sum(slow_count * sample_weight) AS slow_count, sum(long_delay_count * sample_weight) AS long_delay_count,
    CAST(sum(1.0 * call_ns * sample_weight) AS INTEGER) AS cpu_ns,
    CAST(sum(1.0 * sum_ns * sample_weight) AS INTEGER) AS gpu_ns,
    sum(1.0 * delay_ns * sample_weight) / nullif(sum(delayed_count * sample_weight), 0) AS mean_delay_ns,
    max(max_delay_ns) AS max_delay_ns
  FROM temp.launch_totals WHERE is_graph = 0 AND sample_weight > 0
  GROUP BY profile_id
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
