-- Memory over time: how much of each memory was in use after each change, by what it holds.
--
-- One row for each allocation, release and change of category, in the order of time.  Memory from before the recording
-- counts as category unknown, and so does what nothing is known about; the categories together are what was in use.
-- Where a capture has summed up what came and went (memory_totals) that is not in it; what was held for longer, all
-- steps whose ops are recorded, and the moment when most was in use are whole.
--   profile_id, host, rank, device_id, device, allocator   the memory: each allocator of a device has its own
--   time_ns              when it changed
--   category             parameter, gradient, activation, optimizer_state, input, temporary ...: what the source tells
--                        of the event (raw memory timelines of PyTorch), else allocations.region; unknown where neither
--                        does
--   bytes                in use by this category after the change
--   device_bytes         in use by all categories together
--   fragmentation_ratio  share of the allocator's free memory outside its largest piece; NULL where it does not tell
--                        that and the addresses of its segments and pieces are not known, or nothing was free
--   event_id             the row of memory_events, which has its op, number type and shape, and what was free
-- A profile for pprof tells of one moment without a time, and has no rows here.
-- XProf draws a thousand moments at most, and takes each thread's times from the beginning of its line.
-- Cost: a sort of memory_events and one look-up of an allocation for each.
-- Example: SELECT time_ns / 1000000 AS ms, max(device_bytes) FROM memory_timeline GROUP BY 1;
WITH changes AS (
  SELECT memory_events.profile_id AS profile_id, memory_events.device_id AS device_id,
    memory_events.allocator AS allocator, memory_events.id AS id, memory_events.time_ns AS time_ns,
    memory_events.bytes AS bytes, memory_events.fragmentation_ratio AS fragmentation_ratio,
    coalesce(memory_events.region, allocations.region, 'unknown') AS category
  FROM temp.memory_events AS memory_events
  LEFT JOIN temp.allocations AS allocations ON allocations.id = memory_events.allocation_id
  WHERE +memory_events.kind IN ('allocate', 'release', 'recategorize') AND +memory_events.time_ns IS NOT NULL
), firsts AS ( -- of each memory the first event that tells a total
  SELECT profile_id, device_id, allocator, min(time_ns) AS time_ns, in_use_bytes - bytes AS before_bytes
  FROM temp.memory_events
  WHERE +kind IN ('allocate', 'release', 'recategorize') AND in_use_bytes IS NOT NULL
  GROUP BY profile_id, device_id, allocator
), of_category AS (
  SELECT changes.*,
    CAST(sum(1.0 * bytes) OVER (PARTITION BY profile_id, device_id, allocator, category
      ORDER BY time_ns, id) AS INTEGER) AS category_bytes
  FROM changes
)
SELECT
  changed.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  changed.device_id AS device_id,
  devices.name AS device,
  changed.allocator AS allocator,
  changed.time_ns AS time_ns,
  changed.category AS category,
  changed.category_bytes + iif(changed.category = 'unknown', coalesce(firsts.before_bytes, 0), 0) AS bytes,
  CAST(sum(1.0 * changed.bytes) OVER (PARTITION BY changed.profile_id, changed.device_id, changed.allocator
    ORDER BY changed.time_ns, changed.id) AS INTEGER) + coalesce(firsts.before_bytes, 0) AS device_bytes,
  changed.fragmentation_ratio AS fragmentation_ratio,
  changed.id AS event_id
FROM of_category AS changed
LEFT JOIN firsts ON firsts.profile_id = changed.profile_id AND firsts.device_id IS changed.device_id
  AND firsts.allocator IS changed.allocator
LEFT JOIN temp.profiles AS profiles ON profiles.id = changed.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = changed.device_id
ORDER BY changed.profile_id, changed.device_id, changed.allocator, changed.time_ns, changed.id
