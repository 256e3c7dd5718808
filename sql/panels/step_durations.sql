-- How long steps take
-- How many steps took how long.
-- page: overview 48
-- chart: histogram
-- value: training_ns
-- step: number
-- width: half
-- empty: There are no steps.
SELECT profile_id, number, training_ns, is_warmup FROM temp.steps
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND training_ns IS NOT NULL AND is_warmup = 0
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number
