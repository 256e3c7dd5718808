-- Models: what a graph, a model or a checkpoint holds.
--
-- One row for each profile that has nodes or tensors.  A graph and the checkpoint that was opened with it are one
-- profile.  Scopes and modules compute nothing themselves and are not counted.  A node without an op_type is in no
-- type.
--   profile_id        INTEGER  -      The profile: a graph, a model, a checkpoint, or a graph with its checkpoint.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown.
--   node_count        INTEGER  count  Nodes of the graph.
--   node_types        TEXT     -      The five op types that most nodes have, each with the number of these.  NULL
--                                     without any.
--   flops             INTEGER  flops  Floating point operations of one run of each node where they are known
--                                     (nodes.flops).  NULL where they are known of none.
--   flops_node_count  INTEGER  count  Nodes with known operations.
--   variable_count    INTEGER  count  Nodes that hold parameters.
--   param_count       INTEGER  count  Parameters that these nodes hold.
--   param_bytes       INTEGER  bytes  Size of these parameters.
--   tensor_count      INTEGER  count  Tensors that the checkpoint stores.
--   element_count     INTEGER  count  Elements of all these tensors.
--   bytes             INTEGER  bytes  Size of all these tensors.
--   largest           TEXT     -      The three variables with most bytes, each with its shape and size.  In a
--                                     checkpoint without a graph they are tensors.  Only the end of a long name is
--                                     shown.
-- Cost: two passes over nodes, one over tensors.  Example: SELECT node_count, node_types, largest FROM model_summary;
WITH sums AS (
  SELECT profile_id, sum(is_scope = 0) AS node_count,
    CAST(sum(iif(is_scope = 0, 1.0 * flops, NULL)) AS INTEGER) AS flops,
    sum(is_scope = 0 AND flops IS NOT NULL) AS flops_node_count, sum(param_count > 0) AS variable_count,
    total(param_count) AS param_count, total(param_bytes) AS param_bytes,
    0 AS tensor_count, 0 AS element_count, 0 AS bytes
  FROM temp.nodes GROUP BY profile_id
  UNION ALL SELECT profile_id, 0, NULL, 0, 0, 0, 0, count(*), total(element_count), total(bytes)
  FROM temp.tensors GROUP BY profile_id
), models AS (
  SELECT profile_id, max(node_count) AS node_count, max(flops) AS flops, max(flops_node_count) AS flops_node_count,
    coalesce(max(variable_count), 0) AS variable_count, max(param_count) AS param_count,
    max(param_bytes) AS param_bytes, max(tensor_count) AS tensor_count, max(element_count) AS element_count,
    max(bytes) AS bytes
  FROM sums GROUP BY profile_id
), variables AS (
  SELECT profile_id, 1 AS is_node, name, shape, param_bytes AS bytes FROM temp.nodes WHERE param_bytes > 0
  UNION ALL SELECT profile_id, 0, name, shape, bytes FROM temp.tensors WHERE bytes > 0
), types AS (
  SELECT profile_id, group_concat(format('%s %d', op_type, type_count), ', ') AS text
  FROM (SELECT *, row_number() OVER (PARTITION BY profile_id ORDER BY type_count DESC, op_type) AS place
        FROM (SELECT profile_id, op_type, count(*) AS type_count FROM temp.nodes
              WHERE is_scope = 0 AND op_type IS NOT NULL GROUP BY profile_id, op_type)
        ORDER BY profile_id, place)
  WHERE place <= 5 GROUP BY profile_id
), largest AS (
  SELECT profile_id, group_concat(format('%s%s %s', iif(length(name) > 48, '…' || substr(name, -47), name),
      coalesce(' ' || nullif(shape, ''), ''), format_bytes(bytes)), ', ') AS text
  FROM (SELECT *, row_number() OVER (PARTITION BY profile_id ORDER BY is_node DESC, bytes DESC, name) AS place,
          max(is_node) OVER (PARTITION BY profile_id) AS of_nodes
        FROM variables ORDER BY profile_id, place)
  WHERE place <= 3 AND is_node = of_nodes GROUP BY profile_id
)
SELECT
  models.profile_id AS profile_id,
  profiles.rank AS rank,
  models.node_count AS node_count,
  types.text AS node_types,
  models.flops AS flops,
  models.flops_node_count AS flops_node_count,
  models.variable_count AS variable_count,
  CAST(models.param_count AS INTEGER) AS param_count,
  CAST(models.param_bytes AS INTEGER) AS param_bytes,
  models.tensor_count AS tensor_count,
  CAST(models.element_count AS INTEGER) AS element_count,
  CAST(models.bytes AS INTEGER) AS bytes,
  largest.text AS largest
FROM models
JOIN temp.profiles AS profiles ON profiles.id = models.profile_id
LEFT JOIN types ON types.profile_id = models.profile_id
LEFT JOIN largest ON largest.profile_id = models.profile_id
ORDER BY profile_id
