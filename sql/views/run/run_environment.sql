-- Run environment: on what it ran, where, when, and with which command.
--
-- One row for each process but the workers of others, and one more for all hosts of a run that has several.  That row
-- has ALL_HOSTS for host and NULL for profile_id, rank, and what is not the same in all of them.
--   profile_id           INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host                 TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank                 INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   run_id               INTEGER  -      The run, as in runs.
--   host_count           INTEGER  count  Hosts by their names.  NULL where these are not known.
--   task_count           INTEGER  count  Processes that train.
--   device_type          TEXT     -      Type of the devices: Nvidia GPU (Ampere) and the like by compute capability,
--                                        the name of a model, or CPU.  Several stand with commas between them.
--   device_model         TEXT     -      Name of the product.  Several stand with commas between them.  NULL where it
--                                        is not known.
--   device_count         INTEGER  count  GPUs and TPUs that it saw.
--   device_memory_bytes  INTEGER  bytes  Size of the smallest memory of these devices.  NULL where it is not known.
--   framework            TEXT     -      Framework that it ran.  NULL where it is unknown, and where the hosts differ.
--   framework_version    TEXT     -      Version of the framework.  NULL where it is unknown, and where the hosts
--                                        differ.
--   job                  TEXT     -      Job that it belongs to, as in profiles.  NULL where it is unknown, and where
--                                        the hosts differ.
--   world_size           INTEGER  count  Ranks of the job.  NULL where they are unknown, and where the hosts differ.
--   command              TEXT     -      Command that started it.  NULL where it is unknown, and where the hosts
--                                        differ.
--   start_ns             INTEGER  ns     When the recording began.
--   end_ns               INTEGER  ns     When the recording ended.
--   dur_ns               INTEGER  ns     Time from start_ns to end_ns.
-- XProf tells no command, time and version.  Its columns for those stay empty.
-- Cost: linear in devices and profiles.  Example: SELECT host_count, device_type, device_count FROM run_environment;
WITH accelerators AS (
  SELECT profile_id, id AS device_id, model, memory_bytes,
    CASE WHEN compute_capability IS NOT NULL THEN 'Nvidia GPU (' || CASE
        WHEN CAST(compute_capability AS REAL) >= 10 THEN 'Blackwell'
        WHEN CAST(compute_capability AS REAL) >= 9 THEN 'Hopper'
        WHEN compute_capability = '8.9' THEN 'Ada Lovelace'
        WHEN CAST(compute_capability AS REAL) >= 8 THEN 'Ampere'
        WHEN compute_capability = '7.5' THEN 'Turing'
        WHEN CAST(compute_capability AS REAL) >= 7 THEN 'Volta'
        WHEN CAST(compute_capability AS REAL) >= 6 THEN 'Pascal'
        WHEN CAST(compute_capability AS REAL) >= 5 THEN 'Maxwell'
        WHEN CAST(compute_capability AS REAL) >= 3 THEN 'Kepler' ELSE 'Fermi' END || ')'
      ELSE coalesce(model, upper(kind)) END AS type
  FROM temp.devices WHERE kind IN ('gpu', 'tpu')
), members AS MATERIALIZED (
  SELECT run_id, profile_id, host, rank, member_id FROM temp._process_groups
  WHERE member_id NOT IN (SELECT profile_id FROM temp._process_names WHERE is_helper = 1)
), of_devices AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id, count(*) AS count,
    min(memory_bytes) AS memory_bytes,
    replace(group_concat(DISTINCT accelerators.type), ',', ', ') AS type,
    replace(group_concat(DISTINCT accelerators.model), ',', ', ') AS model
  FROM members JOIN accelerators ON accelerators.profile_id = members.member_id
  GROUP BY members.run_id, members.profile_id
)
SELECT
  members.profile_id AS profile_id,
  members.host AS host,
  members.rank AS rank,
  members.run_id AS run_id,
  nullif(count(DISTINCT profiles.host), 0) AS host_count,
  count(*) AS task_count,
  coalesce(of_devices.type, 'CPU') AS device_type,
  of_devices.model AS device_model,
  coalesce(of_devices.count, 0) AS device_count,
  of_devices.memory_bytes AS device_memory_bytes,
  iif(count(DISTINCT profiles.framework) = 1, max(profiles.framework), NULL) AS framework,
  iif(count(DISTINCT profiles.framework_version) = 1, max(profiles.framework_version), NULL) AS framework_version,
  iif(count(DISTINCT profiles.job) = 1, max(profiles.job), NULL) AS job,
  iif(count(DISTINCT profiles.world_size) = 1, max(profiles.world_size), NULL) AS world_size,
  iif(count(DISTINCT profiles.command) = 1, max(profiles.command), NULL) AS command,
  min(profiles.start_ns) AS start_ns,
  max(profiles.end_ns) AS end_ns,
  max(profiles.end_ns) - min(profiles.start_ns) AS dur_ns
FROM members
JOIN temp.profiles AS profiles ON profiles.id = members.member_id
LEFT JOIN of_devices ON of_devices.run_id = members.run_id AND of_devices.profile_id IS members.profile_id
GROUP BY members.run_id, members.profile_id, members.host, members.rank
ORDER BY members.run_id, members.profile_id
