-- Requests at a glance: how many a server of models answers, how long each takes, and how much of that is waiting.
--
-- One row for each process and model that answered requests (TensorFlow Serving, with its batching or without, and any
-- program with tf.nondifferentiable_batch_function), and one more for all hosts of a run that has several.  That row
-- has ALL_HOSTS for host and NULL for profile_id and rank.  A request lasts from its beginning in the server until its
-- answer is there, so what the network takes is not in it.  Percentiles are interpolated, where XProf takes the request
-- below.
--   profile_id     INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host           TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   model          TEXT     -      The model with its version, or the op that batches where the source tells no model.
--                                  NULL where neither is known.
--   count          INTEGER  count  Number of requests.
--   per_second     REAL     -      Requests by the time from the beginning of the first to the end of the last, a
--                                  second.
--   mean_size      REAL     -      Mean number of examples in a request that was batched.  NULL where none was.
--   batched_ratio  REAL     ratio  Share of the requests that were put into a batch.
--   split_ratio    REAL     ratio  Share of the requests that were split over several batches.
--   mean_ns        INTEGER  ns     Mean time of a request.
--   p50_ns         INTEGER  ns     Median time of a request.
--   p90_ns         INTEGER  ns     Time within which 90 % of the requests were answered.
--   p99_ns         INTEGER  ns     Time within which 99 % of the requests were answered.
--   max_ns         INTEGER  ns     Time of the longest request.
--   mean_wait_ns   INTEGER  ns     Mean time of a batched request until its batch began: getting ready, waiting for
--                                  others and for a thread.  NULL where none was batched.
--   p99_wait_ns    INTEGER  ns     Time within which the batches of 99 % of the batched requests began.  NULL where
--                                  none was batched.
--   wait_ratio     REAL     ratio  Share of this waiting in the time of the batched requests.  NULL where none was
--                                  batched.
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
JOIN temp._process_groups AS groups ON groups.member_id = requests.profile_id
GROUP BY groups.run_id, groups.profile_id, groups.host, groups.rank, requests.model
ORDER BY groups.run_id, groups.profile_id IS NULL, profile_id, count DESC, model
