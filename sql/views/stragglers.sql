-- Stragglers: the ranks that others wait for.
--
-- One row for each rank of a run of several.  All ranks leave a collective together, so the rank that enters it last
-- has the shortest kernel, and the difference to the longest is how long the others waited for it; this holds whatever
-- the clocks of the hosts say.  The same collective on two ranks is the kernel of the same name and place within the
-- step of the same number.  (HTA looks at the normalised start of one kernel instead, and fails on a single rank, which
-- has no row here.)
--   profile_id, rank
--   count              steps in which others waited for this rank longer than for any other
--   metric             mean share of a step for which the others waited for it
--   step_id            the step in which they waited longest
--   late_ns            how long they waited for it in all steps
--   step_count         steps that were compared
-- Cost: a sort of communication kernels.  Example: SELECT rank, count, metric FROM stragglers;
WITH numbered AS (
  SELECT kernels.profile_id AS profile_id, profiles.run_id AS run_id, kernels.step_id AS step_id,
    steps.number AS number,
    kernels.short_name AS name, kernels.dur_ns AS dur_ns, steps.dur_ns AS step_ns,
    row_number() OVER (PARTITION BY kernels.step_id, kernels.short_name ORDER BY kernels.start_ns, kernels.id) AS place
  FROM temp.kernels AS kernels
  JOIN temp.steps AS steps ON steps.id = kernels.step_id
  JOIN temp.profiles AS profiles ON profiles.id = kernels.profile_id
  WHERE kernels.kind = 'communication' AND steps.is_warmup = 0
), waits AS (
  SELECT profile_id, run_id, step_id, number, step_ns,
    max(dur_ns) OVER (PARTITION BY run_id, number, name, place) - 1.0 * dur_ns AS late_ns,
    count(*) OVER (PARTITION BY run_id, number, name, place) AS rank_count
  FROM numbered
), by_step AS (
  SELECT profile_id, run_id, step_id, number, sum(1.0 * late_ns) AS late_ns,
    sum(1.0 * late_ns) / nullif(max(step_ns), 0) AS share
  FROM waits WHERE rank_count > 1 GROUP BY profile_id, run_id, step_id, number
), placed AS (
  SELECT profile_id, step_id, late_ns, share,
    late_ns > 0 AND late_ns = max(late_ns) OVER (PARTITION BY run_id, number) AS is_latest,
    row_number() OVER (PARTITION BY profile_id ORDER BY late_ns DESC, step_id) AS place
  FROM by_step
)
SELECT
  placed.profile_id AS profile_id,
  min(profiles.rank) AS rank,
  sum(placed.is_latest) AS count,
  avg(placed.share) AS metric,
  min(CASE WHEN placed.place = 1 THEN placed.step_id END) AS step_id,
  CAST(sum(placed.late_ns) AS INTEGER) AS late_ns,
  count(*) AS step_count
FROM placed JOIN temp.profiles AS profiles ON profiles.id = placed.profile_id
GROUP BY placed.profile_id
ORDER BY count DESC, metric DESC, profile_id
