-- Advice: an allocation failed, and which lines of the program held the memory.
--
-- One finding for each profile and device on which memory ran out: the last failure, with the line that asked and the
-- three lines that held most of what was live at that moment, or what has none (memory_by_line.name).  The check speaks
-- from the first failure on.
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL.  Cost: one pass over allocations, code_traces.
-- Needs: memory_events.
-- Example: SELECT message FROM advise WHERE check_name = 'out_of_memory';
WITH failures AS (
  SELECT profile_id, device_id, count(*) AS count, max(id) AS id
  FROM temp.memory_events WHERE kind = 'out_of_memory' GROUP BY profile_id, device_id
), last AS MATERIALIZED (
  SELECT failures.count AS count, memory_events.profile_id AS profile_id, memory_events.device_id AS device_id,
    memory_events.time_ns AS time_ns, memory_events.bytes AS bytes, memory_events.in_use_bytes AS in_use_bytes,
    memory_events.code_trace_id AS code_trace_id
  FROM failures JOIN temp.memory_events AS memory_events ON memory_events.id = failures.id
), lines AS MATERIALIZED (
  SELECT code_trace_id, location, coalesce(location, function) AS name FROM temp._code_trace_lines
  WHERE EXISTS (SELECT 1 FROM last)
), held AS (
  SELECT last.profile_id AS profile_id, last.device_id AS device_id,
    coalesce(lines.name, 'op ' || ops.name, 'module ' || nullif(allocations.module, ''),
      iif(allocations.allocated_ns IS NULL, 'memory from before the recording', 'no line')) AS name,
    CAST(sum(1.0 * allocations.bytes) AS INTEGER) AS bytes
  FROM last
  JOIN temp.allocations AS allocations ON allocations.profile_id = last.profile_id
    AND allocations.device_id IS last.device_id
  LEFT JOIN lines ON lines.code_trace_id = allocations.code_trace_id
  LEFT JOIN temp.ops AS ops ON allocations.code_trace_id IS NULL AND ops.id = allocations.op_id
  WHERE coalesce(allocations.allocated_ns <= last.time_ns, 1)
    AND (allocations.released_ns IS NULL OR allocations.released_ns > last.time_ns)
  GROUP BY 1, 2, 3
), all_held AS ( -- what has no row was there before
  SELECT profile_id, device_id, name, sum(bytes) AS bytes FROM (
    SELECT * FROM held
    UNION ALL
    SELECT last.profile_id, last.device_id, 'memory from before the recording',
      last.in_use_bytes - coalesce(sum(held.bytes), 0)
    FROM last LEFT JOIN held ON held.profile_id = last.profile_id AND held.device_id IS last.device_id
    GROUP BY last.profile_id, last.device_id HAVING last.in_use_bytes > coalesce(sum(held.bytes), 0)
  ) GROUP BY profile_id, device_id, name
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY profile_id, device_id ORDER BY bytes DESC, name) AS place FROM all_held
), holders AS (
  SELECT profile_id, device_id, group_concat(name || ' (' || format_bytes(bytes) || ')', ', ') AS text
  FROM (SELECT * FROM placed WHERE place <= 3 ORDER BY profile_id, device_id, place) GROUP BY profile_id, device_id
)
SELECT
  'out_of_memory' AS check_name,
  'critical' AS severity,
  processes.name || coalesce(' on ' || devices.name, '')
    AS subject,
  processes.prefix || 'Memory ran out'
    || CASE WHEN last.count > 1 THEN ' ' || last.count || ' times, the last time' ELSE '' END
    || coalesce(' at ' || lines.location, '') || ': ' || format_bytes(last.bytes) || ' were asked for while '
    || coalesce(format_bytes(last.in_use_bytes), 'an unknown amount') || ' were in use'
    || coalesce(', most of it held by ' || holders.text, '') AS message,
  1.0 * last.count AS value,
  1.0 AS threshold,
  NULL AS saves_ns,
  advice_words('out_of_memory', processes.framework) AS suggestion,
  'SELECT * FROM temp.memory_failures WHERE profile_id = ' || last.profile_id || ' LIMIT 20' AS evidence
FROM last
JOIN temp._process_names AS processes ON processes.profile_id = last.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = last.device_id
LEFT JOIN lines ON lines.code_trace_id = last.code_trace_id
LEFT JOIN holders ON holders.profile_id = last.profile_id AND holders.device_id IS last.device_id
ORDER BY value DESC, last.profile_id, last.device_id
