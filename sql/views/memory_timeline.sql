-- Memory over time: how much of each memory was in use after each change, by what it holds.
--
-- One row for each allocation, release and change of category, in the order of time.  Memory from before the recording
-- counts as category unknown, and so does what nothing is known about; the categories together are what was in use.
-- Where the source tells no totals, what was in use before is taken for as little as was released of it, so that
-- device_bytes is a lower bound; where it has no addresses (libkineto before 2022), releases cannot be paired with
-- allocations, and all is unknown.
-- Where a capture has summed up what came and went (memory_totals) that is not in it; what was held for longer, all
-- steps whose ops are recorded, and the moment when most was in use are whole.
--   profile_id           INTEGER  -      The memory: each allocator of a device has its own.
--   host                 TEXT     -      The memory: each allocator of a device has its own.
--   rank                 INTEGER  -      The memory: each allocator of a device has its own.
--   device_id            INTEGER  -      The memory: each allocator of a device has its own.
--   device               TEXT     -      The memory: each allocator of a device has its own.
--   allocator            TEXT     -      The memory: each allocator of a device has its own.
--   time_ns              INTEGER  ns     When it changed.
--   category             TEXT     -      Parameter, gradient, activation, optimizer_state, input, temporary ...: what
--                                        the source tells of the event (raw memory timelines of PyTorch), else
--                                        allocations.region; unknown where neither does.
--   bytes                INTEGER  bytes  In use by this category after the change.
--   device_bytes         INTEGER  bytes  In use by all categories together.
--   fragmentation_ratio  REAL     ratio  Share of the allocator's free memory outside its largest piece; NULL where it
--                                        does not tell that and the addresses of its segments and pieces are not known,
--                                        or nothing was free.
--   event_id             INTEGER  -      The row of memory_events, which has its op, number type and shape, and what
--                                        was free.
-- A profile for pprof tells of one moment without a time, and has no rows here.
-- XProf draws a thousand moments at most, and takes each thread's times from the beginning of its line.
-- Cost: a pass over memory_events, and over what their allocations are for.
-- Example: SELECT time_ns / 1000000 AS ms, max(device_bytes) FROM memory_timeline GROUP BY 1;
WITH memories AS MATERIALIZED (
  SELECT peaks.profile_id AS profile_id, peaks.device_id AS device_id, peaks.allocator AS allocator,
    profiles.host AS host, profiles.rank AS rank, devices.name AS device
  FROM temp.memory_peaks AS peaks
  LEFT JOIN temp.profiles AS profiles ON profiles.id = peaks.profile_id
  LEFT JOIN temp.devices AS devices ON devices.id = peaks.device_id
)
SELECT
  changes.profile_id AS profile_id,
  memories.host AS host,
  memories.rank AS rank,
  changes.device_id AS device_id,
  memories.device AS device,
  changes.allocator AS allocator,
  changes.time_ns AS time_ns,
  changes.category AS category,
  changes.category_bytes AS bytes,
  changes.all_bytes AS device_bytes,
  changes.fragmentation_ratio AS fragmentation_ratio,
  changes.id AS event_id
FROM temp.memory_events AS changes
CROSS JOIN memories -- the few rows are looked up in
  ON memories.profile_id = changes.profile_id AND memories.device_id IS changes.device_id
  AND memories.allocator IS changes.allocator
WHERE changes.category IS NOT NULL
ORDER BY changes.profile_id, changes.device_id, changes.allocator, changes.time_ns, changes.id
