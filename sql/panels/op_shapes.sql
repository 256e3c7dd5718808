-- Ops by shape of input
-- The same op costs what its shapes ask for.
-- page: ops 30
-- chart: table
-- empty: No shapes were recorded.
SELECT ops.profile_id, name, input_shapes, CAST(sum(work.count * sample_weight) AS INTEGER) AS count,
  CAST(sum(1.0 * work.self_ns * sample_weight) AS INTEGER) AS self_ns,
  CAST(sum(1.0 * work.self_ns) / sum(self_count) AS INTEGER) AS mean_self_ns,
  CAST(sum(1.0 * work.device_ns * sample_weight) AS INTEGER) AS device_sum_ns
FROM temp.op_totals AS ops CROSS JOIN temp.op_shape_totals AS work ON work.op_total_id = ops.id
WHERE (:profile_id IS NULL OR ops.profile_id = :profile_id) AND is_measured = 1 AND input_shapes IS NOT NULL
  AND category IN ('op', 'autograd')
GROUP BY ops.profile_id, name, input_shapes
ORDER BY 5 DESC, name, input_shapes LIMIT 500
