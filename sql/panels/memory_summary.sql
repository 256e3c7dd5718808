-- How much, at most
-- By device and allocator.
-- page: memory 5
-- chart: facts
-- empty: Memory was not recorded.
SELECT profile_id, rank, device, allocator, allocation_count, deallocation_count, capacity_bytes, lifetime_peak_bytes,
  peak_bytes, peak_time_ns - coalesce(:origin_ns, 0) AS peak_at_ns, stack_bytes, heap_bytes, free_bytes, reserved_bytes,
  reserved_peak_bytes, fragmentation_ratio, unused_ratio
FROM temp.memory_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id, device_id, allocator
