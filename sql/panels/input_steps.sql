-- Input by step
-- How much of each step waits for input. Warm-up is shaded.
-- page: input 20
-- chart: line
-- x: number
-- y: dur_ns input_ns
-- step: number
-- empty: No input pipeline was recorded.
SELECT profile_id, rank, number, (SELECT is_warmup FROM temp.steps WHERE steps.id = step_id) AS is_warmup,
  dur_ns, input_ns,
  input_ratio, copy_ns, untold_ns
FROM temp.input_steps
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number LIMIT 20000
