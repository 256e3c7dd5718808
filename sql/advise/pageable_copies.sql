-- Advice: asynchronous copies from or to pageable memory, which are none: the host has to move the data itself.
--
-- For each profile the time for which calls such as cudaMemcpyAsync hold up the host in the measured steps
-- (_measured_steps) because the memory of the host is pageable: it is moved through a small pinned buffer.  Of copies
-- to the device it is the call's duration beyond 10 µs, which launching a copy takes as well; those of 64 KiB and less
-- are taken over at once and left out.  Of copies to the host it is the time that call and copy have in common; what
-- the call waits for before is in device_waits.  Where calls were not recorded it is the copy's own duration.
-- Thresholds: 0.1 % of the step time; a warning from 2 % on.
-- What it would save: that time.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over transfers, one look-up of a call for each
-- that counts, and _code_trace_lines.
-- Needs: transfers.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'pageable_copies';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), copies AS MATERIALIZED (
  SELECT transfers.profile_id AS profile_id, transfers.op_id AS op_id, transfers.direction AS direction,
    1.0 * transfers.bytes AS bytes, 1.0 * transfers.dur_ns AS dur_ns, measured.weight AS weight,
    1.0 * max(0, CASE WHEN calls.id IS NULL THEN transfers.dur_ns
      WHEN transfers.direction = 'HtoD' THEN calls.dur_ns - 10000
      ELSE min(calls.end_ns, transfers.end_ns) - max(calls.start_ns, transfers.start_ns) END) AS blocked_ns
  FROM temp.transfers AS transfers
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = transfers.profile_id AND measured.step_id IS transfers.step_id
  LEFT JOIN temp.api_calls AS calls ON calls.id = transfers.api_call_id
  WHERE transfers.kind = 'memcpy' AND (transfers.direction = 'HtoD' AND transfers.bytes > 65536
      OR transfers.direction = 'DtoH')
    AND (transfers.source_memory = 'pageable' OR transfers.target_memory = 'pageable')
    AND CASE WHEN calls.id IS NULL THEN transfers.is_async = 1 ELSE calls.name GLOB '*Async*' END
), sums AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS count, sum(bytes * weight) AS bytes, sum(blocked_ns * weight) AS blocked_ns,
    sum(bytes * weight) / nullif(sum(dur_ns * weight), 0) * 1e9 AS rate,
    max(direction = 'HtoD') AS has_inputs, max(direction = 'DtoH') AS has_results
  FROM copies GROUP BY profile_id
), lines AS MATERIALIZED (
  SELECT code_trace_id, file, line, location FROM temp._code_trace_lines WHERE EXISTS (SELECT 1 FROM sums)
), by_op AS (
  SELECT copies.profile_id AS profile_id, ops.name AS op_name, lines.file AS file, lines.line AS line,
    min(lines.location) AS location, sum(copies.blocked_ns * copies.weight) AS blocked_ns
  FROM copies
  LEFT JOIN temp.ops AS ops ON ops.id = copies.op_id
  LEFT JOIN lines ON lines.code_trace_id = ops.code_trace_id
  GROUP BY copies.profile_id, ops.name, lines.file, lines.line
), most AS (
  SELECT profile_id, op_name, location, row_number() OVER (
    PARTITION BY profile_id ORDER BY blocked_ns DESC, op_name, file, line) AS place
  FROM by_op
)
SELECT
  'pageable_copies' AS check_name,
  CASE WHEN sums.blocked_ns >= 0.02 * time.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('copies %s pageable memory hold up the host for %.1f %% of the %s, %s %s: %s %s '
      || 'of %s', CASE WHEN sums.has_inputs AND sums.has_results THEN 'from and to'
      WHEN sums.has_inputs THEN 'from' ELSE 'to' END, min(100.0, 100.0 * sums.blocked_ns / time.step_ns), time.whole,
      format_ns(sums.blocked_ns / time.weight), time.each, format_count(sums.count / time.weight),
      iif(sums.count = time.weight, 'copy', 'copies'), format_bytes(sums.bytes / time.weight))
    || coalesce(' at ' || format_bytes(sums.rate) || '/s', '')
    || coalesce(', most in ' || most.op_name, '')
    || coalesce(' (' || most.location || ')', '') AS message,
  sums.blocked_ns / time.step_ns AS value,
  0.001 AS threshold,
  CAST(sums.blocked_ns AS INTEGER) AS saves_ns,
  advice_words('pageable_copies', processes.framework) AS suggestion,
  'SELECT name, count(*), sum(bytes), sum(dur_ns) FROM temp.transfers WHERE profile_id = ' || sums.profile_id
    || ' GROUP BY 1' AS evidence
FROM sums
JOIN time ON time.profile_id = sums.profile_id
JOIN most ON most.profile_id = sums.profile_id AND most.place = 1
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE sums.blocked_ns >= 0.001 * time.step_ns
ORDER BY saves_ns DESC, sums.profile_id
