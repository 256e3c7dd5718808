-- Waiting for the device
-- By kind of wait, op and line.
-- page: devices 50
-- chart: table
-- empty: The host waited for no device.
SELECT profile_id, rank, kind, op, location, count, sum_ns, sum_ratio, mean_ns, max_ns, kernel
FROM temp.sync_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, kind, op LIMIT 300
