-- Advice: time that goes into converting tensors to another type, device or memory layout.
--
-- For each profile the time, inside measured steps (no warm-up, ops recorded; weighed by steps.sample_weight), of
-- conversion ops (aten::to, aten::_to_copy, aten::contiguous, aten::clone; those that such an op calls are part of it):
-- their share of the step time.
-- Threshold: a tenth; a conversion now and then is normal, more means that the same tensors are converted in every
-- step.
-- What it would save: all of it, in steps whose ops were not recorded as in those whose were.  The message names the
-- line that most of it comes from.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over ops, when host_steps is derived
-- from them.
-- Example: SELECT message FROM advise WHERE check_name = 'tensor_conversions';
WITH step_time AS (
  SELECT profile_id, sum(1.0 * dur_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight END) AS step_count,
    sum(CASE WHEN ops_recorded = 1 THEN dur_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), conversions AS (
  SELECT steps.profile_id AS profile_id, sum(host_steps.conversion_count * steps.sample_weight) AS conversion_count,
    sum(host_steps.conversion_ns * steps.sample_weight) AS conversion_ns
  FROM temp.host_steps AS host_steps CROSS JOIN temp.steps AS steps ON steps.id = host_steps.step_id
  WHERE steps.is_warmup = 0 AND host_steps.conversion_count > 0
    AND steps.profile_id IN (SELECT id FROM temp.profiles WHERE framework IS NOT 'tensorflow') -- these are of PyTorch
  GROUP BY steps.profile_id
), speaking AS MATERIALIZED (
  SELECT conversions.profile_id AS profile_id FROM conversions
  JOIN step_time ON step_time.profile_id = conversions.profile_id WHERE conversion_ns >= 0.10 * step_ns
), by_line AS ( -- the outermost of them
  SELECT ops.profile_id AS profile_id, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, min(lines.text) AS text,
    sum(ops.dur_ns * ops.sample_weight) AS dur_ns, sum(sum(ops.dur_ns * ops.sample_weight)) OVER (
      PARTITION BY ops.profile_id) AS all_ns,
    row_number() OVER (PARTITION BY ops.profile_id ORDER BY sum(ops.dur_ns * ops.sample_weight) DESC, lines.file,
      lines.line) AS place
  FROM temp.ops AS ops CROSS JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  WHERE ops.name IN ('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone') AND ops.is_measured = 1
    AND coalesce(ops.parent_name, '') NOT IN ('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone')
    AND ops.profile_id IN (SELECT profile_id FROM speaking)
  GROUP BY ops.profile_id, lines.file, lines.line
)
SELECT
  'tensor_conversions' AS check_name,
  CASE WHEN conversion_ns >= 0.25 * step_ns THEN 'critical' ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f tensor conversions a step take %.0f %% of its time', conversion_count / step_count,
    100.0 * conversion_ns / step_ns)
    || coalesce(format('; %.0f %% of that at %s%s', 100.0 * by_line.dur_ns / by_line.all_ns, by_line.location,
      coalesce(': ' || trim(by_line.text), '')), '') AS message,
  1.0 * conversion_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(conversion_ns / step_ns * step_time.all_ns AS INTEGER) AS saves_ns,
  'Keep tensors in the type, device and layout in which they are used: convert once outside the loop, create them '
    || 'with dtype= and device=, and avoid transposes that force contiguous copies.' AS suggestion,
  'SELECT name, input_shapes, count(*) FROM temp.ops WHERE name IN (''aten::_to_copy'', ''aten::clone'')'
    || ' AND profile_id = ' || step_time.profile_id || ' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM step_time
JOIN conversions ON conversions.profile_id = step_time.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = step_time.profile_id
LEFT JOIN by_line ON by_line.profile_id = step_time.profile_id AND by_line.place = 1
WHERE conversion_ns >= 0.10 * step_ns
ORDER BY saves_ns DESC, step_time.profile_id
