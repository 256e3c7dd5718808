-- Advice: a Python loop that takes tensors apart, number by number or row by row.
--
-- For each line of the program that calls aten::item (tensor.item(), float(tensor), if tensor: ...) or aten::select
-- (tensor[i]) 32 times or more in a step: the time from each of these calls to the next one of the same line in the
-- step, where that is a millisecond or less.  It is what the loop takes, other ops and Python included, without what
-- recording these took; calls that lie further apart are none of it, unless they are few and have no more than 64 ops
-- between them: there the thread lost its processor.  A loop that takes no numbers counts only where its turns take
-- 80 µs or less on average: where they take longer they compute something, as recurrent networks do.  Of numbers 8 in
-- a step are enough where the turns take 250 µs or less and call 10 ops or fewer, as loops over parameters do that
-- take the norm of each, and no iteration that looks at what it has reached.  Nor do turns count in which a module of
-- the model is called (module_calls): they compute what they take the number of.  Loops of optimizers over parameters
-- are told by optimizer_loop; those of other libraries are not the program's.  Counted are measured steps, weighed by
-- ops.sample_weight.
-- All such lines of one function and of comprehensions in it are one finding, which names the line that takes most, and
-- others: what passes from one line to another counts where they take turns, 8 times in a step or more, and once.
-- Threshold: 2 % of the step time; three tenths are critical when that is a millisecond per step or more and ten
-- steps were measured.
-- What it would save: all of that, in steps whose ops were not recorded as in those whose were: the same over whole
-- tensors takes a few ops.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over the names of ops, one sort of what is called
-- so often, with the calls of modules in those steps.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'scalar_loop';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS weight
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), lines AS MATERIALIZED ( -- of the program, by trace; each, and each function, is told by its least frame
  SELECT traces.id AS trace_id, min(lines.id) OVER (PARTITION BY lines.profile_id, lines.file, lines.line) AS line_id,
    min(lines.id) OVER (PARTITION BY lines.profile_id, lines.file, lines.cell,
      iif(lines.function GLOB '*<*comp>' OR lines.function GLOB '*<genexpr>', callers.function, lines.function))
      AS function_id
  FROM temp.code_traces AS traces CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  CROSS JOIN temp.code_frames AS leaf ON leaf.id = traces.leaf_frame_id
  LEFT JOIN temp.code_traces AS above ON above.id = traces.parent_id
  LEFT JOIN temp.code_frames AS callers ON callers.id = above.leaf_frame_id
  WHERE leaf.file NOT GLOB '*/torch/optim/*' AND (leaf.file IS lines.file OR leaf.file GLOB '*/torch/_tensor*')
), items AS MATERIALIZED (
  SELECT ops.id AS id, step_id, thread_id, line_id, function_id, start_ns, sample_weight,
    name = 'aten::item' AS is_number
  FROM temp.ops AS ops JOIN lines ON lines.trace_id = ops.code_trace_id
  WHERE name IN ('aten::item', 'aten::select') AND is_measured = 1 AND step_id IS NOT NULL
    AND code_trace_id IS NOT NULL AND is_backward IS NOT 1
), often AS MATERIALIZED ( -- what is called seldom is no loop
  SELECT step_id, line_id FROM items GROUP BY step_id, line_id
  HAVING count(*) >= 32 OR sum(is_number) >= 8
), moments AS ( -- of these, and of calls of modules in the same steps
  SELECT items.id AS id, items.step_id AS step_id, thread_id, items.line_id AS line_id, function_id, start_ns,
    sample_weight, is_number, 0 AS is_call
  FROM items WHERE (step_id, line_id) IN (SELECT step_id, line_id FROM often)
  UNION ALL
  SELECT NULL, step_id, thread_id, NULL, NULL, start_ns, NULL, NULL, 1 FROM temp.module_calls
  WHERE step_id IN (SELECT step_id FROM often)
), counted AS MATERIALIZED (
  SELECT *, sum(is_call) OVER (PARTITION BY step_id, thread_id ORDER BY start_ns, is_call, id
    ROWS UNBOUNDED PRECEDING) AS call_count
  FROM moments
), each_turn AS (
  SELECT step_id, line_id, is_number, lead(start_ns) OVER of_line - start_ns AS turn_ns,
    lead(id) OVER of_line - id AS op_count, lead(call_count) OVER of_line > call_count AS has_call
  FROM counted WHERE is_call = 0
  WINDOW of_line AS (PARTITION BY step_id, line_id, thread_id ORDER BY start_ns, id)
), loops AS MATERIALIZED ( -- lines that are, by step
  SELECT step_id, line_id, sum(is_number) >= 32 OR sum(is_number) >= 8 AND 2 * sum(is_number) >= count(*)
      AS is_of_numbers
  FROM each_turn GROUP BY step_id, line_id
  HAVING sum(is_number) >= 32
    OR coalesce(avg(turn_ns) FILTER (WHERE turn_ns <= 1000000 AND NOT has_call), 0) <= 250000 AND sum(is_number) >= 8
      AND coalesce(avg(op_count) FILTER (WHERE turn_ns <= 1000000 AND NOT has_call), 0) <= 10
    OR coalesce(avg(turn_ns) FILTER (WHERE turn_ns <= 1000000 AND NOT has_call), 0) <= 80000 AND count(*) >= 32
), function_turns AS ( -- of all of one function; a turn that ends with a number belongs to the line that takes it
  SELECT counted.step_id AS step_id, function_id, sample_weight, is_number, is_of_numbers,
    counted.line_id AS line_id, iif(lead(is_number) OVER of_function, lead(counted.line_id) OVER of_function, NULL)
      AS next_line_id,
    lead(start_ns) OVER of_function - start_ns AS turn_ns, lead(id) OVER of_function - id AS op_count,
    lead(call_count) OVER of_function > call_count AS has_call,
    lead(counted.line_id) OVER of_function <> counted.line_id AS is_between
  FROM loops JOIN counted ON counted.step_id = loops.step_id AND counted.line_id = loops.line_id
  WINDOW of_function AS (PARTITION BY counted.step_id, function_id, thread_id ORDER BY start_ns, id)
), turns AS (
  SELECT *, NOT has_call AND (NOT is_between OR sum(is_between) OVER (PARTITION BY step_id, function_id) >= 8)
    AS is_turn
  FROM function_turns
), in_step AS (
  SELECT step_id, function_id, iif(is_turn, coalesce(next_line_id, line_id), line_id) AS line_id,
    max(sample_weight) AS weight, count(*) AS count, sum(is_number) AS number_count,
    min(is_of_numbers) AS is_of_numbers,
    total(turn_ns) FILTER (WHERE turn_ns <= 1000000 AND is_turn) AS short_ns,
    total(op_count) FILTER (WHERE (turn_ns <= 1000000 OR op_count <= 64) AND is_turn) AS op_count,
    count(*) FILTER (WHERE turn_ns > 1000000 AND op_count <= 64 AND is_turn) AS long_count,
    total(turn_ns) FILTER (WHERE turn_ns > 1000000 AND op_count <= 64 AND is_turn) AS long_ns
  FROM turns GROUP BY 1, 2, 3
), by_line AS ( -- without what recording its ops took
  SELECT steps.profile_id AS profile_id, function_id, line_id, min(is_of_numbers) AS is_of_numbers,
    sum(iif(is_of_numbers, number_count, count) * weight) AS count,
    sum(max(short_ns + iif(10 * long_count <= count, long_ns, 0)
      - in_step.op_count * coalesce(1.0 * recording_ns / nullif(host_steps.op_count, 0), 0), 0) * weight) AS line_ns
  FROM in_step JOIN temp.steps AS steps ON steps.id = in_step.step_id
  LEFT JOIN temp.host_steps AS host_steps ON host_steps.step_id = in_step.step_id
  GROUP BY steps.profile_id, function_id, line_id
), places AS (
  SELECT by_line.*, frames.file AS file, frames.line AS line, coalesce('In[' || frames.cell || ']',
      replace(frames.file, rtrim(frames.file, replace(frames.file, '/', '')), '')) || ':' || frames.line AS location,
    frames.text AS text, frames.function AS function, sum(line_ns) OVER of_function AS loop_ns,
    row_number() OVER (of_function ORDER BY line_ns DESC, frames.line) AS place
  FROM by_line JOIN temp.code_frames AS frames ON frames.id = line_id
  WINDOW of_function AS (PARTITION BY by_line.profile_id, function_id)
), found AS ( -- with what takes less of the same function
  SELECT places.*, group_concat(location, ', ') FILTER (WHERE place BETWEEN 2 AND 5 AND line_ns >= 0.05 * loop_ns)
    OVER (PARTITION BY profile_id, function_id ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING
      AND UNBOUNDED FOLLOWING) AS others
  FROM places
)
SELECT
  'scalar_loop' AS check_name,
  CASE WHEN loop_ns >= 0.30 * step_ns AND step_count >= 10 AND loop_ns >= 1e6 * weight THEN 'critical'
    ELSE 'warning' END AS severity,
  found.location AS subject,
  processes.prefix || format('%.0f %% of the step time is a Python loop%s that %s, %.0f a step, at %s%s%s',
    100.0 * loop_ns / step_ns, iif(found.function NOT GLOB '*>', ' in ' || found.function || '()', ''),
    iif(is_of_numbers, 'takes numbers out of tensors', 'takes a tensor apart'), found.count / step_time.weight,
    found.location, coalesce(': ' || trim(found.text), ''), coalesce('; and at ' || found.others, '')) AS message,
  loop_ns / step_ns AS value,
  0.02 AS threshold,
  CAST(loop_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  iif(is_of_numbers, 'Compute it over the whole tensors, (scores.argmax(-1) == labels).sum(), and take the one result '
      || 'out with .item(), and what is only logged every so many steps; where Python needs each number, take all at '
      || 'once with .tolist().',
    'Compute it over the whole tensor: by slices, masks, torch.where, torch.tril, scatter_ or index_put_, which take '
      || 'an op for all turns together; what is the same in every step, once before the loop.') AS suggestion,
  'SELECT step_id, count(*), sum(dur_ns) FROM temp.ops WHERE name IN (''aten::item'', ''aten::select'') '
    || 'AND profile_id = ' || found.profile_id || ' GROUP BY 1 ORDER BY 2 DESC LIMIT 20' AS evidence
FROM found
JOIN step_time ON step_time.profile_id = found.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = found.profile_id
WHERE place = 1 AND loop_ns >= 0.02 * step_ns
ORDER BY saves_ns DESC, found.profile_id, found.file, found.line
