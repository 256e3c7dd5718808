-- Advice: the host waits for the device in the middle of its steps, and the device runs dry meanwhile.
--
-- For each profile the share of the measured steps (_measured_steps) in which a device had nothing to do because the
-- host was waiting for it when it ran dry (gap_causes, reason wait): in cudaStreamSynchronize and the like, and in
-- copies to the host that were done when their call returned: .item(), .cpu(), printing a loss, a mask that becomes a
-- shape.  While it waits it launches nothing.  A host that is far ahead of its device waits for nothing but it at the
-- end of a step, which is no harm: waits during which the device goes on do not count.
-- Thresholds: 1 % of the step time; a warning from 5 % on.
-- What it would save: these gaps, of all devices.  That the host is no longer ahead afterwards costs besides.
-- Columns: those of every check, see docs/checks.md.  Cost: that of gap_causes, one pass over api_calls and transfers,
-- and _code_trace_lines.
-- Needs: device_activities.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'device_waits';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), dry AS MATERIALIZED (
  SELECT profile_id, sum(gap_ns * weight) AS dry_ns FROM temp.gap_causes WHERE reason = 'wait' AND weight > 0
  GROUP BY profile_id
), waits AS (
  SELECT profile_id, step_id, op_id, dur_ns FROM temp.api_calls
  WHERE name GLOB '*Synchronize*' AND EXISTS (SELECT 1 FROM dry)
  UNION ALL
  SELECT calls.profile_id, calls.step_id, calls.op_id, calls.dur_ns
  FROM temp.transfers AS transfers CROSS JOIN temp.api_calls AS calls ON calls.id = transfers.api_call_id
  WHERE transfers.direction = 'DtoH' AND calls.end_ns >= transfers.end_ns AND EXISTS (SELECT 1 FROM dry)
), lines AS MATERIALIZED (
  SELECT code_trace_id, file, line, location FROM temp._code_trace_lines WHERE EXISTS (SELECT 1 FROM dry)
), by_op AS (
  SELECT waits.profile_id AS profile_id, ops.name AS op_name, lines.file AS file, lines.line AS line,
    min(lines.location) AS location, sum(waits.dur_ns * measured.weight) AS wait_ns
  FROM waits
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = waits.profile_id AND measured.step_id IS waits.step_id
  LEFT JOIN temp.ops AS ops ON ops.id = waits.op_id
  LEFT JOIN lines ON lines.code_trace_id = ops.code_trace_id
  GROUP BY waits.profile_id, ops.name, lines.file, lines.line
), most AS (
  SELECT profile_id, op_name, location, sum(wait_ns) OVER (PARTITION BY profile_id) AS wait_ns,
    row_number() OVER (PARTITION BY profile_id ORDER BY wait_ns DESC, op_name, file, line) AS place
  FROM by_op
)
SELECT
  'device_waits' AS check_name,
  CASE WHEN dry.dry_ns >= 0.05 * time.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('the host waits for the device during %.0f %% of the %s',
      min(100.0, 100.0 * most.wait_ns / time.step_ns), time.whole)
    || coalesce(', most in ' || most.op_name, '')
    || coalesce(' (' || most.location || ')', '')
    || format('; for %.1f %% of it, %s %s, the device has nothing to do meanwhile',
      min(100.0, 100.0 * dry.dry_ns / time.step_ns), format_ns(dry.dry_ns / time.weight), time.each) AS message,
  dry.dry_ns / time.step_ns AS value,
  0.01 AS threshold,
  CAST(dry.dry_ns AS INTEGER) AS saves_ns,
  advice_words('device_waits', processes.framework) AS suggestion,
  'SELECT kind, op, location, count, sum_ns FROM temp.sync_summary WHERE profile_id = ' || most.profile_id
    || ' LIMIT 20' AS evidence
FROM most
JOIN time ON time.profile_id = most.profile_id
JOIN dry ON dry.profile_id = most.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = most.profile_id
WHERE most.place = 1 AND dry.dry_ns >= 0.01 * time.step_ns
ORDER BY saves_ns DESC, most.profile_id
