-- Phases of training
-- Input, forward, backward, optimizer, evaluation.
-- page: steps 30
-- chart: bars
-- label: phase
-- value: sum_ns
-- empty: No phases were told apart.
SELECT profile_id, rank, phase, step_count, pass_count, sum_ns, sum_ratio, per_step_ns, recomputation_ns
FROM temp.phase_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY sum_ns DESC, phase, profile_id
