-- Ranges: what the program and its libraries marked by name.
--
-- One row for each profile, domain and range name.  Counted are, as in op_summary, the ranges of measured steps (no
-- warm-up); in a profile without such steps all.  They are recorded in every step, so nothing is weighed.
-- ProfilerStep#N counts as one name, and so does tfprof.step#N.
--   profile_id, rank, domain, name, category
--   count, sum_ns, mean_ns, min_ns, max_ns   of their durations
--   outside_ns                               in which no op ran and no other range within it was open, added up
--   step_count                               in how many steps
-- Cost: one pass over ranges.  Example: SELECT name, count, mean_ns FROM range_summary;
WITH measured AS (
  SELECT profile_id, id FROM temp.steps WHERE is_warmup = 0
), named AS (
  SELECT profile_id, domain, category, step_id, dur_ns, outside_ns,
    CASE
      WHEN name GLOB 'ProfilerStep#[0-9]*' THEN 'ProfilerStep#'
      WHEN name GLOB 'tfprof.step#[0-9]*' THEN 'tfprof.step#'
      ELSE name
    END AS name
  FROM temp.ranges
  WHERE step_id IN (SELECT id FROM measured) OR profile_id NOT IN (SELECT profile_id FROM measured)
), sums AS (
  SELECT profile_id, domain, name, min(category) AS category, count(*) AS count,
    CAST(sum(1.0 * dur_ns) AS INTEGER) AS sum_ns,
    CAST(sum(1.0 * outside_ns) AS INTEGER) AS outside_ns,
    min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, count(DISTINCT step_id) AS step_count
  FROM named GROUP BY profile_id, domain, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.domain AS domain,
  sums.name AS name,
  sums.category AS category,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  sums.outside_ns AS outside_ns,
  sums.step_count AS step_count
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, domain, name
