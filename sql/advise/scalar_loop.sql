-- Advice: a Python loop that takes numbers out of tensors one by one.
--
-- For each line of the program that calls aten::item (tensor.item(), float(tensor), if tensor: ...) 32 times or more in
-- a step: the time from each of these calls to the next one of the same line in the step, where that is a millisecond
-- or less.  It is what the loop takes, other ops and Python included; calls that lie further apart are none of it.
-- Counted are measured steps, weighed by ops.sample_weight.
-- Threshold: 2 % of the step time; three tenths are critical when that is a millisecond per step or more and ten steps
-- were measured.
-- What it would save: all of that, in steps whose ops were not recorded as in those whose were: the same over whole
-- tensors takes a few ops.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over the names of ops.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'scalar_loop';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS weight
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), items AS MATERIALIZED (
  SELECT profile_id, step_id, thread_id, code_trace_id, start_ns, sample_weight
  FROM temp.ops WHERE name = 'aten::item' AND is_measured = 1 AND step_id IS NOT NULL AND code_trace_id IS NOT NULL
), turns AS (
  SELECT items.profile_id AS profile_id, items.step_id AS step_id, lines.file AS file, lines.line AS line,
    coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, lines.text AS text, lines.function AS function, items.sample_weight AS weight,
    lead(items.start_ns) OVER (PARTITION BY items.step_id, items.thread_id, lines.file, lines.line
      ORDER BY items.start_ns) - items.start_ns AS turn_ns
  FROM items CROSS JOIN temp.code_traces AS traces ON traces.id = items.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
), in_step AS (
  SELECT profile_id, step_id, file, line, min(location) AS location, min(text) AS text, min(function) AS function,
    max(weight) AS weight, count(*) AS count, total(turn_ns) FILTER (WHERE turn_ns <= 1000000) AS loop_ns
  FROM turns GROUP BY profile_id, step_id, file, line HAVING count(*) >= 32
), loops AS (
  SELECT profile_id, file, line, min(location) AS location, min(text) AS text, min(function) AS function,
    sum(count * weight) AS count, sum(loop_ns * weight) AS loop_ns
  FROM in_step GROUP BY profile_id, file, line
)
SELECT
  'scalar_loop' AS check_name,
  CASE WHEN loop_ns >= 0.30 * step_ns AND step_count >= 10 AND loop_ns >= 1e6 * weight THEN 'critical'
    ELSE 'warning' END AS severity,
  loops.location AS subject,
  processes.prefix || format('%.0f %% of the step time is a Python loop%s that takes numbers out of tensors, %.0f a '
      || 'step, at %s%s', 100.0 * loop_ns / step_ns, coalesce(' in ' || loops.function || '()', ''),
    loops.count / step_time.weight, loops.location, coalesce(': ' || trim(loops.text), '')) AS message,
  loop_ns / step_ns AS value,
  0.02 AS threshold,
  CAST(loop_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Compute it over the whole tensors, (scores.argmax(-1) == labels).sum(), and take the one result out with .item(); '
    || 'where Python needs each number, take all at once with .tolist().' AS suggestion,
  'SELECT step_id, count(*), sum(dur_ns) FROM temp.ops WHERE name = ''aten::item'' AND profile_id = '
    || loops.profile_id || ' GROUP BY 1 ORDER BY 2 DESC LIMIT 20' AS evidence
FROM loops
JOIN step_time ON step_time.profile_id = loops.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = loops.profile_id
WHERE loop_ns >= 0.02 * step_ns
ORDER BY saves_ns DESC, loops.profile_id, loops.file, loops.line
