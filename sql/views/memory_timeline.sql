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
-- Cost: a sort of memory_events, and one look-up of an allocation for each that does not tell a category.
-- Example: SELECT time_ns / 1000000 AS ms, max(device_bytes) FROM memory_timeline GROUP BY 1;
WITH changes AS (
  SELECT profile_id, device_id, allocator, id, time_ns, bytes, fragmentation_ratio,
    coalesce(region, (SELECT region FROM temp.allocations AS allocations WHERE allocations.id = allocation_id),
      'unknown') AS category
  FROM temp.memory_events
  WHERE +kind IN ('allocate', 'release', 'recategorize') AND +time_ns IS NOT NULL
), firsts AS ( -- of each memory the first event that tells a total, before all that tell none
  SELECT profile_id, device_id, allocator,
    min(iif(in_use_bytes IS NULL, 9223372036854775807, time_ns)) AS time_ns, in_use_bytes - bytes AS before_bytes
  FROM temp.memory_events
  WHERE +kind IN ('allocate', 'release', 'recategorize')
  GROUP BY profile_id, device_id, allocator
), memories AS MATERIALIZED (
  SELECT firsts.profile_id AS profile_id, firsts.device_id AS device_id, firsts.allocator AS allocator,
    profiles.host AS host, profiles.rank AS rank, devices.name AS device, coalesce(before_bytes, 0) AS before_bytes
  FROM firsts
  LEFT JOIN temp.profiles AS profiles ON profiles.id = firsts.profile_id
  LEFT JOIN temp.devices AS devices ON devices.id = firsts.device_id
)
SELECT -- one window for both sums, in the order of the rows: each sort costs as much as all the rest
  changes.profile_id AS profile_id,
  memories.host AS host,
  memories.rank AS rank,
  changes.device_id AS device_id,
  memories.device AS device,
  changes.allocator AS allocator,
  changes.time_ns AS time_ns,
  changes.category AS category,
  sum_of_key(changes.bytes, changes.category) OVER in_time
    + iif(changes.category = 'unknown', memories.before_bytes, 0) AS bytes,
  CAST(sum(1.0 * changes.bytes) OVER in_time AS INTEGER) + memories.before_bytes AS device_bytes,
  changes.fragmentation_ratio AS fragmentation_ratio,
  changes.id AS event_id
FROM changes
CROSS JOIN memories -- the few rows are looked up in
  ON memories.profile_id = changes.profile_id AND memories.device_id IS changes.device_id
  AND memories.allocator IS changes.allocator
WINDOW in_time AS (PARTITION BY changes.profile_id, changes.device_id, changes.allocator
  ORDER BY changes.time_ns, changes.id ROWS UNBOUNDED PRECEDING)
ORDER BY changes.profile_id, changes.device_id, changes.allocator, changes.time_ns, changes.id
