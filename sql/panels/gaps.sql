-- Longest gaps
-- When nothing ran on a device, and what came next.
-- page: devices 30
-- chart: table
-- empty: There are no gaps.
SELECT profile_id, rank, start_ms, gap_ns, reason, next_name, next_op FROM temp.gpu_gaps
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY gap_ns DESC, profile_id, start_ms LIMIT 200
