-- Source lines of two profiles or runs side by side: line_diff('a', 'b').
--
-- One row for each line of the program that calls ops in either, backward pass included, as code_summary has them; a
-- and b select profiles as the hidden argument of every table does (an id, a path or a pattern over paths).  A line
-- that an edit has moved is the same line: lines are told by their file's name, function and text, where that could be
-- read, else by their number.  Measured steps count (no warm-up; all where there are none), weighed by sample_weight;
-- the order goes by time per step, so runs need not be equally long.  What a line takes without calling an op is in
-- python_diff.
--   location      TEXT     -      File:line, as in b, or where b does not have it as in a.
--   text          TEXT     -      Of the line.
--   function      TEXT     -      Of the line.
--   a_count       INTEGER  count  Ops that count for it on each side; 0 where it calls none.
--   b_count       INTEGER  count  Ops that count for it on each side; 0 where it calls none.
--   a_ns          INTEGER  ns     Their self time on each side.
--   b_ns          INTEGER  ns     Their self time on each side.
--   count_diff    INTEGER  count  B less a.
--   dur_diff_ns   INTEGER  ns     B less a.
--   change        TEXT     -      + where b calls more ops, - where fewer, = else.
--   a_step_ns     INTEGER  ns     The times by the number of measured steps of each side, and b less a; NULL where a
--                                 side has no steps.
--   b_step_ns     INTEGER  ns     The times by the number of measured steps of each side, and b less a; NULL where a
--                                 side has no steps.
--   step_diff_ns  INTEGER  ns     The times by the number of measured steps of each side, and b less a; NULL where a
--                                 side has no steps.
-- parameters: a, b
-- Cost: that of code_summary.
-- Example: SELECT location, text, step_diff_ns FROM line_diff('before*', 'after*') LIMIT 10;
WITH lines AS (
  SELECT location, text, function, count, self_ns,
    replace(file, rtrim(file, replace(file, '/', '')), '') AS name,
    iif(trim(text) <> '', function || char(10) || trim(text), line) AS key,
    profile_id IN (SELECT id FROM temp.profiles(:a)) AS is_a, profile_id IN (SELECT id FROM temp.profiles(:b)) AS is_b
  FROM temp.code_summary WHERE count > 0
), both AS (
  SELECT coalesce(max(location) FILTER (WHERE is_b), max(location)) AS location, max(text) AS text,
    max(function) AS function, CAST(total(count) FILTER (WHERE is_a) AS INTEGER) AS a_count,
    CAST(total(count) FILTER (WHERE is_b) AS INTEGER) AS b_count, total(self_ns) FILTER (WHERE is_a) AS a_ns,
    total(self_ns) FILTER (WHERE is_b) AS b_ns
  FROM lines WHERE is_a OR is_b GROUP BY name, key
), steps AS (
  SELECT (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:a) WHERE is_warmup = 0) AS a,
    (SELECT 1.0 * nullif(count(*), 0) FROM temp.steps(:b) WHERE is_warmup = 0) AS b
)
SELECT
  location AS location,
  text AS text,
  function AS function,
  a_count AS a_count,
  b_count AS b_count,
  CAST(a_ns AS INTEGER) AS a_ns,
  CAST(b_ns AS INTEGER) AS b_ns,
  b_count - a_count AS count_diff,
  CAST(b_ns - a_ns AS INTEGER) AS dur_diff_ns,
  CASE WHEN b_count > a_count THEN '+' WHEN b_count < a_count THEN '-' ELSE '=' END AS change,
  CAST(a_ns / steps.a AS INTEGER) AS a_step_ns,
  CAST(b_ns / steps.b AS INTEGER) AS b_step_ns,
  CAST(b_ns / steps.b - a_ns / steps.a AS INTEGER) AS step_diff_ns
FROM both CROSS JOIN steps
ORDER BY abs(coalesce(b_ns / steps.b - a_ns / steps.a, b_ns - a_ns)) DESC, location, text
