-- Advice: gradients that are set to zero, instead of being given back.
--
-- For each profile the time, in measured steps (weighed by ops.sample_weight), in which zero_grad() fills gradients
-- with zeros (ops aten::zero_ and aten::_foreach_zero_ below Optimizer.zero_grad or Module.zero_grad), and in which the
-- backward pass then adds to these zeros (aten::add_ below AccumulateGrad), which it need not do where there is no
-- gradient yet.  Of several backward passes in a step the sums of all but the first are needed.
-- Threshold: 1 % of the step time.
-- What it would save: that time, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over the names of ops.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'zeroed_gradients';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS weight
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), fills AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, ops.code_trace_id AS code_trace_id, ops.net_ns * ops.sample_weight AS fill_ns,
    ops.sample_weight AS weight
  FROM temp.ops AS ops LEFT JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  LEFT JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  WHERE ops.name IN ('aten::zero_', 'aten::_foreach_zero_') AND ops.is_measured = 1
    AND (ops.parent_name GLOB 'Optimizer.zero_grad#*' OR frames.function = 'zero_grad')
), by_line AS (
  SELECT fills.profile_id AS profile_id, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, min(lines.text) AS text,
    row_number() OVER (PARTITION BY fills.profile_id ORDER BY sum(fill_ns) DESC, lines.file, lines.line) AS place
  FROM fills CROSS JOIN temp.code_traces AS traces ON traces.id = fills.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  GROUP BY fills.profile_id, lines.file, lines.line
), sums AS MATERIALIZED (
  SELECT profile_id, sum(fill_ns) AS fill_ns, sum(weight) AS count FROM fills GROUP BY profile_id
), added AS (
  SELECT profile_id, sum(net_ns * sample_weight) AS add_ns
  FROM temp.ops
  WHERE name = 'aten::add_' AND is_measured = 1 AND parent_name = 'torch::autograd::AccumulateGrad'
    AND profile_id IN (SELECT profile_id FROM sums)
  GROUP BY profile_id
), passes AS (
  SELECT profile_id, max(1.0, 1.0 * pass_count / nullif(step_count, 0)) AS count
  FROM temp.phase_summary WHERE phase = 'backward' AND EXISTS (SELECT 1 FROM sums)
), costs AS (
  SELECT sums.profile_id AS profile_id, sums.count AS count,
    sums.fill_ns + coalesce(added.add_ns, 0) / coalesce(passes.count, 1.0) AS lost_ns
  FROM sums LEFT JOIN added ON added.profile_id = sums.profile_id
  LEFT JOIN passes ON passes.profile_id = sums.profile_id
)
SELECT
  'zeroed_gradients' AS check_name,
  'warning' AS severity,
  coalesce(by_line.location, processes.name) AS subject,
  processes.prefix || format('%.0f %% of the step time, %s, is filling gradients with zeros, %.0f a step, and adding '
      || 'to these', 100.0 * lost_ns / step_ns, format_ns(lost_ns / step_time.weight), costs.count / step_time.weight)
    || coalesce(', at ' || by_line.location, '') || coalesce(': ' || trim(by_line.text), '') AS message,
  lost_ns / step_ns AS value,
  0.01 AS threshold,
  CAST(lost_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Call zero_grad() with set_to_none=True, which is the default: the backward pass then stores the first gradient '
    || 'instead of adding to zeros.' AS suggestion,
  'SELECT parent_name, count(*), sum(dur_ns) FROM temp.ops WHERE name GLOB ''aten::*zero_'' AND profile_id = '
    || costs.profile_id || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM costs
JOIN step_time ON step_time.profile_id = costs.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = costs.profile_id
LEFT JOIN by_line ON by_line.profile_id = costs.profile_id AND by_line.place = 1
WHERE lost_ns >= 0.01 * step_ns
ORDER BY saves_ns DESC, costs.profile_id
