-- Advice: a step made of so many tiny ops that calling them costs more than what they compute.
--
-- For each profile the outermost ops (those with no recorded op around them, user ranges left aside) on the thread of
-- the measured steps (no warm-up, ops recorded; weighed by steps.sample_weight).  An op under 20 microseconds does
-- little else than be dispatched: on current processors an eager PyTorch op costs 1 to 10 microseconds before it
-- computes anything.  The check speaks when such ops are more than half of all and take more than a tenth of the step
-- time; three tenths are critical when half of them is a millisecond per step or more and ten steps were measured.
-- The message names the line that most of them come from.
-- What it would save: half of their time, which is what fusing neighbours in pairs would spare, in steps whose ops were
-- not recorded as in those whose were.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over ops, when host_steps is
-- derived from them.
-- Needs: steps, ops.
-- Example: SELECT message, suggestion FROM advise WHERE check_name = 'tiny_ops';
WITH called AS (
  SELECT steps.profile_id AS profile_id, count(*) AS step_count, sum(steps.sample_weight) AS weight,
    sum(steps.net_ns * steps.sample_weight) AS step_ns, sum(host_steps.call_count * steps.sample_weight) AS op_count,
    sum(host_steps.small_call_count * steps.sample_weight) AS tiny_count,
    sum(host_steps.small_call_ns * steps.sample_weight) AS tiny_ns
  FROM temp.host_steps AS host_steps CROSS JOIN temp.steps AS steps ON steps.id = host_steps.step_id
  WHERE steps.is_warmup = 0 AND steps.is_hung IS NOT 1
  GROUP BY steps.profile_id
), step_time AS (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1
  GROUP BY profile_id
), speaking AS MATERIALIZED (
  SELECT profile_id FROM called WHERE tiny_count > 0.5 * op_count AND tiny_ns >= 0.10 * step_ns
), by_line AS (
  SELECT ops.profile_id AS profile_id, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, min(lines.text) AS text,
    sum(ops.sample_weight) AS count, sum(sum(ops.sample_weight)) OVER (PARTITION BY ops.profile_id) AS all_count,
    row_number() OVER (PARTITION BY ops.profile_id ORDER BY sum(ops.sample_weight) DESC, lines.file, lines.line)
      AS place
  FROM temp.ops AS ops CROSS JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  WHERE ops.net_ns < 20000 AND ops.category = 'op' AND ops.is_measured = 1 AND NOT coalesce(ops.is_backward, 0)
    AND ops.profile_id IN (SELECT profile_id FROM speaking) AND ops.outermost_id = ops.id
  GROUP BY ops.profile_id, lines.file, lines.line
)
SELECT
  'tiny_ops' AS check_name,
  CASE WHEN tiny_ns >= 0.30 * step_ns AND step_count >= 10 AND tiny_ns >= 2000000 * weight THEN 'critical'
    ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the %.0f ops called in a step take less than 20 µs, together %.0f %% of the '
    || 'step time', 100.0 * tiny_count / op_count, op_count / weight, 100.0 * tiny_ns / step_ns)
    || iif(by_line.location IS NULL, '', format('; %.0f %% of them come from %s%s',
      100.0 * by_line.count / by_line.all_count, by_line.location, coalesce(': ' || trim(by_line.text), '')))
    AS message,
  tiny_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(0.5 * tiny_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  advice_words('tiny_ops', processes.framework) AS suggestion,
  'SELECT name, count(*), sum(dur_ns) FROM temp.ops WHERE dur_ns < 20000 AND profile_id = ' || called.profile_id
    || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM called
LEFT JOIN by_line ON by_line.profile_id = called.profile_id AND by_line.place = 1
JOIN step_time ON step_time.profile_id = called.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = called.profile_id
WHERE tiny_count > 0.5 * op_count AND tiny_ns >= 0.10 * step_ns
ORDER BY saves_ns DESC, called.profile_id
