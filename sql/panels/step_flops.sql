-- Model flops utilisation by step
-- How much of what the devices can compute at best a step makes use of. Warm-up is shaded.
-- page: steps 20
-- chart: line
-- x: number
-- y: mfu_ratio
-- step: number
-- empty: Neither the operations of ops nor the peak of the device are told.
SELECT profile_id, rank, number, (SELECT is_warmup FROM temp.steps WHERE steps.id = step_id) AS is_warmup,
  dur_ns, flops,
  flops_per_second, ideal_ns, mfu AS mfu_ratio
FROM temp.mfu
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND mfu IS NOT NULL
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number LIMIT 20000
