-- Advice: memory of a device that is free, but in pieces that nothing large fits into.
--
-- For each allocator of a GPU (memory_summary), at the moment when most was in use: what it held and had not given out,
-- but for the largest piece where that is known (fragmentation_ratio: TensorFlow's allocator tells it, in captures of
-- PyTorch on a GPU it follows from addresses).
-- Thresholds: 10 % of the allocator's memory, where that is half of the device's or more (or that is not known), and
-- half of it was in use: while there is plenty it does no harm.
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL: it is what a larger batch needs.
-- Cost: that of memory_summary.
-- Needs: memory_events.
-- Example: SELECT message FROM advise WHERE check_name = 'memory_fragmentation';
WITH pieces AS (
  SELECT summary.profile_id AS profile_id, summary.device_id AS device_id, summary.memory AS memory,
    1.0 * summary.capacity_bytes AS capacity_bytes, summary.free_bytes AS free_bytes,
    summary.peak_bytes AS peak_bytes, coalesce(summary.fragmentation_ratio, 1.0) * summary.free_bytes AS lost_bytes,
    devices.memory_bytes AS memory_bytes
  FROM temp.memory_summary AS summary JOIN temp.devices AS devices ON devices.id = summary.device_id
  WHERE devices.kind <> 'cpu' AND summary.free_bytes > 0
)
SELECT
  'memory_fragmentation' AS check_name,
  'info' AS severity,
  processes.name AS subject,
  processes.prefix || format('%s of %s were free in pieces when %s of them were in use',
    format_bytes(CAST(pieces.lost_bytes AS INTEGER)), pieces.memory, format_bytes(pieces.peak_bytes)) AS message,
  pieces.lost_bytes / pieces.capacity_bytes AS value,
  0.10 AS threshold,
  NULL AS saves_ns,
  advice_words('memory_fragmentation', processes.framework) AS suggestion,
  'SELECT memory, capacity_bytes, peak_bytes, free_bytes, fragmentation_ratio FROM temp.memory_summary '
    || 'WHERE profile_id = ' || pieces.profile_id AS evidence
FROM pieces
JOIN temp._process_names AS processes ON processes.profile_id = pieces.profile_id
WHERE pieces.lost_bytes >= 0.10 * pieces.capacity_bytes AND pieces.peak_bytes >= 0.50 * pieces.capacity_bytes
  AND pieces.capacity_bytes >= 0.50 * coalesce(pieces.memory_bytes, pieces.capacity_bytes)
ORDER BY value DESC, pieces.profile_id, pieces.device_id
