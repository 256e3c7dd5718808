-- Ops by shape of input
-- The same op costs what its shapes ask for.
-- page: ops 30
-- chart: table
-- empty: No shapes were recorded.
SELECT profile_id, name, input_shapes, CAST(sum(sample_weight) AS INTEGER) AS count,
  CAST(sum(1.0 * self_ns * sample_weight) AS INTEGER) AS self_ns, CAST(avg(self_ns) AS INTEGER) AS mean_self_ns,
  CAST(sum(1.0 * device_ns * sample_weight) AS INTEGER) AS device_total_ns
FROM temp.ops
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND +is_measured = 1 AND +input_shapes IS NOT NULL
  AND +category IN ('op', 'autograd')
GROUP BY profile_id, name, input_shapes
ORDER BY self_ns DESC, name, input_shapes LIMIT 500
