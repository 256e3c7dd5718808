-- Coverage: how much the other answers rest on.
--
-- One row for each profile.  Shares are NULL where there is nothing to take a share of.  Where a capture recorded ops
-- only in some steps, shares of ops are weighed by ops.sample_weight and that of the step time by steps.sample_weight,
-- as are the answers that rest on them.  Kernels are mostly recorded in every step (_thinned_steps).  Kernels of steps
-- for which others speak are left out.
--   profile_id               INTEGER  -      The profile: a process or rank.
--   rank                     INTEGER  -      Rank of the process.  NULL where it is unknown.
--   steps_recorded_ratio     REAL     ratio  Share of steps with recorded ops, among all steps.
--   step_time_in_ops_ratio   REAL     ratio  Share of the time of recorded, measured steps in which an op ran.  It ran
--                                            on the thread of the step, or on one that runs the backward pass for it.
--   ops_in_steps_ratio       REAL     ratio  Share of ops that lie in a step.
--   ops_with_stack_ratio     REAL     ratio  Share of ops (no ranges, modules or Python frames) that have a Python
--                                            stack.  It is their own, an inherited one, or that of their forward op.
--   ops_with_shapes_ratio    REAL     ratio  Share of ops (no ranges, modules or Python frames) that have input shapes.
--   backward_linked_ratio    REAL     ratio  Share of autograd nodes with a sequence number that were linked to their
--                                            forward op.
--   kernels_with_op_ratio    REAL     ratio  Share of kernels that were linked to the op that launched them.
--   kernels_with_call_ratio  REAL     ratio  Share of kernels that were linked to the call that launched them.  Without
--                                            it nothing is known of queues, delays of launches and what kernels wait
--                                            for.
--   ops_with_flops_ratio     REAL     ratio  Share of the self time of ops with known flops, in that of all ops.
--   rows_dropped             INTEGER  count  Number of rows that were lost while recording or reading.
--   complete                 INTEGER  -      1: the file was closed in order.
-- Cost: linear in op_totals, kernel_totals and host_steps, once these are made.  Example: SELECT * FROM coverage;
WITH op_shares AS (
  SELECT profile_id, sum(count) AS row_count, total(in_step_count) AS in_steps, total(self_ns) AS self_ns,
    total(flops_self_ns) AS flops_self_ns
  FROM temp.op_totals WHERE count IS NOT NULL GROUP BY profile_id
), call_shares AS ( -- without ranges and Python frames
  SELECT profile_id, sum(count) AS op_count, total(stack_count) AS with_stack, total(shapes_count) AS with_shapes
  FROM temp.op_totals WHERE category NOT IN ('user', 'python', 'module') GROUP BY profile_id
), autograd_nodes AS (
  SELECT profile_id, sum(sample_weight) AS node_count,
    total(sample_weight) FILTER (WHERE forward_op_id IS NOT NULL) AS linked_count
  FROM temp.ops WHERE category = 'autograd' AND sequence_number IS NOT NULL
  GROUP BY profile_id
), step_shares AS (
  SELECT profile_id, count(*) AS step_count, sum(ops_recorded) AS recorded_count,
    sum(CASE WHEN is_warmup = 0 AND ops_recorded = 1 THEN net_ns * coalesce(sample_weight, 1) ELSE 0 END) AS step_ns
  FROM temp.steps GROUP BY profile_id
), in_ops AS (
  SELECT steps.profile_id AS profile_id, sum(coalesce(steps.sample_weight, 1) * nullif(of_step.op_ns, 0)) AS op_ns
  FROM temp.host_steps AS of_step CROSS JOIN temp.steps AS steps ON steps.id = of_step.step_id
  WHERE is_warmup = 0 AND ops_recorded = 1 GROUP BY steps.profile_id
), kernel_shares AS (
  SELECT profile_id, sum(count) AS kernel_count, sum(op_count) AS with_op, sum(call_count) AS with_call
  FROM temp.kernel_totals WHERE ops_recorded IS NOT 0 GROUP BY profile_id
), dropped AS (
  SELECT profile_id, CAST(sum(1.0 * count) AS INTEGER) AS row_count FROM temp.diagnostics
  WHERE reason = 'dropped_rows' GROUP BY profile_id -- the rows capture_dropped say why
)
SELECT
  profiles.id AS profile_id,
  profiles.rank AS rank,
  1.0 * step_shares.recorded_count / nullif(step_shares.step_count, 0) AS steps_recorded_ratio,
  1.0 * in_ops.op_ns / nullif(step_shares.step_ns, 0) AS step_time_in_ops_ratio,
  1.0 * op_shares.in_steps / nullif(op_shares.row_count, 0) AS ops_in_steps_ratio,
  1.0 * call_shares.with_stack / nullif(call_shares.op_count, 0) AS ops_with_stack_ratio,
  1.0 * call_shares.with_shapes / nullif(call_shares.op_count, 0) AS ops_with_shapes_ratio,
  1.0 * autograd_nodes.linked_count / nullif(autograd_nodes.node_count, 0) AS backward_linked_ratio,
  1.0 * kernel_shares.with_op / nullif(kernel_shares.kernel_count, 0) AS kernels_with_op_ratio,
  1.0 * kernel_shares.with_call / nullif(kernel_shares.kernel_count, 0) AS kernels_with_call_ratio,
  1.0 * op_shares.flops_self_ns / nullif(op_shares.self_ns, 0) AS ops_with_flops_ratio,
  coalesce(dropped.row_count, 0) AS rows_dropped,
  profiles.complete AS complete
FROM temp.profiles AS profiles
LEFT JOIN op_shares ON op_shares.profile_id = profiles.id
LEFT JOIN call_shares ON call_shares.profile_id = profiles.id
LEFT JOIN autograd_nodes ON autograd_nodes.profile_id = profiles.id
LEFT JOIN step_shares ON step_shares.profile_id = profiles.id
LEFT JOIN in_ops ON in_ops.profile_id = profiles.id
LEFT JOIN kernel_shares ON kernel_shares.profile_id = profiles.id
LEFT JOIN dropped ON dropped.profile_id = profiles.id
ORDER BY profile_id
