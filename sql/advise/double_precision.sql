-- Advice: steps that compute in numbers of 64 bits, which models hardly ever need.
--
-- For each profile the self time, in measured steps (weighed by ops.sample_weight), of ops with an input of 64-bit
-- floating point (input_types), on the device where they run on one.  Such numbers come in by accident: NumPy makes
-- them unless told otherwise, and once one tensor has them the rest is converted to fit, or the model is.  Numbers of
-- Python, and tensors without dimensions beside others, do not count: they take the type of the others, as in the
-- update of Adam.
-- Threshold: a tenth of the step time; three tenths are critical when that is a millisecond per step or more and ten
-- steps were measured.  The message names the line of the first such op of a step, where they come in, and the one
-- with most of the time.
-- What it would save: half of that time, as numbers of half the size take half the memory traffic and half the time
-- in vector units; on devices that are not made for numbers of 64 bits (compute capabilities other than 6.0, 7.0,
-- 8.0, 9.0, 10.0), which compute them at a thirty-second of the rate or less, nine tenths.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over the types of ops.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'double_precision';
WITH step_time AS MATERIALIZED (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), candidates AS MATERIALIZED (
  SELECT profile_id, step_id, id, name, coalesce(origin_code_trace_id, code_trace_id) AS code_trace_id, is_backward,
    start_ns, self_ns * sample_weight AS host_ns, device_self_ns * sample_weight AS device_ns, input_types,
    coalesce(input_shapes, '') AS input_shapes
  FROM temp.ops
  WHERE (input_types GLOB '*"double"*' OR input_types GLOB '*c10::complex<double>*') AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM step_time)
), inputs AS MATERIALIZED ( -- which lists of inputs have 64 bits only in numbers
  SELECT input_types, input_shapes FROM candidates WHERE json_valid(input_types) AND json_valid(input_shapes)
  GROUP BY input_types, input_shapes HAVING NOT EXISTS (
    SELECT 1 FROM json_each(input_types) AS types JOIN json_each(input_shapes) AS shapes ON shapes.key = types.key
    WHERE types.value IN ('double', 'c10::complex<double>') AND shapes.value <> '[]')
    AND EXISTS (SELECT 1 FROM json_each(input_shapes) AS shapes WHERE shapes.type = 'array' AND shapes.value <> '[]')
), doubles AS MATERIALIZED (
  SELECT * FROM candidates WHERE (input_types, input_shapes) NOT IN (SELECT input_types, input_shapes FROM inputs)
), sums AS MATERIALIZED (
  SELECT doubles.profile_id AS profile_id, step_time.step_count AS step_count, step_time.step_ns AS step_ns,
    step_time.all_ns AS all_ns, total(device_ns) > 0 AS is_on_device,
    min(iif(total(device_ns) > 0, total(device_ns), total(host_ns)), step_time.step_ns) AS double_ns
  FROM doubles JOIN step_time ON step_time.profile_id = doubles.profile_id
  GROUP BY doubles.profile_id HAVING double_ns >= 0.10 * step_time.step_ns
), starts AS ( -- the first of each step, whose line most steps agree on
  SELECT profile_id, name, code_trace_id, min(start_ns) AS start_ns
  FROM doubles WHERE NOT coalesce(is_backward, 0) AND EXISTS (SELECT 1 FROM sums) GROUP BY profile_id, step_id
), firsts AS (
  SELECT starts.profile_id AS profile_id, min(starts.name) AS name, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, min(lines.text) AS text,
    row_number() OVER (PARTITION BY starts.profile_id ORDER BY count(*) DESC, lines.file, lines.line) AS place
  FROM starts CROSS JOIN temp.code_traces AS traces ON traces.id = starts.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  GROUP BY starts.profile_id, lines.file, lines.line
), most AS (
  SELECT doubles.profile_id AS profile_id, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location,
    row_number() OVER (PARTITION BY doubles.profile_id
      ORDER BY total(device_ns) DESC, total(host_ns) DESC, lines.file, lines.line) AS place
  FROM doubles CROSS JOIN temp.code_traces AS traces ON traces.id = doubles.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  WHERE EXISTS (SELECT 1 FROM sums) GROUP BY doubles.profile_id, lines.file, lines.line
), kinds AS (
  SELECT profile_id, min(iif(compute_capability IN ('6.0', '7.0', '8.0', '9.0', '10.0'), 0.5, 0.9)) AS part
  FROM temp.devices WHERE compute_capability IS NOT NULL GROUP BY profile_id
)
SELECT
  'double_precision' AS check_name,
  CASE WHEN double_ns >= 0.30 * step_ns AND step_count >= 10 AND double_ns / step_ns * all_ns >= 1e6 * step_count
    THEN 'critical' ELSE 'warning' END AS severity,
  coalesce(firsts.location, processes.name) AS subject,
  processes.prefix || format('%.0f %% of the step time is computing in numbers of 64 bits (float64)',
    100.0 * double_ns / step_ns)
    || iif(firsts.location IS NULL, '', format('; the first of a step is %s at %s%s', firsts.name, firsts.location,
      coalesce(', ' || trim(firsts.text), '')))
    || coalesce('; most at ' || nullif(most.location, firsts.location), '') AS message,
  double_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(iif(is_on_device, coalesce(kinds.part, 0.5), 0.5) * double_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  advice_words('double_precision', processes.framework) AS suggestion,
  'SELECT name, count(*), sum(self_ns) FROM temp.ops WHERE input_types GLOB ''*double*'' AND profile_id = '
    || sums.profile_id || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM sums
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
LEFT JOIN firsts ON firsts.profile_id = sums.profile_id AND firsts.place = 1
LEFT JOIN most ON most.profile_id = sums.profile_id AND most.place = 1
LEFT JOIN kinds ON kinds.profile_id = sums.profile_id
ORDER BY saves_ns DESC, sums.profile_id
