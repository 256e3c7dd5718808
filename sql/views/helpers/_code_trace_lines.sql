-- The line that a call stack stands for: the innermost one of the program itself.
--
-- One row for each code trace.  The line is looked for from the innermost frame outwards.  Functions without a file,
-- lines of installed packages and of the library of Python, and generated code are passed over.  Where the whole stack
-- lies in those, the innermost line of all stands for it.  Other views join it to say in one line where something comes
-- from.
--   profile_id     INTEGER  -  The profile: a process or rank.
--   code_trace_id  INTEGER  -  The call stack, as in code_traces.
--   code_frame_id  INTEGER  -  The frame of the line, as in code_frames.
--   location       TEXT     -  The line as file:line, the file without its directories.  In the cell of a notebook it
--                              is In[number]:line.
--   text           TEXT     -  The source line.  NULL where it could not be read.
--   function       TEXT     -  Function that the line stands in.
--   file           TEXT     -  File that the line stands in, with its directories.
--   line           INTEGER  -  Number of the line in the file.
--   is_library     INTEGER  -  1: a line of an installed package or of the library of Python.
-- Cost: linear in code_traces.  Example: SELECT location, count(*) FROM _code_trace_lines GROUP BY location;
SELECT
  code_traces.profile_id AS profile_id,
  code_traces.id AS code_trace_id,
  code_traces.line_frame_id AS code_frame_id,
  coalesce('In[' || code_frames.cell || ']',
    replace(code_frames.file, rtrim(code_frames.file, replace(code_frames.file, '/', '')), '')) || ':'
    || code_frames.line AS location,
  code_frames.text AS text,
  code_frames.function AS function,
  code_frames.file AS file,
  code_frames.line AS line,
  coalesce(code_frames.source_kind NOT IN ('program', 'generated'), 1) AS is_library
FROM temp.code_traces AS code_traces LEFT JOIN temp.code_frames AS code_frames
  ON code_frames.id = code_traces.line_frame_id
ORDER BY profile_id, code_trace_id
