-- Names of memories: what a page calls each device's memory, or each allocator's of a device that has several.
--
-- One row for each profile, device and allocator with known memory events.
--   profile_id  INTEGER  -  The profile: a process or rank.
--   device_id   INTEGER  -  The device, as in devices.
--   allocator   TEXT     -  Name of the allocator.  NULL where it is unknown.
--   name        TEXT     -  The device, else the allocator, else memory.  The process stands in front of it where
--                           several train, and the allocator behind it where the device has several.
-- Cost: linear in profiles and in memories.  Example: SELECT name FROM _memory_names;
SELECT
  peaks.profile_id AS profile_id,
  peaks.device_id AS device_id,
  peaks.allocator AS allocator,
  coalesce(prefix, '') || coalesce(devices.name, peaks.allocator, 'memory')
    || CASE WHEN devices.name IS NOT NULL AND count(*) OVER (PARTITION BY peaks.profile_id, peaks.device_id) > 1
      THEN coalesce(' ' || peaks.allocator, '') ELSE '' END AS name
FROM temp.memory_peaks AS peaks
LEFT JOIN temp._process_names AS process_names ON process_names.profile_id = peaks.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = peaks.device_id
ORDER BY peaks.profile_id, peaks.device_id, peaks.allocator
