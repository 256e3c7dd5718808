-- Time by source line of libraries: where under a trainer, or in a model of a library, the time goes.
--
-- The rows of line_summary at the level of libraries.  There is one for each profile and line of the program or of a
-- library that lies on the Python stack of an op.  The self time of an op goes to one line only, the innermost one
-- outside of the framework.  That may be a line of the program, or of a package such as transformers, lightning or
-- keras.  It is no line of PyTorch, of what only hands on to it (the backends of Keras, einops), or of the library of
-- Python.  The backward pass goes to the lines of the forward ops.
-- The ops of measured steps count (no warm-up, ops recorded), and all ops in a profile without such steps.  They are
-- weighed by ops.sample_weight.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   location       TEXT     -      The line as file:line, the file without its directories.  In the cell of a notebook
--                                  it is In[number]:line.
--   text           TEXT     -      The source line.  NULL where it could not be read.
--   count          INTEGER  count  Ops with self time that goes to this line (weighed).
--   self_ns        INTEGER  ns     Self time of these ops (weighed).
--   self_error_ns  INTEGER  ns     Error of self_ns where only some steps were recorded (sampling_summary).  0 where
--                                  all were, NULL where too few were.
--   self_ratio     REAL     ratio  Share of self_ns in the self time of all lines of the profile.
--   backward_ns    INTEGER  ns     The part of self_ns that was spent in backward passes.  NULL where there is none.
--   sum_ns         INTEGER  ns     Self time of all ops that have this line anywhere on the stack that their work comes
--                                  from (weighed).
--   function       TEXT     -      Function that the line stands in.
--   file           TEXT     -      File that the line stands in, with its directories.
--   line           INTEGER  -      Number of the line in the file.
--   is_library     INTEGER  -      1: a line of an installed package or of the library of Python.
-- Cost: that of line_summary.  Example: SELECT location, text, self_ns, backward_ns FROM library_lines LIMIT 10;
SELECT
  profile_id AS profile_id, rank AS rank, location AS location, text AS text, count AS count, self_ns AS self_ns,
  self_error_ns AS self_error_ns, self_ratio AS self_ratio, backward_ns AS backward_ns, sum_ns AS sum_ns,
  function AS function, file AS file, line AS line, is_library AS is_library
FROM temp.line_summary
WHERE level = 'library'
ORDER BY self_ns DESC, sum_ns DESC, profile_id, file, line
