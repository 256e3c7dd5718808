-- Lanes
-- Threads of the program and streams of devices.
-- page: timeline 20
-- chart: lanes
SELECT threads.profile_id, rank, host, profiles.pid, threads.id AS thread_id, threads.kind, threads.name, tid, stream,
  coalesce(devices.model, devices.name) AS device, devices.kind AS device_kind, ordinal
FROM temp.threads JOIN temp.profiles ON profiles.id = threads.profile_id
LEFT JOIN temp.devices ON devices.id = threads.device_id
WHERE :profile_id IS NULL OR threads.profile_id = :profile_id
ORDER BY threads.profile_id, threads.kind = 'stream', devices.id, threads.id
