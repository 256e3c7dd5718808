-- Advice: answers that rest on less than everything.
--
-- One row for each profile and reason among the diagnostics that are warnings or errors (parts of the capture that were
-- degraded, rows that were dropped, damaged or torn files, a file that was not closed in order), and one for a run with
-- ops in which no step was recognised, since most other checks need steps.
-- Columns: those of every check, see sql/README.md; saves_ns is NULL.  Cost: reads and verifies every profile whole.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'missing_data';
WITH told AS (
  SELECT profile_id, severity, reason, min(message) AS message, sum(coalesce(count, 1)) AS times, count(*) AS row_count
  FROM temp.diagnostics WHERE severity IN ('warning', 'error') GROUP BY profile_id, severity, reason
), without_steps AS (
  SELECT min(profiles.id) AS profile_id, sum(op_counts.op_count) AS op_count
  FROM (SELECT profile_id, count(*) AS op_count FROM temp.ops GROUP BY profile_id) AS op_counts
  JOIN temp.profiles AS profiles ON profiles.id = op_counts.profile_id
  WHERE profiles.run_id NOT IN (
    SELECT with_steps.run_id
      FROM temp.steps AS steps JOIN temp.profiles AS with_steps ON with_steps.id = steps.profile_id)
  GROUP BY profiles.run_id
), found AS (
  SELECT profile_id, CASE severity WHEN 'error' THEN 'critical' ELSE 'warning' END AS severity,
    reason || ': ' || message || CASE WHEN row_count > 1 THEN ' (and ' || (row_count - 1) || ' more)' ELSE '' END
      AS message, 1.0 * times AS value,
    'Record again where the answer matters; the diagnostics say what was lost and why.' AS suggestion,
    'SELECT message, count, file FROM temp.diagnostics WHERE reason = ' || quote(reason) || ' AND profile_id = '
      || profile_id AS evidence
  FROM told
  UNION ALL
  SELECT profile_id, 'info', 'No steps were recognised among ' || format_count(op_count) || ' ops; step times, shares '
    || 'and warm-up cannot be told', 1.0 * op_count,
    'Steps come from the ends of Optimizer.step; in a loop without an optimizer begin each iteration with '
      || 'tfprof.step(number), after import tfprof.',
    'SELECT name, count(*) FROM temp.' || iif(profile_id IN (SELECT profile_id FROM temp.ranges), 'ranges', 'ops')
      || ' WHERE profile_id = ' || profile_id || ' GROUP BY 1 ORDER BY 2 DESC'
  FROM without_steps
)
SELECT
  'missing_data' AS check_name,
  found.severity AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  found.message AS message,
  found.value AS value,
  0.0 AS threshold,
  NULL AS saves_ns,
  found.suggestion AS suggestion,
  found.evidence AS evidence
FROM found JOIN temp.profiles AS profiles ON profiles.id = found.profile_id
ORDER BY severity, subject, message
