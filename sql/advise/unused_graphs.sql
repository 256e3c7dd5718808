-- Advice: forward passes that record gradients nobody asks for, as an evaluation without torch.no_grad() does.
--
-- For each profile the call stacks, in measured steps, from which ops made autograd nodes (ops.sequence_number) of
-- which no backward pass ever ran any (forward_op_id), four or more: the nodes, and all that they keep until they are
-- forgotten, were made for nothing.  What a checkpoint computes again within the backward pass is none of them
-- (needless_checkpoints).  The line is the innermost line of the program that more than half of their time
-- passes below, and no op that a backward pass used.
-- Threshold: what it would save is 2 % of the step time.
-- What it would save: four tenths of the self time of their ops; three to five were measured for convolutions on a
-- processor: nodes, and memory that is not in the caches since nothing is given back.
-- Columns: those of every check, see sql/README.md; value is the share of the step time that these ops take.
-- Cost: two passes over the sequence numbers of ops; one more over ops where some are not used.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'unused_graphs';
WITH RECURSIVE step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns,
    sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), linked AS MATERIALIZED ( -- forward ops that a backward pass came to
  SELECT forward_op_id AS op_id FROM temp.ops WHERE category = 'autograd' AND forward_op_id IS NOT NULL
), numbered AS ( -- ops without a node have the number of the next one, so that the last of a step may be of none
  SELECT profile_id, max(id) AS op_id, max(id IN (SELECT op_id FROM linked)) AS is_used, sequence_number,
    max(sequence_number) OVER (PARTITION BY step_id, thread_id) AS last_number
  FROM temp.ops
  WHERE category = 'op' AND sequence_number IS NOT NULL AND is_measured = 1 AND step_id IS NOT NULL
    AND profile_id IN (SELECT profile_id FROM step_time)
  GROUP BY profile_id, step_id, thread_id, sequence_number
), numbers AS MATERIALIZED (
  SELECT profile_id, op_id, is_used FROM numbered WHERE sequence_number < last_number
), traces AS MATERIALIZED (
  SELECT numbers.profile_id AS profile_id, ops.code_trace_id AS code_trace_id, max(numbers.is_used) AS is_used,
    count(*) AS node_count
  FROM numbers CROSS JOIN temp.ops AS ops ON ops.id = numbers.op_id
  CROSS JOIN temp.ops AS outermost ON outermost.id = ops.outermost_id
  WHERE ops.code_trace_id IS NOT NULL AND outermost.name NOT GLOB 'autograd::*'
    AND EXISTS (SELECT 1 FROM numbers WHERE NOT is_used LIMIT 1 OFFSET 3)
  GROUP BY numbers.profile_id, ops.code_trace_id
), unused AS MATERIALIZED (
  SELECT code_trace_id FROM traces WHERE NOT is_used AND node_count >= 4
), costs AS MATERIALIZED (
  SELECT profile_id, code_trace_id, sum(self_ns * sample_weight) AS self_ns
  FROM temp.ops WHERE code_trace_id IN (SELECT code_trace_id FROM unused) AND is_measured = 1 AND category = 'op'
  GROUP BY profile_id, code_trace_id
), sums AS MATERIALIZED (
  SELECT costs.profile_id AS profile_id, sum(costs.self_ns) AS self_ns, step_time.step_ns AS step_ns,
    step_time.all_ns AS all_ns
  FROM costs JOIN step_time ON step_time.profile_id = costs.profile_id
  GROUP BY costs.profile_id HAVING 0.4 * sum(costs.self_ns) >= 0.02 * step_time.step_ns
), above(code_trace_id, place, is_used, self_ns) AS ( -- every stack, and those that it goes on from
  SELECT traces.code_trace_id, traces.code_trace_id, traces.is_used, coalesce(costs.self_ns, 0)
  FROM traces LEFT JOIN costs ON costs.code_trace_id = traces.code_trace_id
  WHERE traces.profile_id IN (SELECT profile_id FROM sums)
  UNION ALL
  SELECT above.code_trace_id, ids.parent_id, above.is_used, above.self_ns
  FROM above CROSS JOIN temp.code_traces AS ids ON ids.id = above.place
  WHERE ids.parent_id IS NOT NULL
), shared AS (
  SELECT place, sum(self_ns) AS self_ns FROM above GROUP BY place HAVING NOT max(is_used)
), places AS (
  SELECT ids.profile_id AS profile_id, frames.file AS file, frames.line AS line, frames.text AS text,
    frames.cell AS cell, row_number() OVER (PARTITION BY ids.profile_id
      ORDER BY shared.self_ns > 0.5 * sums.self_ns DESC, ids.depth DESC, shared.self_ns DESC, frames.file, frames.line)
      AS position
  FROM shared CROSS JOIN temp.code_traces AS ids ON ids.id = shared.place
  CROSS JOIN temp.code_frames AS frames ON frames.id = ids.leaf_frame_id
  JOIN sums ON sums.profile_id = ids.profile_id
  WHERE is_library_file(frames.file) = 0
)
SELECT
  'unused_graphs' AS check_name,
  'warning' AS severity,
  coalesce(coalesce('In[' || cell || ']', replace(file, rtrim(file, replace(file, '/', '')), '')) || ':' || line,
    processes.name) AS subject,
  processes.prefix || format('%.0f %% of the step time is ops that record gradients which no backward pass asks for',
    100.0 * sums.self_ns / step_ns)
    || coalesce(', below ' || coalesce('In[' || cell || ']', replace(file, rtrim(file, replace(file, '/', '')), ''))
      || ':' || line, '') || coalesce(': ' || trim(text), '') AS message,
  sums.self_ns / step_ns AS value,
  0.02 / 0.4 AS threshold,
  CAST(0.4 * sums.self_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Evaluate within torch.inference_mode() or torch.no_grad(), and detach() what is only looked at: memory of the '
    || 'forward pass is given back at once then.' AS suggestion,
  'SELECT name, count(*), sum(self_ns) FROM temp.ops WHERE sequence_number IS NOT NULL AND profile_id = '
    || sums.profile_id || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM sums
JOIN temp.process_names AS processes ON processes.profile_id = sums.profile_id
LEFT JOIN places ON places.profile_id = sums.profile_id AND places.position = 1
ORDER BY saves_ns DESC, sums.profile_id
