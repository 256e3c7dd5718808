-- Batches at a glance: how large a server of models makes them, what of them is padding, how long they wait and take.
--
-- One row for each process and model that ran batches of requests, and one more for all hosts of a run that has
-- several.  Such programs are TensorFlow Serving and any other with tf.nondifferentiable_batch_function, recorded by
-- its profiler server: tfprof-capture --attach HOST:PORT.  Each batch is a row of batches.  Where nothing else marks
-- steps it is a step, too (steps.origin is serving), and views by step speak of it.  Numbers are those of the inference
-- profile of XProf, except for the waiting, which XProf counts from the beginning of the first request.
--   profile_id        INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host              TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   model             TEXT     -      The model with its version, or the op that batches where the source does not tell
--                                     the model.  NULL where neither is known.
--   count             INTEGER  count  Number of batches.
--   per_second        REAL     -      Batches in a second, over the time from the beginning of the first to the end of
--                                     the last.  NULL where that time is 0.
--   mean_tasks        REAL     count  Mean number of requests, or parts of requests, in a batch.
--   mean_size         REAL     count  Mean number of examples in a batch, without padding.
--   max_size          INTEGER  count  Number of examples in the largest batch, without padding.
--   mean_padded_size  REAL     count  Mean number of examples in a batch with padding, which is what was computed.
--                                     NULL where the source does not tell.
--   padding_ratio     REAL     ratio  Share of padding in the computed examples.  It is large where allowed_batch_sizes
--                                     are far apart, or batches are closed before they are full (batch_timeout_micros).
--                                     NULL where the source does not tell.
--   mean_wait_ns      INTEGER  ns     Mean time from when the first request was put into a batch until the batch began.
--                                     The batch waits for more requests, and for a thread (num_batch_threads).  NULL
--                                     where it is not known.
--   p99_wait_ns       INTEGER  ns     Time that 99 of 100 batches waited at most, counted as for mean_wait_ns.
--   mean_ns           INTEGER  ns     Mean duration of a batch.
--   p50_ns            INTEGER  ns     Median duration of a batch.
--   p90_ns            INTEGER  ns     Duration that 90 of 100 batches took at most.
--   p99_ns            INTEGER  ns     Duration that 99 of 100 batches took at most.
--   max_ns            INTEGER  ns     Longest duration of a batch.
-- Cost: linear in batches, which are made from ops once.
-- Example: SELECT model, count, mean_size, padding_ratio, p99_ns FROM batch_summary;
SELECT
  groups.profile_id AS profile_id,
  groups.host AS host,
  groups.rank AS rank,
  batches.model AS model,
  count(*) AS count,
  1e9 * count(*) / nullif(max(batches.end_ns) - min(batches.start_ns), 0) AS per_second,
  avg(batches.task_count) AS mean_tasks,
  avg(batches.size) AS mean_size,
  max(batches.size) AS max_size,
  avg(batches.padded_size) AS mean_padded_size,
  1.0 * sum(1.0 * batches.padding) / nullif(sum(1.0 * batches.padded_size), 0) AS padding_ratio,
  CAST(avg(batches.wait_ns) AS INTEGER) AS mean_wait_ns,
  CAST(percentile(batches.wait_ns, 99) AS INTEGER) AS p99_wait_ns,
  CAST(avg(batches.dur_ns) AS INTEGER) AS mean_ns,
  CAST(percentile(batches.dur_ns, 50) AS INTEGER) AS p50_ns,
  CAST(percentile(batches.dur_ns, 90) AS INTEGER) AS p90_ns,
  CAST(percentile(batches.dur_ns, 99) AS INTEGER) AS p99_ns,
  max(batches.dur_ns) AS max_ns
FROM temp.batches AS batches
JOIN temp._process_groups AS groups ON groups.member_id = batches.profile_id
GROUP BY groups.run_id, groups.profile_id, groups.host, groups.rank, batches.model
ORDER BY groups.run_id, groups.profile_id IS NULL, profile_id, count DESC, model
