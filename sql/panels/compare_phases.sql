-- Phases, before and after
-- What training goes to, by step, as phase_diff has it.
-- page: compare 17
-- chart: compare
-- x: number
-- label: phase
-- value: sum_ns
-- empty: There are no steps with phases.
SELECT phases.profile_id AS profile_id, run_id, number, is_warmup, phase,
  CAST(sum(1.0 * phases.dur_ns) AS INTEGER) AS sum_ns
FROM temp.step_phases AS phases JOIN temp.steps AS steps ON steps.id = phases.step_id
JOIN temp.profiles AS profiles ON profiles.id = phases.profile_id
WHERE (:profile_id IS NULL OR phases.profile_id = :profile_id) AND phases.sample_weight > 0
GROUP BY phases.profile_id, phases.step_id, phase
ORDER BY run_id, phases.profile_id, number, sum_ns DESC, phase LIMIT 200000
