-- Advice: a line of the program whose memory is kept step after step, or an op, where no line was recorded.
--
-- For each profile and line, and of what has no line for each op, else module (memory_by_line.name): the steps after
-- warm-up in which it allocated memory that was never released.  A program that keeps nothing releases what a step
-- allocated in the same or the next one, so at the end only the last steps hold any.
-- The check speaks where half of the measured steps, and at least ten, still hold memory of the line, 1 MiB or more in
-- all.  Where ops were recorded only in some steps, pieces below 1 MiB have a line only there: those steps stand for
-- the others (steps.sample_weight).
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL; value is the share of steps.
-- Cost: one pass over allocations, code_traces where something is live.
-- Needs: allocations, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'memory_kept';
WITH measured AS MATERIALIZED (
  SELECT id, profile_id, coalesce(sample_weight, 1.0) AS weight, ops_recorded FROM temp.steps WHERE is_warmup = 0
), counts AS (
  SELECT profile_id, count(*) AS step_count FROM measured GROUP BY profile_id
), unreleased AS MATERIALIZED ( -- few of all, which then need no order
  SELECT profile_id, code_trace_id, step_id, bytes, iif(code_trace_id IS NULL, op_id, NULL) AS op_id,
    iif(code_trace_id IS NULL, module, NULL) AS module
  FROM temp.allocations
  WHERE released_ns IS NULL -- without an address no release is known
    AND (address IS NOT NULL OR profile_id NOT IN (SELECT profile_id FROM temp.memory_peaks))
), live AS (
  SELECT unreleased.profile_id AS profile_id, unreleased.code_trace_id AS code_trace_id,
    unreleased.op_id AS op_id, unreleased.module AS module, unreleased.step_id AS step_id,
    sum(1.0 * unreleased.bytes) AS bytes,
    CASE WHEN max(unreleased.bytes) < 1 << 20 THEN max(measured.weight) ELSE 1.0 END AS weight
  FROM unreleased CROSS JOIN measured ON measured.id = unreleased.step_id
  -- the small ones of steps whose ops were not recorded are those that others stand for
  WHERE unreleased.code_trace_id IS NOT NULL OR unreleased.bytes >= 1 << 20 OR coalesce(measured.ops_recorded, 1) = 1
  GROUP BY unreleased.profile_id, unreleased.code_trace_id, unreleased.op_id, unreleased.module, unreleased.step_id
), lines AS MATERIALIZED (
  SELECT code_trace_id, location, function, file, line, text FROM temp._code_trace_lines
  WHERE EXISTS (SELECT 1 FROM live)
), by_step AS (
  SELECT live.profile_id AS profile_id, lines.file AS file, live.step_id AS step_id,
    coalesce(lines.location, lines.function, 'op ' || ops.name, 'module ' || nullif(live.module, ''), 'no line')
      AS name,
    lines.location IS NOT NULL AS has_line, lines.text AS text, live.weight AS weight, live.weight * live.bytes AS bytes
  FROM live
  LEFT JOIN lines ON lines.code_trace_id = live.code_trace_id
  LEFT JOIN temp.ops AS ops ON ops.id = live.op_id
), by_line AS (
  SELECT profile_id, file, name, max(has_line) AS has_line, max(text) AS text,
    CAST(round(sum(weight)) AS INTEGER) AS step_count, CAST(round(sum(bytes)) AS INTEGER) AS bytes
  FROM (SELECT profile_id, file, name, max(has_line) AS has_line, max(text) AS text, max(weight) AS weight,
      sum(bytes) AS bytes
    FROM by_step GROUP BY profile_id, file, name, step_id)
  GROUP BY profile_id, file, name
)
SELECT
  'memory_kept' AS check_name,
  'warning' AS severity,
  by_line.name AS subject,
  processes.prefix || 'Memory of ' || by_line.step_count || ' of ' || counts.step_count || ' steps is never released: '
    || format_bytes(by_line.bytes) || CASE WHEN by_line.has_line THEN ' allocated at ' || by_line.name
        || coalesce(', ' || trim(by_line.text), '')
      WHEN by_line.name = 'no line' THEN ' of which no line, op or module is recorded'
      ELSE ' allocated in ' || by_line.name || ', of which no line is recorded' END AS message,
  1.0 * by_line.step_count / counts.step_count AS value,
  0.5 AS threshold,
  NULL AS saves_ns,
  advice_words('memory_kept', processes.framework) AS suggestion,
  'SELECT name, live_count, live_bytes FROM temp.memory_by_line WHERE profile_id = ' || by_line.profile_id
    || ' ORDER BY live_bytes DESC, 1 LIMIT 20' AS evidence
FROM by_line
JOIN counts ON counts.profile_id = by_line.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = by_line.profile_id
WHERE by_line.step_count >= 10 AND 2 * by_line.step_count >= counts.step_count AND by_line.bytes >= 1048576
ORDER BY by_line.bytes DESC, by_line.profile_id, by_line.file, by_line.name
