-- Memory of two profiles or runs side by side: memory_diff('a', 'b').
--
-- One row for each memory, source line and op that either has, in this order, as memory_summary, memory_by_line and
-- memory_by_op have them.  These are three ways to look at the same bytes, so choose a level.  a and b select profiles
-- as the hidden argument of every table does (an id, a path or a pattern over paths).  The bytes of several profiles on
-- a side are added up.  Warm-up steps count like any other.  Lines that an edit has moved are the same, as in
-- line_diff.
--   level            TEXT     -      The level of the row: memory, line or op.
--   memory           TEXT     -      The device, or the allocator where there is no device.
--   name             TEXT     -      The name as in memory_by_line, or that of the op.  NULL at the level of memories,
--                                    and for what has no op.
--   text             TEXT     -      The source line.  NULL at the levels of memories and ops, and where it could not
--                                    be read.
--   a_count          INTEGER  count  Allocations of a.  0 where a does not have the row.
--   b_count          INTEGER  count  Allocations of b.  0 where b does not have the row.
--   a_bytes          INTEGER  bytes  What the allocations of a were given in all.  NULL at the level of memories.
--   b_bytes          INTEGER  bytes  What the allocations of b were given in all.  NULL at the level of memories.
--   a_peak_bytes     INTEGER  bytes  What a held when most was in use.  NULL for ops, and where it is not known.
--   b_peak_bytes     INTEGER  bytes  What b held when most was in use.  NULL for ops, and where it is not known.
--   a_live_bytes     INTEGER  bytes  What of a_bytes was never released.  NULL where it is not known.
--   b_live_bytes     INTEGER  bytes  What of b_bytes was never released.  NULL where it is not known.
--   count_diff       INTEGER  count  Difference b_count - a_count.
--   bytes_diff       INTEGER  bytes  Difference b_bytes - a_bytes.
--   peak_diff_bytes  INTEGER  bytes  Difference b_peak_bytes - a_peak_bytes.
--   live_diff_bytes  INTEGER  bytes  Difference b_live_bytes - a_live_bytes.
--   change           TEXT     -      + where b holds more at its peak than a, - where less, = else.  Where no peak is
--                                    known, as for ops, it compares what they allocate.
-- parameters: a, b
-- Cost: that of the three views.
-- Example: SELECT name, text, peak_diff_bytes FROM memory_diff('before*', 'after*') WHERE level = 'line' LIMIT 10;
WITH parts AS (
  SELECT 1 AS place, 'memory' AS level, profile_id, memory, NULL AS name, NULL AS text, NULL AS file, NULL AS key,
    allocation_count AS count, NULL AS bytes, peak_bytes, NULL AS live_bytes
  FROM temp.memory_summary
  UNION ALL
  SELECT 2, 'line', profile_id, device, name, text, replace(file, rtrim(file, replace(file, '/', '')), ''),
    iif(trim(text) <> '', function || char(10) || trim(text), coalesce(line, name)), count, bytes,
    peak_bytes, live_bytes
  FROM temp.memory_by_line
  UNION ALL
  SELECT 3, 'op', profile_id, device, op, NULL, NULL, op, count, bytes, NULL, live_bytes FROM temp.memory_by_op
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
