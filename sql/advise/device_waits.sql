-- Advice: the host waits for the device in the middle of its steps.
--
-- For each profile the share of the measured steps (no warm-up) that the host spends in calls that wait for a device
-- (cudaStreamSynchronize and the like, and copies to the host that were done when their call returned, as sync_summary
-- has them): .item(), .cpu(), printing a loss, a mask that becomes a shape.  While it waits it launches nothing, so
-- that the device runs dry afterwards.  A host that is far ahead of its device waits for nothing but it at the end of a
-- step, which is no harm: the check asks that the device idles for a tenth of the steps too.
-- Thresholds: 10 % of the step time, since waits of a few microseconds are everywhere.
-- What it would save: at most the time in which the device idles; how much of that is due to the waits is not known, so
-- the smaller of the waiting and the idling.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over api_calls and transfers, and
-- code_trace_line.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'device_waits';
WITH measured AS (
  SELECT profile_id, id, dur_ns FROM temp.steps WHERE is_warmup = 0
), step_time AS (
  SELECT profile_id, CAST(sum(1.0 * dur_ns) AS INTEGER) AS step_ns FROM measured GROUP BY profile_id
), waits AS (
  SELECT api_calls.profile_id AS profile_id, api_calls.op_id AS op_id, api_calls.dur_ns AS dur_ns
  FROM temp.api_calls AS api_calls JOIN measured ON measured.id = api_calls.step_id
  WHERE api_calls.name GLOB '*Synchronize*'
  UNION ALL
  SELECT calls.profile_id, calls.op_id, calls.dur_ns
  FROM temp.transfers AS transfers
  CROSS JOIN temp.api_calls AS calls ON calls.id = transfers.api_call_id
  JOIN measured ON measured.id = calls.step_id
  WHERE transfers.direction = 'DtoH' AND calls.end_ns >= transfers.end_ns
), lines AS MATERIALIZED (
  SELECT code_trace_id, file, line, location FROM temp.code_trace_line WHERE EXISTS (SELECT 1 FROM waits)
), by_op AS (
  SELECT waits.profile_id AS profile_id, ops.name AS op_name, lines.file AS file, lines.line AS line,
    min(lines.location) AS location, CAST(sum(1.0 * waits.dur_ns) AS INTEGER) AS wait_ns
  FROM waits
  LEFT JOIN temp.ops AS ops ON ops.id = waits.op_id
  LEFT JOIN lines ON lines.code_trace_id = ops.code_trace_id
  GROUP BY waits.profile_id, ops.name, lines.file, lines.line
), most AS (
  SELECT profile_id, op_name, location, sum(1.0 * wait_ns) OVER (PARTITION BY profile_id) AS wait_ns,
    row_number() OVER (PARTITION BY profile_id ORDER BY wait_ns DESC, op_name, file, line) AS place
  FROM by_op
), device_busy AS (
  SELECT device_steps.profile_id AS profile_id, sum(1.0 * device_steps.busy_ns) AS busy_ns
  FROM temp.device_steps AS device_steps JOIN measured ON measured.id = device_steps.step_id
  GROUP BY device_steps.profile_id
)
SELECT
  'device_waits' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('the host waits for the device during %.0f %% of the step time',
      100.0 * most.wait_ns / step_time.step_ns)
    || coalesce(', most in ' || most.op_name, '')
    || coalesce(' (' || most.location || ')', '') AS message,
  1.0 * most.wait_ns / step_time.step_ns AS value,
  0.10 AS threshold,
  CAST(min(most.wait_ns, step_time.step_ns - device_busy.busy_ns) AS INTEGER) AS saves_ns,
  'Take values from the device rarely and late: keep losses as tensors and print every hundredth, copy with '
    || 'non_blocking=True, replace masks that become shapes by torch.where.' AS suggestion,
  'SELECT kind, op_name, location, count, sum_ns FROM temp.sync_summary WHERE profile_id = ' || most.profile_id
    AS evidence
FROM most
JOIN step_time ON step_time.profile_id = most.profile_id
JOIN device_busy ON device_busy.profile_id = most.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = most.profile_id
WHERE most.place = 1 AND most.wait_ns >= 0.10 * step_time.step_ns AND device_busy.busy_ns < 0.90 * step_time.step_ns
ORDER BY saves_ns DESC, most.profile_id
