-- Advice: the input is made floating point before it is augmented.
--
-- For each profile whose steps wait for their input (_input_waits) the time of ops that augment (resize, crop, flip,
-- rotate, change colours) on numbers of 32 bits that were 8 bits before: four times the memory to move.  Of TensorFlow
-- those behind a Cast in the same call of the executor; of PyTorch those whose first input is float, in loaders' own
-- processes and in waits for input, where a conversion from unsigned char goes on in the same thread.
-- Thresholds: the steps wait for 5 % of their time, and these ops take 2 % of it.
-- What it would save: three quarters of their time, but no more than what the steps wait for.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, two passes over ops where they
-- wait.
-- Needs: input_events, steps, ops.
-- Example: SELECT message FROM advise WHERE check_name = 'input_cast_early';
WITH waiting AS MATERIALIZED (
  SELECT waits.profile_id AS profile_id, profiles.run_id AS run_id, step_count, step_ns, wait_ns, stands_for,
    has_iterators
  FROM temp._input_waits AS waits JOIN temp.profiles AS profiles ON profiles.id = waits.profile_id
  WHERE step_ns > 0 AND wait_ns >= 0.05 * step_ns
), augmenting(name) AS MATERIALIZED (
  VALUES ('ResizeBilinear'), ('ResizeBicubic'), ('ResizeArea'), ('ResizeNearestNeighbor'), ('ScaleAndTranslate'),
    ('CropAndResize'), ('ReverseV2'), ('AdjustHue'), ('AdjustSaturation'), ('AdjustContrastv2'),
    ('ImageProjectiveTransformV3'), ('ImageProjectiveTransformV2'), ('ExtractGlimpseV2'), ('MirrorPad'),
    ('aten::flip'), ('aten::rot90'), ('aten::roll'), ('aten::upsample_bilinear2d'), ('aten::upsample_bicubic2d'),
    ('aten::upsample_nearest2d'), ('aten::_upsample_bilinear2d_aa'), ('aten::_upsample_bicubic2d_aa'),
    ('aten::grid_sampler'), ('aten::grid_sampler_2d')
), casts AS MATERIALIZED ( -- of TensorFlow: the first of a call; of PyTorch: of a thread
  SELECT waiting.profile_id AS profile_id, ops.parent_id AS parent_id, NULL AS thread_id, min(ops.start_ns) AS first_ns
  FROM waiting CROSS JOIN temp.ops AS ops ON ops.profile_id = waiting.profile_id
  WHERE waiting.has_iterators AND ops.op_type = 'Cast' AND ops.parent_id IS NOT NULL GROUP BY 1, 2
  UNION ALL
  SELECT waiting.profile_id, NULL, ops.thread_id, min(ops.start_ns)
  FROM waiting
  CROSS JOIN temp.profiles AS profiles ON profiles.id = waiting.profile_id OR profiles.run_id = waiting.run_id
    AND profiles.id NOT IN (SELECT profile_id FROM temp.steps)
  CROSS JOIN temp.ops AS ops ON ops.profile_id = profiles.id
  WHERE NOT waiting.has_iterators AND ops.name = 'aten::_to_copy' AND ops.input_types LIKE '["unsigned char"%'
  GROUP BY 1, 3
), late AS (
  SELECT casts.profile_id AS profile_id, ops.op_type AS name, 1.0 * ops.dur_ns AS dur_ns
  FROM casts CROSS JOIN temp.ops AS ops ON ops.profile_id = casts.profile_id AND ops.parent_id = casts.parent_id
  WHERE ops.start_ns > casts.first_ns AND ops.op_type IN (SELECT name FROM augmenting)
  UNION ALL
  SELECT casts.profile_id, ops.name, ops.net_ns * coalesce(ops.sample_weight, 1.0)
  FROM casts CROSS JOIN temp.ops AS ops ON ops.thread_id = casts.thread_id
  WHERE ops.name IN (SELECT name FROM augmenting) AND ops.input_types LIKE '["float"%'
), sums AS (
  SELECT profile_id, count(*) AS count, sum(dur_ns) AS late_ns, group_concat(DISTINCT name) AS names
  FROM late GROUP BY profile_id
)
SELECT
  'input_cast_early' AS check_name,
  'info' AS severity,
  processes.name AS subject,
  processes.prefix || format('Input is made floating point before it is augmented: %s a step in %s on numbers four '
      || 'times as large; steps wait for input for %.0f %% of their time', format_ns(sums.late_ns / waiting.step_count),
    replace(sums.names, ',', ', '), 100.0 * waiting.wait_ns / waiting.step_ns) AS message,
  sums.late_ns / waiting.step_ns AS value,
  0.02 AS threshold,
  CAST(stands_for * min(0.75 * sums.late_ns, 1.0 * waiting.wait_ns) AS INTEGER) AS saves_ns,
  'Crop, flip and resize the 8-bit pixels, and convert them last, or on the device.' AS suggestion,
  'SELECT name, op_type, input_types, dur_ns FROM temp.ops WHERE name IN (''aten::_to_copy'', '''
    || replace(sums.names, ',', ''', ''') || ''') OR op_type IN (''Cast'', ''' || replace(sums.names, ',', ''', ''')
    || ''') ORDER BY thread_id, start_ns LIMIT 20' AS evidence
FROM sums
JOIN waiting ON waiting.profile_id = sums.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE sums.late_ns >= 0.02 * waiting.step_ns
ORDER BY saves_ns DESC, sums.profile_id
