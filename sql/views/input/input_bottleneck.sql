-- Bottlenecks of input pipelines: what the slowest call of each waited for longest, and what to try.
--
-- One row for each pipeline that feeds the host (input_pipelines), as the bottleneck analysis of tf.data has it.
--   profile_id      INTEGER  -   The profile: a process or rank.
--   host            TEXT     -   Host that it ran on.
--   rank            INTEGER  -   Rank of the process.  NULL where it is unknown.
--   pipeline        TEXT     -   Name of the pipeline.
--   max_latency_ns  INTEGER  ns  Duration of the slowest call.  Up to 50 µs it is no wait.
--   iterator        INTEGER  -   Number of the iterator that this call waited for longest.  NULL where the source has
--                                none.
--   name            TEXT     -   Name of that iterator, without those around it.
--   long_name       TEXT     -   Name of that iterator with those of all around it.
--   self_ns         INTEGER  ns  Time that this iterator took by itself, for this call.  It may have begun before the
--                                call.
--   suggestion      TEXT     -   What to try.
-- Cost: that of input_pipeline_graph.  Example: SELECT pipeline, long_name, suggestion FROM input_bottleneck;
WITH found AS (
  SELECT * FROM temp.input_pipeline_graph WHERE position = 1 AND is_bottleneck = 1 AND pipeline NOT GLOB 'Device:*'
)
SELECT
  profile_id AS profile_id,
  host AS host,
  rank AS rank,
  pipeline AS pipeline,
  call_ns AS max_latency_ns,
  iterator AS iterator,
  name AS name,
  long_name AS long_name,
  self_ns AS self_ns,
  CASE
    WHEN iterator IS NULL AND name GLOB '*SingleProcess*'
      THEN 'Load in processes of their own: num_workers of the DataLoader.'
    WHEN iterator IS NULL THEN 'More workers or a cheaper preparation: see input_stages for what the workers did.'
    WHEN name IN ('TFRecord', 'SSTable', 'RecordIO', 'Spanner', 'TFColumn', 'SleepwalkRemoteDataset', 'TextLine',
        'StitchedTimelineDataset', 'DateKeyDataset', 'CapacitorProto', 'LMDB', 'ExternalDataset', 'PearModel',
        'FixedLengthRecordV2', 'FromTensor', 'TensorSlice', 'Generator', 'SyntheticDatasetOp')
      THEN 'A source: keep the data near to the host, and read several files at once (interleave with '
        || 'num_parallel_calls).'
    WHEN name = 'DataService' THEN 'tf.data service: profile one of its workers, the bottleneck is there.'
    WHEN name IN ('GuzzlerDataGuzzlerRemoteDataset', 'ReverbDataset', 'DatasetSampleGame', 'Courier',
        'ReverbEpisodeDataset')
      THEN 'A remote source: find the bottleneck where the data comes from.'
    WHEN name IN ('Map', 'Interleave')
      THEN 'Run it in parallel (num_parallel_calls=tf.data.AUTOTUNE), or cache what it gives (cache).'
    WHEN name IN ('Filter', 'Batch', 'Unbatch')
      THEN 'It works on one element after the other: give it fewer (shard before it), or cache what it gives (cache).'
    WHEN name = 'Prefetch' THEN 'Nothing below it was recorded as slow: a larger buffer, or more parallel stages below.'
    ELSE 'Already in parallel or cheap by kind: make its function cheaper, vectorise it (batch before map), cache what '
      || 'it gives, or give it more threads.'
  END AS suggestion
FROM found
ORDER BY max_latency_ns DESC, profile_id, pipeline
