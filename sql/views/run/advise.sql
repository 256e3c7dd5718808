-- What to do about it: the findings of all checks, the most severe first.
--
-- One row for each finding.  Rows go by severity.  Among rows of one severity hangs come first, then what saves most,
-- then what names a line of the program.  A check fails where its input is damaged in a way that it does not expect.
-- It has a row that says so then, and the other checks are not concerned.
--   check_name  TEXT     -   The check that found it, which is a view of its own with the same columns.
--   severity    TEXT     -   How much it matters: critical, warning or info.
--   subject     TEXT     -   What it is about: a rank, a process or a line of the program.
--   message     TEXT     -   What was found, in a sentence.
--   value       REAL     -   What was measured.
--   threshold   REAL     -   Value from which on the check speaks.
--   saves_ns    INTEGER  ns  Time that following the suggestion could spare over the whole recording.  It is never more
--                            than the recording lasted.  NULL where no time is saved by itself, or nothing tells how
--                            much.
--   suggestion  TEXT     -   What to do.
--   evidence    TEXT     -   A SELECT that shows the rows behind it.
-- Cost: that of all checks.  With check_name = '...' of that one.
-- Example: SELECT severity, message, suggestion FROM advise LIMIT 5;
SELECT
  check_name AS check_name,
  severity AS severity,
  subject AS subject,
  message AS message,
  value AS value,
  threshold AS threshold,
  saves_ns AS saves_ns,
  suggestion AS suggestion,
  evidence AS evidence
FROM temp.tfprof_findings
ORDER BY CASE severity WHEN 'critical' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END, check_name = 'hangs' DESC,
  saves_ns DESC NULLS LAST, subject GLOB '*:[0-9]*' DESC, check_name, subject, value DESC, message, evidence
