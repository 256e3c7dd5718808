-- Advice: samples that go through the model one at a time.
--
-- For each profile whose layers get batches of one nearly always, in one of two ways.
-- Several passes: its measured steps have four backward passes or more each (phase_summary, as when gradients are
-- accumulated), and of the calls of linear layers and convolutions nine tenths have a first input whose first
-- dimension is 1 (op_shape_totals), sequences of more than 32 places left aside.
-- One pass: of 20 measured steps or more, and of the gradients that linear layers and convolutions get in backward
-- passes nine tenths are of one row; those of convolutions count where they have no more than 1,024 places, since
-- larger images compute as much for each sample in a batch.  What runs without gradients, as to choose an action, does
-- not count.
-- Threshold: a fifth of the step time goes to the passes, forward and backward.
-- What it would save: with n passes in a step the part 1 - 1 / sqrt(n) of them, and of what passes between them, as
-- Python that takes the next sample, without what host_bound and host_waits promise (python_parts); n samples at a time
-- read the parameters once instead of n times, and call an n-th of the ops, but compute as much.  With one pass in a
-- step the same for batches of 16, of the optimizer's time, too.
-- The line is the one that begins the backward pass.
-- Columns: those of every check, see docs/checks.md; value is the share of the step time.  Cost: that of phase_summary
-- and one pass over op_shape_totals.
-- Needs: steps, ops.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'single_samples';
WITH step_time AS (
  SELECT profile_id, sum(1.0 * dur_ns) AS all_ns, count(*) AS step_count
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), phases AS MATERIALIZED (
  SELECT profile_id, max(1.0 * pass_count / nullif(step_count, 0)) FILTER (WHERE phase = 'backward') AS pass_count,
    total(1.0 * sum_ns) FILTER (WHERE phase <> 'optimizer') AS pass_ns,
    total(1.0 * sum_ns) FILTER (WHERE phase = 'optimizer') AS optimizer_ns
  FROM temp.phase_summary WHERE phase IN ('forward', 'backward', 'optimizer') GROUP BY profile_id
), speaking AS MATERIALIZED (
  SELECT phases.*, pass_count >= 4 AS has_several, step_time.all_ns AS all_ns
  FROM phases JOIN step_time ON step_time.profile_id = phases.profile_id
  WHERE (pass_count >= 4 OR (pass_count > 0 AND step_count >= 20)) AND pass_ns >= 0.20 * all_ns
), spans AS ( -- from the first to the last of the passes of a step
  SELECT phases.step_id AS step_id, min(phases.start_ns) AS start_ns, max(phases.end_ns) AS end_ns
  FROM temp.step_phases AS phases JOIN temp.steps AS steps ON steps.id = phases.step_id
  WHERE phases.phase IN ('forward', 'backward') AND steps.is_warmup = 0 AND steps.is_hung IS NOT 1
    AND steps.ops_recorded = 1
    AND phases.profile_id IN (SELECT profile_id FROM speaking WHERE has_several)
  GROUP BY phases.step_id
), told AS ( -- what other checks promise of that: Python and waits at lines of their own, as it is seen five times
  SELECT profile_id, total(self_ns) FILTER (WHERE part IN ('python', 'waits')) AS ns FROM temp.python_parts
  GROUP BY profile_id HAVING sum(sample_count) >= 5
), gaps AS ( -- what passes between them, for each nanosecond of them
  SELECT phases.profile_id AS profile_id,
    max(total(phases.net_ns * steps.sample_weight) FILTER (WHERE phase = 'other')
      - coalesce((SELECT ns FROM told WHERE told.profile_id = phases.profile_id), 0), 0)
    / nullif(total(phases.net_ns * steps.sample_weight) FILTER (WHERE phase <> 'other'), 0) AS ratio
  FROM spans CROSS JOIN temp.step_phases AS phases ON phases.step_id = spans.step_id
  JOIN temp.steps AS steps ON steps.id = spans.step_id
  WHERE phases.phase IN ('forward', 'backward', 'other') AND phases.start_ns >= spans.start_ns
    AND phases.start_ns < spans.end_ns
  GROUP BY phases.profile_id
), layers AS (
  SELECT shapes.profile_id AS profile_id, sum(shapes.count) AS count,
    total(shapes.count) FILTER (WHERE json_valid(shapes.input_shapes)
      AND json_extract(shapes.input_shapes, '$[0][0]') = 1
      AND (totals.name GLOB 'aten::conv*' OR coalesce(json_extract(shapes.input_shapes, '$[0][2]'), 0) = 0
        OR json_extract(shapes.input_shapes, '$[0][1]') <= 32)) AS single_count
  FROM temp.op_totals AS totals CROSS JOIN temp.op_shape_totals AS shapes ON shapes.op_total_id = totals.id
  WHERE totals.name IN ('aten::linear', 'aten::conv1d', 'aten::conv2d', 'aten::conv3d')
    AND totals.profile_id IN (SELECT profile_id FROM speaking WHERE has_several)
  GROUP BY shapes.profile_id
), gradients AS (
  SELECT shapes.profile_id AS profile_id, sum(shapes.count) AS count,
    total(shapes.count) FILTER (WHERE json_valid(shapes.input_shapes)
      AND json_extract(shapes.input_shapes, '$[0][0]') = 1
      AND 1.0 * coalesce(json_extract(shapes.input_shapes, '$[0][2]'), 1)
        * coalesce(json_extract(shapes.input_shapes, '$[0][3]'), 1)
        * coalesce(json_extract(shapes.input_shapes, '$[0][4]'), 1) <= 1024) AS single_count
  FROM temp.op_totals AS totals CROSS JOIN temp.op_shape_totals AS shapes ON shapes.op_total_id = totals.id
  WHERE totals.name IN ('AddmmBackward0', 'MmBackward0', 'LinearBackward0', 'ConvolutionBackward0')
    AND totals.profile_id IN (SELECT profile_id FROM speaking WHERE NOT has_several)
  GROUP BY shapes.profile_id
), single AS (
  SELECT profile_id FROM (SELECT * FROM layers UNION ALL SELECT * FROM gradients)
  WHERE count > 0 AND single_count >= 0.9 * count
), calls AS (
  SELECT ops.profile_id AS profile_id, min(lines.text) AS text,
    coalesce('In[' || lines.cell || ']', replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), ''))
      || ':' || lines.line AS location,
    row_number() OVER (PARTITION BY ops.profile_id ORDER BY count(*) DESC, lines.file, lines.line) AS place
  FROM temp.ops AS ops CROSS JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  WHERE ops.name = 'torch.autograd.backward' AND ops.category = 'user' AND ops.is_measured = 1
    AND ops.profile_id IN (SELECT profile_id FROM speaking)
  GROUP BY ops.profile_id, lines.file, lines.line
)
SELECT
  'single_samples' AS check_name,
  'warning' AS severity,
  coalesce(calls.location, processes.name) AS subject,
  processes.prefix || iif(has_several,
      format('the model gets one sample at a time, %.0f times a step, which takes %.0f %% of the step time', pass_count,
        100.0 * pass_ns / all_ns),
      format('the model gets one sample a step: %.0f %% of the step time is its passes, and %.0f %% the update',
        100.0 * pass_ns / all_ns, 100.0 * optimizer_ns / all_ns))
    || coalesce('; the backward pass begins at ' || calls.location, '') || coalesce(': ' || trim(calls.text), '')
    AS message,
  pass_ns / all_ns AS value,
  0.20 AS threshold,
  CAST(iif(has_several, (1 - 1 / sqrt(pass_count)) * min(pass_ns * (1 + coalesce(gaps.ratio, 0)), all_ns),
    (1 - 1 / sqrt(16)) * (pass_ns + optimizer_ns)) AS INTEGER) AS saves_ns,
  'Stack samples and pass several at a time, torch.stack(samples) or a DataLoader with a larger batch_size (pad those '
    || 'of different length)' || iif(has_several, ', and accumulate gradients over fewer passes.',
      '; with fewer steps the learning rate may have to grow. The time is told for batches of 16.') AS suggestion,
  'SELECT phase, pass_count, step_count, sum_ns FROM temp.phase_summary WHERE profile_id = ' || speaking.profile_id
    AS evidence
FROM speaking
JOIN single ON single.profile_id = speaking.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = speaking.profile_id
LEFT JOIN gaps ON gaps.profile_id = speaking.profile_id
LEFT JOIN calls ON calls.profile_id = speaking.profile_id AND calls.place = 1
ORDER BY saves_ns DESC, speaking.profile_id
