-- Steps
-- Each with where its time went on the host.
-- page: steps 10
-- chart: table
-- step: number
-- empty: There are no steps.
SELECT profile_id, rank, number, dur_ns, op_ns, input_ns, wait_ns, outside_ns, optimizer_ns, op_count, sample_weight
FROM temp.step_op_time
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number LIMIT 20000
