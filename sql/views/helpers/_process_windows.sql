-- Windows of processes, and processes of a job: which profiles are of one process, and which went on together.
--
-- One row for each profile.  torch.profiler writes a file for each cycle of its schedule.  Files of one run, rank,
-- host and pid, one after the other, are windows of one process.  Where a file says no rank, those with the same name
-- up to the first point are (worker in profiles.attributes).  XSpaces of one host and pid, one after the other, are
-- windows, too (where they tell no pid, those of one profiler server, by its address).  So are recordings of one
-- process that was asked for several (tfprof-capture --attach), by pid and start.  Processes that were merged into one
-- file, and other formats, are by themselves. Profiles of one framework that overlap in time were recorded together:
-- other ranks, or windows of them.  What a pattern names besides is no part of it: the run of another day, a restart,
-- another job (in our recordings, by profiles.job unless it is a path), or two profiles that have one rank at the same
-- time. A file in which the host works while it works in another one of its process is no window, but by itself
-- (overlapping_files, is_overlapping in profiles.attributes).
--   run_id         INTEGER  -      The run, as in runs.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   process_id     INTEGER  -      The profile of the first window of its process.
--   window         INTEGER  -      Number of the window, from 0.
--   window_count   INTEGER  count  Windows of its process.
--   session_id     INTEGER  -      The first profile of those that were recorded together.
--   session_count  INTEGER  count  Processes among the profiles that were recorded together.
--   start_number   INTEGER  -      Number of the process among those of its rank by time, from 1, as a rank may be
--                                  started again.  It is known in traces of PyTorch, and 1 elsewhere.
--   start_count    INTEGER  count  Processes of its rank, in traces of PyTorch.  1 elsewhere.
-- Times of XPlane files are compared from the start of each, as XProf does, where hosts began within an hour.  That is
-- known by what the file says of it, else by the name of its directory (run_started_ns in profiles.attributes).  A
-- process that comes again, or a host a minute later, is of another recording.
-- Cost: a sort of profiles.  Example: SELECT process_id, count(*) FROM _process_windows GROUP BY process_id;
WITH files AS (
  SELECT profiles.*, start_ns - iif(origin = 'xplane', clock_offset_ns, 0) AS from_ns,
    end_ns - iif(origin = 'xplane', clock_offset_ns, 0) AS until_ns,
    iif(json_valid(attributes), attributes, '{}') AS facts,
    coalesce(pid, json_extract(iif(json_valid(attributes), attributes, '{}'), '$.server')) AS process_key,
    CASE WHEN origin = 'xplane' THEN iif(start_ns > 1000000000000000000, start_ns,
      json_extract(iif(json_valid(attributes), attributes, '{}'), '$.run_started_ns')) END AS clock_ns -- of an XSpace
  FROM temp.profiles
), takes AS ( -- how many began before: of the process, or on the host a minute before; on any an hour before
  SELECT files.*, iif(clock_ns IS NULL, 0,
      count(*) OVER (PARTITION BY run_id, origin, host, process_key ORDER BY clock_ns
        RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      + count(*) OVER (PARTITION BY run_id, origin, host ORDER BY clock_ns
        RANGE BETWEEN UNBOUNDED PRECEDING AND 60000000000 PRECEDING)) AS take,
    iif(clock_ns IS NULL, 0, count(*) OVER (PARTITION BY run_id, origin ORDER BY clock_ns
        RANGE BETWEEN UNBOUNDED PRECEDING AND 3600000000000 PRECEDING)) AS day,
    CASE WHEN origin = 'kineto' AND pid IS NOT NULL AND coalesce(rank, json_extract(facts, '$.worker')) IS NOT NULL
      THEN format('%d %s %s %s', pid, coalesce(host, ''), coalesce('rank ' || rank, json_extract(facts, '$.worker')),
        coalesce(json_extract(facts, '$.merged_process'), ''))
      WHEN origin = 'tfprof' AND pid IS NOT NULL AND json_extract(facts, '$.process_start_ticks') IS NOT NULL
      THEN format('tfprof %d %s %s %s', pid, coalesce(host, ''), coalesce(json_extract(facts, '$.boot_id'), ''),
        json_extract(facts, '$.process_start_ticks'))
      WHEN clock_ns IS NOT NULL AND process_key IS NOT NULL AND host IS NOT NULL
      THEN format('xplane %s %s %d', process_key, host,
        row_number() OVER (PARTITION BY run_id, origin, host, process_key, clock_ns ORDER BY id))
      ELSE format('profile %d', id) END AS process
  FROM files
), keyed AS ( -- a host that comes again begins another recording for all
  SELECT run_id, id, from_ns, coalesce(until_ns, from_ns) AS until_ns, rank, start_ns,
    origin IS 'kineto' AND rank IS NOT NULL AS is_trace,
    iif(origin IS 'kineto' AND json_extract(facts, '$.is_overlapping'), format('profile %d', id), process) AS process,
    format('%s %s %s %d %d %d', iif(origin = 'tfprof' AND job NOT GLOB '/*', job, ''), origin,
      coalesce(framework, max(framework) OVER (PARTITION BY run_id, origin)),
      coalesce(world_size, max(world_size) OVER (PARTITION BY run_id, origin)), day,
      max(take) OVER (PARTITION BY run_id, origin, day ORDER BY clock_ns, id ROWS UNBOUNDED PRECEDING)) AS kind
  FROM takes
), edges AS (
  SELECT keyed.*, from_ns > max(until_ns) OVER (PARTITION BY run_id, kind ORDER BY from_ns, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS is_later
  FROM keyed
), stretches AS (
  SELECT edges.*, total(is_later) OVER (PARTITION BY run_id, kind ORDER BY from_ns, id ROWS UNBOUNDED PRECEDING)
      AS stretch
  FROM edges
), counted AS (
  SELECT stretches.*, row_number() OVER (PARTITION BY run_id, kind, stretch, process ORDER BY from_ns, id) = 1
      AS is_first,
    row_number() OVER (PARTITION BY run_id, process ORDER BY start_ns, id) AS number
  FROM stretches
), ranked AS (
  SELECT counted.*, sum(is_first) OVER (PARTITION BY run_id, kind, stretch, rank) AS rank_count,
    sum(number = 1) OVER (PARTITION BY run_id, kind, rank ORDER BY from_ns, id ROWS UNBOUNDED PRECEDING)
      AS rank_start,
    sum(number = 1) OVER (PARTITION BY run_id, kind, rank) AS start_count
  FROM counted
)
SELECT
  ranked.run_id AS run_id,
  ranked.id AS profile_id,
  first_value(ranked.id) OVER in_process AS process_id,
  ranked.number - 1 AS window,
  count(*) OVER (PARTITION BY ranked.run_id, ranked.process) AS window_count,
  min(ranked.id) OVER in_session AS session_id,
  sum(ranked.is_first) OVER in_session AS session_count,
  iif(ranked.is_trace = 0, 1, min(ranked.rank_start) OVER (PARTITION BY ranked.run_id, ranked.process))
    AS start_number,
  iif(ranked.is_trace = 0, 1, ranked.start_count) AS start_count
FROM ranked
WINDOW in_process AS (PARTITION BY ranked.run_id, ranked.process ORDER BY ranked.start_ns, ranked.id),
  in_session AS (PARTITION BY ranked.run_id, ranked.kind,
    iif(ranked.is_trace AND ranked.rank_count > 1, format('%d alone', ranked.id), ranked.stretch))
ORDER BY run_id, process_id, window
