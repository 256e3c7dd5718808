-- Critical path
-- Where the critical path of each step lies: its four thousand longest pieces, where they are and as long as they take.
-- page: timeline 30
-- chart: marks
-- needs: events
-- empty: No path was found.
SELECT profile_id, kind, start_ns - coalesce(:origin_ns, 0) AS at_ns, dur_ns FROM temp.critical_path
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
ORDER BY dur_ns DESC, critical_path.id LIMIT 4000
