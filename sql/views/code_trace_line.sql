-- The line that a call stack stands for: the innermost one of the program itself.
--
-- One row for each code trace.  Functions without a file, lines of installed packages and of Python's own library and
-- generated code are passed over, from the innermost outwards; where the whole stack lies in those it is the innermost
-- of all.  Other views join it to say in one line where something comes from.
--   profile_id     INTEGER  -  The profile.
--   code_trace_id  INTEGER  -  The trace.
--   code_frame_id  INTEGER  -  The frame of the line.
--   location       TEXT     -  File:line, the file without its directories; In[number]:line in the cell of a notebook.
--   text           TEXT     -  The source line, where it could be read.
--   function       TEXT     -  Of the frame.
--   file           TEXT     -  Of the frame.
--   line           INTEGER  -  Of the frame.
--   is_library     INTEGER  -  1: a line of an installed package or of Python's library.
-- Cost: linear in code_traces.  Example: SELECT location, count(*) FROM code_trace_line GROUP BY location;
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
