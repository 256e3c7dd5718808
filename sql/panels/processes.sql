-- What is open
-- One row for each process or rank.
-- page: overview 98
-- chart: table
SELECT profile_id, rank, host, pid, format, framework, framework_version, command, dur_ns, step_count, op_count,
  kernel_count, thread_count, peak_resident_bytes, file_bytes, complete, diagnostic_count
FROM temp.profile_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
