-- Time by module: which modules of the model the ops of the forward pass and their gradients belong to.
--
-- One row for each profile and module.  A capture of PyTorch knows the modules (nodes with is_scope = 1), and other
-- sources only their names (ops.module).  An XPlane file has scopes, such as the layers of Keras.  A trace of
-- torch.profiler with stacks has numbered classes, such as Transformer_0.Block_3.Linear_7.  Where the source has
-- neither but Python stacks, a module is found by the forward() methods on the stack of an op: their classes, outermost
-- first, such as Transformer/Block/Linear.  Modules of one class in one place are then added up.  Ops outside any
-- module are left out, and so is the time of Python itself between ops.  The ops of measured steps count (no warm-up,
-- ops recorded), and all ops in a profile without such steps.  They are weighed by ops.sample_weight.
--   profile_id        INTEGER  -      The profile: a process or rank.
--   rank              INTEGER  -      Rank of the process.  NULL where it is unknown.
--   module            TEXT     -      Name of the module, with those around it.
--   class             TEXT     -      Class of the module.  NULL where the source does not tell it.
--   depth             INTEGER  -      How many modules are around it.
--   count             INTEGER  count  Ops that it ran itself, without those of the modules inside it (weighed).
--   self_ns           INTEGER  ns     Self time of the ops of count.
--   self_error_ns     INTEGER  ns     Error of self_ns where only some steps were recorded (sampling_summary).  0 where
--                                     all were, NULL where too few were.
--   self_ratio        REAL     ratio  Share of self_ns in the self time of all modules of the profile.
--   sum_ns            INTEGER  ns     Self time of its own ops and of those of the modules inside it.
--   backward_ns       INTEGER  ns     Time of the autograd nodes that answer its own forward ops, spent where
--                                     backward() runs.  On the own threads of autograd, where no Python runs, their
--                                     self time is part of self_ns already.  So is all of it in XPlane files: ops in
--                                     transpose(jvp()) of JAX, gradient_tape of TensorFlow.  NULL where there is none.
--   device_self_ns    INTEGER  ns     Time of the kernels that its own ops launched.  NULL without a device.
--   device_sum_ns     INTEGER  ns     Time of the kernels that its own ops and those of the modules inside it launched.
--                                     NULL without a device.
--   flops             INTEGER  flops  Floating point operations of its own ops, as ops.flops counts them.  NULL where
--                                     none are known.
--   sum_flops         INTEGER  flops  Floating point operations of its own ops and of those of the modules inside it.
--                                     NULL where none are known.
--   backward_flops    INTEGER  flops  Floating point operations of the ops of backward_ns.  NULL where none are known.
--   param_count       INTEGER  count  Parameters of the module and those inside it, shared ones where they come first.
--                                     NULL where the source does not know them.
--   node_id           INTEGER  -      The module, as in nodes.  NULL where the source has only its name.
--   call_count        INTEGER  count  How often it was called (weighed).  A capture counts the calls in which ops ran
--                                     (module_calls), and with --python=calls all calls.  NULL where the source knows
--                                     of no calls.
--   call_count_error  REAL     count  Error of call_count where only some steps were recorded (sampling_summary).  0
--                                     where all were, NULL where too few were or no calls are known.
--   call_ns           INTEGER  ns     Time of these calls from start to end, in all (weighed), modules inside included,
--                                     without what recording ops took of it.  In a capture a call lasts from the start
--                                     of its first op to the end of its last one, and with --python=calls as long as it
--                                     took.  NULL where the source knows of no calls.
--   call_error_ns     INTEGER  ns     Error of call_ns where only some steps were recorded (sampling_summary).  0 where
--                                     all were, NULL where too few were or no calls are known.
-- Sums reach 64 modules outwards. Cost: one pass over ops with a module or a stack, and one over the traces where
-- modules are known from them. Example: SELECT module, self_ns FROM module_summary LIMIT 10;
WITH RECURSIVE walked(trace_id, module) AS ( -- from the outermost frames inwards, each trace once
  SELECT traces.id, CASE WHEN frames.function GLOB '?*.forward'
    THEN '/' || substr(frames.function, 1, length(frames.function) - 8) ELSE '' END
  FROM temp.code_traces AS traces LEFT JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  WHERE traces.parent_id IS NULL AND EXISTS (SELECT 1 FROM temp.ops
    WHERE module IS NULL AND code_trace_id IS NOT NULL
      AND category <> 'user' AND category <> 'python' AND category <> 'module')
  UNION ALL
  SELECT traces.id, CASE WHEN frames.function GLOB '?*.forward' AND length(walked.module) < 1000
    THEN walked.module || '/' || substr(frames.function, 1, length(frames.function) - 8) ELSE walked.module END
  FROM walked
  CROSS JOIN temp.code_traces AS traces ON traces.parent_id = walked.trace_id
  LEFT JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
), has_modules AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp.nodes
  WHERE is_scope = 1 AND id IN (SELECT DISTINCT node_id FROM temp.ops WHERE node_id IS NOT NULL)
), module_of_trace AS MATERIALIZED (
  SELECT trace_id, substr(module, 2) AS module FROM walked WHERE module <> ''
), forward_ops AS ( -- those of which a module may be known; weighed when added up, as few weights differ
  SELECT profile_id, node_id, module, CASE WHEN module IS NULL THEN code_trace_id END AS code_trace_id,
    count * sample_weight AS count, 1.0 * self_ns * sample_weight AS self_ns,
    1.0 * device_self_ns * sample_weight AS device_self_ns, flops * sample_weight AS flops
  FROM temp.module_totals
  WHERE (module IS NOT NULL OR code_trace_id IS NOT NULL) AND is_measured = 1
    AND category NOT IN ('user', 'python', 'module')
), backward_nodes AS MATERIALIZED (
  SELECT backward.id AS id, forward.profile_id AS profile_id, forward.node_id AS node_id, forward.module AS module,
    forward.code_trace_id AS code_trace_id, backward.net_ns AS net_ns, backward.sample_weight AS sample_weight
  FROM temp.ops AS backward
  JOIN temp.ops AS forward ON forward.id = backward.forward_op_id
  LEFT JOIN temp.ops AS enclosing ON enclosing.id = backward.parent_id
  WHERE enclosing.forward_op_id IS NULL AND backward.code_trace_id IS NOT forward.code_trace_id
    AND backward.is_measured = 1 AND backward.forward_op_id IS NOT NULL
), inside(backward_id, op_id, level) AS (
  SELECT id, id, 0 FROM backward_nodes
  UNION ALL
  SELECT inside.backward_id, ops.id, inside.level + 1
  FROM inside JOIN temp.ops AS ops ON ops.parent_id = inside.op_id WHERE inside.level < 100
), backward_flops AS MATERIALIZED (
  SELECT inside.backward_id AS backward_id, sum(ops.flops * ops.sample_weight) AS flops
  FROM inside JOIN temp.ops AS ops ON ops.id = inside.op_id WHERE ops.flops IS NOT NULL GROUP BY inside.backward_id
), backward_ops AS (
  SELECT nodes.profile_id AS profile_id, nodes.node_id AS node_id, nodes.module AS module,
    nodes.code_trace_id AS code_trace_id, sum(nodes.net_ns * nodes.sample_weight) AS backward_ns,
    sum(backward_flops.flops) AS backward_flops
  FROM backward_nodes AS nodes LEFT JOIN backward_flops ON backward_flops.backward_id = nodes.id
  GROUP BY nodes.profile_id, nodes.node_id, nodes.module, nodes.code_trace_id
  UNION ALL
  SELECT profile_id, node_id, module, NULL, sum(1.0 * self_ns * sample_weight), sum(flops * sample_weight)
  FROM temp.module_totals
  WHERE is_backward = 1 AND module IS NOT NULL AND is_measured = 1
    AND profile_id IN (SELECT id FROM temp.profiles WHERE is_xplane = 1)
  GROUP BY profile_id, node_id, module
), parts AS (
  SELECT profile_id, node_id, module, code_trace_id, count, self_ns, device_self_ns, flops, NULL AS backward_ns,
    NULL AS backward_flops
  FROM forward_ops
  UNION ALL
  SELECT profile_id, node_id, module, code_trace_id, 0, 0, NULL, NULL, backward_ns, backward_flops FROM backward_ops
), own AS MATERIALIZED (
  SELECT parts.profile_id AS profile_id, parts.node_id AS node_id,
    coalesce(parts.module, module_of_trace.module) AS module,
    CASE WHEN parts.module IS NULL THEN '/' ELSE '.' END AS separator, sum(parts.count) AS count,
    sum(parts.self_ns) AS self_ns, sum(parts.device_self_ns) AS device_self_ns, sum(parts.flops) AS flops,
    sum(parts.backward_ns) AS backward_ns, sum(parts.backward_flops) AS backward_flops
  FROM parts LEFT JOIN module_of_trace ON module_of_trace.trace_id = parts.code_trace_id
  WHERE coalesce(parts.module, module_of_trace.module) <> ''
    AND (parts.node_id IS NOT NULL OR parts.profile_id NOT IN (SELECT profile_id FROM has_modules))
  GROUP BY parts.profile_id, parts.node_id, coalesce(parts.module, module_of_trace.module),
    CASE WHEN parts.module IS NULL THEN '/' ELSE '.' END
), in_step AS MATERIALIZED (
  SELECT profile_id, node_id, module, code_trace_id, step_id, sum(1.0 * self_ns) AS self_ns
  FROM temp.ops
  WHERE category <> 'user' AND category <> 'python' AND category <> 'module' AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY profile_id, node_id, module, code_trace_id, step_id
), errors AS (
  SELECT parts.profile_id AS profile_id, parts.node_id AS node_id,
    coalesce(parts.module, module_of_trace.module) AS module, sample_error(parts.self_ns, parts.step_id) AS self_ns
  FROM in_step AS parts LEFT JOIN module_of_trace ON module_of_trace.trace_id = parts.code_trace_id
  GROUP BY parts.profile_id, parts.node_id, coalesce(parts.module, module_of_trace.module)
), around(profile_id, node_id, module, separator, self_ns, device_self_ns, flops, level) AS (
  SELECT profile_id, node_id, module, separator, self_ns, device_self_ns, flops, 0 FROM own
  UNION ALL
  SELECT around.profile_id, outer_nodes.id,
    CASE WHEN around.node_id IS NULL
      THEN rtrim(rtrim(around.module, replace(around.module, around.separator, '')), around.separator)
      ELSE outer_nodes.name END,
    around.separator, around.self_ns, around.device_self_ns, around.flops, around.level + 1
  FROM around
  LEFT JOIN temp.nodes AS nodes ON nodes.id = around.node_id
  LEFT JOIN temp.nodes AS outer_nodes ON outer_nodes.id = nodes.parent_id
  WHERE around.level < 64
    AND CASE WHEN around.node_id IS NULL THEN instr(around.module, around.separator) > 0
      ELSE outer_nodes.id IS NOT NULL END
), sums AS (
  SELECT profile_id, node_id, module, separator, sum(self_ns) AS sum_ns, sum(device_self_ns) AS device_sum_ns,
    sum(flops) AS sum_flops
  FROM around WHERE module <> '' GROUP BY profile_id, node_id, module, separator
), holders(node_id, param_count, level) AS (
  SELECT parent_id, param_count, 0 FROM temp.nodes WHERE param_count IS NOT NULL AND is_scope = 0
    AND profile_id IN (SELECT profile_id FROM has_modules)
  UNION ALL
  SELECT nodes.parent_id, holders.param_count, holders.level + 1
  FROM holders JOIN temp.nodes AS nodes ON nodes.id = holders.node_id
  WHERE nodes.parent_id IS NOT NULL AND holders.level < 64
), calls_in_step AS MATERIALIZED ( -- of a capture
  SELECT profile_id, node_id, step_id, count(*) AS call_count, sum(1.0 * net_ns) AS call_ns
  FROM temp.module_calls WHERE node_id IS NOT NULL GROUP BY profile_id, node_id, step_id
), calls AS MATERIALIZED (
  SELECT calls.profile_id AS profile_id, calls.node_id AS node_id,
    sum(calls.call_count * coalesce(steps.sample_weight, 1.0)) AS call_count,
    sum(calls.call_ns * coalesce(steps.sample_weight, 1.0)) AS call_ns
  FROM calls_in_step AS calls LEFT JOIN temp.steps AS steps ON steps.id = calls.step_id
  WHERE (steps.is_warmup = 0 AND steps.ops_recorded = 1) OR calls.profile_id NOT IN
    (SELECT profile_id FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1)
  GROUP BY calls.profile_id, calls.node_id
), call_errors AS MATERIALIZED (
  SELECT profile_id, node_id, sample_error(call_count, step_id) AS call_count, sample_error(call_ns, step_id) AS call_ns
  FROM calls_in_step WHERE profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY profile_id, node_id
), traced_calls AS MATERIALIZED (
  SELECT profile_id, module, sum(sample_weight) AS call_count, sum(net_ns * sample_weight) AS call_ns
  FROM temp.ops
  WHERE (category = 'module' OR (category = 'python' AND name = 'Module._wrapped_call_impl' AND module IS NOT NULL
      AND profile_id NOT IN (SELECT profile_id FROM calls)))
    AND is_measured = 1
  GROUP BY profile_id, module
), names AS (
  SELECT profile_id, module, rtrim(leaf, '0123456789') AS class
  FROM (SELECT profile_id, module, replace(module, rtrim(module, replace(module, '.', '')), '') AS leaf
    FROM traced_calls)
), parameters AS MATERIALIZED (
  SELECT node_id, CAST(sum(1.0 * param_count) AS INTEGER) AS param_count FROM holders GROUP BY node_id
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.module AS module,
  coalesce(nodes.op_type, CASE WHEN names.class GLOB '?*_' THEN substr(names.class, 1, length(names.class) - 1) END)
    AS class,
  coalesce(nodes.depth, length(sums.module) - length(replace(sums.module, sums.separator, ''))) AS depth,
  CAST(round(coalesce(own.count, 0)) AS INTEGER) AS count,
  CAST(coalesce(own.self_ns, 0) AS INTEGER) AS self_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.self_ns AS INTEGER) ELSE 0 END AS self_error_ns,
  coalesce(own.self_ns, 0) / nullif(sum(own.self_ns) OVER (PARTITION BY sums.profile_id), 0) AS self_ratio,
  CAST(sums.sum_ns AS INTEGER) AS sum_ns,
  CAST(own.backward_ns AS INTEGER) AS backward_ns,
  CAST(own.device_self_ns AS INTEGER) AS device_self_ns,
  CAST(sums.device_sum_ns AS INTEGER) AS device_sum_ns,
  CAST(own.flops AS INTEGER) AS flops,
  CAST(sums.sum_flops AS INTEGER) AS sum_flops,
  CAST(own.backward_flops AS INTEGER) AS backward_flops,
  coalesce(parameters.param_count, CASE WHEN sums.node_id IS NOT NULL THEN 0 END) AS param_count,
  sums.node_id AS node_id,
  CAST(round(coalesce(calls.call_count, traced_calls.call_count)) AS INTEGER) AS call_count,
  CASE WHEN call_errors.profile_id IS NOT NULL THEN call_errors.call_count
    WHEN coalesce(calls.call_count, traced_calls.call_count) IS NOT NULL THEN 0.0 END AS call_count_error,
  CAST(coalesce(calls.call_ns, traced_calls.call_ns) AS INTEGER) AS call_ns,
  CASE WHEN call_errors.profile_id IS NOT NULL THEN CAST(call_errors.call_ns AS INTEGER)
    WHEN coalesce(calls.call_ns, traced_calls.call_ns) IS NOT NULL THEN 0 END AS call_error_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.nodes AS nodes ON nodes.id = sums.node_id
LEFT JOIN parameters ON parameters.node_id = sums.node_id
LEFT JOIN calls ON calls.profile_id = sums.profile_id AND calls.node_id = sums.node_id
LEFT JOIN call_errors ON call_errors.profile_id = sums.profile_id AND call_errors.node_id = sums.node_id
LEFT JOIN traced_calls ON traced_calls.profile_id = sums.profile_id AND traced_calls.module = sums.module
LEFT JOIN names ON names.profile_id = sums.profile_id AND names.module = sums.module
LEFT JOIN own ON own.profile_id = sums.profile_id AND own.node_id IS sums.node_id AND own.module = sums.module
  AND own.separator = sums.separator
LEFT JOIN errors ON errors.profile_id = own.profile_id AND errors.node_id IS own.node_id AND errors.module = own.module
ORDER BY self_ns DESC, sum_ns DESC, profile_id, module, node_id
