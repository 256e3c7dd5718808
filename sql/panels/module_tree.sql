-- The model
-- Each module within the one that holds it; as wide as what is chosen.
-- page: model 5
-- chart: icicle
-- label: module
-- y: sum_ns device_sum_ns sum_flops param_count
-- empty: No modules were recorded.
WITH modules AS MATERIALIZED (
  SELECT profile_id, module, class, count, self_ns, sum_ns, device_sum_ns, sum_flops, param_count
  FROM temp.module_summary WHERE :profile_id IS NULL OR profile_id = :profile_id
), of_nodes AS MATERIALIZED (
  SELECT node_id, sum(self_ns) AS self_ns, sum(device_ns) AS device_ns FROM temp.ops
  WHERE node_id IS NOT NULL AND +category <> 'user' AND (:profile_id IS NULL OR profile_id = :profile_id)
    AND +profile_id NOT IN (SELECT profile_id FROM modules)
  GROUP BY node_id
)
SELECT * FROM (
  SELECT * FROM modules
  UNION ALL
  SELECT nodes.profile_id, nodes.name, op_type, NULL, self_ns, self_ns, device_ns, flops, param_count
  FROM temp.nodes LEFT JOIN of_nodes ON node_id = nodes.id
  WHERE (:profile_id IS NULL OR nodes.profile_id = :profile_id)
    AND nodes.profile_id NOT IN (SELECT profile_id FROM modules)
    AND coalesce(self_ns, device_ns, flops, param_count) IS NOT NULL
)
ORDER BY profile_id, sum_ns DESC, module LIMIT 4000
