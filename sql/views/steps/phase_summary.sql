-- Phases: what training goes to, from fetching input to updating parameters, and what evaluation takes.
--
-- One row for each profile and phase of its measured steps (no warm-up, none that a hang made long: _hung_steps).
-- Phases that ranges mark count in every step.  Those that only ops show are known in the steps with recorded ops.
-- These steps divide what is left of the others as they divide their own, so that all phases together are
-- the time of all steps that are spoken for.  What recording took is in no time here (step_phases.net_ns).
--   profile_id        INTEGER  -      The profile: a process or rank.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown.
--   phase             TEXT     -      The phase: input, forward, backward, optimizer, evaluation or other, as in
--                                     step_phases.
--   step_count        INTEGER  count  Measured steps that have the phase.  It is weighed where only ops show the phase,
--                                     and never more than there are steps.
--   pass_count        INTEGER  count  How often it was entered, one micro-batch after the other (weighed).
--   sum_ns            INTEGER  ns     Time of the phase in all measured steps.
--   sum_ratio         REAL     ratio  Share of sum_ns in the time of all measured steps.
--   per_step_ns       INTEGER  ns     Time sum_ns by the number of all measured steps.
--   recomputation_ns  INTEGER  ns     The part of sum_ns that ran forward ops again, for checkpoints, weighed by
--                                     steps.sample_weight.
-- Cost: one pass over step_phases.  Example: SELECT phase, per_step_ns, sum_ratio FROM phase_summary;
WITH measured AS (
  SELECT profile_id, id, net_ns, sample_weight FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1
), step_time AS (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS step_ns,
    total(1.0 * net_ns) FILTER (WHERE sample_weight IS NOT NULL) AS spoken_ns
  FROM measured GROUP BY profile_id
), in_step AS (
  SELECT phases.profile_id AS profile_id, phases.phase AS phase, phases.step_id AS step_id,
    iif(max(phases.sample_weight = 1), 1, max(phases.sample_weight)) AS weight,
    count(DISTINCT coalesce(phases.micro_batch, -1)) AS pass_count,
    total(phases.net_ns) FILTER (WHERE phases.sample_weight = 1) AS told_ns,
    total(phases.net_ns * phases.sample_weight) FILTER (WHERE phases.sample_weight <> 1) AS drawn_ns,
    measured.sample_weight IS NOT NULL AS is_spoken,
    sum(CASE WHEN phases.is_recomputation THEN phases.net_ns * measured.sample_weight ELSE 0 END) AS recomputation_ns
  FROM temp.step_phases AS phases JOIN measured ON measured.id = phases.step_id
  GROUP BY phases.profile_id, phases.step_id, phases.phase
), sums AS (
  SELECT profile_id, phase, sum(weight) AS step_count, sum(pass_count * weight) AS pass_count, sum(told_ns) AS told_ns,
    sum(drawn_ns) AS drawn_ns, total(told_ns) FILTER (WHERE is_spoken) AS spoken_ns,
    sum(recomputation_ns) AS recomputation_ns
  FROM in_step GROUP BY profile_id, phase
), scales AS ( -- of what only recorded steps tell
  SELECT sums.profile_id AS profile_id,
    max(step_time.spoken_ns - sum(sums.spoken_ns), 0) / nullif(sum(sums.drawn_ns), 0) AS scale
  FROM sums JOIN step_time ON step_time.profile_id = sums.profile_id GROUP BY sums.profile_id
), phases AS (
  SELECT sums.*, told_ns + drawn_ns * coalesce(scale, 1) AS sum_ns, coalesce(scale, 1) AS scale
  FROM sums JOIN scales ON scales.profile_id = sums.profile_id
)
SELECT
  phases.profile_id AS profile_id,
  profiles.rank AS rank,
  phases.phase AS phase,
  CAST(min(round(phases.step_count), step_time.step_count) AS INTEGER) AS step_count,
  CAST(round(phases.pass_count) AS INTEGER) AS pass_count,
  CAST(phases.sum_ns AS INTEGER) AS sum_ns,
  phases.sum_ns / nullif(step_time.step_ns, 0) AS sum_ratio,
  CAST(phases.sum_ns / step_time.step_count AS INTEGER) AS per_step_ns,
  CAST(min(phases.recomputation_ns * phases.scale, phases.sum_ns) AS INTEGER) AS recomputation_ns
FROM phases
JOIN step_time ON step_time.profile_id = phases.profile_id
JOIN temp.profiles AS profiles ON profiles.id = phases.profile_id
ORDER BY sum_ns DESC, profile_id, phase
