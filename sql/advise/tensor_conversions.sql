-- Advice: time that goes into converting tensors to another type, device or memory layout.
--
-- For each profile the time, inside measured steps (no warm-up, ops recorded; weighed by ops.sample_weight), of
-- conversions that the program calls: aten::to, aten::_to_copy, aten::contiguous and aten::clone that lie in no other
-- op, forward.  Those that other ops and backward passes call are left out, since a program cannot leave them out.
-- Thresholds: a twentieth of the step time, a quarter is critical; a conversion now and then is normal, more means that
-- the same tensors are converted in every step.  The message names the lines with a tenth of that time, at most three.
-- What it would save: all of it, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over the names of ops.
-- Needs: steps, ops.
-- Example: SELECT message FROM advise WHERE check_name = 'tensor_conversions';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS step_count,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), called AS MATERIALIZED (
  SELECT profile_id, code_trace_id, sum(sample_weight) AS count, sum(net_ns * sample_weight) AS dur_ns
  FROM temp.ops
  WHERE name IN ('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone') AND is_measured = 1
    AND coalesce(outermost_id, id) = id AND NOT coalesce(is_backward, 0)
  GROUP BY profile_id, code_trace_id
), sums AS (
  SELECT profile_id, sum(count) AS conversion_count, sum(dur_ns) AS conversion_ns FROM called GROUP BY profile_id
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
  CASE WHEN conversion_ns >= 0.25 * step_ns THEN 'critical' ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f tensor conversions a step take %.0f %% of its time', conversion_count / step_count,
    100.0 * conversion_ns / step_ns) || coalesce('; ' || most.text, '') AS message,
  1.0 * conversion_ns / step_ns AS value,
  0.05 AS threshold,
  CAST(conversion_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Keep tensors in the type, device and layout in which they are used: convert once outside the loop, create them '
    || 'with dtype= and device=, and avoid transposes that force contiguous copies.' AS suggestion,
  'SELECT name, input_shapes, count(*) FROM temp.ops WHERE name IN (''aten::_to_copy'', ''aten::clone'')'
    || ' AND profile_id = ' || step_time.profile_id || ' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM step_time
JOIN sums ON sums.profile_id = step_time.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = step_time.profile_id
LEFT JOIN most ON most.profile_id = step_time.profile_id
WHERE conversion_ns >= 0.05 * step_ns
ORDER BY saves_ns DESC, step_time.profile_id
