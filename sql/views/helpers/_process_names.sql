-- Names of processes: what findings call them, and which of them train.
--
-- One row for each profile.
--   profile_id  INTEGER  -  The profile: a process or rank.
--   run_id      INTEGER  -  The run, as in runs.
--   rank        INTEGER  -  Rank of the process.  NULL where it is unknown.
--   host        TEXT     -  Host that it ran on.
--   framework   TEXT     -  The framework, as in profiles.  Findings advise in its words (advice_words).
--   name        TEXT     -  Name that findings use.  It is the first of these that there is: rank 3, the name that the
--                           source has instead of a pid (Python, in the profiler of Ascend), process 1234.  Then host
--                           a where it has no other process in the run, server host:6009 where a profiler server sent
--                           it, the path. Behind it stands which run it is for a rank that was started again, and
--                           which part or file where processes have one pid, or none.  Then comes which of several
--                           windows of the process it is (_process_windows), or the file where such overlap, and the
--                           run where several are open.
--   is_helper   INTEGER  -  1 where it has no steps though another process of its run has, as workers of a DataLoader
--                           and the launcher.  Nobody waits for it as such.
--   prefix      TEXT     -  The name and a colon, to begin a message with.  Empty for the only process that trains.
-- Cost: linear in profiles, and the steps of each.  Example: SELECT name, host, is_helper FROM _process_names;
WITH with_steps AS MATERIALIZED (
  SELECT id AS profile_id, run_id FROM temp.profiles
  WHERE EXISTS (SELECT 1 FROM temp.steps AS steps WHERE steps.profile_id = profiles.id)
), facts AS (
  SELECT profiles.*, json_extract(iif(json_valid(attributes), attributes, '{}'), '$.worker') AS worker,
    json_extract(iif(json_valid(attributes), attributes, '{}'), '$.merged_process') AS part,
    json_extract(iif(json_valid(attributes), attributes, '{}'), '$.process') AS name_of_source,
    json_extract(iif(json_valid(attributes), attributes, '{}'), '$.process_start_ticks') AS start_ticks,
    json_extract(iif(json_valid(attributes), attributes, '{}'), '$.server') AS server
  FROM temp.profiles
), named AS (
  SELECT profiles.id AS profile_id, profiles.run_id AS run_id, profiles.rank AS rank, profiles.host AS host,
    profiles.framework AS framework,
    coalesce('rank ' || profiles.rank, name_of_source, 'process ' || profiles.pid,
      CASE WHEN (SELECT count(*) FROM temp.profiles AS others
        WHERE others.run_id = profiles.run_id AND others.host = profiles.host) = 1 THEN 'host ' || profiles.host END,
      'server ' || server, iif(part IS NOT NULL, 'process', NULL), profiles.path)
      -- as _process_windows says; to read that here costs subqueries, of which SQLite 3.54 allows 1,000 in a query,
      -- and a join with it, or windows here, keep SQLite 3.40 from an index
      || CASE WHEN profiles.origin IN ('kineto', 'xplane') AND profiles.pid IS NOT NULL THEN
        (SELECT iif(count(DISTINCT others.pid) > 1, format(', run %d of %d', count(DISTINCT others.pid)
            FILTER (WHERE others.start_ns < profiles.start_ns OR (others.start_ns = profiles.start_ns
              AND others.id <= profiles.id)), count(DISTINCT others.pid)), '')
          FROM temp.profiles AS others
          WHERE others.run_id = profiles.run_id AND others.rank = profiles.rank AND others.origin = 'kineto')
        || coalesce(', part ' || part, (SELECT ', ' || worker FROM temp.profiles AS others
          WHERE profiles.rank IS NULL AND others.run_id = profiles.run_id AND others.pid = profiles.pid
            AND others.rank IS NULL AND others.origin = 'kineto'
            AND json_extract(iif(json_valid(others.attributes), others.attributes, '{}'), '$.worker') <> worker), '')
        || (SELECT iif(count(*) > 1, iif(profiles.origin = 'kineto' AND sum(others.id <> profiles.id
              AND others.start_ns < profiles.end_ns AND others.end_ns > profiles.start_ns),
            ', in ' || replace(profiles.path, rtrim(profiles.path, replace(profiles.path, '/', '')), ''),
            format(', window %d of %d',
            sum(others.start_ns < profiles.start_ns OR (others.start_ns = profiles.start_ns
              AND others.id <= profiles.id)), count(*))), '')
          FROM temp.profiles AS others
          WHERE others.run_id = profiles.run_id AND others.rank IS profiles.rank AND others.pid = profiles.pid
            AND others.origin = profiles.origin AND others.host IS profiles.host AND part IS NULL
            AND (profiles.rank IS NOT NULL OR profiles.origin = 'xplane'
              OR json_extract(iif(json_valid(others.attributes), others.attributes, '{}'), '$.worker') = worker))
        WHEN start_ticks IS NOT NULL AND profiles.pid IS NOT NULL THEN
          (SELECT iif(count(*) > 1, format(', window %d of %d', sum(others.start_ns < profiles.start_ns
              OR (others.start_ns = profiles.start_ns AND others.id <= profiles.id)), count(*)), '')
          FROM temp.profiles AS others
          WHERE others.pid = profiles.pid AND others.run_id = profiles.run_id AND others.host IS profiles.host
            AND others.origin = 'tfprof' AND json_extract(iif(json_valid(others.attributes), others.attributes, '{}'),
              '$.process_start_ticks') = start_ticks)
        WHEN server IS NOT NULL AND profiles.pid IS NULL THEN
          (SELECT iif(count(*) > 1, format(', window %d of %d', sum(others.start_ns < profiles.start_ns
              OR (others.start_ns = profiles.start_ns AND others.id <= profiles.id)), count(*)), '')
          FROM temp.profiles AS others
          WHERE others.run_id = profiles.run_id AND others.host IS profiles.host AND others.pid IS NULL
            AND json_extract(iif(json_valid(others.attributes), others.attributes, '{}'), '$.server') = server)
        ELSE coalesce(', part ' || part, '') END
      || CASE WHEN (SELECT count(*) FROM temp.runs) > 1 THEN coalesce(' of '
      || replace(rtrim(runs.path, '/'), rtrim(rtrim(runs.path, '/'), replace(runs.path, '/', '')), ''), '') ELSE '' END
      AS name,
    profiles.run_id IN (SELECT run_id FROM with_steps) AND profiles.id NOT IN (SELECT profile_id FROM with_steps)
      AS is_helper
  FROM facts AS profiles JOIN temp.runs AS runs ON runs.id = profiles.run_id
)
SELECT
  profile_id AS profile_id,
  run_id AS run_id,
  rank AS rank,
  host AS host,
  framework AS framework,
  name AS name,
  is_helper AS is_helper,
  CASE WHEN is_helper OR count(*) FILTER (WHERE NOT is_helper) OVER () > 1 THEN name || ': ' ELSE '' END AS prefix
FROM named
ORDER BY profile_id
