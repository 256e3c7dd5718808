-- Ops per step
-- What each op costs in a step.
-- page: ops 25
-- chart: table
-- empty: No ops were recorded.
SELECT profile_id, rank, op, category, framework, count, self_ns, self_ratio, sum_ns, mean_ns, min_ns, max_ns,
  per_step_count, per_step_self_ns, device_self_ns
FROM temp.op_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY self_ns DESC, op LIMIT 1000
