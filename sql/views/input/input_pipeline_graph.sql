-- The graph of input pipelines: what each call of a pipeline asked of each iterator, and which of them it waited for.
--
-- One row for each call of a pipeline (input_pipelines) and iterator that worked for it, on whatever thread and however
-- long before, as the bottleneck analysis of tf.data shows them.  In PyTorch there is one for each name of a stage.
-- Calls of warm-up steps are left out.  XProf takes numbers of iterators from 2^63 on for 0, and several of them for
-- one.  Here they are apart.
--   profile_id       INTEGER  -      The profile: a process or rank.
--   host             TEXT     -      Host that it ran on.
--   rank             INTEGER  -      Rank of the process.  NULL where it is unknown.
--   pipeline         TEXT     -      Name of the pipeline.
--   position         INTEGER  -      Place of the call among those of the pipeline, from 1 for the slowest.
--   call_id          INTEGER  -      The call, as in input_events.
--   step_id          INTEGER  -      The step that used its result, as in steps.  NULL where it is not known.
--   call_ns          INTEGER  ns     Duration of the call.
--   iterator         INTEGER  -      Number of the iterator.  NULL where the source has none.
--   parent_iterator  INTEGER  -      Number of the iterator that takes its elements.  NULL at the root and where the
--                                    source has none.
--   name             TEXT     -      Name of the iterator, without those around it.
--   long_name        TEXT     -      Name of the iterator with those of all around it.
--   is_async         INTEGER  -      1: the iterator works ahead of who asks it.  NULL where the source has no numbers
--                                    of iterators.
--   count            INTEGER  count  Number of calls of the iterator.
--   start_ns         INTEGER  ns     When the first of them began.
--   sum_ns           INTEGER  ns     Time of these calls.
--   self_ns          INTEGER  ns     Time of these calls without what they waited for.
--   is_blocking      INTEGER  -      1: the call of the pipeline waited for the iterator.
--   is_bottleneck    INTEGER  -      1: of all that the call waited for, this took longest by itself.
-- Cost: one pass over input_events and a sort of them.
-- Example: SELECT name, count, sum_ns, self_ns FROM input_pipeline_graph WHERE position = 1 AND is_blocking = 1;
WITH positions AS (
  SELECT calls.id AS id, profiles.host AS host, profiles.rank AS rank, calls.pipeline AS pipeline,
    calls.dur_ns AS dur_ns,
    row_number() OVER (PARTITION BY calls.profile_id, calls.pipeline, calls.iterator
      ORDER BY calls.dur_ns DESC, calls.id) AS position
  FROM temp.input_events AS calls JOIN temp.profiles AS profiles ON profiles.id = calls.profile_id
  WHERE calls.call_id = calls.id
    AND (calls.step_id IS NULL OR calls.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
), stages AS (
  SELECT profile_id, call_id, iterator, min(step_id) AS step_id, min(parent_iterator) AS parent_iterator,
    min(CASE WHEN name GLOB 'Iterator::*' THEN substr(name, 11) ELSE name END) AS name,
    min(long_name) AS long_name, count(*) AS count, min(start_ns) AS start_ns,
    CAST(sum(1.0 * dur_ns) AS INTEGER) AS sum_ns, CAST(sum(1.0 * self_ns) AS INTEGER) AS self_ns,
    max(is_blocking) AS is_blocking
  FROM temp.input_events WHERE call_id IS NOT NULL
  GROUP BY profile_id, call_id, iterator, CASE WHEN iterator IS NULL THEN name END
)
SELECT
  stages.profile_id AS profile_id,
  positions.host AS host,
  positions.rank AS rank,
  positions.pipeline AS pipeline,
  positions.position AS position,
  stages.call_id AS call_id,
  stages.step_id AS step_id,
  positions.dur_ns AS call_ns,
  stages.iterator AS iterator,
  stages.parent_iterator AS parent_iterator,
  stages.name AS name,
  stages.long_name AS long_name,
  CASE WHEN stages.iterator IS NOT NULL THEN stages.name IN ('Prefetch', 'ParallelInterleave', 'ParallelMap',
    'ParseExample', 'MapAndBatch', 'DataService', 'LegacyParallelInterleave', 'ParallelBatch') END AS is_async,
  stages.count AS count,
  stages.start_ns AS start_ns,
  stages.sum_ns AS sum_ns,
  stages.self_ns AS self_ns,
  stages.is_blocking AS is_blocking,
  stages.is_blocking = 1 AND row_number() OVER (PARTITION BY stages.call_id
    ORDER BY stages.is_blocking DESC, stages.self_ns DESC, stages.iterator, stages.name) = 1 AS is_bottleneck
FROM stages JOIN positions ON positions.id = stages.call_id
ORDER BY profile_id, pipeline, position, start_ns, iterator, name
