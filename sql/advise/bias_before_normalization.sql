-- Advice: layers add a bias that the batch normalisation behind them takes away again.
--
-- For each profile the ops of its last measured step: of TensorFlow each BiasAdd whose next op on its thread is a batch
-- normalisation; of PyTorch each convolution or linear layer with a bias, told by its third input, and a batch
-- normalisation next to it with no activation, pooling or dropout between them.  Subtracting the mean cancels the bias.
-- Threshold: one.
-- What it would save: the time of these BiasAdd, of PyTorch of the additions inside of convolutions (on devices where
-- they have any), in as many steps as were measured; NULL where these are no ops of their own.
-- Columns: those of every check, see docs/checks.md; value counts layers.  Cost: one pass over the ops of a step.
-- Needs: ops, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'bias_before_normalization';
WITH last AS MATERIALIZED (
  SELECT steps.profile_id AS profile_id, max(steps.id) AS step_id, steps.thread_id AS thread_id,
    steps.start_ns AS start_ns, steps.end_ns AS end_ns, total.step_count AS all_count,
    has_framework(profiles.framework, 'tensorflow') AS is_tensorflow
  FROM temp.steps AS steps
  JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
  JOIN (SELECT profile_id, count(*) AS step_count FROM temp.steps WHERE is_warmup = 0 GROUP BY 1) AS total
    ON total.profile_id = steps.profile_id
  WHERE steps.is_warmup = 0 AND steps.ops_recorded = 1 GROUP BY steps.profile_id
), layers AS (
  SELECT last.profile_id AS profile_id, ops.name AS name, coalesce(ops.device_ns, ops.dur_ns) AS dur_ns,
    ops.op_type = 'BiasAdd' AS has_bias,
    lead(ops.op_type) OVER (PARTITION BY ops.thread_id ORDER BY ops.start_ns, ops.id) AS next
  FROM last CROSS JOIN temp.ops AS ops ON ops.step_id = last.step_id
  WHERE last.is_tensorflow AND ops.category = 'op'
  UNION ALL -- by time, on the thread that ran the step, which costs no pass over all ops
  SELECT last.profile_id, ops.name, 0,
    json_valid(ops.input_shapes) AND (ops.name GLOB 'aten::conv*' OR ops.name = 'aten::linear')
      AND json_array_length(ops.input_shapes, '$[2]') > 0,
    lead(ops.name) OVER (PARTITION BY last.profile_id ORDER BY ops.start_ns, ops.id)
  FROM last CROSS JOIN temp.ops AS ops ON ops.thread_id = last.thread_id
    AND ops.start_ns BETWEEN last.start_ns AND last.end_ns
  WHERE NOT last.is_tensorflow
    AND ops.name IN ('aten::conv1d', 'aten::conv2d', 'aten::conv3d', 'aten::conv_transpose1d', 'aten::conv_transpose2d',
      'aten::conv_transpose3d', 'aten::linear', 'aten::batch_norm', 'aten::relu', 'aten::relu_', 'aten::leaky_relu',
      'aten::leaky_relu_', 'aten::gelu', 'aten::silu', 'aten::silu_', 'aten::max_pool2d', 'aten::adaptive_avg_pool2d',
      'aten::avg_pool2d', 'aten::dropout', 'aten::cat', 'aten::sigmoid', 'aten::tanh')
), sums AS (
  SELECT profile_id, count(*) AS count, min(name) AS name, total(dur_ns) AS dur_ns
  FROM layers WHERE has_bias AND (next GLOB 'FusedBatchNorm*' OR next = 'aten::batch_norm') GROUP BY profile_id
), additions AS (
  SELECT last.profile_id AS profile_id, sum(1.0 * coalesce(ops.device_ns, ops.dur_ns)) AS dur_ns
  FROM sums JOIN last ON last.profile_id = sums.profile_id
  CROSS JOIN temp.ops AS ops ON ops.thread_id = last.thread_id
    AND ops.start_ns BETWEEN last.start_ns AND last.end_ns
  CROSS JOIN temp.ops AS around ON around.id = ops.parent_id
  WHERE ops.name = 'aten::add_' AND around.name = 'aten::_convolution' GROUP BY 1
)
SELECT
  'bias_before_normalization' AS check_name,
  'info' AS severity,
  processes.name AS subject,
  processes.prefix || format(CASE sums.count
      WHEN 1 THEN '%d layer adds a bias that the batch normalisation behind it cancels: %s'
      ELSE '%d layers add a bias that the batch normalisation behind them cancels, such as %s' END,
    sums.count, sums.name) AS message,
  1.0 * sums.count AS value,
  1.0 AS threshold,
  nullif(CAST((sums.dur_ns + coalesce(additions.dur_ns, 0)) * last.all_count AS INTEGER), 0) AS saves_ns,
  advice_words('bias_before_normalization', processes.framework) AS suggestion,
  'SELECT name, op_type, input_shapes, dur_ns FROM temp.ops WHERE (op_type = ''BiasAdd'' OR op_type GLOB '
    || '''FusedBatchNorm*'' OR name GLOB ''aten::conv?d'' OR name IN (''aten::linear'', ''aten::batch_norm'')) '
    || 'AND step_id = ' || last.step_id || ' ORDER BY thread_id, start_ns LIMIT 20' AS evidence
FROM sums
JOIN last ON last.profile_id = sums.profile_id
LEFT JOIN additions ON additions.profile_id = sums.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
ORDER BY sums.profile_id
