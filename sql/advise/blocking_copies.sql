-- Advice: copies and fills by calls that return only when they are done.
--
-- For each profile the copies and fills in the measured steps (_measured_steps) that were asked for by a call which
-- waits for them: cudaMemcpy and the like, without Async in their name, between host and device; cudaMemset on pinned
-- or managed memory, since that of device memory does not wait.  Copies of 64 KiB and less to the device are left out:
-- they are taken over at once.  Of copies to the host the time counts that call and copy have in common; what the call
-- waits for before is in device_waits.  Of all else it is the call's duration, or the copy's where calls were not
-- recorded.
-- Thresholds: 1 % of the step time, or 0.1 % where it happens more than three times a step; a warning from 5 % on.
-- What it would save: that time.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over transfers, one look-up of a call for each
-- that counts, and _code_trace_lines.
-- Needs: transfers.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'blocking_copies';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), copies AS MATERIALIZED (
  SELECT transfers.profile_id AS profile_id, transfers.op_id AS op_id, calls.name AS call,
    transfers.kind AS kind, 1.0 * transfers.bytes AS bytes, measured.weight AS weight,
    1.0 * max(0, CASE WHEN calls.id IS NULL THEN transfers.dur_ns
      WHEN transfers.direction = 'DtoH'
      THEN min(calls.end_ns, transfers.end_ns) - max(calls.start_ns, transfers.start_ns)
      ELSE calls.dur_ns END) AS blocked_ns
  FROM temp.transfers AS transfers
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = transfers.profile_id AND measured.step_id IS transfers.step_id
  LEFT JOIN temp.api_calls AS calls ON calls.id = transfers.api_call_id
  WHERE (transfers.kind = 'memcpy' AND (transfers.direction = 'DtoH'
        OR transfers.direction = 'HtoD' AND transfers.bytes > 65536)
      OR transfers.kind = 'memset' AND transfers.target_memory IN ('pinned', 'managed'))
    AND CASE WHEN calls.id IS NULL THEN transfers.is_async = 0
      ELSE calls.name NOT GLOB '*Async*' AND calls.name GLOB '*[mM]em[cs][pe][yt]*' END
), sums AS MATERIALIZED (
  SELECT copies.profile_id AS profile_id, sum(copies.weight) AS count, sum(copies.bytes * copies.weight) AS bytes,
    sum(copies.blocked_ns * copies.weight) AS blocked_ns, max(kind = 'memcpy') AS has_copies,
    max(kind = 'memset') AS has_fills, time.weight AS weight, time.step_ns AS step_ns,
    time.whole AS whole, time.each AS each
  FROM copies JOIN time ON time.profile_id = copies.profile_id
  GROUP BY copies.profile_id
), speaking AS MATERIALIZED (
  SELECT *, CASE WHEN count > 3 * weight THEN 0.001 ELSE 0.01 END AS threshold FROM sums
  WHERE blocked_ns >= CASE WHEN count > 3 * weight THEN 0.001 ELSE 0.01 END * step_ns
), lines AS MATERIALIZED (
  SELECT code_trace_id, file, line, location FROM temp._code_trace_lines WHERE EXISTS (SELECT 1 FROM speaking)
), by_op AS (
  SELECT copies.profile_id AS profile_id, copies.call AS call, ops.name AS op_name, lines.file AS file,
    lines.line AS line, min(lines.location) AS location, sum(copies.blocked_ns * copies.weight) AS blocked_ns
  FROM copies
  LEFT JOIN temp.ops AS ops ON ops.id = copies.op_id
  LEFT JOIN lines ON lines.code_trace_id = ops.code_trace_id
  GROUP BY copies.profile_id, copies.call, ops.name, lines.file, lines.line
), most AS (
  SELECT profile_id, call, op_name, location, row_number() OVER (
    PARTITION BY profile_id ORDER BY blocked_ns DESC, call, op_name, file, line) AS place
  FROM by_op
)
SELECT
  'blocking_copies' AS check_name,
  CASE WHEN speaking.blocked_ns >= 0.05 * speaking.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('the host waits for %s during %.1f %% of the %s, %s %s: %s of %s',
      CASE WHEN has_copies AND has_fills THEN 'copies and fills' WHEN has_copies THEN 'copies' ELSE 'fills' END,
      min(100.0, 100.0 * speaking.blocked_ns / speaking.step_ns), speaking.whole,
      format_ns(speaking.blocked_ns / speaking.weight), speaking.each,
      format_count(speaking.count / speaking.weight), format_bytes(speaking.bytes / speaking.weight))
    || coalesce(', most by ' || most.call, '')
    || coalesce(' in ' || most.op_name, '')
    || coalesce(' (' || most.location || ')', '') AS message,
  speaking.blocked_ns / speaking.step_ns AS value,
  speaking.threshold AS threshold,
  CAST(speaking.blocked_ns AS INTEGER) AS saves_ns,
  advice_words('blocking_copies', processes.framework) AS suggestion,
  'SELECT name, count(*), sum(bytes), sum(dur_ns) FROM temp.transfers WHERE profile_id = ' || speaking.profile_id
    || ' GROUP BY 1' AS evidence
FROM speaking
JOIN most ON most.profile_id = speaking.profile_id AND most.place = 1
JOIN temp._process_names AS processes ON processes.profile_id = speaking.profile_id
ORDER BY saves_ns DESC, speaking.profile_id
