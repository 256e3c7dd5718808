-- Windows of processes, and processes of a job: which profiles are of one process, and which went on together.
--
-- One row for each profile.  torch.profiler writes a file for each cycle of its schedule: files of one run, rank, host
-- and pid, one after the other, are windows of one process; where a file says no rank, those whose names are the same
-- up to the first point (worker in profiles.attributes).  Processes that were merged into one file, and other formats,
-- are by themselves.  Profiles of one framework that overlap in time were recorded together: other ranks, or windows of
-- them.  What a pattern names besides, such as another day's run, a restart, or two profiles that have one rank at the
-- same time, is no part of it.
--   run_id, profile_id
--   process_id     the profile of the first window of its process
--   window         which window it is, from 0
--   window_count   how many there are
--   session_id     the first profile of those that were recorded together
--   session_count  how many processes there are among them
--   start_number   which of the processes of its rank it is, by time, from 1: of a rank that was started again. Of
--                  traces of PyTorch; else 1
--   start_count    how many there are
-- Times of XPlane files are compared from the start of each, as XProf does.
-- Cost: a sort of profiles.  Example: SELECT process_id, count(*) FROM process_windows GROUP BY process_id;
WITH files AS (
  SELECT profiles.*, start_ns - iif(origin = 'xplane', clock_offset_ns, 0) AS from_ns,
    end_ns - iif(origin = 'xplane', clock_offset_ns, 0) AS until_ns,
    iif(json_valid(attributes), attributes, '{}') AS facts
  FROM temp.profiles
), keyed AS (
  SELECT run_id, id, from_ns, coalesce(until_ns, from_ns) AS until_ns, rank,
    origin IS 'kineto' AND rank IS NOT NULL AS is_trace,
    CASE WHEN origin = 'kineto' AND pid IS NOT NULL AND coalesce(rank, json_extract(facts, '$.worker')) IS NOT NULL
      THEN format('%d %s %s %s', pid, coalesce(host, ''), coalesce('rank ' || rank, json_extract(facts, '$.worker')),
        coalesce(json_extract(facts, '$.merged_process'), ''))
      ELSE format('profile %d', id) END AS process,
    format('%s %s %d', origin, coalesce(framework, max(framework) OVER (PARTITION BY run_id, origin)),
      coalesce(world_size, max(world_size) OVER (PARTITION BY run_id, origin))) AS kind
  FROM files
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
    row_number() OVER (PARTITION BY run_id, process ORDER BY from_ns, id) AS number
  FROM stretches
), ranked AS (
  SELECT counted.*, sum(is_first) OVER (PARTITION BY run_id, kind, stretch, rank) AS rank_count,
    sum(number = 1) OVER (PARTITION BY run_id, kind, rank ORDER BY from_ns, id ROWS UNBOUNDED PRECEDING)
      AS rank_start,
    sum(number = 1) OVER (PARTITION BY run_id, kind, rank) AS start_count
  FROM counted
), sessions AS (
  SELECT ranked.*, iif(is_trace AND rank_count > 1, format('%d alone', id), stretch) AS session FROM ranked
)
SELECT
  sessions.run_id AS run_id,
  sessions.id AS profile_id,
  first_value(sessions.id) OVER in_process AS process_id,
  sessions.number - 1 AS window,
  count(*) OVER (PARTITION BY sessions.run_id, sessions.process) AS window_count,
  min(sessions.id) OVER in_session AS session_id,
  sum(sessions.is_first) OVER in_session AS session_count,
  iif(sessions.is_trace = 0, 1, min(sessions.rank_start) OVER (PARTITION BY sessions.run_id, sessions.process))
    AS start_number,
  iif(sessions.is_trace = 0, 1, sessions.start_count) AS start_count
FROM sessions
WINDOW in_process AS (PARTITION BY sessions.run_id, sessions.process ORDER BY sessions.from_ns, sessions.id),
  in_session AS (PARTITION BY sessions.run_id, sessions.kind, sessions.session)
ORDER BY run_id, process_id, window
