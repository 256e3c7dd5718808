-- Sampling: in how many steps ops were recorded, for how many those speak, and how surely.
--
-- One row for each profile with recorded ops only in some of the measured steps (no warm-up).  The other views
-- weigh by steps.sample_weight and state errors.  Twice the error on either side is the 95 % interval, also where few
-- steps speak for many (_sampled_steps has the method).  Where all steps were recorded errors are 0.
--   profile_id      INTEGER  -      The profile: a process or rank.
--   rank            INTEGER  -      Rank of the process.  NULL where it is unknown.
--   recorded_count  INTEGER  count  Steps with recorded ops.
--   drawn_count     INTEGER  count  Recorded steps that speak for others, too.
--   step_count      REAL     count  Steps for which the recorded ones speak.
--   is_calibrated   INTEGER  -      1 where the weights also make the recorded steps speak for all the time, as
--                                   durations vary, else 0.
--   unseen_ratio    REAL     ratio  Time by which unrecorded steps are longer than the longest recorded one, as a share
--                                   of all time.
--   note            TEXT     -      Why no errors are stated (they are NULL).  NULL where they are stated.
-- Cost: that of _sampled_steps.  Example: SELECT recorded_count, step_count FROM sampling_summary;
SELECT
  profile_id AS profile_id,
  max(rank) AS rank,
  count(*) AS recorded_count,
  sum(weight > 1.000001) AS drawn_count,
  max(step_count) AS step_count,
  max(is_calibrated) AS is_calibrated,
  max(unseen_ratio) AS unseen_ratio,
  CASE WHEN max(spread_factor) IS NOT NULL THEN NULL
    WHEN sum(weight > 1.000001) < 2 THEN 'fewer than two recorded steps speak for others: no error can be stated'
    ELSE 'one recorded step speaks for most of the others: no error can be stated' END AS note
FROM temp._sampled_steps
GROUP BY profile_id
ORDER BY profile_id
