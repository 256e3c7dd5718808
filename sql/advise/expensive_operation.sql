-- Advice: where the time goes, in three views: kinds of ops, nodes of the graph, lines of the program.
--
-- For each profile that has nodes with times: the three op types that take longest (with their share of all time), the
-- three nodes that take longest themselves, and the source lines from the point on where the call tree first branches,
-- three at each of four levels, as far as they take a millisecond in all.  Times are averages over the steps in which a
-- node ran, as in the classic views, of which these rows are excerpts.
-- With tfprof_set('compat', 1) the nodes are those that TensorFlow's profiler picks: the outermost scopes with the most
-- time in all, printed with their own time, which is mostly 0; and where the call tree branches without a line that
-- takes long enough, there is an empty line, as there.
-- In a program of PyTorch not every node runs in every step, such as what sets weights at first: there op types and
-- nodes (the modules of node_steps) are averages over all steps, and what was recorded of some steps stands for the
-- others (sample_weight), so that shares are those of the whole time.
-- Of XPlane files the ops are the framework's own and those that XLA compiled, by type and by name, with the kernels of
-- them; averages over all steps.  What runs them (executors, dispatch) is none.
-- What PyTorch ran is left to slowest_source_line and op_summary unless the setting every_source is 1, as it is for the
-- prompt's `advise -checkers`, which also tells of accelerators that did nothing, as TensorFlow's profiler does.
-- Settings: count (3) of op types, nodes and lines; node_micros (100), which a node must take; line_micros (1000);
-- every_source (0).
-- Columns: those of every check, see docs/checks.md; value is the time in ns, saves_ns NULL.  Cost: the classic views.
-- Example: SELECT message FROM advise WHERE check_name = 'expensive_operation';
WITH RECURSIVE settings AS MATERIALIZED (
  SELECT tfprof_setting('expensive_operation.count', 3) AS count,
    tfprof_setting('expensive_operation.node_micros', 100) AS node_micros,
    tfprof_setting('expensive_operation.line_micros', 1000) AS line_micros,
    tfprof_setting('compat', 0) AS is_compat
), chosen AS MATERIALIZED (
  SELECT id AS profile_id, has_framework(framework, 'pytorch') AS is_weighed,
    is_xplane
  FROM temp.profiles
  WHERE id NOT IN (SELECT profile_id FROM temp._process_names WHERE is_helper)
    AND (NOT has_framework(framework, 'pytorch') OR tfprof_setting('expensive_operation.every_source', 0))
), timed AS MATERIALIZED (
  SELECT profile_id FROM chosen
  WHERE EXISTS (SELECT 1 FROM temp.node_steps AS node_steps WHERE node_steps.profile_id = chosen.profile_id)
), traced AS MATERIALIZED ( -- before code_view is asked, which fails where there are no lines
  SELECT profile_id FROM timed
  WHERE EXISTS (SELECT 1 FROM temp.nodes AS nodes
    WHERE nodes.profile_id = timed.profile_id AND nodes.code_trace_id IS NOT NULL)
), weighed AS MATERIALIZED (
  SELECT profile_id, (SELECT max(count(*), 1) FROM temp.steps AS steps WHERE steps.profile_id = chosen.profile_id)
    AS step_count, is_xplane FROM chosen WHERE is_weighed OR is_xplane
), framework_ops AS MATERIALIZED ( -- of XPlane
  SELECT weighed.profile_id AS profile_id, op_type, name, total(op_self_ns) / (1000.0 * step_count) AS cpu_micros,
    0.0 AS accelerator_micros
  FROM weighed CROSS JOIN temp.op_totals AS totals ON totals.profile_id = weighed.profile_id
  WHERE is_xplane AND category = 'op' GROUP BY weighed.profile_id, op_type, name
  UNION ALL
  SELECT weighed.profile_id, coalesce(op_type, op_name), op_name, 0.0, total(self_ns) / (1000.0 * step_count)
  FROM weighed CROSS JOIN temp.kernel_totals AS totals ON totals.profile_id = weighed.profile_id
  WHERE is_xplane AND op_name IS NOT NULL GROUP BY weighed.profile_id, op_type, op_name
), weighed_ops AS (
  SELECT weighed.profile_id AS profile_id, ops.name AS name,
    total(ops.self_ns * ops.sample_weight) / (1000.0 * step_count) AS cpu_micros,
    total(ops.device_self_ns * ops.sample_weight) / (1000.0 * step_count) AS accelerator_micros
  FROM weighed CROSS JOIN temp.ops AS ops ON ops.profile_id = weighed.profile_id
  WHERE ops.category IN ('op', 'autograd') AND NOT is_xplane
  GROUP BY weighed.profile_id, ops.name
  UNION ALL
  SELECT profile_id, op_type, sum(cpu_micros), sum(accelerator_micros) FROM framework_ops GROUP BY profile_id, op_type
), weighed_nodes AS (
  SELECT weighed.profile_id AS profile_id, nodes.name AS name,
    total(node_steps.cpu_ns * coalesce(steps.sample_weight, 1.0)) / (1000.0 * step_count) AS cpu_micros,
    total(node_steps.accelerator_ns * coalesce(steps.sample_weight, 1.0)) / (1000.0 * step_count) AS accelerator_micros
  FROM weighed CROSS JOIN temp.node_steps AS node_steps ON node_steps.profile_id = weighed.profile_id
  JOIN temp.nodes AS nodes ON nodes.id = node_steps.node_id
  LEFT JOIN temp.steps AS steps ON steps.id = node_steps.step_id
  WHERE nodes.name <> '' AND NOT is_xplane GROUP BY weighed.profile_id, nodes.name
  UNION ALL
  SELECT profile_id, name, sum(cpu_micros), sum(accelerator_micros) FROM framework_ops GROUP BY profile_id, name
), ops AS (
  SELECT op_view.profile_id AS profile_id,
    row_number() OVER (PARTITION BY op_view.profile_id ORDER BY position) AS place, name,
    cpu_micros, accelerator_micros, micros, max(total_micros) OVER (PARTITION BY op_view.profile_id) AS all_micros
  FROM chosen JOIN temp.op_view AS op_view ON op_view.profile = chosen.profile_id
  WHERE NOT is_weighed AND NOT is_xplane AND max_depth = 1000000 AND min_micros = 1 AND order_by = 'micros'
  UNION ALL
  SELECT profile_id,
    row_number() OVER (PARTITION BY profile_id ORDER BY cpu_micros + accelerator_micros DESC, name), name,
    CAST(cpu_micros AS INTEGER), CAST(accelerator_micros AS INTEGER), CAST(cpu_micros + accelerator_micros AS INTEGER),
    sum(cpu_micros + accelerator_micros) OVER (PARTITION BY profile_id)
  FROM weighed_ops
), nodes AS (
  SELECT scope_view.profile_id AS profile_id,
    row_number() OVER (PARTITION BY scope_view.profile_id
      ORDER BY CASE WHEN is_compat THEN position END, CASE WHEN NOT is_compat THEN -micros END, name) AS place,
    name, cpu_micros, accelerator_micros, micros
  FROM settings CROSS JOIN chosen CROSS JOIN temp.scope_view AS scope_view ON scope_view.profile = chosen.profile_id
  WHERE NOT is_weighed AND NOT is_xplane AND max_depth = 1000000 AND order_by = 'micros'
    AND min_micros = CAST(node_micros AS INTEGER)
    AND CASE WHEN is_compat THEN depth = 2 AND total_micros >= node_micros
    ELSE depth > 1 AND micros >= node_micros END
  UNION ALL
  SELECT profile_id,
    row_number() OVER (PARTITION BY profile_id ORDER BY cpu_micros + accelerator_micros DESC, weighed_nodes.name),
    weighed_nodes.name, CAST(cpu_micros AS INTEGER), CAST(accelerator_micros AS INTEGER),
    CAST(cpu_micros + accelerator_micros AS INTEGER)
  FROM weighed_nodes JOIN settings WHERE cpu_micros + accelerator_micros >= node_micros
), lines AS MATERIALIZED (
  SELECT code_view.profile_id AS profile_id, position, parent_position, name, total_cpu_micros AS cpu_micros,
    total_accelerator_micros AS accelerator_micros, total_micros AS micros
  FROM traced JOIN temp.code_view AS code_view ON code_view.profile = traced.profile_id
  WHERE max_depth = 100 AND min_micros = 1 AND order_by = 'micros'
), branches AS MATERIALIZED (
  SELECT profile_id, parent_position, count(*) AS children, min(position) AS first_child
  FROM lines WHERE parent_position IS NOT NULL GROUP BY 1, 2
), places AS MATERIALIZED (
  SELECT *, row_number() OVER (PARTITION BY profile_id, parent_position ORDER BY position) AS place FROM lines
), way_down AS ( -- from the root on while a line calls just one other
  SELECT profile_id, position FROM lines WHERE parent_position IS NULL
  UNION ALL
  SELECT way_down.profile_id, branches.first_child FROM way_down JOIN branches
    ON branches.profile_id = way_down.profile_id AND branches.parent_position = way_down.position AND children = 1
), shown AS MATERIALIZED (
  SELECT profile_id, max(position) AS position, -1 AS depth FROM way_down GROUP BY 1
  UNION ALL
  SELECT places.profile_id, places.position, shown.depth + 1
  FROM shown
  JOIN branches ON branches.profile_id = shown.profile_id AND branches.parent_position = shown.position AND children > 1
  JOIN places ON places.profile_id = shown.profile_id AND places.parent_position = shown.position
  JOIN settings
  WHERE shown.depth < 3 AND place <= count AND micros >= line_micros
), found AS (
  SELECT profile_id, 1 AS part, place, 'top ' || place || ' operation type: ' || name AS what, cpu_micros,
    accelerator_micros, micros,
    -- the whole is a little more than it is, as TensorFlow has it: a half rounds down
    format(' (%.2f%%)', 100.0 * micros / (all_micros + 1e-10)) AS share,
    iif(profile_id IN (SELECT profile_id FROM chosen WHERE is_xplane),
      'SELECT side, op_type, sum(self_ns) FROM temp.xprof_op_stats WHERE profile_id = ' || profile_id
        || ' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20',
      'SELECT name, micros FROM temp.op_view WHERE order_by = ''micros'' AND profile = ' || profile_id || ' LIMIT 20')
      AS evidence
  FROM ops JOIN settings WHERE place <= count AND (is_compat OR micros > 0)
  UNION ALL
  SELECT profile_id, 2, place, 'top ' || place || ' graph node: ' || name, cpu_micros, accelerator_micros, micros, '',
    iif(profile_id IN (SELECT profile_id FROM chosen WHERE is_xplane),
      'SELECT op, side, self_ns FROM temp.xprof_op_stats WHERE is_idle = 0 AND profile_id = ' || profile_id
        || ' ORDER BY 3 DESC LIMIT 20',
      'SELECT name, micros FROM temp.graph_view WHERE profile = ' || profile_id || ' ORDER BY 2 DESC LIMIT 20')
  FROM nodes JOIN settings WHERE place <= count
  UNION ALL
  SELECT lines.profile_id, 3, lines.position, format('%*s%s', 2 * depth, '', name), cpu_micros, accelerator_micros,
    micros,
    '', 'SELECT name, total_micros FROM temp.code_view WHERE max_depth = 100 AND order_by = ''micros'' AND profile = '
      || lines.profile_id || ' LIMIT 20'
  FROM shown JOIN lines ON lines.profile_id = shown.profile_id AND lines.position = shown.position WHERE depth >= 0
  UNION ALL
  SELECT shown.profile_id, 3, 0, NULL, 0, 0, 0, NULL,
    'SELECT name, total_micros FROM temp.code_view WHERE profile = ' || shown.profile_id || ' LIMIT 20'
  FROM settings CROSS JOIN shown JOIN branches
    ON branches.profile_id = shown.profile_id AND branches.parent_position = shown.position AND children > 1
  WHERE is_compat GROUP BY shown.profile_id
  HAVING max(shown.depth) = -1 AND shown.profile_id NOT IN (SELECT profile_id FROM shown WHERE depth >= 0)
)
SELECT
  'expensive_operation' AS check_name,
  'info' AS severity,
  processes.name AS subject,
  CASE WHEN what IS NULL THEN '' ELSE processes.prefix || what || ', ' || CASE
    WHEN accelerator_micros > 0 OR tfprof_setting('expensive_operation.every_source', 0)
    THEN format('cpu: %s, accelerator: %s, total: %s', format_micros(cpu_micros), format_micros(accelerator_micros),
      format_micros(micros)) ELSE format_micros(micros) END || share END AS message,
  1000.0 * micros AS value,
  0.0 AS threshold,
  NULL AS saves_ns,
  'Look here first: what takes longest is where a change pays most.' AS suggestion,
  evidence AS evidence
FROM found JOIN temp._process_names AS processes ON processes.profile_id = found.profile_id
ORDER BY found.profile_id, part, place
