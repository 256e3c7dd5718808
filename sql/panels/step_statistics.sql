-- Steps in numbers
-- Over measured steps, without warm-up.
-- page: overview 15
-- chart: facts
-- empty: There are no steps.
SELECT profile_id, rank, step_count, warmup_count, recorded_count, mean_ns, median_ns, stddev_ns, min_ns, max_ns,
  p95_ns, steps_per_second, in_ops_ratio, in_input_ratio, in_wait_ratio, outside_ratio, ops_per_step
FROM temp.step_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
