-- Memory over time: how much of each memory was in use after each change, by what it holds.
--
-- One row for each allocation, release and change of category, in the order of time.  Each allocator of a device is a
-- memory of its own.  Memory from before the recording counts as category unknown, and so does what nothing is known
-- about.  The categories together are what was in use.  Where the source tells no totals, what was in use before is
-- taken for as little as was released of it, so that device_bytes is a lower bound.  Where it has no addresses
-- (libkineto before 2022), releases cannot be paired with allocations, and all is unknown.
-- Where a capture has summed up what came and went (memory_totals), that is not in it.  What was held for longer, all
-- steps with recorded ops, and the moment when most was in use are whole.
--   profile_id           INTEGER  -      The profile: a process or rank.
--   host                 TEXT     -      Host that it ran on.
--   rank                 INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id            INTEGER  -      The device, as in devices.  NULL where the memory is of none.
--   device               TEXT     -      Name of the device.  NULL where it is unknown.
--   allocator            TEXT     -      Name of the allocator.  NULL where it is unknown.
--   time_ns              INTEGER  ns     When it changed.
--   category             TEXT     -      What the memory holds: parameter, gradient, activation, optimizer_state,
--                                        input, temporary and so on.  It is what the source tells of the event (raw
--                                        memory timelines of PyTorch), else allocations.region, and unknown where
--                                        neither tells it.
--   bytes                INTEGER  bytes  In use by this category after the change.
--   device_bytes         INTEGER  bytes  In use by all categories together after the change.
--   fragmentation_ratio  REAL     ratio  Share of the free memory of the allocator that lies outside its largest piece.
--                                        NULL where the allocator does not tell it and the addresses of its segments
--                                        and pieces are not known, and where nothing was free.
--   event_id             INTEGER  -      The event, as in memory_events.  That row has its op, number type and shape,
--                                        and what was free.
-- A profile for pprof tells of one moment without a time, and has no rows here.
-- XProf draws a thousand moments at most, and takes the times of each thread from the beginning of its line.
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
