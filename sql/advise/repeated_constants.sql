-- Advice: constants that are computed anew in every step.
--
-- For each line of the program the time, in measured steps (weighed by ops.sample_weight), of forward ops that lie in
-- no other op and make tensors of nothing but sizes and numbers (arange, ones, full, eye, linspace, windows), or take a
-- triangle, where nine tenths of the steps call as many of them or more.  Where the line calls besides these only
-- arithmetic and changes of shape and type, such as a table of positions from arange() and sin(), all its ops count.
-- So do those of a line that comes next in the same function, as mask = places[:, None] >= places, if it does the same
-- with one size only, and has what is wide in two dimensions from an outer operation of its own.
-- zeros() does not count by itself, since it often is filled.
-- Threshold: 2 % of the step time.
-- What it would save: that time, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: two passes over the names of ops.
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
    ('aten::zeros'), ('aten::ones_like'), ('aten::zeros_like'), ('aten::lift_fresh'), ('aten::contiguous')
), step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * dur_ns) AS all_ns, count(*) FILTER (WHERE ops_recorded = 1) AS recorded_count,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS weight,
    sum(CASE WHEN ops_recorded = 1 THEN dur_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), made AS MATERIALIZED (
  SELECT profile_id, code_trace_id, step_id, count(*) AS count, sum(dur_ns * sample_weight) AS dur_ns
  FROM temp.ops
  WHERE name IN (SELECT name FROM makers) AND is_measured = 1 AND step_id IS NOT NULL AND code_trace_id IS NOT NULL
    AND coalesce(outermost_id, id) = id AND NOT coalesce(is_backward, 0)
  GROUP BY profile_id, code_trace_id, step_id
), traces AS MATERIALIZED (
  SELECT profile_id, code_trace_id, count(*) AS step_count, sum(count) AS count, sum(dur_ns) AS made_ns
  FROM made GROUP BY profile_id, code_trace_id
), one_step AS (
  SELECT profile_id, max(step_id) AS step_id FROM made GROUP BY profile_id
), in_order AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, ops.code_trace_id AS code_trace_id, ops.id AS id, ops.name AS name,
    ops.start_ns AS start_ns, ops.input_shapes AS input_shapes,
    lag(ops.code_trace_id) OVER (PARTITION BY ops.thread_id ORDER BY ops.start_ns, ops.id) AS before_id
  FROM one_step CROSS JOIN temp.ops AS ops ON ops.step_id = one_step.step_id
  WHERE ops.category = 'op' AND ops.code_trace_id IS NOT NULL AND coalesce(ops.outermost_id, ops.id) = ops.id
    AND NOT coalesce(ops.is_backward, 0)
), next_lines AS MATERIALIZED ( -- behind a line of constants, in the same call of a function
  SELECT DISTINCT in_order.code_trace_id AS code_trace_id
  FROM in_order JOIN traces ON traces.code_trace_id = in_order.before_id
  CROSS JOIN temp.code_traces AS its ON its.id = in_order.code_trace_id
  CROSS JOIN temp.code_traces AS maker ON maker.id = in_order.before_id
  CROSS JOIN temp.code_frames AS its_leaf ON its_leaf.id = its.leaf_frame_id
  CROSS JOIN temp.code_frames AS maker_leaf ON maker_leaf.id = maker.leaf_frame_id
  WHERE its.parent_id IS maker.parent_id AND its_leaf.function = maker_leaf.function
    AND its_leaf.file = maker_leaf.file AND in_order.code_trace_id NOT IN (SELECT code_trace_id FROM traces)
), operands AS ( -- of tensors that have dimensions: how many are not 1
  SELECT in_order.code_trace_id AS code_trace_id, in_order.id AS id, in_order.start_ns AS start_ns,
    operand.value AS shape,
    (SELECT count(*) FROM json_each(operand.value) AS size WHERE size.value IS NOT 1) AS wide_count,
    (SELECT min(size.value) FROM json_each(operand.value) AS size WHERE size.value IS NOT 1) AS least,
    (SELECT max(size.value) FROM json_each(operand.value) AS size) AS most
  FROM in_order CROSS JOIN json_each(in_order.input_shapes) AS operand
  WHERE in_order.code_trace_id IN (SELECT code_trace_id FROM next_lines)
    AND json_valid(in_order.input_shapes) AND operand.type = 'array' AND operand.value <> '[]'
), op_operands AS (
  SELECT code_trace_id, start_ns, max(wide_count) AS wide_count, min(least) AS least, max(most) AS most,
    count(*) > 1 AND count(DISTINCT shape) > 1 AS is_broadcast
  FROM operands GROUP BY code_trace_id, id
), made_next AS MATERIALIZED (
  SELECT code_trace_id FROM op_operands GROUP BY code_trace_id
  HAVING min(least) = max(most) AND min(start_ns) FILTER (WHERE is_broadcast AND wide_count <= 1)
    < coalesce(min(start_ns) FILTER (WHERE wide_count > 1), 9e18)
), whole AS MATERIALIZED ( -- of the same stacks, and of those that come next
  SELECT profile_id, code_trace_id, count(*) AS count, sum(dur_ns * sample_weight) AS dur_ns,
    count(DISTINCT step_id) AS step_count,
    min(name IN (SELECT name FROM makers) OR name IN (SELECT name FROM others)) AS is_constant
  FROM temp.ops
  WHERE code_trace_id IN (SELECT code_trace_id FROM traces UNION ALL SELECT code_trace_id FROM made_next)
    AND is_measured = 1 AND category = 'op'
    AND coalesce(outermost_id, id) = id AND NOT coalesce(is_backward, 0)
  GROUP BY profile_id, code_trace_id
), costs AS (
  SELECT traces.profile_id AS profile_id, traces.code_trace_id AS code_trace_id, traces.count AS count,
    iif(whole.is_constant, whole.dur_ns, traces.made_ns) AS dur_ns
  FROM traces JOIN step_time ON step_time.profile_id = traces.profile_id
  LEFT JOIN whole ON whole.code_trace_id = traces.code_trace_id
  WHERE traces.step_count >= 0.9 * step_time.recorded_count
  UNION ALL
  SELECT whole.profile_id, whole.code_trace_id, whole.count, whole.dur_ns
  FROM whole JOIN step_time ON step_time.profile_id = whole.profile_id
  WHERE whole.code_trace_id IN (SELECT code_trace_id FROM made_next) AND whole.is_constant
    AND whole.step_count >= 0.9 * step_time.recorded_count
), by_line AS (
  SELECT costs.profile_id AS profile_id, lines.file AS file, lines.line AS line, min(lines.text) AS text,
    coalesce('In[' || lines.cell || ']', replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), ''))
      || ':' || lines.line AS location, sum(costs.count) AS count, sum(costs.dur_ns) AS dur_ns,
    min(costs.code_trace_id) AS code_trace_id
  FROM costs CROSS JOIN temp.code_traces AS traces ON traces.id = costs.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  GROUP BY costs.profile_id, lines.file, lines.line
)
SELECT
  'repeated_constants' AS check_name,
  'warning' AS severity,
  by_line.location AS subject,
  processes.prefix || format('%.0f %% of the step time, %s a step, computes tensors of nothing but sizes and numbers '
      || 'again and again, at %s%s', 100.0 * dur_ns / step_ns, format_ns(dur_ns / step_time.weight),
    by_line.location, coalesce(': ' || trim(by_line.text), '')) AS message,
  dur_ns / step_ns AS value,
  0.02 AS threshold,
  CAST(dur_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Compute it once before the loop, in a module as a buffer: self.register_buffer("mask", mask, persistent=False), and '
    || 'take a part of it where the size changes.' AS suggestion,
  'SELECT name, count(*), sum(dur_ns) FROM temp.ops WHERE code_trace_id = ' || by_line.code_trace_id
    || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM by_line
JOIN step_time ON step_time.profile_id = by_line.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = by_line.profile_id
WHERE dur_ns >= 0.02 * step_ns
ORDER BY saves_ns DESC, by_line.profile_id, by_line.file, by_line.line
