-- Input by step and stage: what each step waited for, and what the data loader and its processes did for its batch.
--
-- One row for each measured step and name of input_events.  They are the own waiting of the step, and what was done for
-- the batch that it waited for, by the loader itself or in advance by one of its processes.  A process that a loader
-- starts is recorded as a profile of its own (profiles.parent_pid).  Loaders hand batches to their processes in turn,
-- in the order of their numbers.  So the n-th batch of the w-th of W processes since the loader began anew is the (n *
-- W + w)-th that the program asked for.  What does not fit that has no row, as it would have ended after the program
-- had it.  Loaders with processes that interleave have no rows either.
--   profile_id  INTEGER  -      The profile of the step: a process or rank.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_id     INTEGER  -      The step, as in steps.
--   number      INTEGER  -      Number of the step.
--   name        TEXT     -      Name of the events, as in input_events.
--   category    TEXT     -      What the events do, as input_events.stage.  read_in_advance: the waiting for a process
--                               of the loader.  preprocess: reading the samples of a batch.  batch: putting them
--                               together.
--   worker_pid  INTEGER  -      Number of the process that did it.  NULL for the process of the program itself.
--   count       INTEGER  count  Number of events.
--   sum_ns      INTEGER  ns     Time of the events.
--   self_ns     INTEGER  ns     Time of the events without those inside them.
--   ready_ns    INTEGER  ns     Time from when this was done until the step had its batch.  Where it is near 0 the step
--                               waited for it.  NULL for the process of the program itself, and for events inside
--                               others.
-- Cost: linear in input_events, sorts of them.
-- Example: SELECT name, avg(sum_ns), avg(self_ns), avg(ready_ns) FROM input_stages GROUP BY 1;
WITH families AS MATERIALIZED (
  SELECT workers.id AS worker_id, workers.pid AS pid, trainers.id AS profile_id
  FROM temp.profiles AS workers JOIN temp.profiles AS trainers ON trainers.run_id = workers.run_id
    AND trainers.pid = workers.parent_pid AND trainers.host IS workers.host AND trainers.id <> workers.id
), marks AS ( -- in the order of time: where a loader begins, is asked for a batch, and where a process fetches one
  SELECT profile_id, 1 AS begins, 0 AS is_next, NULL AS pid, id AS event_id, start_ns, end_ns, step_id
  FROM temp.ranges
  WHERE name = 'torch.utils.data.DataLoader.__iter__' AND profile_id IN (SELECT profile_id FROM families)
  UNION ALL
  SELECT profile_id, 0, 1, NULL, id, start_ns, end_ns, step_id
  FROM temp.input_events
  WHERE stage = 'read_in_advance' AND profile_id IN (SELECT profile_id FROM families)
  UNION ALL
  SELECT families.profile_id, 0, 0, families.pid, events.id, events.start_ns, events.end_ns, NULL
  FROM temp.input_events AS events JOIN families ON families.worker_id = events.profile_id
  WHERE events.stage = 'preprocess' AND events.parent_id IS NULL
), numbered AS (
  SELECT marks.*, total(begins) OVER (PARTITION BY profile_id ORDER BY start_ns, begins DESC, event_id) AS iteration
  FROM marks
), nexts AS MATERIALIZED (
  SELECT profile_id, iteration, end_ns, step_id,
    row_number() OVER (PARTITION BY profile_id, iteration ORDER BY start_ns, event_id) - 1 AS batch
  FROM numbered WHERE is_next = 1
), fetched AS (
  SELECT profile_id, iteration, event_id, end_ns, pid,
    row_number() OVER (PARTITION BY profile_id, iteration, pid ORDER BY start_ns, event_id) - 1 AS turn,
    dense_rank() OVER (PARTITION BY profile_id, iteration ORDER BY pid) - 1 AS place
  FROM numbered WHERE begins = 0 AND is_next = 0
), sets AS (
  SELECT profile_id, iteration, max(place) + 1 AS worker_count FROM fetched GROUP BY profile_id, iteration
), taken AS MATERIALIZED (
  SELECT fetched.event_id AS event_id, fetched.pid AS pid, nexts.step_id AS step_id,
    nexts.end_ns - fetched.end_ns AS ready_ns
  FROM fetched
  JOIN sets ON sets.profile_id = fetched.profile_id AND sets.iteration = fetched.iteration
  JOIN nexts ON nexts.profile_id = fetched.profile_id AND nexts.iteration = fetched.iteration
    AND nexts.batch = fetched.turn * sets.worker_count + fetched.place
  WHERE fetched.end_ns <= nexts.end_ns
), done AS (
  SELECT step_id, NULL AS pid, name, stage, count, sum_ns, self_ns, NULL AS ready_ns
  FROM temp.step_input_totals WHERE step_id IS NOT NULL
  UNION ALL
  SELECT taken.step_id, taken.pid, events.name, events.stage, 1, events.dur_ns, events.self_ns, taken.ready_ns
  FROM taken JOIN temp.input_events AS events ON events.id = taken.event_id
  UNION ALL
  SELECT taken.step_id, taken.pid, events.name, events.stage, 1, events.dur_ns, events.self_ns, NULL
  FROM taken JOIN temp.input_events AS events ON events.parent_id = taken.event_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  done.name AS name,
  done.stage AS category,
  done.pid AS worker_pid,
  sum(done.count) AS count,
  CAST(sum(1.0 * done.sum_ns) AS INTEGER) AS sum_ns,
  CAST(sum(1.0 * done.self_ns) AS INTEGER) AS self_ns,
  min(done.ready_ns) AS ready_ns
FROM done
JOIN temp.steps AS steps ON steps.id = done.step_id
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
WHERE steps.is_warmup = 0
GROUP BY steps.profile_id, profiles.rank, steps.id, steps.number, done.name, done.stage, done.pid
ORDER BY profile_id, number, step_id, worker_pid, category DESC, name
