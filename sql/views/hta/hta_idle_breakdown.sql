-- Idle time of streams: what each stream waited for between one kernel and the next.
--
-- Three rows for each stream that ran anything, as HTA breaks it down.  A gap reaches from the end of all kernels,
-- copies and fills so far to the start of the next on the same stream.  HTA takes the end of the one before, so that
-- kernels that overlap give gaps below zero.  Here they give none.  Left out is what HTA leaves out: see
-- hta_temporal_breakdown.
-- Where work was recorded only in some steps, idle_ns, idle_ratio, count and mean_ns are weighed (sample_weight), and
-- the others are of the gaps that are known.  There is no gap before the first work of a step that follows one which
-- was not recorded (_thinned_starts), and none before what no step launched.
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
-- Not weighed: idle_ns, count, mean_ns, stddev_ns, p25_ns, p75_ns.  All are of the gaps that are known: before the
-- first work of a step only where the step before it was recorded, too.  So the first three speak for fewer gaps.
-- Cost: linear in idle_totals, once these are made.
-- Example: SELECT stream, idle_ns FROM hta_idle_breakdown WHERE idle_category = 'host_wait';
SELECT
  idle.profile_id AS profile_id,
  profiles.rank AS rank,
  threads.stream AS stream,
  idle.category AS idle_category,
  idle.sum_ns AS idle_ns,
  1.0 * idle.sum_ns / nullif(total(idle.sum_ns) OVER (
    PARTITION BY idle.profile_id, idle.device_id, idle.thread_id), 0) AS idle_ratio,
  CAST(round(idle.count) AS INTEGER) AS count,
  idle.mean_ns AS mean_ns,
  idle.stddev_ns AS stddev_ns,
  idle.min_ns AS min_ns,
  idle.p25_ns AS p25_ns,
  idle.median_ns AS median_ns,
  idle.p75_ns AS p75_ns,
  idle.max_ns AS max_ns,
  idle.device_id AS device_id,
  idle.thread_id AS thread_id
FROM temp.idle_totals AS idle
JOIN temp.profiles AS profiles ON profiles.id = idle.profile_id
JOIN temp.threads AS threads ON threads.id = idle.thread_id
ORDER BY profile_id, device_id, stream, thread_id, idle_category
