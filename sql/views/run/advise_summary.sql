-- Findings, each once: what advise says of several processes is one row here.
--
-- One row for each check and thing that it speaks of.  Processes (rank 3, process 12) count as one thing.  Where a
-- process has several rows of a check, its first row goes with the first rows of the others, its second with their
-- second.  Each row is the first of those rows in advise: the most severe one, and among these the one that saves most.
--   check_name     TEXT     -      The check, as in advise.
--   severity       TEXT     -      How much it matters, as in advise.
--   subject        TEXT     -      What the first of the rows is about, as in advise.
--   process_count  INTEGER  count  Number of rows of advise that it stands for.
--   others         TEXT     -      Subjects of the other rows, with commas between them.  NULL where there are none.
--   message        TEXT     -      What was found, as in advise.
--   value          REAL     -      What was measured, as in advise.
--   threshold      REAL     -      Value from which on the check speaks, as in advise.
--   saves_ns       INTEGER  ns     Time that following the suggestion could spare, as in advise.  It is that of the
--                                  first row alone.
--   suggestion     TEXT     -      What to do, as in advise.
--   evidence       TEXT     -      A SELECT that shows the rows behind it, as in advise.
-- Cost: that of advise.  Example: SELECT severity, process_count, message FROM advise_summary LIMIT 5;
WITH found AS MATERIALIZED (
  SELECT row_number() OVER () AS place, advise.* FROM temp.advise
), beginnings(subject, beginning) AS ( -- a process is told with what of it is meant, parted by a space
  SELECT DISTINCT subject, subject FROM found
  UNION
  SELECT subject, substr(beginning, 1, length(rtrim(beginning, replace(beginning, ' ', ''))) - 1) FROM beginnings
  WHERE beginning GLOB '* *'
), named AS MATERIALIZED (
  SELECT found.*,
    CASE WHEN subject IN (SELECT subject FROM beginnings
      WHERE beginning IN (SELECT name FROM temp._process_names))
      THEN row_number() OVER (PARTITION BY check_name, subject ORDER BY place) ELSE subject END AS thing
  FROM found
), numbered AS MATERIALIZED (
  SELECT named.*, row_number() OVER (PARTITION BY check_name, thing ORDER BY place) AS number FROM named
)
SELECT
  check_name AS check_name,
  severity AS severity,
  subject AS subject,
  count(*) AS process_count,
  ordered_concat(CASE WHEN number > 1 THEN subject END, ', ', number) AS others,
  message AS message,
  value AS value,
  threshold AS threshold,
  saves_ns AS saves_ns,
  suggestion AS suggestion,
  evidence AS evidence
FROM numbered
GROUP BY check_name, thing
ORDER BY min(place) -- which also chooses the row that the other columns are of
