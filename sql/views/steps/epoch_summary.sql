-- Epochs: from each start of the data loader to the next, how long, and how much of it was evaluation.
--
-- One row for each profile and epoch, where the source tells when a data loader begins anew, as a capture does.  The
-- time before the first start is in no epoch.  Steps of the warm-up count.  The last epoch reaches to the last phase
-- known.  Keras tells its epochs itself: each reaches from where fit() begins it to where fit() ends it, and they are
-- numbered over all calls.
--   profile_id      INTEGER  -      The profile: a process or rank.
--   rank            INTEGER  -      Rank of the process.  NULL where it is unknown.
--   epoch           INTEGER  -      Number of the epoch, from 0.
--   start_ns        INTEGER  ns     When its data loader began, or where Keras began it.
--   end_ns          INTEGER  ns     When the data loader of the next epoch began, or where Keras ended it.  Evaluation
--                                   in between is included.
--   dur_ns          INTEGER  ns     Time from start_ns to end_ns.
--   step_count      INTEGER  count  Number of steps that ended in it.
--   input_phase_ns  INTEGER  ns     Time of waiting for batches, with the start of the data loader.  NULL where Keras
--                                   tells epochs.
--   evaluation_ns   INTEGER  ns     Time of evaluation.
--   paused_ns       INTEGER  ns     Part of dur_ns in which the recorder opened and closed profiler_windows
--                                   (steps.paused_ns).  NULL where data loaders tell epochs, and where there are no
--                                   such windows.
-- Cost: one pass over step_phases, two over ranges.  Example: SELECT epoch, dur_ns, evaluation_ns FROM epoch_summary;
WITH of_keras AS (
  SELECT profile_id, row_number() OVER (PARTITION BY profile_id ORDER BY start_ns) - 1 AS epoch, start_ns, end_ns,
    dur_ns
  FROM temp.ranges WHERE name GLOB 'keras.epoch#*'
), evaluated AS (
  SELECT profile_id, start_ns, end_ns, dur_ns FROM temp.ranges WHERE name = 'keras.evaluate'
), sums AS (
  SELECT profile_id, epoch, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
    sum(CASE WHEN phase = 'input' THEN 1.0 * dur_ns ELSE 0 END) AS input_ns,
    sum(CASE WHEN phase = 'evaluation' THEN 1.0 * dur_ns ELSE 0 END) AS evaluation_ns
  FROM temp.step_phases WHERE epoch IS NOT NULL AND profile_id NOT IN (SELECT profile_id FROM of_keras)
  GROUP BY profile_id, epoch
  HAVING max(phase = 'backward') -- a data loader for a last evaluation begins no epoch
), ended AS ( -- the epoch that a step ended in
  SELECT profile_id, epoch, count(*) AS step_count
  FROM (SELECT profile_id, step_id, max(epoch) AS epoch FROM temp.step_phases
    WHERE step_id IS NOT NULL AND epoch IS NOT NULL GROUP BY profile_id, step_id)
  GROUP BY profile_id, epoch
), bounded AS (
  SELECT sums.*, lead(start_ns) OVER (PARTITION BY profile_id ORDER BY epoch) AS next_start_ns FROM sums
)
SELECT
  bounded.profile_id AS profile_id,
  profiles.rank AS rank,
  bounded.epoch AS epoch,
  bounded.start_ns AS start_ns,
  coalesce(bounded.next_start_ns, bounded.end_ns) AS end_ns,
  coalesce(bounded.next_start_ns, bounded.end_ns) - bounded.start_ns AS dur_ns,
  coalesce(ended.step_count, 0) AS step_count,
  CAST(bounded.input_ns AS INTEGER) AS input_phase_ns,
  CAST(bounded.evaluation_ns AS INTEGER) AS evaluation_ns,
  NULL AS paused_ns
FROM bounded
JOIN temp.profiles AS profiles ON profiles.id = bounded.profile_id
LEFT JOIN ended ON ended.profile_id = bounded.profile_id AND ended.epoch = bounded.epoch
UNION ALL
SELECT
  of_keras.profile_id AS profile_id,
  profiles.rank AS rank,
  of_keras.epoch AS epoch,
  of_keras.start_ns AS start_ns,
  of_keras.end_ns AS end_ns,
  of_keras.dur_ns AS dur_ns,
  (SELECT count(*) FROM temp.steps AS steps WHERE steps.profile_id = of_keras.profile_id
    AND steps.end_ns > of_keras.start_ns AND steps.end_ns <= of_keras.end_ns) AS step_count,
  NULL AS input_phase_ns,
  (SELECT CAST(total(dur_ns) AS INTEGER) FROM evaluated WHERE evaluated.profile_id = of_keras.profile_id
    AND evaluated.start_ns >= of_keras.start_ns AND evaluated.end_ns <= of_keras.end_ns) AS evaluation_ns,
  (SELECT sum(paused_ns) FROM temp.steps AS steps WHERE steps.profile_id = of_keras.profile_id
    AND steps.end_ns > of_keras.start_ns AND steps.end_ns <= of_keras.end_ns) AS paused_ns
FROM of_keras
JOIN temp.profiles AS profiles ON profiles.id = of_keras.profile_id
ORDER BY profile_id, epoch
