-- Input pipelines: how long each lets who asks it wait.
--
-- One row for each profile and pipeline with calls: the pipelines of the bottleneck analysis of tf.data, a data loader
-- of PyTorch.  Calls of warm-up steps are left out.
--   profile_id  INTEGER  -      The profile: a process or rank.
--   host        TEXT     -      Host that it ran on.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown.
--   pipeline    TEXT     -      Name of the pipeline.  It is Host:0 and so on, and Device:0 and so on for those that
--                               feed a device.  In PyTorch it is the class of the loader.
--   iterator    INTEGER  -      Number of its outermost iterator.  NULL where the source has none.
--   count       INTEGER  count  Number of times that it was asked for an element.
--   mean_ns     INTEGER  ns     Mean duration of a call.
--   min_ns      INTEGER  ns     Shortest duration of a call.
--   max_ns      INTEGER  ns     Longest duration of a call.
--   slow_count  INTEGER  count  Number of calls longer than 50 µs, for which the element was not ready.
-- Cost: one pass over input_events.  Example: SELECT pipeline, count, mean_ns, slow_count FROM input_pipelines;
WITH calls AS (
  SELECT profile_id, pipeline, iterator, count(*) AS calls, CAST(sum(1.0 * dur_ns) AS INTEGER) AS sum_ns,
    min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, sum(dur_ns > 50000) AS slow_count
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
  calls.calls AS count,
  calls.sum_ns / calls.calls AS mean_ns,
  calls.min_ns AS min_ns,
  calls.max_ns AS max_ns,
  calls.slow_count AS slow_count
FROM calls JOIN temp.profiles AS profiles ON profiles.id = calls.profile_id
ORDER BY profile_id, pipeline, iterator
