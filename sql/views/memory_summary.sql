-- Memory: how much was in use of each memory at most, when, and what the allocator made of it.
--
-- One row for each profile, device and allocator that was seen at work; as XProf's memory profile has it.  Warm-up
-- steps count like any other.  Where a capture has summed up what came and went (memory_totals), those pieces count as
-- allocated and released.
--   profile_id           INTEGER  -      Profile id.
--   host                 TEXT     -      Host.
--   rank                 INTEGER  -      Rank.
--   device_id            INTEGER  -      Device id.
--   device               TEXT     -      Device.
--   allocator            TEXT     -      Allocator.
--   memory               TEXT     -      What the pages of XProf call it: the device's name, or the allocator's where
--                                        there is none.
--   allocations          INTEGER  -      Pieces that were given and taken back while it was recorded.
--   deallocations        INTEGER  -      Pieces that were given and taken back while it was recorded.
--   capacity_bytes       INTEGER  bytes  What there was at the peak: in use, for stacks and free; where the source does
--                                        not tell what was free, the size of the device's memory.
--   lifetime_peak_bytes  INTEGER  bytes  The most that was in use since the program began, as the allocator counts it.
--   peak_bytes           INTEGER  bytes  The most that was in use while it was recorded, stacks included; of a source
--                                        without totals the most that allocations and releases add up to
--                                        (memory_timeline.device_bytes), which is a lower bound: it lacks what was in
--                                        use before the recording and not released in it.
--   peak_time_ns         INTEGER  ns     When that was; at the first such moment (XProf: the last).
--   step_id              INTEGER  -      The step that it was in.
--   stack_bytes          INTEGER  bytes  Of it for stacks and in the hands of the program, and what was free then; of
--                                        an allocator that holds memory from the device, what it held and had not given
--                                        out.
--   heap_bytes           INTEGER  bytes  Of it for stacks and in the hands of the program, and what was free then; of
--                                        an allocator that holds memory from the device, what it held and had not given
--                                        out.
--   free_bytes           INTEGER  bytes  Of it for stacks and in the hands of the program, and what was free then; of
--                                        an allocator that holds memory from the device, what it held and had not given
--                                        out.
--   reserved_bytes       INTEGER  bytes  What the allocator held from the device then, in use or not.
--   reserved_peak_bytes  INTEGER  bytes  The most of that.
--   fragmentation_ratio  REAL     ratio  Share of the free memory outside its largest piece then; NULL where it is
--                                        neither told nor follows from the addresses of segments and pieces, and where
--                                        nothing was free.
--   unused_ratio         REAL     ratio  Share of reserved_bytes that was not in use then.
-- A profile for pprof tells of one moment: what was in use then is the peak, and all pieces count as often as their row
-- stands for pieces (occurrence_count).
-- XProf counts allocations of the 1,000 moments that it draws; here all count.
-- Cost: two passes over memory_events; of a source without totals, that of memory_timeline.
-- Example: SELECT memory, peak_bytes, capacity_bytes, reserved_bytes, fragmentation_ratio FROM memory_summary;
WITH told AS MATERIALIZED ( -- by sources that tell what was in use at one moment
  SELECT allocations.profile_id AS profile_id, device_id, allocator,
    CAST(total(coalesce(occurrence_count, 1)) AS INTEGER) AS count,
    CAST(total(bytes) AS INTEGER) AS bytes
  FROM temp.profiles AS sources CROSS JOIN temp.allocations AS allocations ON allocations.profile_id = sources.id
  WHERE sources.origin = 'pprof'
  GROUP BY allocations.profile_id, device_id, allocator
  HAVING total(bytes) > 0
), highest AS MATERIALIZED ( -- of sources without totals
  SELECT peaks.profile_id AS profile_id, peaks.device_id AS device_id, peaks.allocator AS allocator,
    max(changes.all_bytes) AS bytes
  FROM temp.memory_peaks AS peaks CROSS JOIN temp.memory_events AS changes
    ON changes.profile_id = peaks.profile_id AND changes.device_id IS peaks.device_id
    AND changes.allocator IS peaks.allocator
  WHERE peaks.peak_bytes IS NULL
  GROUP BY 1, 2, 3
), added AS MATERIALIZED (
  SELECT profile_id, device_id, allocator, bytes, (
      SELECT changes.id FROM temp.memory_events AS changes
      WHERE changes.profile_id = highest.profile_id AND changes.device_id IS highest.device_id
        AND changes.allocator IS highest.allocator AND changes.all_bytes = highest.bytes
      ORDER BY changes.time_ns, changes.id LIMIT 1) AS event_id
  FROM highest WHERE bytes IS NOT NULL
), sums AS (
  SELECT peaks.profile_id AS profile_id, peaks.device_id AS device_id, peaks.allocator AS allocator,
    peaks.allocation_count AS allocations, peaks.release_count AS deallocations,
    peaks.lifetime_peak_bytes AS lifetime_peak_bytes, peaks.reserved_peak_bytes AS reserved_peak_bytes,
    coalesce(peaks.peak_bytes, added.bytes) AS peak_bytes,
    coalesce(peaks.memory_event_id, added.event_id) AS event_id, added.bytes AS added_bytes
  FROM temp.memory_peaks AS peaks
  LEFT JOIN added ON added.profile_id = peaks.profile_id AND added.device_id IS peaks.device_id
    AND added.allocator IS peaks.allocator
  UNION ALL
  SELECT profile_id, device_id, allocator, count, 0, NULL, NULL, bytes, NULL, NULL FROM told
), totals AS (
  SELECT profile_id, device_id, allocator, CAST(sum(1.0 * allocation_count) AS INTEGER) AS count
  FROM temp.memory_totals GROUP BY profile_id, device_id, allocator
)
SELECT
  sums.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.allocator AS allocator,
  coalesce(devices.name, sums.allocator) AS memory,
  sums.allocations + coalesce(totals.count, 0) AS allocations,
  sums.deallocations + coalesce(totals.count, 0) AS deallocations,
  coalesce(sums.peak_bytes + events.free_bytes, devices.memory_bytes) AS capacity_bytes,
  sums.lifetime_peak_bytes AS lifetime_peak_bytes,
  sums.peak_bytes AS peak_bytes,
  events.time_ns AS peak_time_ns,
  events.step_id AS step_id,
  events.stack_bytes AS stack_bytes,
  coalesce(events.in_use_bytes, sums.added_bytes, told.bytes) AS heap_bytes,
  coalesce(events.free_bytes, nullif(events.reserved_bytes, 0) - events.in_use_bytes) AS free_bytes,
  nullif(events.reserved_bytes, 0) AS reserved_bytes,
  nullif(sums.reserved_peak_bytes, 0) AS reserved_peak_bytes,
  events.fragmentation_ratio AS fragmentation_ratio,
  max(0, 1 - 1.0 * events.in_use_bytes / nullif(events.reserved_bytes, 0)) AS unused_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN totals ON totals.profile_id = sums.profile_id AND totals.device_id IS sums.device_id
  AND totals.allocator IS sums.allocator
LEFT JOIN temp.memory_events AS events ON events.id = sums.event_id
LEFT JOIN told ON told.profile_id = sums.profile_id AND told.device_id IS sums.device_id
  AND told.allocator IS sums.allocator
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY profile_id, peak_bytes DESC, memory, allocator, device_id
