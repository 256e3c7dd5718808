-- Lines, before and after
-- Own time of the ops that each line of the program calls, as line_diff has it: a line that an edit moved is the same.
-- page: compare 40
-- chart: compare
-- x: number
-- label: location
-- value: self_ns
-- empty: No stacks were recorded.
WITH sums AS MATERIALIZED (
  SELECT profile_id, step_id, coalesce(origin_code_trace_id, code_trace_id) AS trace_id,
    sum(count * sample_weight) AS count, sum(self_ns * sample_weight) AS self_ns, sum(1.0 * self_ns) AS own_ns
  FROM temp.step_trace_totals
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND category <> 'user'
    AND coalesce(origin_code_trace_id, code_trace_id) IS NOT NULL
  GROUP BY profile_id, step_id, trace_id
), lines AS MATERIALIZED (
  SELECT sums.profile_id AS profile_id, step_id, replace(file, rtrim(file, replace(file, '/', '')), '') || char(10)
      || iif(trim(text) <> '', function || char(10) || trim(text), line) AS key, max(location) AS location,
    sum(count) AS count, sum(self_ns) AS self_ns, sum(own_ns) AS own_ns
  FROM sums JOIN temp._code_trace_lines ON _code_trace_lines.code_trace_id = trace_id
  WHERE location IS NOT NULL
  GROUP BY sums.profile_id, step_id, key
), dear AS MATERIALIZED ( -- of many steps fewer lines, so that all steps have their rows; as the last profile has them
  SELECT key, max(profile_id), location FROM lines GROUP BY key ORDER BY sum(self_ns) DESC, key
  LIMIT (SELECT max(8, min(60, 45000 / max(1, count(*)))) FROM temp.steps WHERE ops_recorded IS NOT 0)
), first AS (
  SELECT lines.profile_id AS profile_id, run_id, number, is_warmup, key, CAST(round(count) AS INTEGER) AS count,
    CAST(self_ns AS INTEGER) AS self_ns, CAST(own_ns AS INTEGER) AS recorded_ns,
    row_number() OVER (PARTITION BY run_id ORDER BY lines.profile_id, number, self_ns DESC, key) AS row
  FROM lines JOIN temp.profiles ON profiles.id = lines.profile_id LEFT JOIN temp.steps ON steps.id = step_id
  WHERE key IN (SELECT key FROM dear)
)
SELECT profile_id, run_id, number, is_warmup, (SELECT location FROM dear WHERE dear.key = first.key) AS location, count,
  self_ns, recorded_ns
FROM first WHERE row <= 200000 / (SELECT max(1, count(*)) FROM temp.runs) + 1 -- no run has none because of another
ORDER BY run_id, profile_id, number, self_ns DESC, key LIMIT 200000
