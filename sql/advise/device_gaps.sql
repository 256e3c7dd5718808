-- Advice: devices have nothing to do for long moments, since the host is busy with something else.
--
-- For each device the time of the measured steps (_measured_steps) in gaps of 100 µs and more (gap_causes) whose next
-- kernel, copy or fill had not been launched when the gap began.  Gaps in which the host waited for the device are left
-- to device_waits, those in which it waited for input to input_loading, and shorter ones, which lie between the
-- launches of one op and the next, to launch_bound.  The message tells also how much of the time the device worked in
-- all and in the step where it worked least (device_steps: what overlaps on several streams counts once, and what
-- reaches beyond the step as all of it).  Gaps before work that a step launched come to no more than the steps.
-- Thresholds: 5 % of the step time; a warning from 20 % on.
-- What it would save: these gaps, if they were closed.
-- Columns: those of every check, see docs/checks.md.  Cost: that of gap_causes, one pass over device_activities where
-- there are no steps, and _code_trace_lines.
-- Needs: device_activities.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'device_gaps';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), gaps AS MATERIALIZED (
  SELECT profile_id, device_id, op_id, gap_ns, weight FROM temp.gap_causes
  WHERE reason = 'host' AND gap_ns >= 100000 AND weight > 0
), sums AS MATERIALIZED (
  SELECT gaps.profile_id AS profile_id, gaps.device_id AS device_id, sum(gaps.weight) AS gap_count,
    min(sum(gaps.gap_ns * gaps.weight), time.step_ns) AS idle_ns,
    min(max(gaps.gap_ns), time.step_ns) AS longest_ns, time.weight AS weight,
    time.step_ns AS step_ns, time.whole AS whole, time.each AS each
  FROM gaps JOIN time ON time.profile_id = gaps.profile_id
  GROUP BY gaps.profile_id, gaps.device_id HAVING idle_ns >= 0.05 * time.step_ns
), lines AS MATERIALIZED (
  SELECT code_trace_id, file, line, location FROM temp._code_trace_lines WHERE EXISTS (SELECT 1 FROM sums)
), by_op AS (
  SELECT gaps.profile_id AS profile_id, gaps.device_id AS device_id, ops.name AS op_name, lines.file AS file,
    lines.line AS line, min(lines.location) AS location, sum(gaps.gap_ns * gaps.weight) AS idle_ns
  FROM gaps
  JOIN sums ON sums.profile_id = gaps.profile_id AND sums.device_id IS gaps.device_id
  LEFT JOIN temp.ops AS ops ON ops.id = gaps.op_id
  LEFT JOIN lines ON lines.code_trace_id = ops.code_trace_id
  GROUP BY gaps.profile_id, gaps.device_id, ops.name, lines.file, lines.line
), most AS (
  SELECT profile_id, device_id, op_name, location, idle_ns, row_number() OVER (
    PARTITION BY profile_id, device_id ORDER BY idle_ns DESC, op_name, file, line) AS place
  FROM by_op
), by_step AS (
  SELECT device_steps.profile_id AS profile_id, device_steps.device_id AS device_id,
    steps.number AS number, min(1.0, 1.0 * device_steps.busy_ns / nullif(measured.dur_ns, 0)) AS ratio
  FROM temp.device_steps AS device_steps
  JOIN temp._measured_steps AS measured ON measured.step_id = device_steps.step_id
  JOIN temp.steps AS steps ON steps.id = measured.step_id
  WHERE EXISTS (SELECT 1 FROM sums)
), busy AS (
  SELECT profile_id, device_id, number, ratio, avg(ratio) OVER of_device AS mean_ratio,
    row_number() OVER (of_device ORDER BY ratio, number) AS place
  FROM by_step WINDOW of_device AS (PARTITION BY profile_id, device_id)
)
SELECT
  'device_gaps' AS check_name,
  CASE WHEN sums.idle_ns >= 0.20 * sums.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || coalesce(devices.name, devices.model, 'a device')
    || format(' has nothing to do for %.0f %% of the %s, %s %s, while the host does something else: %s %s of '
      || '0.1 ms and more %s, the longest %s', 100.0 * sums.idle_ns / sums.step_ns, sums.whole,
      format_ns(sums.idle_ns / sums.weight), sums.each, format_count(sums.gap_count / sums.weight),
      iif(sums.gap_count = sums.weight, 'gap', 'gaps'), sums.each, format_ns(sums.longest_ns))
    || coalesce(', most before ' || most.op_name, '')
    || coalesce(' (' || most.location || ')', '')
    || CASE WHEN busy.number IS NULL THEN '' ELSE format('; something runs there for %.0f %% of a step on '
      || 'average, and for %.0f %% of step %d', 100 * busy.mean_ratio, 100 * busy.ratio, busy.number) END AS message,
  sums.idle_ns / sums.step_ns AS value,
  0.05 AS threshold,
  CAST(sums.idle_ns AS INTEGER) AS saves_ns,
  'See what the host does before these ops: Python between the ops (python_summary), ops of the CPU, checkpoints, '
    || 'logging; move it to another thread, or launch the next work before it.' AS suggestion,
  'SELECT start_ms, gap_ns, next_op FROM temp.gpu_gaps WHERE reason = ''host'' AND profile_id = ' || sums.profile_id
    || ' LIMIT 20' AS evidence
FROM sums
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
JOIN most ON most.profile_id = sums.profile_id AND most.device_id IS sums.device_id AND most.place = 1
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
LEFT JOIN busy ON busy.profile_id = sums.profile_id AND busy.device_id IS sums.device_id AND busy.place = 1
ORDER BY saves_ns DESC, sums.profile_id, sums.device_id
