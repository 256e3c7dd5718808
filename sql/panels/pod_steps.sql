-- The steps that all took together
-- What took most of each rank's step, and how far behind the fastest it was.
-- page: ranks 50
-- chart: table
-- step: number
-- empty: One process alone has steps.
SELECT profile_id, rank, host, pod_step, number, dur_ns, bottleneck, behind_ns, device_compute_ns,
  device_to_device_ns, device_collectives_ns, host_compute_ns, kernel_launch_ns, input_ns, output_ns, compile_ns,
  other_ns
FROM temp.xprof_pod_steps
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY pod_step IS NULL, pod_step, rank, profile_id, number
LIMIT iif((SELECT count(*) FROM temp._process_names WHERE is_helper = 0) > 1, 10000, 0)
