-- Advice: one line of the program that most of the op time comes from.
--
-- For each profile the line of code_summary with the largest self time, backward pass included, when that is more than
-- a quarter of the time of all ops with a stack and the line is the program's own.  Where that line only hands on to a
-- library (trainer.train(), model.fit(), the call of a model that comes from a library) it says nothing of where the
-- time goes: when more than half of its time comes from lines of libraries (library_lines), and none of these has
-- nearly all of it, the one with the largest self time is named, and the program's line behind it.
-- Where processes of a run have steps, those that have none (workers of a DataLoader) are left out: nobody waits for
-- them.
-- It saves nothing by itself (saves_ns is NULL): it says where to look first.  value is the share of the line of the
-- program.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over ops, for the costs of code_traces.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'slowest_source_line';
WITH looked_at AS (
  SELECT profile_id FROM temp._process_names WHERE NOT is_helper
), lines AS MATERIALIZED (
  SELECT code_traces.profile_id AS profile_id, program.file AS file, program.line AS line,
    max(program.text) AS text, max(program.cell) AS cell,
    coalesce(max(program.source_kind) NOT IN ('program', 'generated'), 1) AS is_library,
    inside.file AS inner_file, inside.line AS inner_line, max(inside.text) AS inner_text,
    sum(1.0 * code_traces.self_ns) AS self_ns, total(code_traces.backward_ns) AS backward_ns
  FROM temp.code_traces AS code_traces
  LEFT JOIN temp.code_frames AS program ON program.id = code_traces.line_frame_id
  LEFT JOIN temp.code_frames AS inside ON inside.id = code_traces.library_line_frame_id
  WHERE code_traces.op_count IS NOT NULL AND code_traces.profile_id IN (SELECT profile_id FROM looked_at)
  GROUP BY code_traces.profile_id, program.file, program.line, inside.file, inside.line
), program_lines AS (
  SELECT profile_id, file, line, max(text) AS text, max(cell) AS cell, max(is_library) AS is_library,
    sum(self_ns) AS self_ns,
    sum(backward_ns) AS backward_ns,
    total(self_ns) FILTER (WHERE inner_file IS NOT file OR inner_line IS NOT line) AS handed_on_ns,
    sum(sum(self_ns)) OVER (PARTITION BY profile_id) AS all_ns,
    row_number() OVER (
      PARTITION BY profile_id ORDER BY max(is_library), sum(self_ns) DESC, file, line
    ) AS position
  FROM lines GROUP BY profile_id, file, line
), inner_lines AS (
  SELECT profile_id, file, line, inner_file, inner_line, inner_text, self_ns, backward_ns,
    row_number() OVER (PARTITION BY profile_id, file, line ORDER BY self_ns DESC, inner_file, inner_line) AS position
  FROM lines WHERE inner_file IS NOT file OR inner_line IS NOT line
), named AS (
  SELECT program.profile_id AS profile_id, program.self_ns AS self_ns, program.all_ns AS all_ns,
    program.backward_ns AS backward_ns, coalesce(': ' || trim(program.text), '') AS text,
    coalesce('In[' || program.cell || ']',
      replace(program.file, rtrim(program.file, replace(program.file, '/', '')), '')) || ':' || program.line
      AS location,
    program.handed_on_ns > 0.5 * program.self_ns AND inside.self_ns < 0.9 * program.self_ns AS is_handed_on,
    inside.self_ns AS inner_self_ns, inside.backward_ns AS inner_backward_ns,
    coalesce(': ' || trim(inside.inner_text), '') AS inner_text,
    replace(inside.inner_file, rtrim(inside.inner_file, replace(inside.inner_file, '/', '')), '') || ':'
      || inside.inner_line AS inner_location
  FROM program_lines AS program
  LEFT JOIN inner_lines AS inside ON inside.profile_id = program.profile_id AND inside.file IS program.file
    AND inside.line IS program.line AND inside.position = 1
  WHERE program.position = 1 AND NOT program.is_library AND program.self_ns >= 0.25 * program.all_ns
)
SELECT
  'slowest_source_line' AS check_name,
  'info' AS severity,
  CASE WHEN is_handed_on THEN inner_location ELSE location END AS subject,
  processes.prefix || CASE
    WHEN is_handed_on
    THEN format('%.0f %% of the op time passes below %s%s; the most, %.0f %%, comes from %s (%s)%s',
      100.0 * self_ns / all_ns, location, text, 100.0 * inner_self_ns / all_ns, inner_location,
      iif(inner_backward_ns > 0, format('%s forward, %s backward', format_ns(inner_self_ns - inner_backward_ns),
        format_ns(inner_backward_ns)), format_ns(inner_self_ns)), inner_text)
    ELSE format('%.0f %% of the op time comes from %s (%s)%s', 100.0 * self_ns / all_ns, location,
      iif(backward_ns > 0, format('%s forward, %s backward', format_ns(self_ns - backward_ns), format_ns(backward_ns)),
        format_ns(self_ns)), text)
  END AS message,
  self_ns / all_ns AS value,
  0.25 AS threshold,
  NULL AS saves_ns,
  CASE
    WHEN is_handed_on THEN 'library_lines has the other lines of libraries, module_summary the modules of the model.'
    ELSE 'Look at the ops that it calls before anything else; code_summary has the other lines.'
  END AS suggestion,
  CASE
    WHEN is_handed_on THEN 'SELECT * FROM temp.library_lines WHERE profile_id = ' || named.profile_id || ' LIMIT 10'
    ELSE 'SELECT * FROM temp.code_summary WHERE profile_id = ' || named.profile_id || ' AND location = '
      || quote(location)
  END AS evidence
FROM named JOIN temp._process_names AS processes ON processes.profile_id = named.profile_id
ORDER BY value DESC, named.profile_id
