-- Names of memories: what a page calls each device's memory, or each allocator's of a device that has several.
--
-- One row for each profile, device and allocator whose memory events are known.
--   profile_id  INTEGER  -  Profile id.
--   device_id   INTEGER  -  Device id.
--   allocator   TEXT     -  Allocator.
--   name        TEXT     -  The device, else the allocator, else memory; in front of it the process, where several
--                           train; behind it the allocator, where the device has several.
-- Cost: linear in profiles and in memories.  Example: SELECT name FROM memory_names;
SELECT
  peaks.profile_id AS profile_id,
  peaks.device_id AS device_id,
  peaks.allocator AS allocator,
  coalesce(prefix, '') || coalesce(devices.name, peaks.allocator, 'memory')
    || CASE WHEN devices.name IS NOT NULL AND count(*) OVER (PARTITION BY peaks.profile_id, peaks.device_id) > 1
      THEN coalesce(' ' || peaks.allocator, '') ELSE '' END AS name
FROM temp.memory_peaks AS peaks
LEFT JOIN temp.process_names AS process_names ON process_names.profile_id = peaks.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = peaks.device_id
ORDER BY peaks.profile_id, peaks.device_id, peaks.allocator
