-- Findings, each told once: what advise says of several processes is one row here.
--
-- One row for each check and thing that it speaks of; processes (rank 3, process 12) count as one thing, and where one
-- has several rows of a check, its first goes with the first of the others.  It is the first of their rows in advise,
-- the most severe, of these the one that saves most, with
--   check_name     TEXT     -      As in advise.
--   severity       TEXT     -      As in advise.
--   subject        TEXT     -      As in advise.
--   process_count  INTEGER  count  How many rows of advise it stands for.
--   others         TEXT     -      Their subjects, the first excepted, parted by commas; NULL: there are none.
--   message        TEXT     -      As in advise.
--   value          REAL     -      As in advise.
--   threshold      REAL     -      As in advise.
--   saves_ns       INTEGER  ns     As in advise.
--   suggestion     TEXT     -      As in advise.
--   evidence       TEXT     -      As in advise.
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
      WHERE beginning IN (SELECT name FROM temp.process_names))
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
