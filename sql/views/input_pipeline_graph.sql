-- The graph of input pipelines: what each call of a pipeline asked of each iterator, and which of them it waited for.
--
-- One row for each call of a pipeline (input_pipelines) and iterator that worked for it, on whatever thread and however
-- long before, as tf.data's bottleneck analysis shows them; of PyTorch for each name of a stage. Calls of warm-up steps
-- are left out.
--   profile_id       INTEGER  -      Profile id.
--   host             TEXT     -      Host.
--   rank             INTEGER  -      Rank.
--   pipeline         TEXT     -      Pipeline.
--   position         INTEGER  -      1 for the pipeline's slowest call.
--   call_id          INTEGER  -      The call, an input event; its step; how long it took.
--   step_id          INTEGER  -      The call, an input event; its step; how long it took.
--   call_ns          INTEGER  ns     The call, an input event; its step; how long it took.
--   iterator         INTEGER  -      Numbers of the source; NULL where it has none.
--   parent_iterator  INTEGER  -      Numbers of the source; NULL where it has none.
--   name             TEXT     -      Without and with the names of all around it.
--   long_name        TEXT     -      Without and with the names of all around it.
--   is_async         INTEGER  -      1: an iterator that works ahead of who asks it.
--   count            INTEGER  count  Its calls, the first one.
--   start_ns         INTEGER  ns     Its calls, the first one.
--   sum_ns           INTEGER  ns     Their time; without what they waited for.
--   self_ns          INTEGER  ns     Their time; without what they waited for.
--   is_blocking      INTEGER  -      1: the call waited for it.
--   is_bottleneck    INTEGER  -      1: of all that it waited for, this took longest by itself.
-- XProf takes numbers of iterators from 2^63 on for 0, and several of them for one; here they are apart.
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
