-- On what it ran
-- Hosts, devices, versions and the command; of several hosts all together, too.
-- page: overview 97
-- chart: facts
SELECT profile_id, rank, host, host_count, task_count, device_type, device_model, device_count, device_memory_bytes,
  framework, framework_version, job, world_size, command,
  iif(start_ns > 1e18, strftime('%Y-%m-%d %H:%M:%S UTC', start_ns / 1000000000, 'unixepoch'), NULL) AS started, dur_ns
FROM temp.run_environment
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id IS NOT NULL, profile_id, run_id LIMIT 100
