-- Ranges: what the program and its libraries marked by name.
--
-- One row for each profile, domain and range name.  The ranges of measured steps count (no warm-up), as in op_summary,
-- and all ranges in a profile without such steps.  They are recorded in every step, so nothing is weighed but the work
-- of devices, where that was recorded only in some steps (steps.sample_weight).
-- ProfilerStep#N counts as one name, and so do tfprof.step#N, StepTraceAnnotation#N, keras.step#N and keras.epoch#N.
--   profile_id      INTEGER  -      The profile: a process or rank.
--   rank            INTEGER  -      Rank of the process.  NULL where it is unknown.
--   domain          TEXT     -      The library or NVTX domain that marked the ranges.  NULL for the default domain.
--   name            TEXT     -      Name of the ranges.
--   category        TEXT     -      The category that was given within the domain, the first by alphabet where ranges
--                                   differ.  NULL where none was.
--   count           INTEGER  count  Number of ranges.
--   sum_ns          INTEGER  ns     Duration of all of them.
--   mean_ns         INTEGER  ns     Mean duration.
--   min_ns          INTEGER  ns     The shortest duration.
--   max_ns          INTEGER  ns     The longest duration.
--   outside_ns      INTEGER  ns     Time in which no op ran and no other range within the range was open, added up.
--                                   NULL where it is not known.
--   step_count      INTEGER  count  Steps that have such a range.
--   device_ns       INTEGER  ns     How long devices worked for what was launched in them, in ranges inside them too
--                                   (weighed).  NULL where no such work is known, as in ranges that end on another
--                                   thread (ranges.is_process_wide).
--   kernel_count    INTEGER  count  Kernels that were launched in them, in ranges inside them too (weighed).  NULL
--                                   where no such work is known.
--   crossing_count  INTEGER  count  Ranges that cross another range of their thread (ranges.is_crossing), as those of
--                                   coroutines do.  What ran in both may be counted for either.
-- Where ranges lie inside others of their name, all these sums count what is in both twice.  kernels.range_id and
-- ops.range_id say what a range launched and ran.
-- Not weighed: outside_ns.  Ranges are recorded in every step; of the time outside of ops that is told of some.
-- Cost: one pass over ranges.  Example: SELECT name, count, mean_ns, device_ns FROM range_summary;
WITH measured AS (
  SELECT profile_id, id FROM temp.steps WHERE is_warmup = 0
), thinned AS ( -- only there do steps weigh
  SELECT DISTINCT profile_id FROM temp.steps WHERE sample_weight <> 1
), weights AS MATERIALIZED (
  SELECT id AS step_id, sample_weight AS weight FROM temp.steps WHERE profile_id IN (SELECT profile_id FROM thinned)
), named AS (
  SELECT ranges.profile_id AS profile_id, domain, category, ranges.step_id AS step_id, dur_ns, outside_ns, is_crossing,
    device_ns * iif(weights.step_id IS NULL, 1.0, coalesce(weight, 0.0)) AS device_ns,
    kernel_count * iif(weights.step_id IS NULL, 1.0, coalesce(weight, 0.0)) AS kernel_count,
    CASE
      WHEN name GLOB 'ProfilerStep#[0-9]*' THEN 'ProfilerStep#'
      WHEN name GLOB 'tfprof.step#[0-9]*' THEN 'tfprof.step#'
      WHEN name GLOB 'StepTraceAnnotation#[0-9]*' THEN 'StepTraceAnnotation#'
      WHEN name GLOB 'keras.step#[0-9]*' THEN 'keras.step#'
      WHEN name GLOB 'keras.epoch#[0-9]*' THEN 'keras.epoch#'
      ELSE name
    END AS name
  FROM temp.ranges AS ranges LEFT JOIN weights ON weights.step_id = ranges.step_id
  WHERE ranges.step_id IN (SELECT id FROM measured) OR ranges.profile_id NOT IN (SELECT profile_id FROM measured)
), sums AS (
  SELECT profile_id, domain, name, min(category) AS category, count(*) AS count,
    CAST(sum(1.0 * dur_ns) AS INTEGER) AS sum_ns,
    CAST(sum(1.0 * outside_ns) AS INTEGER) AS outside_ns,
    min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, count(DISTINCT step_id) AS step_count,
    CAST(round(sum(device_ns)) AS INTEGER) AS device_ns, CAST(round(sum(kernel_count)) AS INTEGER) AS kernel_count,
    coalesce(sum(is_crossing), 0) AS crossing_count
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
  sums.step_count AS step_count,
  sums.device_ns AS device_ns,
  sums.kernel_count AS kernel_count,
  sums.crossing_count AS crossing_count
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, domain, name
