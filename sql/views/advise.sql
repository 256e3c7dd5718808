-- What to do about it: the findings of all checks, the most severe first, of these a hang, then what saves most, then
-- what names a line of the program.
--
-- One row for each finding.  A check that fails, for its input is damaged in a way that it does not expect, has a row
-- that says so; the others are not concerned.
--   check_name  TEXT     -   The check, a view of its own with the same columns.
--   severity    TEXT     -   Critical, warning or info.
--   subject     TEXT     -   What it is about: a rank, a process, a line of the program.
--   message     TEXT     -   What was found.
--   value       REAL     -   What was measured, and where the check begins to speak.
--   threshold   REAL     -   What was measured, and where the check begins to speak.
--   saves_ns    INTEGER  ns  What following the suggestion could spare over the whole recording, never more than that
--                            lasted; NULL: no time by itself, or nothing tells how much.
--   suggestion  TEXT     -   What to do.
--   evidence    TEXT     -   A SELECT that shows the rows behind it.
-- Cost: that of all checks; with check_name = '...' of that one.
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
