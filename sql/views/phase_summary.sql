-- Phases: what training goes to, from fetching input to updating parameters, and what evaluation takes.
--
-- One row for each profile and phase of its measured steps (no warm-up), weighed by step_phases.sample_weight: phases
-- of which ranges tell count in every step, those of which only ops tell stand for the steps whose ops were not
-- recorded.
--   profile_id, rank      the profile
--   phase                 input, forward, backward, optimizer, evaluation or other, as in step_phases
--   step_count            measured steps that have it (weighed)
--   pass_count            how often it was entered, one micro-batch after the other (weighed)
--   sum_ns                its time in all measured steps
--   ratio                 share of the time of all measured steps
--   per_step_ns           sum_ns by the number of all measured steps
--   recomputation_ns      what of it ran forward ops again, for checkpoints; weighed by steps.sample_weight
-- Cost: one pass over step_phases.  Example: SELECT phase, per_step_ns, ratio FROM phase_summary;
WITH measured AS (
  SELECT profile_id, id, sample_weight FROM temp.steps WHERE is_warmup = 0
), step_time AS (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * dur_ns) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), in_step AS (
  SELECT phases.profile_id AS profile_id, phases.phase AS phase, phases.step_id AS step_id,
    max(phases.sample_weight) AS weight, count(DISTINCT coalesce(phases.micro_batch, -1)) AS pass_count,
    sum(phases.dur_ns * phases.sample_weight) AS sum_ns,
    sum(CASE WHEN phases.is_recomputation THEN phases.dur_ns * measured.sample_weight ELSE 0 END) AS recomputation_ns
  FROM temp.step_phases AS phases JOIN measured ON measured.id = phases.step_id
  GROUP BY phases.profile_id, phases.step_id, phases.phase
), sums AS (
  SELECT profile_id, phase, sum(weight) AS step_count, sum(pass_count * weight) AS pass_count, sum(sum_ns) AS sum_ns,
    sum(recomputation_ns) AS recomputation_ns
  FROM in_step GROUP BY profile_id, phase
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.phase AS phase,
  CAST(round(sums.step_count) AS INTEGER) AS step_count,
  CAST(round(sums.pass_count) AS INTEGER) AS pass_count,
  CAST(sums.sum_ns AS INTEGER) AS sum_ns,
  sums.sum_ns / nullif(step_time.step_ns, 0) AS ratio,
  CAST(sums.sum_ns / step_time.step_count AS INTEGER) AS per_step_ns,
  CAST(sums.recomputation_ns AS INTEGER) AS recomputation_ns
FROM sums
JOIN step_time ON step_time.profile_id = sums.profile_id
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, phase
