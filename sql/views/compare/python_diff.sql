-- Python between ops of two profiles or runs side by side: python_diff('a', 'b').
--
-- One row for each line of the program at which Python was seen while no op ran, as python_summary has them: a log that
-- is written in every step, a loop, waiting for a file.  a and b select profiles as the hidden argument of every table
-- does (an id, a path or a pattern over paths).  Lines that an edit has moved are the same, as in line_diff.  Measured
-- steps count (no warm-up, or all where there are none).  The order goes by time per step, so runs need not be equally
-- long.
--   location            TEXT     -      File:line as in b, or as in a where b does not have the line.
--   text                TEXT     -      The source line.  NULL where it could not be read.
--   function            TEXT     -      Function that the line stands in.
--   a_count             INTEGER  count  How often Python was seen there in a.
--   b_count             INTEGER  count  How often Python was seen there in b.
--   a_ns                INTEGER  ns     Time outside ops that the samples of a_count stand for.
--   b_ns                INTEGER  ns     Time outside ops that the samples of b_count stand for.
--   count_diff          REAL     count  Difference b_count - a_count.
--   dur_diff_ns         INTEGER  ns     Difference b_ns - a_ns.
--   change              TEXT     -      + where b takes longer there than a, - where less long, = else.
--   a_step_ns           INTEGER  ns     Time a_ns by the number of measured steps of a.  NULL where a has no steps.
--   b_step_ns           INTEGER  ns     Time b_ns by the number of measured steps of b.  NULL where b has no steps.
--   step_diff_ns        INTEGER  ns     Difference b_step_ns - a_step_ns.  NULL where a side has no steps.
--   step_diff_error_ns  INTEGER  ns     Standard error of step_diff_ns, as the samples spread by chance.  NULL where a
--                                       side has no steps.
-- parameters: a, b
-- Cost: that of python_summary.
-- Example: SELECT location, text, step_diff_ns FROM python_diff('before*', 'after*') LIMIT 10;
WITH lines AS (
  SELECT location, text, function, sample_count AS count, self_ns, self_error_ns,
    replace(file, rtrim(file, replace(file, '/', '')), '') AS name,
    iif(trim(text) <> '', function || char(10) || trim(text), line) AS key,
    profile_id IN (SELECT id FROM temp.profiles(:a)) AS is_a, profile_id IN (SELECT id FROM temp.profiles(:b)) AS is_b
  FROM temp.python_summary
), both AS (
  SELECT coalesce(max(location) FILTER (WHERE is_b), max(location)) AS location, max(text) AS text,
    max(function) AS function, CAST(total(count) FILTER (WHERE is_a) AS INTEGER) AS a_count,
    CAST(total(count) FILTER (WHERE is_b) AS INTEGER) AS b_count, total(self_ns) FILTER (WHERE is_a) AS a_ns,
    total(self_ns) FILTER (WHERE is_b) AS b_ns,
    total(1.0 * self_error_ns * self_error_ns) FILTER (WHERE is_a) AS a_square,
    total(1.0 * self_error_ns * self_error_ns) FILTER (WHERE is_b) AS b_square
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
  CASE WHEN b_ns > a_ns THEN '+' WHEN b_ns < a_ns THEN '-' ELSE '=' END AS change,
  CAST(a_ns / steps.a AS INTEGER) AS a_step_ns,
  CAST(b_ns / steps.b AS INTEGER) AS b_step_ns,
  CAST(b_ns / steps.b - a_ns / steps.a AS INTEGER) AS step_diff_ns,
  CAST(sqrt(a_square / (steps.a * steps.a) + b_square / (steps.b * steps.b)) AS INTEGER) AS step_diff_error_ns
FROM both CROSS JOIN steps
ORDER BY abs(coalesce(b_ns / steps.b - a_ns / steps.a, b_ns - a_ns)) DESC, location, text
