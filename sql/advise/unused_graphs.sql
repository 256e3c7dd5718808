-- Advice: forward passes that record gradients nobody asks for, as an evaluation without torch.no_grad() does.
--
-- For each profile the call stacks, in measured steps, from which ops made autograd nodes (ops.sequence_number) of
-- which no backward pass ever ran any (forward_op_id), four or more: the nodes, and all that they keep until they are
-- forgotten, were made for nothing.  Where one line trains and evaluates, a backward pass runs all nodes of a stack in
-- some steps, and in others some: then the share counts that it does not.  What a checkpoint computes again within the
-- backward pass is none of them (needless_checkpoints).  The line is the innermost line of the program that more than
-- half of their time passes below, and no op that a backward pass used: that of the evaluation, not one of the model.
-- The message tells the most that they held at a time of what outlived the ops that allocated it.
-- Threshold: these ops take 5 % of the step time.
-- What it would save: nothing that is recorded tells it, saves_ns is NULL.  A node takes half a microsecond.  What the
-- memory costs lies with the allocator: the C library's gives large pieces back to the system when they are released,
-- and each page that is taken anew costs a microsecond or two; or it does not, which the order of all other pieces
-- decides: of four runs of one loop of convolutions three took 5.1 s, and one 3.5.  Allocators of devices keep
-- what they have.
-- Columns: those of every check, see docs/checks.md; value is the share of the step time that these ops take.
-- Cost: two passes over the sequence numbers of ops; where some are not used one more over ops, and one over
-- allocations.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'unused_graphs';
WITH RECURSIVE step_time AS MATERIALIZED (
  SELECT profile_id, sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), linked AS MATERIALIZED ( -- forward ops that a backward pass came to
  SELECT forward_op_id AS op_id FROM temp.ops WHERE category = 'autograd' AND forward_op_id IS NOT NULL
), numbered AS ( -- ops without a node have the number of the next one, so that the last of a step may be of none
  SELECT profile_id, max(id) AS op_id, step_id, max(id IN (SELECT op_id FROM linked)) AS is_used, sequence_number,
    max(sequence_number) OVER (PARTITION BY step_id, thread_id) AS last_number
  FROM temp.ops
  WHERE category = 'op' AND sequence_number IS NOT NULL AND is_measured = 1 AND step_id IS NOT NULL
    AND is_backward IS NOT 1 AND profile_id IN (SELECT profile_id FROM step_time)
  GROUP BY profile_id, step_id, thread_id, sequence_number
), numbers AS MATERIALIZED (
  SELECT profile_id, op_id, step_id, is_used FROM numbered WHERE sequence_number < last_number
), in_step AS (
  SELECT numbers.profile_id AS profile_id, ops.code_trace_id AS code_trace_id, sum(numbers.is_used) AS used_count,
    count(*) AS node_count
  FROM numbers CROSS JOIN temp.ops AS ops ON ops.id = numbers.op_id
  CROSS JOIN temp.ops AS outermost ON outermost.id = ops.outermost_id
  WHERE ops.code_trace_id IS NOT NULL AND outermost.name NOT GLOB 'autograd::*'
    AND EXISTS (SELECT 1 FROM numbers WHERE NOT is_used LIMIT 1 OFFSET 3)
  GROUP BY numbers.profile_id, ops.code_trace_id, numbers.step_id
), traces AS MATERIALIZED (
  SELECT profile_id, code_trace_id, sum(used_count) > 0 AS is_used,
    1.0 * sum(node_count - used_count) / sum(node_count) AS unused_ratio,
    sum(node_count - used_count) FILTER (WHERE used_count > 0 OR all_used_count = 0) >= 4
      AND (all_used_count = 0 OR max(used_count = node_count)) AS is_unused
  FROM (SELECT in_step.*, sum(used_count) OVER (PARTITION BY profile_id, code_trace_id) AS all_used_count FROM in_step)
  GROUP BY profile_id, code_trace_id
), unused AS MATERIALIZED (
  SELECT code_trace_id, unused_ratio FROM traces WHERE is_unused
), costs AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, ops.code_trace_id AS code_trace_id,
    sum(ops.self_ns * ops.sample_weight) * unused.unused_ratio AS self_ns
  FROM temp.ops AS ops JOIN unused ON unused.code_trace_id = ops.code_trace_id
  WHERE ops.code_trace_id IN (SELECT code_trace_id FROM unused) AND ops.is_measured = 1 AND ops.category = 'op'
    AND ops.is_backward IS NOT 1
  GROUP BY ops.profile_id, ops.code_trace_id
), sums AS MATERIALIZED (
  SELECT costs.profile_id AS profile_id, sum(costs.self_ns) AS self_ns, step_time.step_ns AS step_ns
  FROM costs JOIN step_time ON step_time.profile_id = costs.profile_id
  GROUP BY costs.profile_id HAVING sum(costs.self_ns) >= 0.05 * step_time.step_ns
), kept AS MATERIALIZED ( -- what outlived the op
  SELECT allocations.profile_id AS profile_id, allocations.id AS id, allocations.bytes AS bytes,
    allocations.allocated_ns AS allocated_ns, allocations.released_ns AS released_ns
  FROM temp.allocations AS allocations CROSS JOIN temp.ops AS ops ON ops.id = allocations.op_id
  CROSS JOIN temp.ops AS outermost ON outermost.id = coalesce(ops.outermost_id, ops.id)
  WHERE allocations.profile_id IN (SELECT profile_id FROM sums)
    AND ops.code_trace_id IN (SELECT code_trace_id FROM unused WHERE unused_ratio = 1)
    AND allocations.released_ns > outermost.end_ns
), changes AS (
  SELECT profile_id, id, allocated_ns AS time_ns, bytes FROM kept
  UNION ALL SELECT profile_id, id, released_ns, -bytes FROM kept
), levels AS (
  SELECT profile_id, sum(bytes) OVER (PARTITION BY profile_id ORDER BY time_ns, bytes, id
    ROWS UNBOUNDED PRECEDING) AS bytes
  FROM changes
), held AS (
  SELECT profile_id, max(bytes) AS most_bytes FROM levels GROUP BY profile_id
), above(code_trace_id, place, is_used, self_ns) AS ( -- every stack, and those that it goes on from
  SELECT traces.code_trace_id, traces.code_trace_id, traces.is_used AND NOT traces.is_unused, coalesce(costs.self_ns, 0)
  FROM traces LEFT JOIN costs ON costs.code_trace_id = traces.code_trace_id
  WHERE traces.profile_id IN (SELECT profile_id FROM sums)
  UNION ALL
  SELECT above.code_trace_id, ids.parent_id, above.is_used, above.self_ns
  FROM above CROSS JOIN temp.code_traces AS ids ON ids.id = above.place
  WHERE ids.parent_id IS NOT NULL
), shared AS MATERIALIZED (
  SELECT place, sum(self_ns) AS self_ns, max(is_used) AS is_used FROM above GROUP BY place
), used_frames AS MATERIALIZED (
  SELECT DISTINCT ids.leaf_frame_id AS frame_id
  FROM shared CROSS JOIN temp.code_traces AS ids ON ids.id = shared.place WHERE shared.is_used
), places AS (
  SELECT ids.profile_id AS profile_id, frames.file AS file, frames.line AS line, frames.text AS text,
    frames.cell AS cell, row_number() OVER (PARTITION BY ids.profile_id
      ORDER BY ids.leaf_frame_id IN (SELECT frame_id FROM used_frames), shared.self_ns > 0.5 * sums.self_ns DESC,
      ids.depth DESC, shared.self_ns DESC, frames.file, frames.line)
      AS position
  FROM shared CROSS JOIN temp.code_traces AS ids ON ids.id = shared.place
  CROSS JOIN temp.code_frames AS frames ON frames.id = ids.leaf_frame_id
  JOIN sums ON sums.profile_id = ids.profile_id
  WHERE NOT shared.is_used AND frames.source_kind IN ('program', 'generated')
)
SELECT
  'unused_graphs' AS check_name,
  'warning' AS severity,
  coalesce(coalesce('In[' || cell || ']', replace(file, rtrim(file, replace(file, '/', '')), '')) || ':' || line,
    processes.name) AS subject,
  processes.prefix || format('%.0f %% of the step time is ops that record gradients which no backward pass asks for',
    100.0 * sums.self_ns / step_ns)
    || coalesce(', below ' || coalesce('In[' || cell || ']', replace(file, rtrim(file, replace(file, '/', '')), ''))
      || ':' || line, '') || coalesce(': ' || trim(text), '')
    || coalesce('; they hold ' || format_bytes(nullif(most_bytes, 0)) || ' at most', '') AS message,
  sums.self_ns / step_ns AS value,
  0.05 AS threshold,
  NULL AS saves_ns,
  'Evaluate within torch.inference_mode() or torch.no_grad(), and detach() what is only looked at: memory of the '
    || 'forward pass is given back at once then.' AS suggestion,
  'SELECT name, count(*), sum(self_ns) FROM temp.ops WHERE sequence_number IS NOT NULL AND profile_id = '
    || sums.profile_id || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM sums
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
LEFT JOIN places ON places.profile_id = sums.profile_id AND places.position = 1
LEFT JOIN held ON held.profile_id = sums.profile_id
ORDER BY value DESC, sums.profile_id
