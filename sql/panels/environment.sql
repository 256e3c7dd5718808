-- On what it ran
-- Hosts, devices, versions and the command; of several hosts all together, too.
-- page: overview 97
-- chart: facts
SELECT profile_id, rank, host, host_count, task_count, device_type, device_model, device_count, device_memory_bytes,
  framework, framework_version, job, world_size, command, start_ns - coalesce(:origin_ns, 0) AS start_at_ns, dur_ns
FROM temp.run_environment
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id IS NOT NULL, profile_id, run_id LIMIT 100
