-- Time by source line: which lines of the program call the ops that cost, backward pass included.
--
-- The rows of line_summary at the level of the program: one for each profile and line of the program that lies on the
-- Python stack of an op.  The self time of an op goes to one line only, the innermost one of the program itself.  Lines
-- of the program itself are outside of installed packages and of the library of Python.  So self_ns of all lines
-- together is the time of all ops that have a stack.  Where the whole stack lies in packages and the library, the
-- innermost line of all has the time.  No other line of theirs is here.
-- The backward pass goes to the lines of the forward ops, whatever called backward().  The line of a backward() keeps
-- only what has no forward op, such as summing up gradients.
-- Under a trainer most may lie on the line that starts it.  There library_lines goes further in, and module_summary
-- tells modules.
-- Lines that call no op themselves and only lead to others (sum_ns) come last, with a self_ns of 0.
-- Counted are the ops of measured steps (no warm-up, ops recorded), and in a profile without such steps all ops.  They
-- are weighed by ops.sample_weight.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   location       TEXT     -      The line as file:line, the file without its directories.  In the cell of a notebook
--                                  it is In[number]:line.
--   text           TEXT     -      The source line.  NULL where it could not be read.
--   count          INTEGER  count  Number of ops that count for this line.
--   self_ns        INTEGER  ns     Self time of these ops.
--   self_error_ns  INTEGER  ns     Error of self_ns where only some steps were recorded (sampling_summary).  0 where
--                                  all were, NULL where too few were.
--   self_ratio     REAL     ratio  Share of self_ns in that of all lines of the profile.
--   backward_ns    INTEGER  ns     Part of self_ns that was spent in backward passes.  NULL where there is none.
--   sum_ns         INTEGER  ns     Self time of all ops with this line anywhere on the stack that their work comes
--                                  from.  Lines of main() so have nearly all.
--   function       TEXT     -      Function that the line stands in.
--   file           TEXT     -      File that the line stands in, with its directories.
--   line           INTEGER  -      Number of the line in the file.
--   is_library     INTEGER  -      1: a line of an installed package or of the library of Python.
-- Cost: that of line_summary.  Example: SELECT * FROM code_summary WHERE self_ns > 0 LIMIT 10;
SELECT
  profile_id AS profile_id, rank AS rank, location AS location, text AS text, count AS count, self_ns AS self_ns,
  self_error_ns AS self_error_ns, self_ratio AS self_ratio, backward_ns AS backward_ns, sum_ns AS sum_ns,
  function AS function, file AS file, line AS line, is_library AS is_library
FROM temp.line_summary
WHERE level = 'program'
ORDER BY self_ns DESC, sum_ns DESC, profile_id, file, line
