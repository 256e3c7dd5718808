-- reasons_page.sql: what tools/update_reference.sh puts into docs/diagnostics.md: a line of Markdown in each row.
WITH lines(reason, line, text) AS (
  SELECT reason, 1, '' FROM tfprof_reasons WHERE reason > (SELECT min(reason) FROM tfprof_reasons)
  UNION ALL SELECT reason, 2, '### ' || reason FROM tfprof_reasons
  UNION ALL SELECT reason, 3, '' FROM tfprof_reasons
  UNION ALL SELECT reason, 4, what_happened || ' (' || severity || ')' FROM tfprof_reasons
  UNION ALL SELECT reason, 5, '' FROM tfprof_reasons
  UNION ALL SELECT reason, 6, 'What to do: ' || what_to_do FROM tfprof_reasons
)
SELECT text FROM lines ORDER BY reason, line;
