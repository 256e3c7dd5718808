-- Advice: constants that are computed anew in every step.
--
-- For each statement of the program the time, in measured steps (weighed by ops.sample_weight), of forward ops that lie
-- in no other op and make tensors of nothing but sizes and numbers (arange, ones, full, eye, linspace, windows, tensors
-- of a list that stands there), or take a triangle, where nine tenths of the steps call as many of them or more.  Where
-- the line, or the statement on all of its lines (code_frames.statement_line), calls besides these only arithmetic and
-- changes of shape and type, such as a table of positions from arange() and sin(), all its ops count.
-- So do those of statements that come next in the same function, as mask = places[:, None] >= places, as long as all
-- ops between are of that kind, if what is wide in two dimensions comes from an outer operation of theirs, and all has
-- one size, or sizes that the statements have which make the constants.
-- zeros() does not count by itself, since it often is filled; between such statements it does.  All of one function is
-- one finding; it names the statement that takes most, and others.
-- Threshold: 2 % of the step time.
-- What it would save: that time, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see docs/checks.md.  Cost: two passes over the names of ops.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'repeated_constants';
WITH makers(name) AS (
  VALUES ('aten::arange'), ('aten::ones'), ('aten::full'), ('aten::eye'), ('aten::linspace'), ('aten::logspace'),
    ('aten::tril'), ('aten::triu'), ('aten::tril_indices'), ('aten::triu_indices'), ('aten::hann_window'),
    ('aten::hamming_window'), ('aten::blackman_window'), ('aten::kaiser_window'), ('aten::meshgrid'),
    ('aten::cartesian_prod')
), others(name) AS (
  VALUES ('aten::add'), ('aten::sub'), ('aten::rsub'), ('aten::mul'), ('aten::div'), ('aten::pow'), ('aten::exp'),
    ('aten::log'), ('aten::sin'), ('aten::cos'), ('aten::sqrt'), ('aten::neg'), ('aten::reciprocal'), ('aten::abs'),
    ('aten::outer'), ('aten::to'), ('aten::view'), ('aten::reshape'), ('aten::unsqueeze'), ('aten::expand'),
    ('aten::repeat'), ('aten::cat'), ('aten::stack'), ('aten::t'), ('aten::transpose'), ('aten::select'),
    ('aten::slice'), ('aten::eq'), ('aten::ne'), ('aten::lt'), ('aten::le'), ('aten::gt'), ('aten::ge'),
    ('aten::zeros'), ('aten::ones_like'), ('aten::zeros_like'), ('aten::lift_fresh'), ('aten::contiguous'),
    ('aten::empty'), ('aten::detach_'), ('aten::copy_'), ('aten::squeeze'), ('aten::permute'), ('aten::flatten'),
    ('aten::flip'), ('aten::cumsum'), ('aten::floor'), ('aten::floor_divide'), ('aten::remainder'),
    ('aten::bitwise_and'), ('aten::logical_and'), ('aten::logical_not')
), step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * dur_ns) AS all_ns, count(*) FILTER (WHERE ops_recorded = 1) AS recorded_count,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS weight,
    sum(CASE WHEN ops_recorded = 1 THEN dur_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), lists AS ( -- torch.tensor([0.5, 1.0]): the first row of the list is numbers
  SELECT id, substr(list, 1, instr(list || ']', ']')) AS row
  FROM (SELECT id, substr(statement, instr(statement, 'ensor(') + 6) AS list
    FROM (SELECT id, coalesce(statement_text, text) AS statement FROM temp.code_frames)
    WHERE statement GLOB '*ensor([[(]*')
), literals AS MATERIALIZED (
  SELECT id AS code_trace_id FROM temp.code_traces
  WHERE leaf_frame_id IN (SELECT id FROM lists WHERE row NOT GLOB '*[A-Za-df-z_]*')
), made AS MATERIALIZED (
  SELECT profile_id, code_trace_id, step_id, sum(dur_ns * sample_weight) AS dur_ns
  FROM temp.ops
  WHERE name IN (SELECT name FROM makers UNION ALL SELECT 'aten::lift_fresh')
    AND (name <> 'aten::lift_fresh' OR code_trace_id IN (SELECT code_trace_id FROM literals))
    AND is_measured = 1 AND step_id IS NOT NULL AND code_trace_id IS NOT NULL
    AND coalesce(outermost_id, id) = id AND NOT coalesce(is_backward, 0)
  GROUP BY profile_id, code_trace_id, step_id
), statements AS MATERIALIZED ( -- stacks that lie in one, in the same call of its function
  SELECT traces.id AS code_trace_id, traces.parent_id AS parent_id, frames.file AS file, frames.function AS function,
    min(traces.id) OVER (PARTITION BY traces.profile_id, traces.parent_id, frames.file, frames.function,
      coalesce(frames.statement_line, frames.line, -traces.id)) AS statement_id
  FROM temp.code_traces AS traces CROSS JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  WHERE EXISTS (SELECT 1 FROM made)
), traces AS MATERIALIZED (
  SELECT made.profile_id AS profile_id, made.code_trace_id AS code_trace_id, count(*) AS step_count,
    sum(made.dur_ns) AS made_ns, statements.statement_id AS statement_id
  FROM made JOIN statements ON statements.code_trace_id = made.code_trace_id
  GROUP BY made.profile_id, made.code_trace_id
), one_step AS (
  SELECT profile_id, max(step_id) AS step_id FROM made GROUP BY profile_id
), in_order AS MATERIALIZED ( -- runs of ops of a function that may all be of constants
  SELECT ops.thread_id AS thread_id, ops.id AS id, ops.start_ns AS start_ns, ops.input_shapes AS input_shapes,
    statements.statement_id AS statement_id, statements.parent_id AS parent_id, statements.file AS file,
    statements.function AS function, statements.statement_id IN (SELECT statement_id FROM traces) AS is_made,
    ops.name IN ('aten::slice', 'aten::select', 'aten::narrow') AS is_view,
    ops.name IN ('aten::zeros', 'aten::empty') AS is_empty,
    sum(ops.name NOT IN (SELECT name FROM makers UNION ALL SELECT name FROM others)) OVER (
      PARTITION BY ops.thread_id ORDER BY ops.start_ns, ops.id ROWS UNBOUNDED PRECEDING) AS run
  FROM one_step CROSS JOIN temp.ops AS ops ON ops.step_id = one_step.step_id
  JOIN statements ON statements.code_trace_id = ops.code_trace_id
  WHERE ops.category = 'op' AND coalesce(ops.outermost_id, ops.id) = ops.id AND NOT coalesce(ops.is_backward, 0)
), runs AS MATERIALIZED (
  SELECT statement_id, id, start_ns, input_shapes, is_made, is_view, is_empty, dense_rank() OVER (
      ORDER BY thread_id, run, parent_id, file, function) AS run,
    max(is_made) OVER (PARTITION BY thread_id, run, parent_id, file, function ORDER BY start_ns, id
      ROWS UNBOUNDED PRECEDING) AS is_behind
  FROM in_order
), operands AS MATERIALIZED ( -- of tensors that have dimensions: how many are not 1
  SELECT runs.run AS run, runs.statement_id AS statement_id, runs.id AS id, runs.start_ns AS start_ns,
    runs.is_made AS is_made, operand.value AS shape,
    (SELECT count(*) FROM json_each(operand.value) AS size WHERE size.value IS NOT 1) AS wide_count
  FROM runs CROSS JOIN json_each(runs.input_shapes) AS operand
  WHERE runs.is_behind AND (runs.is_made OR NOT runs.is_view) AND json_valid(runs.input_shapes)
    AND operand.type = 'array' AND operand.value <> '[]'
    AND operand.value NOT GLOB '[[][[]*' -- a list of tensors, whose shapes their own ops tell
), op_sizes AS MATERIALIZED (
  SELECT DISTINCT operands.run AS run, operands.statement_id AS statement_id, operands.id AS id,
    operands.is_made AS is_made, size.value AS size
  FROM operands CROSS JOIN json_each(operands.shape) AS size WHERE size.value IS NOT 1
), sizes AS (
  SELECT DISTINCT statement_id, is_made, size, max(is_made) OVER (PARTITION BY run, size) AS is_known FROM op_sizes
), of_known_sizes AS (
  SELECT statement_id FROM sizes WHERE NOT is_made GROUP BY statement_id
  HAVING count(DISTINCT size) = 1 OR min(is_known)
), keys AS (
  SELECT id, group_concat(size) AS key FROM (SELECT id, size FROM op_sizes ORDER BY id, size) GROUP BY id
), op_operands AS (
  SELECT operands.run AS run, operands.statement_id AS statement_id, operands.start_ns AS start_ns,
    operands.is_made AS is_made, keys.key AS key, max(operands.wide_count) > 1 AS is_wide,
    max(operands.wide_count) = 1 AND count(*) > 1 AND count(DISTINCT operands.shape) > 1 AS is_outer
  FROM operands JOIN keys ON keys.id = operands.id GROUP BY operands.id
), origins AS ( -- of what is wide: the outer operation that makes something of its sizes
  SELECT run, statement_id, is_made, is_wide, is_outer, start_ns,
    min(start_ns) FILTER (WHERE is_outer) OVER (PARTITION BY run, key) AS outer_ns
  FROM op_operands
), derived AS MATERIALIZED (
  SELECT statement_id, min(run) AS run FROM origins
  WHERE NOT is_made AND statement_id IN (SELECT statement_id FROM of_known_sizes)
  GROUP BY statement_id
  HAVING max(is_wide OR is_outer) AND min(NOT is_wide OR coalesce(outer_ns < start_ns, 0))
), made_next AS MATERIALIZED (
  SELECT runs.statement_id AS statement_id
  FROM derived JOIN runs ON runs.run = derived.run WHERE runs.is_behind
  GROUP BY runs.statement_id
  HAVING max(runs.statement_id = derived.statement_id) OR min(runs.is_empty) -- what these fill
), wanted AS MATERIALIZED (
  SELECT code_trace_id, statement_id FROM statements
  WHERE statement_id IN (SELECT statement_id FROM traces UNION ALL SELECT statement_id FROM made_next)
), whole AS MATERIALIZED ( -- of the same stacks, of the rest of their statements, and of those that come next
  SELECT ops.profile_id AS profile_id, ops.code_trace_id AS code_trace_id, wanted.statement_id AS statement_id,
    sum(ops.dur_ns * ops.sample_weight) AS dur_ns,
    count(DISTINCT ops.step_id) AS step_count,
    min(ops.name IN (SELECT name FROM makers UNION ALL SELECT name FROM others)) AS is_constant
  FROM temp.ops AS ops JOIN wanted ON wanted.code_trace_id = ops.code_trace_id
  WHERE ops.code_trace_id IN (SELECT code_trace_id FROM wanted)
    AND ops.is_measured = 1 AND ops.category = 'op'
    AND coalesce(ops.outermost_id, ops.id) = ops.id AND NOT coalesce(ops.is_backward, 0)
  GROUP BY ops.profile_id, ops.code_trace_id
), judged AS (
  SELECT whole.*, min(is_constant) OVER (PARTITION BY profile_id, statement_id) AS is_all_constant FROM whole
), in_lists AS ( -- what making tensors of lists takes: the numbers are copied between these two ops
  SELECT profile_id, code_trace_id, name, sample_weight, lead(start_ns) OVER (PARTITION BY step_id, thread_id,
    code_trace_id ORDER BY start_ns, id) - end_ns AS copying_ns
  FROM temp.ops
  WHERE code_trace_id IN (SELECT code_trace_id FROM literals) AND is_measured = 1 AND step_id IS NOT NULL
    AND coalesce(outermost_id, id) = id
), copying AS (
  SELECT profile_id, code_trace_id, sum(copying_ns * sample_weight) AS copying_ns FROM in_lists
  WHERE name = 'aten::empty' GROUP BY profile_id, code_trace_id
), costs AS (
  SELECT judged.profile_id AS profile_id, judged.code_trace_id AS code_trace_id,
    iif(judged.is_all_constant OR judged.is_constant, judged.dur_ns, traces.made_ns) + coalesce(copying_ns, 0) AS dur_ns
  FROM judged JOIN step_time ON step_time.profile_id = judged.profile_id
  LEFT JOIN traces ON traces.profile_id = judged.profile_id AND traces.code_trace_id = judged.code_trace_id
  LEFT JOIN copying ON copying.profile_id = judged.profile_id AND copying.code_trace_id = judged.code_trace_id
  WHERE coalesce(traces.step_count, judged.step_count) >= 0.9 * step_time.recorded_count
    AND iif(traces.step_count IS NULL, judged.is_all_constant, 1)
), by_line AS (
  SELECT costs.profile_id AS profile_id, lines.file AS file, lines.function AS function,
    coalesce(lines.statement_line, lines.line) AS line, min(coalesce(lines.statement_text, lines.text)) AS text,
    coalesce('In[' || lines.cell || ']', replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), ''))
      || ':' || coalesce(lines.statement_line, lines.line) AS location, sum(costs.dur_ns) AS dur_ns,
    min(costs.code_trace_id) AS code_trace_id
  FROM costs CROSS JOIN temp.code_traces AS traces ON traces.id = costs.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  GROUP BY costs.profile_id, lines.file, lines.function, location
), placed AS (
  SELECT by_line.*, sum(dur_ns) OVER functions AS all_dur_ns, row_number() OVER (functions ORDER BY dur_ns DESC, line)
    AS place
  FROM by_line WINDOW functions AS (PARTITION BY profile_id, file, function)
), findings AS ( -- with what takes less of the same function
  SELECT placed.*, group_concat(location, ', ') FILTER (WHERE place BETWEEN 2 AND 5 AND dur_ns >= 0.05 * all_dur_ns)
    OVER (PARTITION BY profile_id, file, function ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING
      AND UNBOUNDED FOLLOWING) AS others
  FROM placed
)
SELECT
  'repeated_constants' AS check_name,
  'warning' AS severity,
  findings.location AS subject,
  processes.prefix || format('%.0f %% of the step time, %s a step, computes tensors of nothing but sizes and numbers '
      || 'again and again, at %s%s%s', 100.0 * all_dur_ns / step_ns, format_ns(all_dur_ns / step_time.weight),
    findings.location, coalesce(': ' || trim(findings.text), ''), coalesce('; and at ' || findings.others, ''))
    AS message,
  all_dur_ns / step_ns AS value,
  0.02 AS threshold,
  CAST(all_dur_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Compute it once before the loop, in a module as a buffer: self.register_buffer("mask", mask, persistent=False), and '
    || 'take a part of it where the size changes.' AS suggestion,
  'SELECT name, count(*), sum(dur_ns) FROM temp.ops WHERE code_trace_id = ' || findings.code_trace_id
    || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM findings
JOIN step_time ON step_time.profile_id = findings.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = findings.profile_id
WHERE place = 1 AND all_dur_ns >= 0.02 * step_ns
ORDER BY saves_ns DESC, findings.profile_id, findings.file, findings.line
