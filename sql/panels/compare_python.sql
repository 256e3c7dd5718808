-- Python between ops, before and after
-- At which lines time passes in which no op runs, as python_diff has it: a log that is written, waiting for a file.
-- page: compare 42
-- chart: compare
-- x: number
-- label: location
-- value: self_ns
-- empty: No Python was seen: record with tfprof-capture.
WITH parts AS (
  SELECT profile_id, step_id, code_trace_id, sum(1.0 * period_ns) AS period_ns,
    step_id IN (SELECT id FROM temp.steps WHERE is_warmup = 0) AS is_measured, NULL AS outside_ns
  FROM temp.python_samples
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND code_trace_id IS NOT NULL
    AND step_id IN (SELECT id FROM temp.steps WHERE ops_recorded = 1)
  GROUP BY profile_id, step_id, code_trace_id
  UNION ALL
  SELECT profile_id, NULL, NULL, NULL, 0, sum(coalesce(outside_ns, max(dur_ns - op_ns, 0)))
  FROM temp.step_op_time GROUP BY profile_id
), seen AS MATERIALIZED ( -- the samples of a profile together stand for what passes outside ops
  SELECT profile_id, step_id, code_trace_id, period_ns * total(outside_ns) OVER of_profile
    / nullif(total(iif(is_measured, period_ns, 0)) OVER of_profile, 0) AS self_ns
  FROM parts WINDOW of_profile AS (PARTITION BY profile_id)
), lines AS MATERIALIZED (
  SELECT seen.profile_id AS profile_id, step_id, replace(file, rtrim(file, replace(file, '/', '')), '') || char(10)
      || iif(trim(text) <> '', function || char(10) || trim(text), line) AS key, max(location) AS location,
    sum(self_ns) AS self_ns
  FROM seen JOIN temp._code_trace_lines ON _code_trace_lines.code_trace_id = seen.code_trace_id
  WHERE location IS NOT NULL AND self_ns IS NOT NULL
  GROUP BY seen.profile_id, step_id, key
  UNION ALL
  SELECT profile_id, id, '', '(no line)', 0.0 FROM temp.steps -- a step in which nothing was seen counts, too
  WHERE ops_recorded = 1 AND profile_id IN (SELECT profile_id FROM seen WHERE self_ns IS NOT NULL)
), dear AS MATERIALIZED ( -- of many steps fewer lines, so that all steps have their rows; as the last profile has them
  SELECT key, max(profile_id), location FROM lines GROUP BY key ORDER BY key = '' DESC, sum(self_ns) DESC, key
  LIMIT (SELECT max(8, min(60, 45000 / max(1, count(*)))) FROM temp.steps WHERE ops_recorded IS NOT 0)
), first AS (
  SELECT lines.profile_id AS profile_id, run_id, number, is_warmup, key, CAST(self_ns AS INTEGER) AS self_ns,
    row_number() OVER (PARTITION BY run_id ORDER BY lines.profile_id, number, self_ns DESC, key) AS row
  FROM lines JOIN temp.profiles ON profiles.id = lines.profile_id JOIN temp.steps ON steps.id = step_id
  WHERE key IN (SELECT key FROM dear)
)
SELECT profile_id, run_id, number, is_warmup, (SELECT location FROM dear WHERE dear.key = first.key) AS location,
  self_ns
FROM first WHERE row <= 200000 / (SELECT max(1, count(*)) FROM temp.runs) + 1 -- no run has none because of another
ORDER BY run_id, profile_id, number, self_ns DESC, key LIMIT 200000
