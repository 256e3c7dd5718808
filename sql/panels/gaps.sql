-- Longest gaps
-- When nothing ran on a device, and what came next; the time leads to the gap in the timeline.
-- page: devices 30
-- chart: table
-- empty: There are no gaps, or no work on devices was recorded.
SELECT gpu_gaps.profile_id, gpu_gaps.rank,
  CAST(round(start_ms * 1e6) AS INTEGER) + runs.start_ns - coalesce(:origin_ns, 0) AS at_ns, gap_ns, reason, next_name,
  next_op
FROM temp.gpu_gaps JOIN temp.profiles ON profiles.id = gpu_gaps.profile_id JOIN temp.runs ON runs.id = run_id
WHERE :profile_id IS NULL OR gpu_gaps.profile_id = :profile_id
ORDER BY gap_ns DESC, gpu_gaps.profile_id, at_ns LIMIT 200
