-- Memory of two profiles or runs side by side: memory_diff('a', 'b').
--
-- One row for each memory, source line and op that either has, in this order, as memory_summary, memory_by_line and
-- memory_by_op have them: three ways to look at the same bytes, so choose a level.  a and b select profiles as the
-- hidden argument of every table does (an id, a path or a pattern over paths); of several profiles on a side the bytes
-- are added up.  Warm-up steps count like any other; lines that an edit has moved are the same, as in line_diff.
--   level            TEXT     -      Memory, line or op.
--   memory           TEXT     -      The device, or the allocator where there is none.
--   name             TEXT     -      Memory_by_line.name and its text, or the op; NULL at the level of memories, and
--                                    for what has no op.
--   text             TEXT     -      Memory_by_line.name and its text, or the op; NULL at the level of memories, and
--                                    for what has no op.
--   a_count          INTEGER  count  Allocations on each side.
--   b_count          INTEGER  count  Allocations on each side.
--   a_bytes          INTEGER  bytes  What they were given in all.
--   b_bytes          INTEGER  bytes  What they were given in all.
--   a_peak_bytes     INTEGER  bytes  What of it was held when most was in use; NULL for ops, and where it is not known.
--   b_peak_bytes     INTEGER  bytes  What of it was held when most was in use; NULL for ops, and where it is not known.
--   a_live_bytes     INTEGER  bytes  What of it was never released; NULL where it is not known.
--   b_live_bytes     INTEGER  bytes  What of it was never released; NULL where it is not known.
--   count_diff       INTEGER  count  B less a.
--   bytes_diff       INTEGER  bytes  B less a.
--   peak_diff_bytes  INTEGER  bytes  B less a.
--   live_diff_bytes  INTEGER  bytes  B less a.
--   change           TEXT     -      + where b holds more at its peak (of ops: allocates more), - where less, = else.
-- parameters: a, b
-- Cost: that of the three views.
-- Example: SELECT name, text, peak_diff_bytes FROM memory_diff('before*', 'after*') WHERE level = 'line' LIMIT 10;
WITH parts AS (
  SELECT 1 AS place, 'memory' AS level, profile_id, memory, NULL AS name, NULL AS text, NULL AS file, NULL AS key,
    allocations AS count, NULL AS bytes, peak_bytes, NULL AS live_bytes
  FROM temp.memory_summary
  UNION ALL
  SELECT 2, 'line', profile_id, device, name, text, replace(file, rtrim(file, replace(file, '/', '')), ''),
    iif(trim(text) <> '', function || char(10) || trim(text), coalesce(line, name)), count, bytes,
    peak_bytes, live_bytes
  FROM temp.memory_by_line
  UNION ALL
  SELECT 3, 'op', profile_id, device, name, NULL, NULL, name, count, bytes, NULL, live_bytes FROM temp.memory_by_op
), sides AS (
  SELECT parts.*,
    profile_id IN (SELECT id FROM temp.profiles(:a)) AS is_a, profile_id IN (SELECT id FROM temp.profiles(:b)) AS is_b
  FROM parts
), both AS (
  SELECT place, level, memory, coalesce(max(name) FILTER (WHERE is_b), max(name)) AS name, max(text) AS text,
    CAST(total(count) FILTER (WHERE is_a) AS INTEGER) AS a_count,
    CAST(total(count) FILTER (WHERE is_b) AS INTEGER) AS b_count,
    -- 0 where a side has no row, NULL where its row does not tell
    CAST(iif(count(*) FILTER (WHERE is_a), sum(1.0 * bytes) FILTER (WHERE is_a), 0) AS INTEGER) AS a_bytes,
    CAST(iif(count(*) FILTER (WHERE is_b), sum(1.0 * bytes) FILTER (WHERE is_b), 0) AS INTEGER) AS b_bytes,
    CAST(iif(count(*) FILTER (WHERE is_a), sum(1.0 * peak_bytes) FILTER (WHERE is_a), 0) AS INTEGER) AS a_peak_bytes,
    CAST(iif(count(*) FILTER (WHERE is_b), sum(1.0 * peak_bytes) FILTER (WHERE is_b), 0) AS INTEGER) AS b_peak_bytes,
    CAST(iif(count(*) FILTER (WHERE is_a), sum(1.0 * live_bytes) FILTER (WHERE is_a), 0) AS INTEGER) AS a_live_bytes,
    CAST(iif(count(*) FILTER (WHERE is_b), sum(1.0 * live_bytes) FILTER (WHERE is_b), 0) AS INTEGER) AS b_live_bytes
  FROM sides WHERE is_a OR is_b GROUP BY place, level, memory, file, key
)
SELECT
  level AS level,
  memory AS memory,
  name AS name,
  text AS text,
  a_count AS a_count,
  b_count AS b_count,
  a_bytes AS a_bytes,
  b_bytes AS b_bytes,
  a_peak_bytes AS a_peak_bytes,
  b_peak_bytes AS b_peak_bytes,
  a_live_bytes AS a_live_bytes,
  b_live_bytes AS b_live_bytes,
  b_count - a_count AS count_diff,
  b_bytes - a_bytes AS bytes_diff,
  b_peak_bytes - a_peak_bytes AS peak_diff_bytes,
  b_live_bytes - a_live_bytes AS live_diff_bytes,
  CASE WHEN coalesce(b_peak_bytes - a_peak_bytes, b_bytes - a_bytes) > 0 THEN '+'
    WHEN coalesce(b_peak_bytes - a_peak_bytes, b_bytes - a_bytes) < 0 THEN '-' ELSE '=' END AS change
FROM both
ORDER BY place, abs(coalesce(b_peak_bytes - a_peak_bytes, 0)) DESC, abs(coalesce(b_bytes - a_bytes, 0)) DESC, memory,
  name, text
