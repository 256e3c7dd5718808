-- The line that a call stack stands for: the innermost one of the program itself.
--
-- One row for each code trace.  Functions without a file, lines of installed packages and of Python's own library are
-- passed over, from the innermost outwards; where the whole stack lies in those it is the innermost of all.  Other
-- views join it to say in one line where something comes from.
--   profile_id            the profile
--   code_trace_id         the trace
--   code_frame_id         the frame of the line
--   location              file:line, the file without its directories
--   text                  the source line, where it could be read
--   function, file, line  of the frame
--   is_library            1: a line of an installed package or of Python's library
-- Cost: linear in code_traces.  Example: SELECT location, count(*) FROM code_trace_line GROUP BY location;
WITH RECURSIVE frames AS MATERIALIZED (
  SELECT id, coalesce(is_library_file(file), 1) AS is_library
  FROM temp.code_frames
), leaves AS MATERIALIZED (
  SELECT code_traces.profile_id AS profile_id, code_traces.id AS id, code_traces.parent_id AS parent_id,
    code_traces.leaf_frame_id AS frame_id, coalesce(frames.is_library, 0) AS is_library
  FROM temp.code_traces AS code_traces LEFT JOIN frames ON frames.id = code_traces.leaf_frame_id
), walked(profile_id, trace_id, frame_id, is_library) AS (
  SELECT profile_id, id, frame_id, is_library FROM leaves WHERE parent_id IS NULL
  UNION ALL
  SELECT leaves.profile_id, leaves.id,
    CASE WHEN leaves.is_library AND NOT walked.is_library THEN walked.frame_id ELSE leaves.frame_id END,
    leaves.is_library AND walked.is_library
  FROM walked JOIN leaves ON leaves.parent_id = walked.trace_id
)
SELECT
  walked.profile_id AS profile_id,
  walked.trace_id AS code_trace_id,
  walked.frame_id AS code_frame_id,
  replace(code_frames.file, rtrim(code_frames.file, replace(code_frames.file, '/', '')), '') || ':' || code_frames.line
    AS location,
  code_frames.text AS text,
  code_frames.function AS function,
  code_frames.file AS file,
  code_frames.line AS line,
  walked.is_library AS is_library
FROM walked LEFT JOIN temp.code_frames AS code_frames ON code_frames.id = walked.frame_id
ORDER BY profile_id, code_trace_id
