-- Launches
-- Kernels shorter than their launch, slow launches, long delays.
-- page: devices 60
-- chart: facts
-- empty: No launches were recorded.
SELECT * FROM temp.hta_launch_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
