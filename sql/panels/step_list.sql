-- Steps
-- How long each takes, by the ends of their work on devices where the host runs ahead, and where the host's time went.
-- page: steps 10
-- chart: table
-- step: number
-- empty: There are no steps.
SELECT on_host.profile_id AS profile_id, rank, on_host.number AS number, coalesce(pace_ns, net_ns) AS dur_ns,
  net_ns, op_ns, loading_ns, wait_ns, outside_ns, optimizer_ns, op_count,
  on_host.sample_weight AS sample_weight
FROM temp.step_op_time AS on_host JOIN temp.steps ON steps.id = step_id
WHERE (:profile_id IS NULL OR on_host.profile_id = :profile_id)
  AND on_host.number BETWEEN coalesce(:first_step, on_host.number) AND coalesce(:last_step, on_host.number)
ORDER BY on_host.profile_id, on_host.number LIMIT 20000
