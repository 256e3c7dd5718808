-- The model
-- Each module within the one that holds it; as wide as what is chosen.
-- page: model 5
-- chart: icicle
-- label: place
-- y: sum_ns device_sum_ns sum_flops param_count
-- empty: No modules were recorded.
WITH RECURSIVE modules AS MATERIALIZED (
  SELECT module_summary.profile_id AS profile_id, node_id, parent_id, module, class, count, self_ns, sum_ns,
    device_sum_ns, sum_flops, module_summary.param_count AS param_count
  FROM temp.module_summary LEFT JOIN temp.nodes ON nodes.id = node_id
  WHERE :profile_id IS NULL OR module_summary.profile_id = :profile_id
), places(id, module, place) AS ( -- names of modules do not begin with that of the model that holds them all
  SELECT node_id, module, module FROM modules
  WHERE parent_id IS NULL OR parent_id NOT IN (SELECT node_id FROM modules WHERE node_id IS NOT NULL)
  UNION ALL
  SELECT modules.node_id, modules.module, places.place
    || iif(instr(modules.module, places.module || '.') = 1, substr(modules.module, length(places.module) + 1),
      '.' || modules.module)
  FROM places JOIN modules ON modules.parent_id = places.id
), of_nodes AS MATERIALIZED (
  SELECT node_id, sum(self_ns) AS self_ns, sum(device_ns) AS device_ns FROM temp.ops
  WHERE node_id IS NOT NULL AND +category <> 'user' AND (:profile_id IS NULL OR profile_id = :profile_id)
    AND +profile_id NOT IN (SELECT profile_id FROM modules)
  GROUP BY node_id
)
SELECT * FROM (
  SELECT profile_id, coalesce(place, modules.module) AS place, modules.module AS module, class, count, self_ns, sum_ns,
    device_sum_ns, sum_flops, param_count
  FROM modules LEFT JOIN places ON places.id = node_id
  UNION ALL
  SELECT nodes.profile_id, nodes.name, nodes.name, op_type, NULL, self_ns, self_ns, device_ns, flops, param_count
  FROM temp.nodes LEFT JOIN of_nodes ON node_id = nodes.id
  WHERE (:profile_id IS NULL OR nodes.profile_id = :profile_id)
    AND nodes.profile_id NOT IN (SELECT profile_id FROM modules)
    AND coalesce(self_ns, device_ns, flops, param_count) IS NOT NULL
)
ORDER BY profile_id, sum_ns DESC, module LIMIT 4000
