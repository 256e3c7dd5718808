-- Time by module: which modules of the model the ops of the forward pass and their gradients belong to.
--
-- One row for each profile and module.  Where the source names modules (ops.module), these are the names.  Where it has
-- only Python stacks, a module is told from the forward() methods on the stack of an op: their classes, outermost first,
-- such as Transformer/Block/Linear; modules of one class in one place are then added up.  Ops outside any module are left
-- out, also Python's own time between ops.  Counted are the ops of measured steps (no warm-up, ops recorded); in a
-- profile without such steps all; weighed by ops.sample_weight.
--   profile_id, rank, module
--   depth                  how many modules are around it
--   count                  ops that it ran itself, without those of the modules inside it (weighed)
--   self_ns, self_ratio    their self time; share of the self time of all modules
--   sum_ns                 the same with the modules inside it
--   backward_ns            time of the autograd nodes that answer its own forward ops, spent where backward() runs; on
--                          autograd's own threads, where no Python runs, their self time is part of self_ns already
--   device_self_ns         time of the kernels that its own ops launched; NULL without a device
-- Cost: one pass over ops, then traces times their depth.  Example: SELECT module, self_ns FROM module_summary LIMIT 10;
WITH RECURSIVE measured AS (
  SELECT profile_id, id FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1
), walked(trace_id, at_trace_id, module) AS (
  SELECT traces.id, traces.id, '' FROM temp.code_traces AS traces
  WHERE traces.id IN (SELECT code_trace_id FROM temp.ops)
  UNION ALL
  SELECT walked.trace_id, traces.parent_id,
    CASE WHEN frames.function GLOB '?*.forward'
      THEN '/' || substr(frames.function, 1, length(frames.function) - 8) || walked.module ELSE walked.module END
  FROM walked
  JOIN temp.code_traces AS traces ON traces.id = walked.at_trace_id
  JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
), module_of_trace AS MATERIALIZED (
  SELECT trace_id, substr(module, 2) AS module FROM walked WHERE at_trace_id IS NULL AND module <> ''
), forward_ops AS (
  SELECT profile_id, module, code_trace_id, sum(sample_weight) AS count, sum(self_ns * sample_weight) AS self_ns,
    sum(device_self_ns * sample_weight) AS device_self_ns
  FROM temp.ops
  WHERE category <> 'user'
    AND (step_id IN (SELECT id FROM measured) OR profile_id NOT IN (SELECT profile_id FROM measured))
  GROUP BY profile_id, module, code_trace_id
), backward_ops AS (
  SELECT forward.profile_id AS profile_id, forward.module AS module, forward.code_trace_id AS code_trace_id,
    sum(backward.dur_ns * backward.sample_weight) AS backward_ns
  FROM temp.ops AS backward
  JOIN temp.ops AS forward ON forward.id = backward.forward_op_id
  LEFT JOIN temp.ops AS enclosing ON enclosing.id = backward.parent_id
  WHERE enclosing.forward_op_id IS NULL AND backward.code_trace_id IS NOT forward.code_trace_id
    AND (backward.step_id IN (SELECT id FROM measured) OR backward.profile_id NOT IN (SELECT profile_id FROM measured))
  GROUP BY forward.profile_id, forward.module, forward.code_trace_id
), parts AS (
  SELECT profile_id, module, code_trace_id, count, self_ns, device_self_ns, NULL AS backward_ns FROM forward_ops
  UNION ALL
  SELECT profile_id, module, code_trace_id, 0, 0, NULL, backward_ns FROM backward_ops
), own AS MATERIALIZED (
  SELECT parts.profile_id AS profile_id, coalesce(parts.module, module_of_trace.module) AS module,
    CASE WHEN parts.module IS NULL THEN '/' ELSE '.' END AS separator, sum(parts.count) AS count,
    sum(parts.self_ns) AS self_ns, sum(parts.device_self_ns) AS device_self_ns, sum(parts.backward_ns) AS backward_ns
  FROM parts LEFT JOIN module_of_trace ON module_of_trace.trace_id = parts.code_trace_id
  WHERE coalesce(parts.module, module_of_trace.module) <> ''
  GROUP BY parts.profile_id, coalesce(parts.module, module_of_trace.module),
    CASE WHEN parts.module IS NULL THEN '/' ELSE '.' END
), around(profile_id, module, separator, self_ns, level) AS (
  SELECT profile_id, module, separator, self_ns, 0 FROM own
  UNION ALL
  SELECT profile_id, rtrim(rtrim(module, replace(module, separator, '')), separator), separator, self_ns, level + 1
  FROM around WHERE instr(module, separator) > 0 AND level < 1000
), sums AS (
  SELECT profile_id, module, separator, sum(self_ns) AS sum_ns FROM around WHERE module <> ''
  GROUP BY profile_id, module, separator
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.module AS module,
  length(sums.module) - length(replace(sums.module, sums.separator, '')) AS depth,
  CAST(round(coalesce(own.count, 0)) AS INTEGER) AS count,
  CAST(coalesce(own.self_ns, 0) AS INTEGER) AS self_ns,
  coalesce(own.self_ns, 0) / nullif(sum(own.self_ns) OVER (PARTITION BY sums.profile_id), 0) AS self_ratio,
  CAST(sums.sum_ns AS INTEGER) AS sum_ns,
  CAST(own.backward_ns AS INTEGER) AS backward_ns,
  CAST(own.device_self_ns AS INTEGER) AS device_self_ns
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN own ON own.profile_id = sums.profile_id AND own.module = sums.module AND own.separator = sums.separator
ORDER BY self_ns DESC, sum_ns DESC, profile_id, module
