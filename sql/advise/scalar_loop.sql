-- Advice: a Python loop that takes tensors apart, number by number or row by row.
--
-- For each line of the program that calls aten::item (tensor.item(), float(tensor), if tensor: ...) or aten::select
-- (tensor[i]) 32 times or more in a step: the time from each of these calls to the next one of the same line in the
-- step, where that is a millisecond or less.  It is what the loop takes, other ops and Python included, without what
-- recording these took; calls that lie further apart are none of it, unless they are few and have no more than 64 ops
-- between them: there the thread lost its processor.  A loop that takes no numbers counts only where its turns take
-- 80 µs or less on average: where they take longer they compute something, as recurrent networks do.  Nor do turns
-- count in which a module of the model is called (module_calls): they compute what they take the number of.  Loops of
-- optimizers over parameters are told by optimizer_loop; those of other libraries are not the program's.  Counted are
-- measured steps, weighed by ops.sample_weight.
-- Threshold: 2 % of the step time; three tenths are critical when that is a millisecond per step or more and ten
-- steps were measured.
-- What it would save: all of that, in steps whose ops were not recorded as in those whose were: the same over whole
-- tensors takes a few ops.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over the names of ops, one sort of what is called
-- so often, with the calls of modules in those steps.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'scalar_loop';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS weight
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), lines AS MATERIALIZED ( -- of the program, by trace; a line is told by the least of its frames
  SELECT traces.id AS trace_id, min(lines.id) OVER (PARTITION BY lines.profile_id, lines.file, lines.line) AS line_id
  FROM temp.code_traces AS traces CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  CROSS JOIN temp.code_frames AS leaf ON leaf.id = traces.leaf_frame_id
  WHERE leaf.file NOT GLOB '*/torch/optim/*' AND (leaf.file IS lines.file OR leaf.file GLOB '*/torch/_tensor*')
), items AS MATERIALIZED (
  SELECT ops.id AS id, step_id, thread_id, line_id, start_ns, sample_weight, name = 'aten::item' AS is_number
  FROM temp.ops AS ops JOIN lines ON lines.trace_id = ops.code_trace_id
  WHERE name IN ('aten::item', 'aten::select') AND is_measured = 1 AND step_id IS NOT NULL
    AND code_trace_id IS NOT NULL AND is_backward IS NOT 1
), often AS MATERIALIZED ( -- what is called seldom is no loop
  SELECT step_id, line_id FROM items GROUP BY step_id, line_id HAVING count(*) >= 32
), moments AS ( -- of these, and of calls of modules in the same steps
  SELECT items.id AS id, items.step_id AS step_id, thread_id, items.line_id AS line_id, start_ns, sample_weight,
    is_number, 0 AS is_call
  FROM items WHERE (step_id, line_id) IN (SELECT step_id, line_id FROM often)
  UNION ALL
  SELECT NULL, step_id, thread_id, NULL, start_ns, NULL, NULL, 1 FROM temp.module_calls
  WHERE step_id IN (SELECT step_id FROM often)
), counted AS (
  SELECT *, sum(is_call) OVER (PARTITION BY step_id, thread_id ORDER BY start_ns, is_call, id
    ROWS UNBOUNDED PRECEDING) AS call_count
  FROM moments
), each_turn AS (
  SELECT step_id, line_id, sample_weight, is_number, lead(start_ns) OVER of_line - start_ns AS turn_ns,
    lead(id) OVER of_line - id AS op_count, lead(call_count) OVER of_line > call_count AS has_call
  FROM counted WHERE is_call = 0
  WINDOW of_line AS (PARTITION BY step_id, line_id, thread_id ORDER BY start_ns, id)
), turns AS (
  SELECT step_id, line_id, sample_weight, is_number, iif(has_call, NULL, turn_ns) AS turn_ns,
    iif(has_call, NULL, op_count) AS op_count
  FROM each_turn
), in_step AS MATERIALIZED (
  SELECT step_id, line_id, max(sample_weight) AS weight, count(*) AS count, sum(is_number) AS number_count,
    total(turn_ns) FILTER (WHERE turn_ns <= 1000000) + iif(
      10 * count(*) FILTER (WHERE turn_ns > 1000000 AND op_count <= 64) <= count(*),
      total(turn_ns) FILTER (WHERE turn_ns > 1000000 AND op_count <= 64), 0) AS raw_ns,
    total(op_count) FILTER (WHERE turn_ns <= 1000000 OR op_count <= 64) AS op_count,
    coalesce(avg(turn_ns) FILTER (WHERE turn_ns <= 1000000), 0) AS mean_ns
  FROM turns GROUP BY step_id, line_id
  HAVING number_count >= 32 OR mean_ns <= 80000
), by_line AS ( -- without what recording its ops took
  SELECT steps.profile_id AS profile_id, line_id,
    sum(iif(number_count >= 32, number_count, count) * weight) AS count, min(number_count) >= 32 AS is_of_numbers,
    sum(max(raw_ns - in_step.op_count * coalesce(1.0 * recording_ns / nullif(host_steps.op_count, 0), 0), 0) * weight)
      AS loop_ns
  FROM in_step JOIN temp.steps AS steps ON steps.id = in_step.step_id
  LEFT JOIN temp.host_steps AS host_steps ON host_steps.step_id = in_step.step_id
  GROUP BY steps.profile_id, line_id
), loops AS (
  SELECT by_line.*, frames.file AS file, frames.line AS line, coalesce('In[' || frames.cell || ']',
      replace(frames.file, rtrim(frames.file, replace(frames.file, '/', '')), '')) || ':' || frames.line AS location,
    frames.text AS text, frames.function AS function
  FROM by_line JOIN temp.code_frames AS frames ON frames.id = line_id
)
SELECT
  'scalar_loop' AS check_name,
  CASE WHEN loop_ns >= 0.30 * step_ns AND step_count >= 10 AND loop_ns >= 1e6 * weight THEN 'critical'
    ELSE 'warning' END AS severity,
  loops.location AS subject,
  processes.prefix || format('%.0f %% of the step time is a Python loop%s that %s, %.0f a step, at %s%s',
    100.0 * loop_ns / step_ns, coalesce(' in ' || nullif(loops.function, '<module>') || '()', ''),
    iif(is_of_numbers, 'takes numbers out of tensors', 'takes a tensor apart'), loops.count / step_time.weight,
    loops.location, coalesce(': ' || trim(loops.text), '')) AS message,
  loop_ns / step_ns AS value,
  0.02 AS threshold,
  CAST(loop_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  iif(is_of_numbers, 'Compute it over the whole tensors, (scores.argmax(-1) == labels).sum(), and take the one result '
      || 'out with .item(); where Python needs each number, take all at once with .tolist().',
    'Compute it over the whole tensor: by slices, masks, torch.where, torch.tril, scatter_ or index_put_, which take '
      || 'an op for all turns together; what is the same in every step, once before the loop.') AS suggestion,
  'SELECT step_id, count(*), sum(dur_ns) FROM temp.ops WHERE name IN (''aten::item'', ''aten::select'') '
    || 'AND profile_id = ' || loops.profile_id || ' GROUP BY 1 ORDER BY 2 DESC LIMIT 20' AS evidence
FROM loops
JOIN step_time ON step_time.profile_id = loops.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = loops.profile_id
WHERE loop_ns >= 0.02 * step_ns
ORDER BY saves_ns DESC, loops.profile_id, loops.file, loops.line
