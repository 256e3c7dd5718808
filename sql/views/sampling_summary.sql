-- Sampling: in how many steps ops were recorded, and for how many those speak.
--
-- One row for each profile of which ops were recorded only in some of the measured steps (no warm-up).  The other views
-- weigh by steps.sample_weight and state standard errors: that of a sum over all steps is the root of error_factor
-- times the sum over recorded steps of sample_weight * (x - mean)^2, where x is the step's part of the sum and mean the
-- weighed mean of all x (0 for steps without any).  That is the error of a stratified sample: a step that speaks for w
-- steps adds w * (w - 1) times the variance among steps, so one that speaks for itself alone adds none.  Where all
-- steps were recorded errors are 0; where fewer than two were they are NULL.  What is rare and long (an op interrupted
-- for milliseconds) and in no recorded step is in no error either: such ops are better compared by median(self_ns).
--   profile_id, rank          the profile
--   recorded_count            steps whose ops were recorded
--   step_count                steps for which they speak
--   error_factor              n / (n - 1) times the sum of w * (w - 1) by the sum of w; NULL where n is 1
-- Cost: one pass over steps.  Example: SELECT recorded_count, step_count FROM sampling_summary;
SELECT
  steps.profile_id AS profile_id,
  profiles.rank AS rank,
  count(*) AS recorded_count,
  sum(steps.sample_weight) AS step_count,
  1.0 * count(*) / nullif(count(*) - 1, 0) * sum(steps.sample_weight * (steps.sample_weight - 1))
    / sum(steps.sample_weight) AS error_factor
FROM temp.steps AS steps JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
WHERE steps.is_warmup = 0 AND steps.ops_recorded = 1
GROUP BY steps.profile_id
HAVING sum(steps.sample_weight) > count(*)
ORDER BY profile_id
