-- Stragglers: the ranks that others wait for.
--
-- One row for each rank of a run of several.  All ranks leave a collective together, so the rank that enters it last is
-- in it for the shortest time.  The difference to the longest time is how long the others waited for it, whatever the
-- clocks of the hosts say.  Collectives are the communication kernels, and those that copies or ops of programs that
-- XLA compiled for CPUs carry out.  Where the host exchanges the data (Gloo, MPI, UCC), they are the marks of the
-- operations in which every rank waits for every other: all_reduce, all_gather, reduce_scatter, all_to_all and barrier.
-- Such a mark begins when the operation is queued, and counts from the end of those that were queued before.  The same
-- collective on two ranks is that of the same name and place within the step of the same number, on ranks that were
-- recorded together (_process_windows.session_id), as in xprof_pod_steps.  Where kernels were recorded only in some
-- steps, these are compared.  (HTA looks at the normalised start of one kernel instead, and fails on a single rank,
-- which has no row here.)
--   profile_id  INTEGER  -      The profile: a process or rank.  Where profiles have no ranks, such as those of
--                               profiler servers, _process_names says which is which.
--   host        TEXT     -      Host that it ran on.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   count       INTEGER  count  Steps in which others waited for this rank longer than for any other.
--   metric      TEXT     ratio  Mean share of a step for which the others waited for it.
--   step_id     INTEGER  -      The step in which they waited longest, as in steps.
--   late_ns     INTEGER  ns     How long they waited for it in all steps that were compared.
--   step_count  INTEGER  count  Steps that were compared.
--   even_ns     INTEGER  ns     Time by which these steps would be shorter if the work of each were spread evenly.
--                               That is how much later its last rank came than its ranks on average.  All ranks of a
--                               run have the same.
-- Cost: a sort of communication kernels and of collectives on hosts.
-- Example: SELECT rank, count, metric FROM late_ranks;
WITH on_hosts AS (
  SELECT collectives.profile_id AS profile_id, collectives.step_id AS step_id, collectives.name AS name,
    collectives.id AS id, collectives.start_ns AS start_ns, collectives.end_ns AS end_ns,
    max(collectives.end_ns) OVER (PARTITION BY collectives.profile_id ORDER BY collectives.start_ns, collectives.id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS queue_ns,
    replace(collectives.name, '_', '') AS operation
  FROM temp.collectives AS collectives WHERE collectives.carried_by = 'host'
), exchanges AS (
  SELECT profile_id, step_id, short_name AS name, id, start_ns, dur_ns
  FROM temp.kernels WHERE kind = 'communication'
  UNION ALL
  SELECT profile_id, step_id, name, id, start_ns, dur_ns FROM temp.collectives WHERE carried_by IN ('copies', 'op')
  UNION ALL
  SELECT profile_id, step_id, name, id, start_ns,
    max(0, end_ns - max(start_ns, coalesce(queue_ns, start_ns))) AS dur_ns
  FROM on_hosts
  WHERE operation GLOB '*allreduce*' OR operation GLOB '*allgather*' OR operation GLOB '*reducescatter*'
    OR operation GLOB '*alltoall*' OR operation GLOB '*barrier*'
), jobs AS MATERIALIZED ( -- what was not recorded together is compared with nothing, as in xprof_pod_steps
  SELECT profile_id, session_id AS job FROM temp._process_windows
), numbered AS (
  SELECT exchanges.profile_id AS profile_id, jobs.job AS job, exchanges.step_id AS step_id,
    steps.number AS number, exchanges.name AS name, exchanges.dur_ns AS dur_ns,
    coalesce(steps.pace_ns, steps.dur_ns) AS step_ns,
    row_number() OVER (PARTITION BY exchanges.step_id, exchanges.name ORDER BY exchanges.start_ns, exchanges.id)
      AS place
  FROM exchanges
  JOIN temp.steps AS steps ON steps.id = exchanges.step_id
  JOIN jobs ON jobs.profile_id = exchanges.profile_id
  WHERE steps.is_warmup = 0
), waits AS (
  SELECT profile_id, job, step_id, number, step_ns,
    max(dur_ns) OVER (PARTITION BY job, number, name, place) - 1.0 * dur_ns AS late_ns,
    count(*) OVER (PARTITION BY job, number, name, place) AS rank_count
  FROM numbered
), by_step AS (
  SELECT profile_id, job, step_id, number, sum(1.0 * late_ns) AS late_ns,
    sum(1.0 * late_ns) / nullif(max(step_ns), 0) AS share
  FROM waits WHERE rank_count > 1 GROUP BY profile_id, job, step_id, number
), placed AS (
  SELECT profile_id, step_id, late_ns, share,
    max(late_ns) OVER (PARTITION BY job, number) - avg(late_ns) OVER (PARTITION BY job, number) AS even_ns,
    late_ns > 0 AND late_ns = max(late_ns) OVER (PARTITION BY job, number) AS is_latest,
    row_number() OVER (PARTITION BY profile_id ORDER BY late_ns DESC, step_id) AS place
  FROM by_step
)
SELECT
  placed.profile_id AS profile_id,
  min(profiles.host) AS host,
  min(profiles.rank) AS rank,
  sum(placed.is_latest) AS count,
  avg(placed.share) AS metric,
  min(CASE WHEN placed.place = 1 THEN placed.step_id END) AS step_id,
  CAST(sum(placed.late_ns) AS INTEGER) AS late_ns,
  count(*) AS step_count,
  CAST(sum(placed.even_ns) AS INTEGER) AS even_ns
FROM placed JOIN temp.profiles AS profiles ON profiles.id = placed.profile_id
GROUP BY placed.profile_id
ORDER BY late_ns DESC, profile_id
