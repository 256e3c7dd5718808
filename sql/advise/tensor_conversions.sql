-- Advice: time that goes into converting tensors to another type, device or memory layout, and into copies of them.
--
-- For each profile the time, inside measured steps (no warm-up, ops recorded; weighed by ops.sample_weight), of
-- conversions that the program calls: aten::to, aten::_to_copy, aten::contiguous and aten::clone that lie in no other
-- op, forward, and the copies that copy.deepcopy() makes of tensors, models and their state.  Those that other ops
-- and backward passes call are left out, since a program cannot leave them out.  Of a line that does hardly anything
-- else (four fifths of the time of its ops) what passes there outside of ops counts, too (python_summary): memory
-- that is taken and given back for the copies, and Python that goes through them.
-- Thresholds: a twentieth of the step time, a quarter is critical; a conversion now and then is normal, more means
-- that the same tensors are converted in every step.  The message names the lines with a tenth of that time, at most
-- three.
-- What it would save: all of it, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over the names of ops.
-- Needs: steps, ops.
-- Example: SELECT message FROM advise WHERE check_name = 'tensor_conversions';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS step_count,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), called AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, code_trace_id, sum(sample_weight) AS count,
    sum(net_ns * sample_weight) AS dur_ns, leaf.file GLOB '*/torch/storage.py' OR leaf.function = '__deepcopy__'
      OR leaf.function GLOB '*.__deepcopy__' AS is_deep
  FROM temp.ops AS ops
  LEFT JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  LEFT JOIN temp.code_frames AS leaf ON leaf.id = traces.leaf_frame_id
  WHERE (name IN ('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone')
      OR name = 'aten::copy_' AND leaf.file GLOB '*/torch/storage.py') AND is_measured = 1
    AND coalesce(outermost_id, ops.id) = ops.id AND NOT coalesce(is_backward, 0)
  GROUP BY ops.profile_id, code_trace_id
), op_lines AS (
  SELECT traces.profile_id AS profile_id, lines.file AS file, lines.line AS line,
    sum(1.0 * traces.self_ns - coalesce(traces.backward_ns, 0)) AS op_ns
  FROM temp.code_traces AS traces JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  WHERE traces.op_count IS NOT NULL AND traces.profile_id IN (SELECT profile_id FROM called)
  GROUP BY traces.profile_id, lines.file, lines.line
), called_lines AS (
  SELECT called.profile_id AS profile_id, lines.file AS file, lines.line AS line, sum(called.dur_ns) AS dur_ns
  FROM called JOIN temp.code_traces AS traces ON traces.id = called.code_trace_id
  JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  GROUP BY called.profile_id, lines.file, lines.line
), around AS ( -- what passes outside of ops at lines that do nothing else
  SELECT python.profile_id AS profile_id, sum(1.0 * python.self_ns) AS outside_ns
  FROM called_lines JOIN op_lines ON op_lines.profile_id = called_lines.profile_id
    AND op_lines.file = called_lines.file AND op_lines.line = called_lines.line
  JOIN temp.python_summary AS python ON python.profile_id = called_lines.profile_id
    AND python.file = called_lines.file AND python.line = called_lines.line
  WHERE called_lines.dur_ns >= 0.8 * op_lines.op_ns
  GROUP BY python.profile_id
), sums AS (
  SELECT called.profile_id AS profile_id, sum(count) AS conversion_count, sum(dur_ns) AS conversion_ns,
    sum(dur_ns) + coalesce(max(around.outside_ns), 0) AS all_conversion_ns,
    total(iif(is_deep, dur_ns, 0)) >= 0.5 * sum(dur_ns) AS is_deep
  FROM called LEFT JOIN around ON around.profile_id = called.profile_id GROUP BY called.profile_id
), by_line AS (
  SELECT called.profile_id AS profile_id,
    coalesce('In[' || lines.cell || ']', replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), ''))
      || ':' || lines.line || coalesce(': ' || trim(min(lines.text)), '') AS line,
    sum(called.dur_ns) AS dur_ns,
    row_number() OVER (PARTITION BY called.profile_id ORDER BY sum(called.dur_ns) DESC, lines.file, lines.line)
      AS place
  FROM called CROSS JOIN temp.code_traces AS traces ON traces.id = called.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  GROUP BY called.profile_id, lines.file, lines.line
), most AS (
  SELECT by_line.profile_id AS profile_id,
    ordered_concat(format('%.0f %% of that at %s', 100.0 * dur_ns / conversion_ns, line), ', ', place) AS text
  FROM by_line JOIN sums ON sums.profile_id = by_line.profile_id
  WHERE place <= 3 AND dur_ns >= 0.10 * conversion_ns
  GROUP BY by_line.profile_id
)
SELECT
  'tensor_conversions' AS check_name,
  CASE WHEN all_conversion_ns >= 0.25 * step_ns THEN 'critical' ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %s a step take %.0f %% of its time', conversion_count / step_count,
    iif(is_deep, 'copies of tensors', 'tensor conversions'), 100.0 * all_conversion_ns / step_ns)
    || coalesce('; ' || most.text, '') AS message,
  1.0 * all_conversion_ns / step_ns AS value,
  0.05 AS threshold,
  CAST(min(all_conversion_ns / step_ns, 1.0) * all_ns AS INTEGER) AS saves_ns,
  iif(is_deep, 'Copy a model or its state only where it is needed, such as when it is the best so far or every so many '
      || 'steps, and into the tensors of the copy before (load_state_dict, copy_).',
    'Keep tensors in the type, device and layout in which they are used: convert once outside the loop, create them '
      || 'with dtype= and device=, and avoid transposes that force contiguous copies.') AS suggestion,
  'SELECT name, input_shapes, count(*) FROM temp.ops WHERE name IN (''aten::_to_copy'', ''aten::clone'')'
    || ' AND profile_id = ' || step_time.profile_id || ' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM step_time
JOIN sums ON sums.profile_id = step_time.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = step_time.profile_id
LEFT JOIN most ON most.profile_id = step_time.profile_id
WHERE all_conversion_ns >= 0.05 * step_ns
ORDER BY saves_ns DESC, step_time.profile_id
