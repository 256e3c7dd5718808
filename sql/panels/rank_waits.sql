-- Waiting in collectives
-- How long each rank, or process where no rank is known, waited for others in each step.
-- page: ranks 20
-- chart: heat
-- x: number
-- y: rank
-- value: waiting_ns
-- step: number
-- empty: No rank waited, or one rank alone is open.
SELECT collective_waits.profile_id, coalesce(collective_waits.rank, (SELECT name FROM temp._process_names AS names
    WHERE names.profile_id = collective_waits.profile_id)) AS rank, number,
  CAST(sum(1.0 * waiting_ns) AS INTEGER) AS waiting_ns
FROM temp.collective_waits JOIN temp.steps ON steps.id = step_id
WHERE (:profile_id IS NULL OR collective_waits.profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
GROUP BY collective_waits.profile_id, collective_waits.rank, number
ORDER BY collective_waits.rank, collective_waits.profile_id, number LIMIT 100000
