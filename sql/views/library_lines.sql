-- Time by source line of libraries: where under a trainer, or in a model of a library, the time goes.
--
-- The rows of line_summary at the level of libraries, so one for each profile and line of the program or of a library
-- that lies on the Python stack of an op.  An op's self time goes to one line only, the innermost one outside of the
-- framework: of the program, or of a package such as transformers, lightning or keras, but not of PyTorch, of what only
-- hands on to it (Keras's backends, einops), or of Python's library.  The backward pass goes to the lines of the
-- forward ops.
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
--                                  from.
--   function       TEXT     -      Of the frame.
--   file           TEXT     -      Of the frame.
--   line           INTEGER  -      Of the frame.
--   is_library     INTEGER  -      1: a line of an installed package or of Python's library.
-- Cost: that of line_summary.  Example: SELECT location, text, self_ns, backward_ns FROM library_lines LIMIT 10;
SELECT
  profile_id AS profile_id, rank AS rank, location AS location, text AS text, count AS count, self_ns AS self_ns,
  self_error_ns AS self_error_ns, self_ratio AS self_ratio, backward_ns AS backward_ns, sum_ns AS sum_ns,
  function AS function, file AS file, line AS line, is_library AS is_library
FROM temp.line_summary
WHERE level = 'library'
ORDER BY self_ns DESC, sum_ns DESC, profile_id, file, line
