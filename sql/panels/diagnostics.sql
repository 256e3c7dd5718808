-- Dropped, damaged or not available
-- What the source or its reader could not give.
-- page: overview 95
-- chart: table
-- empty: Nothing was dropped or damaged.
SELECT profile_id, severity, reason, message, count, file, offset, table_name FROM temp.diagnostics
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, profile_id, id LIMIT 500
