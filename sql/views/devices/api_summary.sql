-- API calls: what the program asked of the CUDA runtime and driver.
--
-- One row for each profile, interface and function.  Calls in warm-up steps are left out, calls outside of any step
-- count.  Where calls were recorded only in some steps, counts and times are weighed (sample_weight).
--   profile_id    INTEGER  -      The profile: a process or rank.
--   rank          INTEGER  -      Rank of the process.  NULL where it is unknown.
--   domain        TEXT     -      The interface: runtime or driver.
--   name          TEXT     -      The function that was called.
--   count         INTEGER  count  Number of calls.
--   error_count   INTEGER  count  Number of calls with a result other than 0.
--   sum_ns        INTEGER  ns     Time of the calls on the host.
--   sum_error_ns  INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary).  0 where all
--                                 were, NULL where too few were.
--   sum_ratio     REAL     ratio  Share of the time of all calls of the profile.
--   mean_ns       INTEGER  ns     Mean duration of a call.
--   min_ns        INTEGER  ns     Shortest duration of a call.
--   max_ns        INTEGER  ns     Longest duration of a call.
-- Cost: one pass over api_calls.  Example: SELECT name, count, mean_ns FROM api_summary LIMIT 10;
WITH sums AS (
  SELECT profile_id, domain, name, CAST(round(sum(count * sample_weight)) AS INTEGER) AS count,
    CAST(sum(1.0 * sum_ns * sample_weight) AS INTEGER) AS sum_ns,
    CAST(round(total(count * sample_weight) FILTER (WHERE result <> 0)) AS INTEGER) AS error_count,
    min(min_ns) AS min_ns, max(max_ns) AS max_ns, CAST(sample_error(sum_ns, sampled_step_id) AS INTEGER) AS sum_error_ns
  FROM temp.api_call_totals WHERE is_measured = 1
  GROUP BY profile_id, domain, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.domain AS domain,
  sums.name AS name,
  sums.count AS count,
  sums.error_count AS error_count,
  sums.sum_ns AS sum_ns,
  sums.sum_error_ns AS sum_error_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, domain, name
