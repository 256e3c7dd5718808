-- Time by source line, at two levels: lines of the program, and lines of the libraries that it calls.
--
-- One row for each profile, level and line that lies on the Python stack of an op and is of that level.  The self time
-- of an op goes to one line of each level only, that of its origin (ops.origin_code_trace_id), which is the line that
-- called it.  The origin of a backward op is the line that called the forward op, whoever called backward().  Lines of
-- the program that run inside the backward pass are their own origin, as in a custom function, a hook, or what is
-- computed again from a checkpoint.  Generated code counts for the line that calls it.  The self times of all lines of
-- a level together are the time of all ops that have a stack.  A level has only lines that may have such a time.  Lines
-- of installed packages and of Python are not at the level of the program, and lines of frameworks and of Python are
-- not at the level of libraries, unless whole stacks lie in those.
-- The ops of measured steps count (no warm-up, ops recorded), and all ops in a profile without such steps.  They are
-- weighed by ops.sample_weight.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   level          TEXT     -      The level: program or library.  At that of the program the innermost line of the
--                                  program itself on a stack has the time (code_summary).  At that of libraries the
--                                  innermost line outside of PyTorch and of the library of Python has it
--                                  (library_lines).
--   location       TEXT     -      The line as file:line, the file without its directories.  In the cell of a notebook
--                                  it is In[number]:line.
--   text           TEXT     -      The source line.  NULL where it could not be read.
--   count          INTEGER  count  Ops with self time that goes to this line at this level (weighed).
--   self_ns        INTEGER  ns     Self time of these ops (weighed).
--   self_error_ns  INTEGER  ns     Error of self_ns where only some steps were recorded (sampling_summary).  0 where
--                                  all were, NULL where too few were.
--   self_ratio     REAL     ratio  Share of self_ns in the self time of all lines of the level in the profile.
--   backward_ns    INTEGER  ns     The part of self_ns that was spent in backward passes.  NULL where there is none.
--   sum_ns         INTEGER  ns     Self time of all ops that have this line anywhere on the stack of their origin
--                                  (weighed).  Lines of main() have nearly all, and both levels have the same.
--   function       TEXT     -      Function that the line stands in.
--   file           TEXT     -      File that the line stands in, with its directories.
--   line           INTEGER  -      Number of the line in the file.
--   is_library     INTEGER  -      1: a line of an installed package or of the library of Python.
-- Cost: one pass over ops, then some over code_traces.
-- Example: SELECT location, self_ns FROM line_summary WHERE level = 'library' LIMIT 10;
WITH by_trace AS MATERIALIZED (
  SELECT profile_id, id AS trace_id, op_count AS count, 1.0 * self_ns AS self_ns, 1.0 * backward_ns AS backward_ns
  FROM temp.code_traces WHERE op_count IS NOT NULL
), places AS MATERIALIZED (
  SELECT id AS frame_id, min(id) OVER (PARTITION BY profile_id, file, line) AS place_id FROM temp.code_frames
), lines_of_traces AS MATERIALIZED (
  SELECT code_traces.id AS trace_id, levels.column1 AS level, places.place_id AS place_id
  FROM temp.code_traces AS code_traces CROSS JOIN (VALUES ('program'), ('library')) AS levels
  JOIN places ON places.frame_id
    = CASE levels.column1 WHEN 'program' THEN code_traces.line_frame_id ELSE code_traces.library_line_frame_id END
), own AS MATERIALIZED (
  SELECT lines_of_traces.level AS level, lines_of_traces.place_id AS place_id, sum(by_trace.count) AS count,
    sum(by_trace.self_ns) AS self_ns, sum(by_trace.backward_ns) AS backward_ns
  FROM by_trace JOIN lines_of_traces ON lines_of_traces.trace_id = by_trace.trace_id
  GROUP BY lines_of_traces.level, lines_of_traces.place_id
), sums AS (
  SELECT code_traces.profile_id AS profile_id,
    path_sums(code_traces.id, code_traces.parent_id, places.place_id, by_trace.self_ns) AS by_place
  FROM temp.code_traces AS code_traces
  LEFT JOIN places ON places.frame_id = code_traces.leaf_frame_id
  LEFT JOIN by_trace ON by_trace.trace_id = code_traces.id
  GROUP BY code_traces.profile_id
), lines AS (
  SELECT sums.profile_id AS profile_id, levels.column1 AS level, place.key + 0 AS place_id, -- an integer, not its text
    place.value AS sum_ns, coalesce(own.count, 0) AS count, coalesce(own.self_ns, 0.0) AS self_ns,
    own.backward_ns AS backward_ns
  FROM sums CROSS JOIN json_each(sums.by_place) AS place CROSS JOIN (VALUES ('program'), ('library')) AS levels
  LEFT JOIN own ON own.place_id = place.key + 0 AND own.level = levels.column1
), errors AS (
  SELECT work.profile_id AS profile_id, lines_of_traces.level AS level, lines_of_traces.place_id AS place_id,
    sample_error(work.self_ns, work.step_id) AS self_ns
  FROM temp.step_trace_totals AS work CROSS JOIN lines_of_traces ON lines_of_traces.trace_id = work.origin_code_trace_id
  WHERE work.category <> 'user' AND work.category <> 'python' AND work.category <> 'module'
    AND work.profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY work.profile_id, lines_of_traces.level, lines_of_traces.place_id
), by_place AS (
  SELECT lines.*, code_frames.file AS file, code_frames.line AS line, code_frames.function AS function,
    code_frames.text AS text, code_frames.cell AS cell,
    coalesce(code_frames.source_kind NOT IN ('program', 'generated'), 1) AS is_library
  FROM lines JOIN temp.code_frames AS code_frames ON code_frames.id = lines.place_id
  WHERE lines.count > 0 OR code_frames.source_kind = 'program'
    OR lines.level = 'library' AND code_frames.source_kind = 'library'
), totals AS (
  SELECT profile_id, sum(self_ns) AS all_self_ns FROM by_trace GROUP BY profile_id
)
SELECT
  by_place.profile_id AS profile_id,
  profiles.rank AS rank,
  by_place.level AS level,
  coalesce('In[' || by_place.cell || ']',
    replace(by_place.file, rtrim(by_place.file, replace(by_place.file, '/', '')), '')) || ':' || by_place.line
    AS location,
  by_place.text AS text,
  CAST(round(by_place.count) AS INTEGER) AS count,
  CAST(by_place.self_ns AS INTEGER) AS self_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.self_ns AS INTEGER) ELSE 0 END AS self_error_ns,
  by_place.self_ns / nullif(totals.all_self_ns, 0) AS self_ratio,
  CAST(by_place.backward_ns AS INTEGER) AS backward_ns,
  CAST(by_place.sum_ns AS INTEGER) AS sum_ns,
  by_place.function AS function,
  by_place.file AS file,
  by_place.line AS line,
  by_place.is_library AS is_library
FROM by_place
JOIN totals ON totals.profile_id = by_place.profile_id
JOIN temp.profiles AS profiles ON profiles.id = by_place.profile_id
LEFT JOIN errors ON errors.profile_id = by_place.profile_id AND errors.level = by_place.level
  AND errors.place_id = by_place.place_id
ORDER BY self_ns DESC, sum_ns DESC, profile_id, level, file, line
