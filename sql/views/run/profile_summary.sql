-- Profiles: what is open, one process or rank a row.
--
-- Everything counts, warm-up too.
--   profile_id           INTEGER  -      The profile: a process or rank.
--   run_id               INTEGER  -      The run, as in runs.
--   rank                 INTEGER  -      Rank of the process.  NULL where it is unknown.
--   host                 TEXT     -      Host that it ran on.
--   pid                  INTEGER  -      Id of the process in its system.  NULL where it is unknown.
--   format               TEXT     -      Format of the file.
--   framework            TEXT     -      Framework that wrote or ran it.  NULL where it is unknown.
--   framework_version    TEXT     -      Version of the framework.  NULL where it is unknown.
--   command              TEXT     -      Command that started the process.  NULL where it is unknown.
--   dur_ns               INTEGER  ns     Time from its first event to its last.
--   step_count           INTEGER  count  Number of its steps.
--   op_count             INTEGER  count  Number of its ops, without ranges, modules and Python frames.
--   kernel_count         INTEGER  count  Number of its kernels.
--   thread_count         INTEGER  count  Number of its threads and streams.
--   mean_cpu             REAL     -      Mean number of processors that it kept busy.  NULL where it is unknown.
--   peak_resident_bytes  INTEGER  bytes  The largest reading of the resident memory of the process.  NULL where there
--                                        is none.
--   file_bytes           INTEGER  bytes  Size of the file.
--   complete             INTEGER  -      1 where the recording was closed in order, 0 where its end is missing or torn.
--   diagnostic_count     INTEGER  count  Diagnostics of the file.
-- Not weighed: op_count, kernel_count, file_bytes.  They are of what the file holds.
-- Cost: counts of tables, one pass over counters and over the categories of ops.
-- Example: SELECT rank, op_count, mean_cpu FROM profile_summary;
WITH op_counts AS (
  SELECT profile_id, count(*) AS op_count FROM temp.ops
  WHERE category IS NULL OR category NOT IN ('user', 'module', 'python') GROUP BY profile_id
), kernel_counts AS (
  SELECT profile_id, count(*) AS kernel_count FROM temp.kernels GROUP BY profile_id
), step_counts AS (
  SELECT profile_id, count(*) AS step_count FROM temp.steps GROUP BY profile_id
), thread_counts AS (
  SELECT profile_id, count(*) AS thread_count FROM temp.threads GROUP BY profile_id
), readings AS (
  SELECT profile_id, avg(CASE WHEN name = 'process_cpu' THEN value END) AS mean_cpu,
    max(CASE WHEN name = 'process_resident_bytes' THEN value END) AS peak_resident_bytes
  FROM temp.counters WHERE name IN ('process_cpu', 'process_resident_bytes') GROUP BY profile_id
)
SELECT
  profiles.id AS profile_id,
  profiles.run_id AS run_id,
  profiles.rank AS rank,
  profiles.host AS host,
  profiles.pid AS pid,
  profiles.format AS format,
  profiles.framework AS framework,
  profiles.framework_version AS framework_version,
  profiles.command AS command,
  profiles.dur_ns AS dur_ns,
  coalesce(step_counts.step_count, 0) AS step_count,
  coalesce(op_counts.op_count, 0) AS op_count,
  coalesce(kernel_counts.kernel_count, 0) AS kernel_count,
  coalesce(thread_counts.thread_count, 0) AS thread_count,
  readings.mean_cpu AS mean_cpu,
  CAST(readings.peak_resident_bytes AS INTEGER) AS peak_resident_bytes,
  profiles.file_bytes AS file_bytes,
  profiles.complete AS complete,
  profiles.diagnostic_count AS diagnostic_count
FROM temp.profiles AS profiles
LEFT JOIN op_counts ON op_counts.profile_id = profiles.id
LEFT JOIN kernel_counts ON kernel_counts.profile_id = profiles.id
LEFT JOIN step_counts ON step_counts.profile_id = profiles.id
LEFT JOIN thread_counts ON thread_counts.profile_id = profiles.id
LEFT JOIN readings ON readings.profile_id = profiles.id
ORDER BY profile_id
