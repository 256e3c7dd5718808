-- Address map
-- What the allocator holds from the device, a bar for each segment, with the large allocations in it at the moment that
-- is chosen above.
-- page: memory 16
-- chart: addresses
-- empty: Segments were not recorded: torch.cuda.memory._record_memory_history() has them.
SELECT memory_segments.profile_id, coalesce(devices.name, allocator, '?') AS device, memory_segments.id AS id, address,
  memory_segments.bytes AS bytes, allocated_ns - coalesce(:origin_ns, 0) AS at_ns,
  released_ns - coalesce(:origin_ns, 0) AS released_at_ns
FROM temp.memory_segments LEFT JOIN temp.devices ON devices.id = memory_segments.device_id
WHERE :profile_id IS NULL OR memory_segments.profile_id = :profile_id
ORDER BY memory_segments.profile_id, device_id, address, memory_segments.id LIMIT 2000
