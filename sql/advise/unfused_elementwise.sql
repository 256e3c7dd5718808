-- Advice: kernels that compute number by number, one behind the other, each reading what the last one wrote.
--
-- For each device the compute kernels of the measured steps (measured_steps) that add, multiply, activate or convert
-- number by number (by their names: …elementwise…, Eigen's TensorCwise…, or the TensorFlow op that launched them), and
-- of these such that come right behind another one, the last thing that their stream had done: a compiler makes one
-- kernel of them.
-- Thresholds: those that follow another one take 5 % of the step time; a warning from 15 % on.
-- What it would save: half of their time, what reading and writing what lies between takes.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over kernel_totals, and where they count one
-- over these kernels.
-- Needs: kernels.
-- Example: SELECT message FROM advise WHERE check_name = 'unfused_elementwise';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp.measured_steps GROUP BY 1
), names AS MATERIALIZED (
  SELECT totals.profile_id AS profile_id, totals.name AS name, totals.op_type AS op_type,
    sum(1.0 * totals.sum_ns) AS sum_ns,
    totals.name GLOB '*elementwise*' OR totals.name GLOB '*TensorCwise*' OR totals.name GLOB '*BiasNCHWKernel*'
      OR totals.op_type IN ('Add', 'AddV2', 'AddN', 'Sub', 'Mul', 'RealDiv', 'BiasAdd', 'Relu', 'ReluGrad',
        'LeakyRelu', 'Elu', 'Gelu', 'Sigmoid', 'SigmoidGrad', 'Tanh', 'TanhGrad', 'Exp', 'Log', 'Sqrt', 'Rsqrt',
        'RsqrtGrad', 'Square', 'SquaredDifference', 'Maximum', 'Minimum', 'Neg', 'Pow', 'Cast', 'Select',
        'SelectV2', 'Greater', 'GreaterEqual', 'Less', 'LessEqual', 'Equal', 'LogicalAnd') AS is_elementwise
  FROM temp.kernel_totals AS totals CROSS JOIN temp.kernels AS kernels ON kernels.id = totals.kernel_id
  WHERE kernels.kind = 'compute' GROUP BY totals.profile_id, totals.name, totals.op_type
), many AS MATERIALIZED ( -- where all of them take as much as those that follow others have to
  SELECT names.profile_id AS profile_id FROM names JOIN time ON time.profile_id = names.profile_id
  WHERE is_elementwise GROUP BY 1 HAVING sum(sum_ns) >= 0.05 * time.step_ns
), elementwise AS MATERIALIZED (
  SELECT DISTINCT profile_id, name, coalesce(op_type, '') AS op_type FROM names
  WHERE is_elementwise AND profile_id IN (SELECT profile_id FROM many)
), kernels AS MATERIALIZED (
  SELECT kernels.profile_id AS profile_id, kernels.device_id AS device_id, kernels.thread_id AS thread_id,
    kernels.step_id AS step_id, kernels.end_ns AS end_ns, kernels.dur_ns AS dur_ns,
    activities.previous_end_ns AS previous_end_ns
  FROM elementwise
  CROSS JOIN temp.kernels AS kernels ON kernels.profile_id = elementwise.profile_id
    AND kernels.name = elementwise.name AND coalesce(kernels.op_type, '') = elementwise.op_type
  CROSS JOIN temp.device_activities AS activities ON activities.kernel_id = kernels.id
), in_step AS MATERIALIZED ( -- before weights are looked up: steps are few
  SELECT profile_id, device_id, step_id, count(*) AS count, sum(1.0 * dur_ns) AS follow_ns FROM kernels
  WHERE EXISTS (SELECT 1 FROM kernels AS previous
    WHERE previous.end_ns = kernels.previous_end_ns AND previous.thread_id = kernels.thread_id)
  GROUP BY 1, 2, 3
), measured AS MATERIALIZED (
  SELECT profile_id, step_id, weight FROM temp.measured_steps
), sums AS (
  SELECT in_step.profile_id AS profile_id, in_step.device_id AS device_id,
    sum(in_step.count * measured.weight) AS count, sum(in_step.follow_ns * measured.weight) AS follow_ns
  FROM in_step
  CROSS JOIN measured ON measured.profile_id = in_step.profile_id AND measured.step_id IS in_step.step_id
  GROUP BY 1, 2
)
SELECT
  'unfused_elementwise' AS check_name,
  CASE WHEN sums.follow_ns >= 0.15 * time.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the %s, %s %s, is of kernels on %s that compute number by number right behind '
      || 'another one: %.0f of them', 100.0 * sums.follow_ns / time.step_ns, time.whole,
    format_ns(sums.follow_ns / time.weight), time.each, coalesce(devices.name, devices.model, 'a device'),
    sums.count / time.weight) AS message,
  sums.follow_ns / time.step_ns AS value,
  0.05 AS threshold,
  CAST(0.5 * sums.follow_ns AS INTEGER) AS saves_ns,
  'Let a compiler make one kernel of them: torch.compile(model), @tf.function(jit_compile=True) or '
    || 'TF_XLA_FLAGS=--tf_xla_auto_jit=2; optimizers with fused=True.' AS suggestion,
  'SELECT start_ns, name, op_name, dur_ns FROM temp.kernels WHERE profile_id = ' || sums.profile_id
    || ' ORDER BY thread_id, start_ns LIMIT 50' AS evidence
FROM sums
JOIN time ON time.profile_id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
JOIN temp.process_names AS processes ON processes.profile_id = sums.profile_id
WHERE sums.follow_ns >= 0.05 * time.step_ns
ORDER BY saves_ns DESC, sums.profile_id, sums.device_id
