-- API calls: what the program asked of the CUDA runtime and driver.
--
-- One row for each profile, interface and function.  Those in warm-up steps are left out, those outside any step count.
-- Where calls were recorded only in some steps, counts and times are weighed (thinned_steps).
--   profile_id, rank
--   domain, name              runtime or driver, and the function
--   count, error_count        calls; those with a result other than 0
--   sum_ns, sum_ratio         their time on the host; its share of all calls of the profile
--   mean_ns, min_ns, max_ns   of their durations
-- Cost: one pass over api_calls.  Example: SELECT name, count, mean_ns FROM api_summary LIMIT 10;
WITH thinned AS MATERIALIZED (
  SELECT step_id, weight FROM temp.thinned_steps
), sums AS (
  SELECT profile_id, domain, name, CAST(round(sum(coalesce(weight, 1.0))) AS INTEGER) AS count,
    CAST(round(sum((coalesce(result, 0) <> 0) * coalesce(weight, 1.0))) AS INTEGER) AS error_count,
    CAST(sum(dur_ns * coalesce(weight, 1.0)) AS INTEGER) AS sum_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns
  FROM temp.api_calls AS api_calls LEFT JOIN thinned ON thinned.step_id = api_calls.step_id
  WHERE (api_calls.step_id IS NULL OR api_calls.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
    AND weight IS NOT 0
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
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, domain, name
