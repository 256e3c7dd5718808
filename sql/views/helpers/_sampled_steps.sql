-- Sampled steps: what the steps with recorded ops say of the others, and how surely: the base of all errors.
--
-- One row for each measured step (no warm-up) with ops recorded, in profiles with recorded ops only in some steps.  An
-- error that a view states is such that twice it on either side is the 95 % interval.  The error of a sum over all
-- steps is sample_error(x, step_id) over the rows that are added up, and looks up here what it needs of a step.  Its
-- square is made of three parts.  The first is how much steps differ from each other.  The second, where weights are
-- calibrated by durations (steps.sample_weight), takes off what these explain.  The third is what unrecorded steps may
-- hold in the time by which they are longer than the longest recorded one.  A step that speaks for itself alone adds
-- nothing.  Where the share of the sum in all time is stated, x is the difference between the part of a step and that
-- share of the step. For the third part unseen_ratio times the sum is added to it.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_id        INTEGER  -      The step, as in steps.
--   weight         REAL     -      Number of steps that it stands for (steps.sample_weight).
--   duration_ns    INTEGER  ns     Duration of the step, without what recording its ops took.
--   lead_ns        REAL     ns     How much longer duration_ns is than the mean.
--   step_count     REAL     count  Steps for which all rows of the profile speak.
--   is_calibrated  INTEGER  -      1 where weights are such that the recorded steps speak for all the time, too, else
--                                  0.
--   spread_factor  REAL     -      Factor of the spread.  It is N / (n - p) for the n rows, with p = 1 or, calibrated,
--                                  2.  That is multiplied by the sum of w * (w - 1) over the sum of w, and by the
--                                  square of half of the t of Student.  The t is that of 95 % with step_count^2 / (sum
--                                  of w^2) - p degrees of freedom. Calibrated it is divided by 1 - the largest
--                                  leverage.  NULL where fewer than two rows speak for others, or one so much more
--                                  than the rest that no error can be stated.
--   lead_factor    REAL     -      Calibrated, spread_factor by the sum of w * lead_ns^2, less what 25 % of the cost of
--                                  recording leave in doubt.  0 where weights are not calibrated.
--   unseen_ratio   REAL     ratio  Time by which unrecorded steps are longer than the longest recorded one, as a share
--                                  of all time.
-- Cost: a few passes over steps.  Example: SELECT step_id, weight FROM _sampled_steps ORDER BY weight DESC LIMIT 5;
WITH totals AS MATERIALIZED (
  SELECT steps.profile_id AS profile_id, min(rank) AS rank, count(*) FILTER (WHERE sample_weight > 0) AS row_count,
    sum(sample_weight) AS step_count,
    sum(sample_weight * sample_weight) AS weight_squares,
    count(*) FILTER (WHERE sample_weight > 1.000001) AS drawn_count,
    sum(max(0, sample_weight - 1) * sample_weight) AS drawn_weight, max(sample_weight) AS largest_weight,
    sum(sample_weight * steps.net_ns) AS time_ns,
    max(1.0 * steps.net_ns) FILTER (WHERE sample_weight > 0) AS longest_ns,
    min(1.0 * steps.net_ns) FILTER (WHERE sample_weight > 0) AS shortest_ns,
    total(sample_weight * recording_ns) AS recording_ns,
    sum(1.0 * steps.net_ns) AS all_ns
  FROM temp.profiles AS profiles CROSS JOIN temp.steps AS steps ON steps.profile_id = profiles.id
  WHERE profiles.origin <> 'xplane' -- whose steps all speak for themselves, and need not be found for this
    AND is_warmup = 0 AND sample_weight IS NOT NULL
  GROUP BY steps.profile_id HAVING max(sample_weight) > 1
), unseen AS MATERIALIZED ( -- few steps are longer
  SELECT totals.profile_id AS profile_id, total(steps.net_ns - longest_ns) AS unseen_ns
  FROM totals LEFT JOIN temp.steps AS steps ON steps.profile_id = totals.profile_id AND steps.is_warmup = 0
    AND steps.sample_weight = 0 AND steps.net_ns > longest_ns
  GROUP BY totals.profile_id
), leads AS (
  SELECT totals.*, unseen_ns, -- where all steps take the same time, that they speak for all of it says nothing
    abs(time_ns - (all_ns - unseen_ns)) <= 1e-9 * all_ns AND longest_ns > shortest_ns AS is_calibrated,
    steps.id AS step_id, steps.sample_weight AS weight, steps.net_ns AS duration_ns,
    sum(steps.sample_weight * pow(steps.net_ns - time_ns / step_count, 2))
      OVER of_profile
      AS lead_squares,
    max(steps.sample_weight * pow(steps.net_ns - time_ns / step_count, 2))
      OVER of_profile AS largest_square
  FROM totals CROSS JOIN unseen ON unseen.profile_id = totals.profile_id
  CROSS JOIN temp.steps AS steps ON steps.profile_id = totals.profile_id
  WHERE steps.is_warmup = 0 AND steps.sample_weight > 0
  WINDOW of_profile AS (PARTITION BY steps.profile_id)
), freedoms AS (
  SELECT *, step_count * step_count / weight_squares - 1 - is_calibrated AS freedom,
    CASE WHEN is_calibrated THEN max(0.02, 1 - largest_square / lead_squares - largest_weight / step_count) ELSE 1 END
      AS unled
  FROM leads
), factors AS (
  SELECT *, CASE WHEN drawn_count > 1 AND freedom >= 0.5 THEN
    pow(0.98 + 1.186 / freedom + 1.411 / pow(freedom, 2) + 1.278 / pow(freedom, 3) + 1.5 / pow(freedom, 4), 2)
      * row_count / (row_count - 1 - is_calibrated) * drawn_weight / step_count / unled END AS spread_factor
  FROM freedoms
)
SELECT
  factors.profile_id AS profile_id,
  factors.rank AS rank,
  factors.step_id AS step_id,
  factors.weight AS weight,
  factors.duration_ns AS duration_ns,
  factors.duration_ns - factors.time_ns / factors.step_count AS lead_ns,
  factors.step_count AS step_count,
  factors.is_calibrated AS is_calibrated,
  factors.spread_factor AS spread_factor,
  CASE WHEN factors.is_calibrated THEN factors.spread_factor / factors.lead_squares
    - pow(0.25 * factors.recording_ns / factors.lead_squares, 2) ELSE 0.0 END AS lead_factor,
  factors.unseen_ns / factors.time_ns AS unseen_ratio
FROM factors
ORDER BY profile_id, step_id
