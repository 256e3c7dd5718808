-- Advice: ops that have a faster form.
--
-- For each profile up to three findings.
--   1. The graph has nodes of a batch normalisation (their names contain BatchNorm) and none of them is a fused one:
--      FusedBatchNorm, V2 or V3 do in one kernel what the parts do in ten.  TensorFlow only: elsewhere it is fused.
--      With tfprof_set('compat', 1) only FusedBatchNorm itself counts as fused, as in TensorFlow's profiler.
--   2. Nodes on a GPU work on a layout that is the slower one for their number type: NHWC in float32 and float64, where
--      cuDNN's kernels want NCHW; NCHW in float16 and bfloat16, where tensor cores want NHWC.  Where transposes already
--      take more of the device's time than the nodes themselves, changing the layout of some more is advised against.
--   3. Kernels that convert between the two layouts take a noticeable share of the kernels' time.
-- Setting: conversion_ratio (0.05), the share from which conversions are told: below it nothing much is won.
-- Columns: those of every check, see docs/checks.md; value counts nodes, or is that share; saves_ns is the time of the
-- conversions.  Cost: one pass over nodes, node_steps and kernels.
-- Example: SELECT message, suggestion FROM advise WHERE check_name = 'operation';
WITH normalised AS (
  SELECT nodes.profile_id AS profile_id, count(*) AS node_count FROM temp.nodes AS nodes
  JOIN temp.profiles AS profiles ON profiles.id = nodes.profile_id
  WHERE instr(nodes.name, 'BatchNorm') AND has_framework(profiles.framework, 'tensorflow') GROUP BY 1
), fused AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp.node_types
  WHERE type = 'FusedBatchNorm' OR (type IN ('FusedBatchNormV2', 'FusedBatchNormV3') AND NOT tfprof_setting('compat',
    0))
), layouts AS MATERIALIZED (
  SELECT profile_id, data_format, CASE WHEN dtype IN ('float16', 'bfloat16') THEN dtype ELSE 'float32' END AS dtype,
    count(*) AS node_count
  FROM temp.nodes
  WHERE data_format IN ('NHWC', 'NCHW') AND canonical_device LIKE '%gpu:%' GROUP BY 1, 2, 3
), wrong AS (
  SELECT * FROM layouts WHERE (data_format = 'NHWC') = (dtype = 'float32')
), times AS MATERIALIZED (
  SELECT nodes.profile_id AS profile_id, sum(CASE WHEN op_type = 'Transpose' THEN accelerator_ns ELSE 0 END)
    AS transpose_ns,
    sum(CASE WHEN data_format IS NOT NULL THEN accelerator_ns ELSE 0 END) AS layout_ns
  FROM (SELECT DISTINCT profile_id FROM wrong) AS wrong
  CROSS JOIN temp.node_steps AS node_steps ON node_steps.profile_id = wrong.profile_id
  CROSS JOIN temp.nodes AS nodes ON nodes.id = node_steps.node_id
  WHERE nodes.canonical_device LIKE '%gpu:%' GROUP BY 1
), converting AS MATERIALIZED (
  SELECT kernels.profile_id AS profile_id, sum(1.0 * kernels.dur_ns) AS conversion_ns
  FROM temp.profiles AS profiles CROSS JOIN temp.kernels AS kernels ON kernels.profile_id = profiles.id
  WHERE coalesce(profiles.origin, '') NOT GLOB 'tf_*' -- there, runs on devices have the names of nodes, not of kernels
    AND kernels.name LIKE '%n___ToN___%'
    AND (kernels.name LIKE '%nchwToNhwc%' OR kernels.name LIKE '%nhwcToNchw%')
  GROUP BY 1
), conversions AS (
  SELECT converting.profile_id AS profile_id, CAST(conversion_ns AS INTEGER) AS conversion_ns,
    sum(1.0 * kernels.dur_ns) AS kernel_ns
  FROM converting CROSS JOIN temp.kernels AS kernels ON kernels.profile_id = converting.profile_id GROUP BY 1
), found AS (
  SELECT profile_id, 1 AS place, 'warning' AS severity, 'Maybe use faster FusedBatchNorm instead of BatchNorm'
    AS message,
    1.0 * node_count AS value, 1.0 AS threshold, NULL AS saves_ns,
    'Use a layer that is fused: tf.keras.layers.BatchNormalization(fused=True), slim.batch_norm(fused=True).'
      AS suggestion,
    'SELECT name, op_type FROM temp.nodes WHERE name GLOB ''*BatchNorm*'' AND profile_id = ' || profile_id
      || ' LIMIT 20' AS evidence
  FROM normalised WHERE profile_id NOT IN (SELECT profile_id FROM fused)
  UNION ALL
  SELECT wrong.profile_id, 2, 'warning',
    format('Found operation using %s data_format on GPU. Maybe %s is faster.', data_format,
      CASE data_format WHEN 'NHWC' THEN 'NCHW' ELSE 'NHWC' END), 1.0 * node_count, 1.0, NULL,
    CASE WHEN transpose_ns > layout_ns THEN
      format('Transposes take longer than these %d nodes already: bring the whole model to one layout, '
        || 'not single layers.', node_count)
    ELSE
      format('%d nodes in %s: %s', node_count, dtype, CASE dtype WHEN 'float32' THEN
        'give the layers data_format=''channels_first'', all of them, so that nothing is transposed in between.'
        ELSE 'tensor cores read channels last; give the layers data_format=''channels_last'', all of them.' END)
    END,
    'SELECT name, op_type, dtype FROM temp.nodes WHERE data_format = ' || quote(data_format) || ' AND profile_id = '
      || wrong.profile_id || ' LIMIT 20'
  FROM wrong LEFT JOIN times ON times.profile_id = wrong.profile_id
  UNION ALL
  SELECT profile_id, 3, 'warning', format('%.0f %% of the kernels'' time converts between NCHW and NHWC: %s',
      100.0 * conversion_ns / kernel_ns, format_ns(conversion_ns)), 1.0 * conversion_ns / kernel_ns,
    tfprof_setting('operation.conversion_ratio', 0.05), conversion_ns,
    'Keep the model and its input in one layout: model.to(memory_format=torch.channels_last), and the input likewise.',
    'SELECT name, dur_ns FROM temp.kernels WHERE (name LIKE ''%nchwToNhwc%'' OR name LIKE ''%nhwcToNchw%'') '
      || 'AND profile_id = ' || profile_id || ' ORDER BY 2 DESC LIMIT 20'
  FROM conversions WHERE conversion_ns >= tfprof_setting('operation.conversion_ratio', 0.05) * kernel_ns
    AND conversion_ns > 0
)
SELECT
  'operation' AS check_name,
  found.severity AS severity,
  processes.name AS subject,
  processes.prefix || found.message AS message,
  found.value AS value,
  found.threshold AS threshold,
  found.saves_ns AS saves_ns,
  found.suggestion AS suggestion,
  found.evidence AS evidence
FROM found JOIN temp._process_names AS processes ON processes.profile_id = found.profile_id
ORDER BY found.profile_id, place, message
