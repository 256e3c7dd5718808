-- Modules, before and after
-- Own time of the ops that ran in each module of the model, by step, as module_diff has it.
-- page: compare 46
-- chart: compare
-- x: number
-- label: module
-- value: self_ns
-- empty: No modules are known.
WITH sums AS MATERIALIZED (
  SELECT profile_id, step_id, module, sum(self_ns * sample_weight) AS self_ns, sum(1.0 * self_ns) AS own_ns
  FROM temp.ops
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND module IS NOT NULL
    AND category NOT IN ('user', 'python', 'module')
  GROUP BY profile_id, step_id, module
), dear AS ( -- of many steps fewer modules, so that all steps have their rows
  SELECT module FROM sums GROUP BY module ORDER BY sum(self_ns) DESC, module
  LIMIT (SELECT max(8, min(60, 45000 / max(1, count(*)))) FROM temp.steps WHERE ops_recorded IS NOT 0)
), first AS (
  SELECT sums.profile_id AS profile_id, run_id, number, is_warmup, module, CAST(self_ns AS INTEGER) AS self_ns,
    CAST(own_ns AS INTEGER) AS recorded_ns,
    row_number() OVER (PARTITION BY run_id ORDER BY sums.profile_id, number, self_ns DESC, module) AS row
  FROM sums JOIN temp.profiles ON profiles.id = sums.profile_id LEFT JOIN temp.steps ON steps.id = step_id
  WHERE module IN (SELECT module FROM dear)
)
SELECT profile_id, run_id, number, is_warmup, module, self_ns, recorded_ns
FROM first WHERE row <= 200000 / (SELECT max(1, count(*)) FROM temp.runs) + 1 -- no run has none because of another
ORDER BY run_id, profile_id, number, self_ns DESC, module LIMIT 200000
