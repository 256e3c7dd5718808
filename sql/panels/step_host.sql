-- Where the host was
-- Each moment of a measured step's thread: in ops, those of the input with them; else in the input pipeline, waiting
-- for a device or other ranks, or outside of all.
-- page: steps 5
-- chart: stack
-- x: number
-- y: op_ns loading_ns wait_ns outside_ns
-- step: number
-- empty: There are no steps whose ops were recorded.
SELECT profile_id, rank, number, dur_ns, op_ns, loading_ns, wait_ns, outside_ns FROM temp.step_op_time
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number LIMIT 20000
