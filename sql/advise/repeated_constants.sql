-- Advice: constants that are computed anew in every step.
--
-- For each line of the program the time, in measured steps (weighed by ops.sample_weight), of forward ops that lie in
-- no other op and make tensors of nothing but sizes and numbers (arange, ones, full, eye, linspace, windows), or take a
-- triangle, where nine tenths of the steps call as many of them or more.  Where the line calls besides these only
-- arithmetic and changes of shape and type, such as a table of positions from arange() and sin(), all its ops count.
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
), whole AS MATERIALIZED ( -- of the same stacks
  SELECT profile_id, code_trace_id, sum(dur_ns * sample_weight) AS dur_ns,
    min(name IN (SELECT name FROM makers) OR name IN (SELECT name FROM others)) AS is_constant
  FROM temp.ops
  WHERE code_trace_id IN (SELECT code_trace_id FROM traces) AND is_measured = 1 AND category = 'op'
    AND coalesce(outermost_id, id) = id AND NOT coalesce(is_backward, 0)
  GROUP BY profile_id, code_trace_id
), costs AS (
  SELECT traces.profile_id AS profile_id, traces.code_trace_id AS code_trace_id, traces.count AS count,
    iif(whole.is_constant, whole.dur_ns, traces.made_ns) AS dur_ns
  FROM traces JOIN step_time ON step_time.profile_id = traces.profile_id
  LEFT JOIN whole ON whole.code_trace_id = traces.code_trace_id
  WHERE traces.step_count >= 0.9 * step_time.recorded_count
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
