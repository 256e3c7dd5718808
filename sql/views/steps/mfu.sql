-- Model flops utilisation: how much of what its devices can compute at best each step makes use of.
--
-- One row for each measured step (no warm-up, ops recorded) in which floating point operations are known.  They are
-- those of ops as shapes tell them (ops.flops: matrix products, convolutions, attention), and those of kernels where
-- kernels tell theirs. What checkpoints compute again is no work of the model.  flops and mfu leave it out, and hfu
-- counts it.  It is found as step_phases does: where an op that only a forward pass has runs below a backward node,
-- all ops with a sequence number below that node count as done again.  In programs that XLA compiled it is what stands
-- in a rematted_computation, as JAX calls what jax.checkpoint does again, and instructions that XLA itself made again
-- to save memory (their names have .remat).
--   profile_id        INTEGER  -        The profile: a process or rank.
--   host              TEXT     -        Host that it ran on.
--   rank              INTEGER  -        Rank of the process.  NULL where it is unknown.
--   step_id           INTEGER  -        The step, as in steps.
--   number            INTEGER  -        Number of the step.
--   dur_ns            INTEGER  ns       Duration of the step.  Where the host runs ahead of its devices this is
--                                       steps.pace_ns.
--   flops             INTEGER  flops    Floating point operations of the step, without those that checkpoints do again.
--   recomputed_flops  INTEGER  flops    Floating point operations of the step that checkpoints do again.
--   flops_per_second  REAL     flops/s  Rate of flops over dur_ns.
--   device_count      INTEGER  count    Devices that ran kernels of the profile.  0 where it ran on the host.
--   ideal_ns          INTEGER  ns       How long flops would take at the peak rate of their number type (device_peaks)
--                                       on all devices.  Operations in float on tensor cores count as tf32.  Where no
--                                       type is known the highest peak counts, without those of float8 and integers.
--                                       NULL where the peaks of the devices are not known.
--   mfu               REAL     ratio    Ratio of ideal_ns to dur_ns.  It is 1 in a step that computes at the peak from
--                                       end to end.
--   hfu               REAL     ratio    The same with recomputed_flops: how much the hardware computes.
-- Cost: linear in ops and kernels with known operations.
-- Example: SELECT number, flops_per_second, mfu FROM mfu;
WITH on_devices AS MATERIALIZED (
  SELECT profile_id, count(DISTINCT device_id) AS device_count, count(flops) AS has_flops
  FROM temp.kernel_totals GROUP BY profile_id
), again AS MATERIALIZED ( -- backward nodes below which a forward pass runs once more
  SELECT DISTINCT inner_ops.outermost_id AS outermost_id
  FROM temp.ops AS inner_ops CROSS JOIN temp.ops AS nodes ON nodes.id = inner_ops.outermost_id
  WHERE inner_ops.name IN ('aten::linear', 'aten::conv1d', 'aten::conv2d', 'aten::conv3d', 'aten::layer_norm',
      'aten::batch_norm', 'aten::group_norm', 'aten::instance_norm', 'aten::rms_norm', 'aten::embedding_bag',
      'aten::lstm', 'aten::gru', 'aten::rnn_tanh', 'aten::rnn_relu', 'aten::scaled_dot_product_attention',
      'aten::dropout')
    AND inner_ops.sequence_number >= 0 AND inner_ops.outermost_id <> inner_ops.id
    AND (nodes.name GLOB '*Backward*' OR nodes.name GLOB 'autograd::engine*')
), typed AS ( -- a type is looked at once for all ops of a step that have it
  SELECT profile_id, step_id, input_types,
    (sequence_number >= 0 AND outermost_id IN (SELECT outermost_id FROM again))
      OR coalesce(framework_name GLOB '*rematted_computation*', 0) OR name GLOB '*.remat*' AS is_again,
    sum(1.0 * flops) AS flops,
    sum(1.0 * flops) FILTER (WHERE tensor_core_ns > 0) AS tensor_core_flops
  FROM temp.ops
  WHERE flops >= 0 AND category <> 'user' AND is_measured = 1
    AND profile_id NOT IN (SELECT profile_id FROM on_devices WHERE has_flops > 0)
  GROUP BY profile_id, step_id, input_types, 4
), work AS (
  SELECT profile_id, step_id, coalesce(is_again, 0) AS is_again,
    CASE
      WHEN input_types GLOB '*Float8*' THEN 'float8'
      WHEN input_types GLOB '*BFloat16*' THEN 'bfloat16'
      WHEN input_types GLOB '*Half*' THEN 'float16'
      WHEN input_types GLOB '*float*' THEN iif(on_tensor_cores, 'tf32', 'float32')
      WHEN input_types GLOB '*double*' THEN 'float64'
    END AS dtype,
    sum(flops) AS flops
  FROM (
    SELECT profile_id, step_id, input_types, is_again, 0 AS on_tensor_cores,
      flops - coalesce(tensor_core_flops, 0) AS flops
    FROM typed WHERE tensor_core_flops IS NULL OR flops > tensor_core_flops
    UNION ALL
    SELECT profile_id, step_id, input_types, is_again, 1, tensor_core_flops FROM typed
    WHERE tensor_core_flops IS NOT NULL
  )
  GROUP BY profile_id, step_id, 3, dtype
  UNION ALL
  SELECT profile_id, step_id, coalesce(op_name GLOB '*rematted_computation*', 0) OR coalesce(name GLOB '*.remat*', 0),
    NULL, sum(1.0 * flops)
  FROM temp.kernels
  WHERE flops >= 0 AND profile_id IN (SELECT profile_id FROM on_devices WHERE has_flops > 0)
    AND coalesce(self_ns >= dur_ns, 1) -- a loop of a TPU tells those of the ops in it once more
  GROUP BY profile_id, step_id, 3
), ceilings AS MATERIALIZED (
  SELECT profile_id, dtype, max(flops_per_second) AS flops_per_second
  FROM temp.device_peaks GROUP BY profile_id, dtype
  UNION ALL
  SELECT profile_id, NULL, max(flops_per_second)
  FROM temp.device_peaks WHERE dtype NOT IN ('float8', 'int8') GROUP BY profile_id
), in_step AS (
  SELECT work.profile_id AS profile_id, work.step_id AS step_id, total(work.flops) FILTER (WHERE is_again = 0) AS flops,
    total(work.flops) FILTER (WHERE is_again = 1) AS recomputed_flops,
    CASE WHEN count(*) = count(ceilings.flops_per_second)
      THEN total(1e9 * work.flops / nullif(ceilings.flops_per_second, 0)) FILTER (WHERE is_again = 0) END AS model_ns,
    CASE WHEN count(*) = count(ceilings.flops_per_second)
      THEN sum(1e9 * work.flops / nullif(ceilings.flops_per_second, 0)) END AS busy_ns
  FROM work
  LEFT JOIN ceilings ON ceilings.profile_id = work.profile_id AND ceilings.dtype IS work.dtype
  GROUP BY work.profile_id, work.step_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  coalesce(steps.pace_ns, steps.dur_ns) AS dur_ns,
  CAST(in_step.flops AS INTEGER) AS flops,
  CAST(in_step.recomputed_flops AS INTEGER) AS recomputed_flops,
  1e9 * in_step.flops / nullif(coalesce(steps.pace_ns, steps.dur_ns), 0) AS flops_per_second,
  coalesce(on_devices.device_count, 0) AS device_count,
  CAST(in_step.model_ns / on_devices.device_count AS INTEGER) AS ideal_ns,
  in_step.model_ns / on_devices.device_count / nullif(coalesce(steps.pace_ns, steps.dur_ns), 0) AS mfu,
  in_step.busy_ns / on_devices.device_count / nullif(coalesce(steps.pace_ns, steps.dur_ns), 0) AS hfu
FROM in_step
JOIN temp.steps AS steps ON steps.id = in_step.step_id
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
LEFT JOIN on_devices ON on_devices.profile_id = steps.profile_id
WHERE steps.is_warmup = 0
ORDER BY profile_id, steps.start_ns, step_id
