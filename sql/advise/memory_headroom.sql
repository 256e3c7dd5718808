-- Advice: a device's memory was nearly full, and which lines of the program held it at the peak, or what has none.
--
-- For each profile and device whose size is known: the most that the allocator held of it (for devices without a
-- reserve the most in use) against the size.  The check speaks above 90 %, where a slightly longer batch may fail.
-- Memory of other processes is not seen.  What has no line is named as in memory_by_line, and its share is told.
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL.  Cost: that of memory_by_line where it speaks.
-- Example: SELECT message FROM advise WHERE check_name = 'memory_headroom';
WITH filled AS MATERIALIZED (
  SELECT profile_id, id AS device_id, peak_bytes AS bytes, name, memory_bytes
  FROM temp.devices WHERE peak_bytes > 0.9 * memory_bytes
), placed AS (
  SELECT lines.profile_id AS profile_id, lines.device_id AS device_id, lines.name AS name,
    lines.peak_bytes AS bytes, iif(lines.location IS NULL, lines.peak_ratio, 0.0) AS unplaced_ratio,
    row_number() OVER (PARTITION BY lines.profile_id, lines.device_id
      ORDER BY lines.peak_bytes DESC, lines.name) AS place
  FROM temp.memory_by_line AS lines
  WHERE lines.peak_bytes > 0 AND EXISTS (SELECT 1 FROM filled)
), holders AS (
  SELECT profile_id, device_id,
    group_concat(name || ' (' || format_bytes(bytes) || ')', ', ') FILTER (WHERE place <= 3)
      || iif(sum(unplaced_ratio) >= 0.005, printf('; %.0f %% of it has no line', 100 * sum(unplaced_ratio)), '') AS text
  FROM (SELECT * FROM placed ORDER BY profile_id, device_id, place) GROUP BY profile_id, device_id
)
SELECT
  'memory_headroom' AS check_name,
  'warning' AS severity,
  processes.name || coalesce(' on ' || filled.name, '')
    AS subject,
  processes.prefix || 'The memory of ' || coalesce(filled.name, 'the device') || ' was nearly full: '
    || format_bytes(filled.bytes)
    || ' of ' || format_bytes(filled.memory_bytes) || coalesce('; at the peak most was held by ' || holders.text, '')
    AS message,
  1.0 * filled.bytes / filled.memory_bytes AS value,
  0.9 AS threshold,
  NULL AS saves_ns,
  advice_words('memory_headroom', processes.framework) AS suggestion,
  'SELECT name, peak_bytes FROM temp.memory_by_line WHERE profile_id = ' || filled.profile_id
    || ' AND device_id = ' || filled.device_id || ' ORDER BY 2 DESC LIMIT 20' AS evidence
FROM filled
JOIN temp._process_names AS processes ON processes.profile_id = filled.profile_id
LEFT JOIN holders ON holders.profile_id = filled.profile_id AND holders.device_id = filled.device_id
ORDER BY value DESC, filled.profile_id, filled.device_id
