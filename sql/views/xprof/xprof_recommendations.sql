-- Recommendations: what the overview of XProf says about a program, topic by topic, with the numbers behind it.
--
-- One row for each row of xprof_overview and topic about which something is known.  advise has more: by line of the
-- program, and with what it could save.
--   profile_id  INTEGER  -  The profile: a process or rank.  NULL in the row for all hosts.
--   host        TEXT     -  Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank        INTEGER  -  Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   run_id      INTEGER  -  The run, as in runs.
--   topic       TEXT     -  Topic: input, output, kernel_launch, other, device_collectives, precision, tf_function or
--                           eager.
--   level       TEXT     -  How much there is to gain: no, moderate or high.  Input is also potential, where other is 3
--                           % or more, and unknown without steps.  Eager is no where Keras alone calls such ops around
--                           its own steps.
--   value       REAL     -  What was measured.  For input, output, kernel_launch, other and device_collectives it is
--                           the share of the step time.  For precision it is the share of kernel time in 16 bits or
--                           less.  For tf_function it is the share of the time of functions that was spent tracing or
--                           running eagerly, for eager the share of op time spent in eager ops.  NULL where the level
--                           is unknown.
--   threshold   REAL     -  Value at which moderate begins.  Precision is moderate below it.
--   statement   TEXT     -  What that means, in words.  NULL where the level is no and the topic is not input.
--   look_at     TEXT     -  The views that tell more.
-- Thresholds are those of the TensorFlow 2 Profiler.  It counts copies of GPUs as device compute, so that it never
-- finds a program output-bound on a GPU, and eager ops only where there is one.
-- Cost: that of xprof_overview, one pass over ops.  Example: SELECT topic, level, statement FROM xprof_recommendations;
WITH topics(position, topic, threshold, high, look_at) AS (
  VALUES (1, 'input', 0.05, 0.20, 'input_summary, xprof_input_op_stats, input_bottleneck'),
    (2, 'output', 0.05, 0.20, 'transfer_summary'),
    (3, 'kernel_launch', 0.03, 0.15, 'hta_kernel_launch_stats, xprof_step_breakdown'),
    (4, 'other', 0.03, 0.15, 'xprof_step_breakdown, gap_causes'),
    (5, 'device_collectives', 0.03, 0.15, 'collective_summary, hta_communication_overlap'),
    (6, 'precision', 0.10, NULL, 'precision_breakdown, xprof_top_device_ops'),
    (7, 'tf_function', 0.20, NULL, 'ops'),
    (8, 'eager', 0.10, NULL, 'xprof_op_stats')
), functions AS MATERIALIZED (
  SELECT profile_id, thread_id, name, start_ns, end_ns, dur_ns,
    json_extract(attributes, '$.tf_function_call') GLOB 'traced-*'
      OR json_extract(attributes, '$.tf_function_call') = 'eager' AS is_expensive
  FROM temp.ops
  WHERE category = 'runtime' AND attributes LIKE '%"tf_function_call":%'
    AND profile_id IN (SELECT id FROM temp.profiles WHERE is_xplane = 1)
), function_time AS (
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id, sum(ns) AS ns, total(expensive_ns) AS expensive_ns
  FROM (
    SELECT profile_id, thread_id, union_ns(start_ns, end_ns) AS ns,
      union_ns(start_ns, end_ns) FILTER (WHERE is_expensive) AS expensive_ns
    FROM functions GROUP BY profile_id, thread_id
  ) AS of_thread JOIN temp._process_groups AS groups ON groups.member_id = of_thread.profile_id
  GROUP BY groups.run_id, groups.profile_id
), expensive AS (
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id, name, count(*) AS count,
    row_number() OVER (PARTITION BY groups.run_id, groups.profile_id ORDER BY sum(1.0 * dur_ns) DESC, name) AS position
  FROM functions JOIN temp._process_groups AS groups ON groups.member_id = functions.profile_id
  WHERE is_expensive GROUP BY groups.run_id, groups.profile_id, name
), names AS (
  SELECT run_id, profile_id, group_concat(name || ' (' || count || ' calls)', ', ') AS names FROM (
    SELECT run_id, profile_id, name, count FROM expensive WHERE position <= 3 ORDER BY run_id, profile_id, position
  ) GROUP BY run_id, profile_id
), with_input AS (
  SELECT DISTINCT groups.run_id AS run_id, groups.profile_id AS profile_id
  FROM temp._process_groups AS groups
  WHERE groups.member_id IN (SELECT id FROM temp.profiles
      WHERE is_xplane = 1 AND has_framework(framework, 'tensorflow'))
    AND groups.member_id IN (SELECT profile_id FROM temp.input_events)
), keras_alone AS (
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id
  FROM temp.eager_calls AS calls JOIN temp._process_groups AS groups ON groups.member_id = calls.profile_id
  GROUP BY groups.run_id, groups.profile_id HAVING min(calls.is_of_keras) = 1
), measured AS (
  SELECT pages.run_id AS run_id, pages.profile_id AS profile_id, pages.host AS host, pages.rank AS rank,
    topics.position AS position, topics.topic AS topic, topics.threshold AS threshold, topics.high AS high,
    topics.look_at AS look_at, pages.other_ratio AS other_ratio, pages.verdict AS verdict,
    names.names AS names,
    with_input.run_id IS NOT NULL AS has_tf_data, keras_alone.run_id IS NOT NULL AS is_keras_alone,
    CASE topics.topic WHEN 'input' THEN pages.input_ratio WHEN 'output' THEN pages.output_ratio
      WHEN 'kernel_launch' THEN pages.kernel_launch_ratio WHEN 'other' THEN pages.other_ratio
      WHEN 'device_collectives' THEN pages.device_collectives_ratio WHEN 'precision' THEN pages.half_precision_ratio
      WHEN 'tf_function' THEN function_time.expensive_ns / nullif(function_time.ns, 0)
      WHEN 'eager' THEN pages.host_eager_ratio END AS value
  FROM temp.xprof_overview AS pages CROSS JOIN topics
  LEFT JOIN function_time ON function_time.run_id = pages.run_id AND function_time.profile_id IS pages.profile_id
  LEFT JOIN names ON names.run_id = pages.run_id AND names.profile_id IS pages.profile_id
  LEFT JOIN with_input ON with_input.run_id = pages.run_id AND with_input.profile_id IS pages.profile_id
  LEFT JOIN keras_alone ON keras_alone.run_id = pages.run_id AND keras_alone.profile_id IS pages.profile_id
), judged AS (
  SELECT measured.*, 100 * value AS percent,
    CASE
      WHEN topic = 'input' AND verdict IS NULL THEN 'unknown'
      WHEN topic = 'input' AND verdict = 'potentially input-bound' THEN 'potential'
      WHEN topic = 'other' AND verdict = 'potentially input-bound' THEN 'no' -- told with input
      WHEN topic = 'eager' AND is_keras_alone THEN 'no' -- the program itself calls none
      WHEN topic = 'precision' THEN iif(value < threshold, 'moderate', 'no')
      WHEN value >= high THEN 'high' WHEN value >= threshold THEN 'moderate' ELSE 'no' END AS level
  FROM measured
)
SELECT
  profile_id AS profile_id,
  host AS host,
  rank AS rank,
  run_id AS run_id,
  topic AS topic,
  level AS level,
  value AS value,
  threshold AS threshold,
  CASE level || ' ' || topic
    WHEN 'unknown input' THEN 'No steps are known, so that it cannot be told what bounds them.'
    WHEN 'no input' THEN iif(value = 0, 'No time of the steps is known to go to input: look elsewhere.',
      printf('Input takes %.1f %% of the step time: look elsewhere.', percent))
    WHEN 'potential input' THEN printf('Input takes %.1f %% of the step time, but %.1f %% are told by nothing that was '
      || 'recorded: reading, or Python.', percent, 100 * other_ratio)
    WHEN 'moderate input' THEN printf('Input takes %.1f %% of the step time: shorten it, and the rest too.', percent)
    WHEN 'high input' THEN printf('Input takes %.1f %% of the step time: shorten it before all else.', percent)
  ELSE CASE iif(level = 'no', '', topic)
    WHEN 'output' THEN printf('Copies from devices take %.1f %% of the step time: fetch results less often, or while '
      || 'the device computes.', percent)
    WHEN 'kernel_launch' THEN printf('Launching kernels takes %.1f %% of the step time: launch fewer and larger '
      || 'ones.%s', percent, iif(has_tf_data, ' tf.data may take the processors that launching needs: try '
      || 'TF_GPU_THREAD_MODE=gpu_private.', ''))
    WHEN 'other' THEN printf('%.1f %% of the step time are told by nothing that was recorded: most likely Python.',
      percent)
    WHEN 'device_collectives' THEN printf('Communication of devices takes %.1f %% of the step time while nothing else '
      || 'runs there.', percent)
    WHEN 'precision' THEN iif(value = 0, 'Nothing', printf('Only %.1f %% of the kernel time', percent))
      || ' is computed in 16 bits: mixed precision is faster on most devices.'
    WHEN 'tf_function' THEN printf('%.1f %% of the time in functions goes to tracing them or running them eagerly: '
      || '%s.', percent, names)
    WHEN 'eager' THEN printf('%.1f %% of the time of ops is spent in eager ones: put them into a tf.function.', percent)
  END END AS statement,
  look_at AS look_at
FROM judged
WHERE value IS NOT NULL OR level = 'unknown'
ORDER BY run_id, profile_id, position
