-- Advice: answers that rest on less than everything.
--
-- One row for each run and reason among the diagnostics that are warnings or errors (parts of the capture that were
-- degraded, rows that were dropped, damaged or torn files), one for a run of whose processes some did not end what they
-- recorded (profiles.complete; of data loaders nothing is said; information while none did, since it may still be
-- recorded), one for a run with
-- ops in which no step was recognised, since most other checks need steps, with what is repeated there instead
-- (candidate_steps), and one for a graph of TensorFlow of which
-- no step was traced.
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL.  Cost: reads and verifies every profile whole.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'missing_data';
WITH told AS (
  SELECT processes.run_id AS run_id, min(processes.profile_id) AS profile_id, told.severity AS severity,
    told.reason AS reason, min(told.message) AS message, total(coalesce(told.count, 1)) AS times,
    count(DISTINCT told.message) AS message_count, count(DISTINCT processes.profile_id) AS profile_count
  FROM temp.diagnostics AS told JOIN temp._process_names AS processes ON processes.profile_id = told.profile_id
  WHERE told.severity IN ('warning', 'error') GROUP BY processes.run_id, told.severity, told.reason
), unended AS (
  SELECT processes.run_id AS run_id, min(processes.profile_id) AS profile_id, count(*) AS profile_count,
    processes.run_id IN (SELECT run_id FROM temp.profiles WHERE complete = 1) AS has_ended
  FROM temp.profiles AS profiles JOIN temp._process_names AS processes ON processes.profile_id = profiles.id
  WHERE profiles.complete = 0 AND NOT processes.is_helper GROUP BY processes.run_id
), counted AS (
  SELECT id AS profile_id, run_id, (SELECT count(*) FROM temp.ops AS ops WHERE ops.profile_id = profiles.id) AS op_count
  FROM temp.profiles AS profiles
  WHERE run_id NOT IN (
    SELECT with_steps.run_id
      FROM temp.steps AS steps JOIN temp.profiles AS with_steps ON with_steps.id = steps.profile_id)
), without_steps AS (
  SELECT run_id, min(profile_id) AS profile_id, sum(op_count) AS op_count
  FROM counted WHERE op_count > 0 GROUP BY run_id
), repeated AS ( -- what comes closest to steps in each of these runs
  SELECT profile_id, op_count, (
      SELECT format('; %d repetitions of %s, %s each, may be steps', count(*), candidates.name,
        format_ns(CAST(median(candidates.dur_ns) AS INTEGER)))
      FROM temp.candidate_steps AS candidates JOIN temp.profiles AS profiles ON profiles.id = candidates.profile_id
      WHERE profiles.run_id = without_steps.run_id AND candidates.origin = 'repetition'
      GROUP BY candidates.profile_id, candidates.name ORDER BY count(*) DESC, candidates.profile_id LIMIT 1
    ) AS candidates
  FROM without_steps
), untraced AS (
  SELECT id AS profile_id, (SELECT count(*) FROM temp.nodes AS nodes WHERE nodes.profile_id = profiles.id) AS node_count
  FROM temp.profiles AS profiles
  WHERE has_framework(framework, 'tensorflow')
    AND NOT EXISTS (SELECT 1 FROM temp.node_steps AS node_steps WHERE node_steps.profile_id = profiles.id)
), found AS (
  SELECT profile_id, profile_count, CASE severity WHEN 'error' THEN 'critical' ELSE 'warning' END AS severity,
    reason || ': ' || message
      || CASE WHEN message_count > 1 THEN ' (and ' || (message_count - 1) || ' more)' ELSE '' END
      AS message, times AS value,
    'Record again where the answer matters; the diagnostics say what was lost and why.' AS suggestion,
    'SELECT profile_id, message, count, file FROM temp.diagnostics WHERE reason = ' || quote(reason)
      || ' LIMIT 20' AS evidence
  FROM told
  UNION ALL
  SELECT profile_id, 1, 'info', 'No steps were recognised among ' || format_count(op_count) || ' ops; step times, '
    || 'shares and warm-up cannot be told' || coalesce(candidates, ''), 1.0 * op_count,
    advice_words('missing_data.steps', (SELECT framework FROM temp.profiles WHERE id = repeated.profile_id)),
    'SELECT name, count(*) FROM temp.' || iif(profile_id IN (SELECT profile_id FROM temp.ranges), 'ranges', 'ops')
      || ' WHERE profile_id = ' || profile_id || ' GROUP BY 1 ORDER BY 2 DESC LIMIT 20'
  FROM repeated
  UNION ALL
  SELECT profile_id, 1, 'info', 'No step was traced, so none of the ' || node_count || ' nodes has a time',
    1.0 * node_count, 'Open the steps together with the graph: tfprof --graph_path=GRAPH --run_meta_path=RUN_META.',
    'SELECT name, op_type FROM temp.nodes WHERE profile_id = ' || profile_id || ' LIMIT 20'
  FROM untraced WHERE node_count > 0
  UNION ALL
  SELECT profile_id, profile_count, iif(has_ended, 'warning', 'info'), 'What was recorded has no end: '
    || iif(has_ended, 'it was ended', 'it still records, or was ended') || ' (terminated, killed) before the last of '
    || 'it could be written, and up to a second is missing', 1.0 * profile_count,
    'Let processes end in order: close() and join() for pools of workers, which terminate() and the end of a with '
      || 'block kill.',
    'SELECT id, pid, rank, path FROM temp.profiles WHERE complete = 0 LIMIT 20'
  FROM unended
)
SELECT
  'missing_data' AS check_name,
  found.severity AS severity,
  CASE WHEN found.profile_count > 1 THEN found.profile_count || ' processes' ELSE processes.name END AS subject,
  CASE WHEN found.profile_count > 1 THEN processes.name || ' and ' || (found.profile_count - 1) || ' more: '
    ELSE processes.prefix END || found.message AS message,
  found.value AS value,
  0.0 AS threshold,
  NULL AS saves_ns,
  found.suggestion AS suggestion,
  found.evidence AS evidence
FROM found JOIN temp._process_names AS processes ON processes.profile_id = found.profile_id
ORDER BY found.severity, subject, message
