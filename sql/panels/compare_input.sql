-- Input, before and after
-- How long steps wait for their input, and what its parts take meanwhile, by step, as input_diff has it.
-- page: compare 44
-- chart: compare
-- x: number
-- label: part
-- value: self_ns
-- empty: Nothing of the input pipeline was recorded.
WITH parts AS (
  SELECT profile_id, step_id, '(steps wait)' AS part, input_ns AS self_ns FROM temp.input_steps
  UNION ALL
  SELECT profile_id, step_id, coalesce(long_name, name), CAST(sum(1.0 * self_ns) AS INTEGER)
  FROM temp.input_events WHERE step_id IS NOT NULL GROUP BY profile_id, step_id, coalesce(long_name, name)
)
SELECT parts.profile_id AS profile_id, run_id, number, is_warmup, part, self_ns
FROM parts JOIN temp.steps AS steps ON steps.id = step_id
JOIN temp.profiles AS profiles ON profiles.id = parts.profile_id
WHERE :profile_id IS NULL OR parts.profile_id = :profile_id
ORDER BY run_id, parts.profile_id, number, self_ns DESC, part LIMIT 200000
