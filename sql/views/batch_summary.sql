-- Batches at a glance: how large a server of models makes them, what of them is padding, how long they wait and take.
--
-- One row for each process and model that ran batches of requests (TensorFlow Serving, and any program with
-- tf.nondifferentiable_batch_function, recorded by its profiler server: tfprof-capture --attach HOST:PORT), and one
-- more for all hosts of a run that has several, with ALL_HOSTS for host and NULL for profile_id and rank.  Each batch
-- is a row of batches, and a step where nothing else marks steps (steps.origin is serving): what views say by step they
-- say of it.  Numbers are those of the inference profile of XProf, but for the waiting, which XProf counts from the
-- beginning of the first request.
--   profile_id        INTEGER  -      Profile id.
--   host              TEXT     -      Host.
--   rank              INTEGER  -      Rank.
--   model             TEXT     -      With its version, or the op that batches where the source tells none; NULL:
--                                     neither is known.
--   count             INTEGER  count  Batches; by the time from the first one's beginning to the last one's end.
--   per_second        REAL     -      Batches; by the time from the first one's beginning to the last one's end.
--   mean_tasks        REAL     -      Requests, or parts of them, in a batch.
--   mean_size         REAL     -      Examples in a batch, without padding.
--   max_size          INTEGER  count  Examples in a batch, without padding.
--   mean_padded_size  REAL     -      With it: what was computed.
--   padding_ratio     REAL     ratio  Share of the computed examples that is padding: allowed_batch_sizes are far
--                                     apart, or batches are closed before they are full (batch_timeout_micros).
--   mean_wait_ns      INTEGER  ns     From when the first request was put into a batch until it began: waiting for
--                                     more, and for a thread (num_batch_threads).
--   p99_wait_ns       INTEGER  ns     From when the first request was put into a batch until it began: waiting for
--                                     more, and for a thread (num_batch_threads).
--   mean_ns           INTEGER  ns     How long it took.
--   p50_ns            INTEGER  ns     How long it took.
--   p90_ns            INTEGER  ns     How long it took.
--   p99_ns            INTEGER  ns     How long it took.
--   max_ns            INTEGER  ns     How long it took.
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
JOIN temp.process_groups AS groups ON groups.member_id = batches.profile_id
GROUP BY groups.run_id, groups.profile_id, groups.host, groups.rank, batches.model
ORDER BY groups.run_id, groups.profile_id IS NULL, profile_id, count DESC, model
