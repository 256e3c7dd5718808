-- Memory over time: how much was in use on each device after each change, by what it holds.
--
-- One row for each allocation, release and change of category, in the order of time.  Memory from before the recording
-- counts as category unknown, and so does what nothing is known about; the categories together are what was in use.
-- Where a capture has summed up what came and went (memory_totals) that is not in it; what was held for longer, all
-- steps whose ops are recorded, and the moment when most was in use are whole.
--   profile_id, device_id, device
--   time_ns              when it changed
--   category             parameter, gradient, activation, optimizer_state, input, temporary ...: what the source tells
--                        of the event (raw memory timelines of PyTorch), else allocations.region; unknown where neither
--                        does
--   bytes                in use by this category after the change
--   device_bytes         in use by all categories together
--   fragmentation_ratio  share of the allocator's free memory outside its largest piece; NULL where it does not tell
-- Cost: a sort of memory_events and one look-up of an allocation for each.
-- Example: SELECT time_ns / 1000000 AS ms, max(device_bytes) FROM memory_timeline GROUP BY 1;
WITH changes AS (
  SELECT memory_events.profile_id AS profile_id, memory_events.device_id AS device_id, memory_events.id AS id,
    memory_events.time_ns AS time_ns, memory_events.bytes AS bytes, memory_events.in_use_bytes AS in_use_bytes,
    memory_events.fragmentation_ratio AS fragmentation_ratio,
    coalesce(memory_events.region, allocations.region, 'unknown') AS category
  FROM temp.memory_events AS memory_events
  LEFT JOIN temp.allocations AS allocations ON allocations.id = memory_events.allocation_id
  WHERE memory_events.kind IN ('allocate', 'release', 'recategorize') AND memory_events.time_ns IS NOT NULL
), sums AS (
  SELECT changes.*,
    CAST(sum(1.0 * bytes) OVER (PARTITION BY profile_id, device_id, category ORDER BY time_ns, id) AS INTEGER)
      AS category_bytes,
    CAST(sum(1.0 * bytes) OVER (PARTITION BY profile_id, device_id ORDER BY time_ns, id) AS INTEGER) AS all_bytes,
    coalesce(first_value(in_use_bytes - bytes) OVER (PARTITION BY profile_id, device_id
      ORDER BY in_use_bytes IS NULL, time_ns, id), 0) AS before_bytes
  FROM changes
)
SELECT
  sums.profile_id AS profile_id,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.time_ns AS time_ns,
  sums.category AS category,
  sums.category_bytes + CASE WHEN sums.category = 'unknown' THEN sums.before_bytes ELSE 0 END AS bytes,
  sums.all_bytes + sums.before_bytes AS device_bytes,
  sums.fragmentation_ratio AS fragmentation_ratio
FROM sums LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
ORDER BY profile_id, device_id, time_ns, sums.id
