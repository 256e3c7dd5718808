-- What is open
-- One row for each process or rank.
-- page: overview 98
-- chart: table
WITH open AS (
  SELECT profile_summary.*, runs.path AS run_path, _process_names.name AS name
  FROM temp.profile_summary JOIN temp.runs ON runs.id = profile_summary.run_id
  LEFT JOIN temp._process_names ON _process_names.profile_id = profile_summary.profile_id
)
SELECT profile_id, name, rank, host, pid, run_id,
  replace(rtrim(run_path, '/'), rtrim(rtrim(run_path, '/'), replace(run_path, '/', '')), '') AS run, format, framework,
  framework_version, command, dur_ns, step_count, op_count, kernel_count, thread_count, peak_resident_bytes, file_bytes,
  complete, diagnostic_count
FROM open
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
