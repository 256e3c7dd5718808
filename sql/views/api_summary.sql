-- API calls: what the program asked of the CUDA runtime and driver.
--
-- One row for each profile, interface and function.  Calls in warm-up steps are left out, calls outside of any step
-- count.  Where calls were recorded only in some steps, counts and times are weighed (thinned_steps).
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
WITH thinned AS MATERIALIZED (
  SELECT profile_id, step_id, weight FROM temp.thinned_steps
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), parts AS ( -- steps are told apart only where they stand for different numbers of steps
  SELECT profile_id, domain, name, NULL AS step_id, 1.0 AS weight,
    sum(count) AS count, sum(1.0 * sum_ns) AS sum_ns, sum(iif(coalesce(result, 0) <> 0, count, 0)) AS error_count,
    min(min_ns) AS min_ns, max(max_ns) AS max_ns
  FROM temp.api_call_totals
  WHERE profile_id IN (SELECT profile_id FROM whole) AND is_warmup IS NOT 1
  GROUP BY profile_id, domain, name
  UNION ALL
  SELECT api_calls.profile_id, domain, name, api_calls.step_id, coalesce(max(weight), 1.0), 
    count(*), sum(1.0 * dur_ns), sum(coalesce(result, 0) <> 0), min(dur_ns), max(dur_ns)
  FROM temp.api_calls AS api_calls LEFT JOIN thinned ON thinned.step_id = api_calls.step_id
  WHERE api_calls.profile_id IN (SELECT profile_id FROM thinned) AND weight IS NOT 0
    AND (api_calls.step_id IS NULL OR api_calls.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
  GROUP BY api_calls.profile_id, domain, name, api_calls.step_id
), sums AS (
  SELECT parts.profile_id AS profile_id, domain, name,
    CAST(round(sum(count * parts.weight)) AS INTEGER) AS count, CAST(sum(sum_ns * parts.weight) AS INTEGER) AS sum_ns,
    CAST(round(sum(error_count * parts.weight)) AS INTEGER) AS error_count, min(min_ns) AS min_ns,
    max(max_ns) AS max_ns,
    CASE WHEN count(drawn.step_id) = 0 THEN 0
      ELSE CAST(sample_error(iif(drawn.step_id IS NULL, NULL, sum_ns), drawn.step_id) AS INTEGER) END AS sum_error_ns
  FROM parts LEFT JOIN temp.sampled_steps AS drawn ON drawn.step_id = parts.step_id
  GROUP BY parts.profile_id, domain, name
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
