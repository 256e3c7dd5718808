-- Memory: how much was in use of each memory at most, when, and what the allocator made of it.
--
-- One row for each profile, device and allocator that was seen at work, as the memory profile of XProf has it.  Warm-up
-- steps count like any other.  Where a capture has summed up what came and went (memory_totals), those pieces count as
-- allocated and released.
--   profile_id           INTEGER  -      The profile: a process or rank.
--   host                 TEXT     -      Host that it ran on.
--   rank                 INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id            INTEGER  -      The device, as in devices.
--   device               TEXT     -      Name of the device.  NULL where it is unknown.
--   allocator            TEXT     -      Name of the allocator.  NULL where it is unknown.
--   memory               TEXT     -      What the pages of XProf call it: the name of the device, or of the allocator
--                                        where there is no device.
--   allocation_count     INTEGER  count  Pieces that were allocated while it was recorded.
--   deallocation_count   INTEGER  count  Pieces that were released while it was recorded.
--   capacity_bytes       INTEGER  bytes  What there was at the peak: memory in use, for stacks and free.  Where the
--                                        source does not tell what was free, it is the size of the memory of the
--                                        device.
--   lifetime_peak_bytes  INTEGER  bytes  The most that was in use since the program began, as the allocator counts it.
--                                        NULL where it does not tell.
--   peak_bytes           INTEGER  bytes  The most that was in use while it was recorded, stacks included.  Where the
--                                        source has no totals, it is the most that allocations and releases add up to
--                                        (memory_timeline.device_bytes).  That is a lower bound, since it lacks what
--                                        was in use before the recording and not released in it.
--   peak_time_ns         INTEGER  ns     The first moment when peak_bytes were in use.  XProf has the last one.  NULL
--                                        where it is not known.
--   step_id              INTEGER  -      The step that the peak was in.  NULL outside all steps.
--   stack_bytes          INTEGER  bytes  The part of peak_bytes that was set aside for stacks.  NULL where the source
--                                        does not tell.
--   heap_bytes           INTEGER  bytes  The part of peak_bytes that was in the hands of the program.
--   free_bytes           INTEGER  bytes  What was free at the peak.  Where the allocator holds memory from the device,
--                                        it is what it held and had not given out.  NULL where neither is known.
--   reserved_bytes       INTEGER  bytes  What the allocator held from the device at the peak, in use or not.  NULL
--                                        where it holds nothing in reserve.
--   reserved_peak_bytes  INTEGER  bytes  The most that the allocator ever held from the device while it was recorded.
--   fragmentation_ratio  REAL     ratio  Share of the free memory at the peak that lay outside its largest piece.  NULL
--                                        where the source does not tell it and it does not follow from the addresses of
--                                        segments and pieces, and where nothing was free.
--   unused_ratio         REAL     ratio  Share of reserved_bytes that was not in use at the peak.
-- A profile for pprof tells of one moment.  What was in use then is the peak, and a row counts as often as it stands
-- for pieces (occurrence_count).
-- XProf counts allocations of the 1,000 moments that it draws.  Here all count.
-- Cost: two passes over memory_events.  Of a source without totals, that of memory_timeline.
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
    peaks.allocation_count AS allocations, peaks.release_count AS deallocation_count,
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
  sums.allocations + coalesce(totals.count, 0) AS allocation_count,
  sums.deallocation_count + coalesce(totals.count, 0) AS deallocation_count,
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
