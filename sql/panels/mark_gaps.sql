-- Gaps in the timeline
-- When a device had nothing to do, the two thousand longest, and the check that speaks of such gaps.
-- page: timeline 40
-- chart: marks
-- needs: events
-- empty: There are no gaps, or no work on devices was recorded.
SELECT profile_id, device_id, busy_until_ns - coalesce(:origin_ns, 0) AS at_ns, gap_ns AS dur_ns, reason,
  CASE WHEN reason = 'wait' THEN 'device_waits' WHEN reason = 'input' THEN 'input_loading'
    WHEN reason = 'host' THEN iif(gap_ns < 100000, 'launch_bound', 'device_gaps') END AS check_name
FROM temp.gap_causes
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND gap_ns >= 10000
ORDER BY gap_ns DESC, profile_id, at_ns LIMIT 2000
