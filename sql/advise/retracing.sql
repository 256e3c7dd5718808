-- Advice: functions that are traced or compiled again and again.
--
-- For each profile the time of the measured steps (no warm-up) in which tf.function builds a graph, or torch.compile,
-- XLA or another compiler works (compilations; phases lie inside one another and count once), where that happens in
-- several steps: the first call of a function costs that once, later ones only where it is called with something new.
-- The message names a function, or of XLA a program (jit_step), where these are told.
-- Thresholds: 2 % of the step time, in two steps or more.
-- What it would save: all of it but the dearest step.
-- Columns: those of every check, see docs/checks.md.  Cost: linear in compilations; one pass over ops of profiles of
-- TensorFlow.
-- Needs: steps.
-- Example: SELECT message FROM advise WHERE check_name = 'retracing';
WITH times AS MATERIALIZED (
  SELECT steps.profile_id AS profile_id, profiles.framework AS framework, count(*) AS step_count,
    sum(1.0 * steps.dur_ns) AS step_ns
  FROM temp.profiles AS profiles JOIN temp.steps AS steps ON steps.profile_id = profiles.id
  WHERE steps.is_warmup = 0 GROUP BY 1
), traced AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, ops.step_id AS step_id, ops.dur_ns AS dur_ns, around.name AS name
  FROM times CROSS JOIN temp.ops AS ops ON ops.profile_id = times.profile_id
  LEFT JOIN temp.ops AS around ON around.id = ops.parent_id
  WHERE has_framework(times.framework, 'tensorflow') AND ops.name = 'tf.function-graph_building'
), by_step AS (
  SELECT profile_id, step_id, sum(1.0 * dur_ns) AS build_ns, max(name) AS name FROM traced GROUP BY 1, 2
  UNION ALL
  SELECT profile_id, step_id, 1.0 * union_ns(start_ns, end_ns), coalesce(
    max(CASE WHEN name GLOB 'HLO passes*(*)' THEN rtrim(substr(name, instr(name, '(') + 1), ')') END),
    max(CASE WHEN kind <> 'xla' THEN name END))
  FROM temp.compilations
  WHERE profile_id NOT IN (SELECT profile_id FROM traced) GROUP BY 1, 2
), sums AS (
  SELECT by_step.profile_id AS profile_id, count(*) AS step_count, sum(build_ns) AS build_ns, max(build_ns) AS first_ns,
    max(by_step.name) AS name
  FROM by_step JOIN temp.steps AS steps ON steps.id = by_step.step_id
  WHERE steps.is_warmup = 0 GROUP BY 1
)
SELECT
  'retracing' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time goes to tracing and compiling, in %d of %d steps%s',
    100.0 * sums.build_ns / times.step_ns, sums.step_count, times.step_count, coalesce(': ' || sums.name, ''))
    AS message,
  sums.build_ns / times.step_ns AS value,
  0.02 AS threshold,
  CAST(sums.build_ns - sums.first_ns AS INTEGER) AS saves_ns,
  advice_words('retracing', processes.framework) AS suggestion,
  CASE WHEN has_framework(times.framework, 'tensorflow') AND sums.profile_id IN (SELECT profile_id FROM traced) THEN
    'SELECT start_ns, dur_ns, step_id FROM temp.ops WHERE name = ''tf.function-graph_building'' AND profile_id = '
      || sums.profile_id || ' ORDER BY 1 LIMIT 20'
  ELSE
    'SELECT number, is_warmup, dur_ns, compile_ns, count FROM temp.compilation_summary WHERE profile_id = '
      || sums.profile_id || ' ORDER BY 4 DESC LIMIT 20'
  END AS evidence
FROM sums
JOIN times ON times.profile_id = sums.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE times.step_ns > 0 AND sums.step_count >= 2 AND sums.build_ns >= 0.02 * times.step_ns
ORDER BY saves_ns DESC, sums.profile_id
