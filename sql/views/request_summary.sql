-- Requests at a glance: how many a server of models answers, how long each takes, and how much of that is waiting.
--
-- One row for each process and model that answered requests (TensorFlow Serving, with its batching or without, and any
-- program with tf.nondifferentiable_batch_function), and one more for all hosts of a run that has several, with
-- ALL_HOSTS for host and NULL for profile_id and rank.  A request lasts from its beginning in the server until its
-- answer is there: what the network takes is not in it.  Percentiles are interpolated, where XProf takes the request
-- below.
--   profile_id     INTEGER  -      Profile id.
--   host           TEXT     -      Host.
--   rank           INTEGER  -      Rank.
--   model          TEXT     -      With its version, or the op that batches where the source tells none; NULL: neither
--                                  is known.
--   count          INTEGER  count  Requests; by the time from the first one's beginning to the last one's end.
--   per_second     REAL     -      Requests; by the time from the first one's beginning to the last one's end.
--   mean_size      REAL     -      Examples in a request, of those that were batched.
--   batched_ratio  REAL     ratio  Share of them that was put into a batch.
--   split_ratio    REAL     ratio  Share that was split over several.
--   mean_ns        INTEGER  ns     How long they took.
--   p50_ns         INTEGER  ns     How long they took.
--   p90_ns         INTEGER  ns     How long they took.
--   p99_ns         INTEGER  ns     How long they took.
--   max_ns         INTEGER  ns     How long they took.
--   mean_wait_ns   INTEGER  ns     Of batched ones, until their batch began: getting ready, waiting for others and for
--                                  a thread.
--   p99_wait_ns    INTEGER  ns     Of batched ones, until their batch began: getting ready, waiting for others and for
--                                  a thread.
--   wait_ratio     REAL     ratio  Share of their time that this is.
-- Cost: linear in requests, which are made from ops once.
-- Example: SELECT model, count, p50_ns, p99_ns, wait_ratio FROM request_summary;
SELECT
  groups.profile_id AS profile_id,
  groups.host AS host,
  groups.rank AS rank,
  requests.model AS model,
  count(*) AS count,
  1e9 * count(*) / nullif(max(requests.end_ns) - min(requests.start_ns), 0) AS per_second,
  avg(requests.size) AS mean_size,
  avg(requests.batch_count > 0) AS batched_ratio,
  avg(requests.batch_count > 1) AS split_ratio,
  CAST(avg(requests.dur_ns) AS INTEGER) AS mean_ns,
  CAST(percentile(requests.dur_ns, 50) AS INTEGER) AS p50_ns,
  CAST(percentile(requests.dur_ns, 90) AS INTEGER) AS p90_ns,
  CAST(percentile(requests.dur_ns, 99) AS INTEGER) AS p99_ns,
  max(requests.dur_ns) AS max_ns,
  CAST(avg(requests.wait_ns) AS INTEGER) AS mean_wait_ns,
  CAST(percentile(requests.wait_ns, 99) AS INTEGER) AS p99_wait_ns,
  sum(1.0 * requests.wait_ns)
    / nullif(sum(CASE WHEN requests.wait_ns IS NOT NULL THEN 1.0 * requests.dur_ns END), 0) AS wait_ratio
FROM temp.requests AS requests
JOIN temp.process_groups AS groups ON groups.member_id = requests.profile_id
GROUP BY groups.run_id, groups.profile_id, groups.host, groups.rank, requests.model
ORDER BY groups.run_id, groups.profile_id IS NULL, profile_id, count DESC, model
