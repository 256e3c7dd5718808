-- Input pipelines: how long each lets who asks it wait.
--
-- One row for each profile and pipeline with calls: the pipelines of tf.data's bottleneck analysis, a data loader of
-- PyTorch. Calls of warm-up steps are left out.
--   profile_id  INTEGER  -      Profile id.
--   host        TEXT     -      Host.
--   rank        INTEGER  -      Rank.
--   pipeline    TEXT     -      Host:0 …, Device:0 … for those that feed a device; of PyTorch the loader's class.
--   iterator    INTEGER  -      The number of its outermost iterator; NULL where the source has none.
--   calls       INTEGER  count  How often it was asked for an element.
--   mean_ns     INTEGER  ns     How long a call took.
--   min_ns      INTEGER  ns     How long a call took.
--   max_ns      INTEGER  ns     How long a call took.
--   slow_calls  INTEGER  -      Calls longer than 50 µs: the element was not ready.
-- Cost: one pass over input_events.  Example: SELECT pipeline, calls, mean_ns, slow_calls FROM input_pipelines;
WITH calls AS (
  SELECT profile_id, pipeline, iterator, count(*) AS calls, CAST(sum(1.0 * dur_ns) AS INTEGER) AS sum_ns,
    min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, sum(dur_ns > 50000) AS slow_calls
  FROM temp.input_events
  WHERE call_id = id AND (step_id IS NULL OR step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
  GROUP BY profile_id, pipeline, iterator
)
SELECT
  calls.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  calls.pipeline AS pipeline,
  calls.iterator AS iterator,
  calls.calls AS calls,
  calls.sum_ns / calls.calls AS mean_ns,
  calls.min_ns AS min_ns,
  calls.max_ns AS max_ns,
  calls.slow_calls AS slow_calls
FROM calls JOIN temp.profiles AS profiles ON profiles.id = calls.profile_id
ORDER BY profile_id, pipeline, iterator
