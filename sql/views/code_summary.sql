-- Time by source line: which lines of the program call the ops that cost, backward pass included.
--
-- The rows of line_summary at the level of the program, so one for each profile and line of the program that lies on
-- the Python stack of an op.  An op's self time goes to one line only, the innermost one of the program itself, that is
-- outside installed packages and Python's own library, so self_ns of all lines together is the time of all ops that
-- have a stack.  Where the whole stack lies in those, it is the innermost of all; no other line of theirs is here.
-- The backward pass goes to the lines of the forward ops, whatever called backward(); the line of a backward() keeps
-- only what has no forward op, such as summing up gradients.
-- Under a trainer most may lie on the line that starts it: library_lines goes further in, module_summary tells modules.
-- Lines that call no op themselves and only lead to others (sum_ns) come last, with a self_ns of 0.
-- Counted are the ops of measured steps (no warm-up, ops recorded); in a profile without such steps all; weighed by
-- ops.sample_weight.
--   profile_id     INTEGER  -      The profile.
--   rank           INTEGER  -      The profile.
--   location       TEXT     -      File:line, the file without its directories; In[number]:line in the cell of a
--                                  notebook.
--   text           TEXT     -      The source line, where it could be read.
--   count          INTEGER  count  Ops that count for this line (weighed).
--   self_ns        INTEGER  ns     Their self time; share of all lines of the profile.
--   self_error_ns  INTEGER  ns     Error of self_ns where only some steps were recorded; 0 where all were, NULL where
--                                  too few were (sampling_summary).
--   self_ratio     REAL     ratio  Their self time; share of all lines of the profile.
--   backward_ns    INTEGER  ns     The part of self_ns that was spent in backward passes; NULL: none.
--   sum_ns         INTEGER  ns     Self time of all ops with this line anywhere on the stack that their work comes
--                                  from, so lines of main() have nearly all.
--   function       TEXT     -      Of the frame.
--   file           TEXT     -      Of the frame.
--   line           INTEGER  -      Of the frame.
--   is_library     INTEGER  -      1: a line of an installed package or of Python's library.
-- Cost: that of line_summary.  Example: SELECT * FROM code_summary WHERE self_ns > 0 LIMIT 10;
SELECT
  profile_id AS profile_id, rank AS rank, location AS location, text AS text, count AS count, self_ns AS self_ns,
  self_error_ns AS self_error_ns, self_ratio AS self_ratio, backward_ns AS backward_ns, sum_ns AS sum_ns,
  function AS function, file AS file, line AS line, is_library AS is_library
FROM temp.line_summary
WHERE level = 'program'
ORDER BY self_ns DESC, sum_ns DESC, profile_id, file, line
