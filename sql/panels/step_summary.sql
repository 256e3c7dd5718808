-- Steps in numbers
-- Over measured steps, without warm-up. The shares in ops, waiting and outside are of net_ns, which is less than
-- mean_ns where the host runs ahead of its devices.
-- page: overview 15
-- chart: facts
-- empty: There are no steps.
SELECT step_summary.profile_id AS profile_id, step_summary.rank AS rank, step_summary.window AS window,
  step_summary.step_count AS step_count, warmup_count, recorded_count, mean_ns, median_ns, stddev_ns, min_ns, max_ns,
  p95_ns, between_ns, steps_per_second, input_ratio, net_ns, in_ops_ratio, in_wait_ratio, outside_ratio, ops_per_step
FROM temp.step_summary
WHERE :profile_id IS NULL OR step_summary.profile_id = :profile_id
ORDER BY step_summary.profile_id
