-- Requests at a glance: how many a server of models answers, how long each takes, and how much of that is waiting.
--
-- One row for each process and model that answered requests (TensorFlow Serving, with its batching or without, and any
-- program with tf.nondifferentiable_batch_function), and one more for all hosts of a run that has several, with
-- ALL_HOSTS for host and NULL for profile_id and rank.  A request lasts from its beginning in the server until its
-- answer is there: what the network takes is not in it.  Percentiles are interpolated, where XProf takes the request
-- below.
--   profile_id, host, rank
--   model                  with its version, or the op that batches where the source tells none; NULL: neither is known
--   count, per_second      requests; by the time from the first one's beginning to the last one's end
--   mean_size              examples in a request, of those that were batched
--   batched_ratio          share of them that was put into a batch
--   split_ratio            share that was split over several
--   mean_ns, p50_ns, p90_ns, p99_ns, max_ns   how long they took
--   mean_wait_ns, p99_wait_ns   of batched ones, until their batch began: getting ready, waiting for others and for a
--                          thread
--   wait_ratio             share of their time that this is
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
