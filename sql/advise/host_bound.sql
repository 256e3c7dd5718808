-- Advice: steps whose thread is busy with something else than framework ops.
--
-- For each profile the share of the measured steps (no warm-up, none that a hang made long, ops recorded; weighed by
-- steps.sample_weight) in which nothing went on that is known: no op or autograd node on the step's own thread, nor on
-- one that runs the backward pass while that one waits for it, no wait for input, for a device or for other ranks:
-- Python code. It is step_summary.outside_ratio, so ranges that the program or its profiler put around everything hide
-- nothing, nor do Python frames; waits for input are left to the check input_loading, those for other ranks to
-- stragglers; what pools of threads compute meanwhile, as XLA's do, is time in ops.  On a job with kernels the check
-- asks further that the device idles too (device_steps), since a host that is ahead of its device costs nothing; where
-- rows of devices are not understood, or half of the launches have no kernel, that is not known: it is silent. What the
-- thread waits for then is taken off, and host_waits tells it (python_parts).  Of the rest, calling ops takes a part by
-- itself: Python that hands on to modules, optimizers and backward passes.
-- Thresholds: 20 %, since a tight eager loop over small ops spends about a tenth there, or, where Python was seen
-- five times or more doing what no op needs, 5 % of that.  50 % are critical when that is a millisecond per step or
-- more and ten steps were measured.  Where nearly all goes into calling ops it is information below 40 %.  Where Python
-- was seen four times or less, and where it was not looked for, that is assumed of 100 µs or less for each call of an
-- op, as long as no range says what else is done.  Nothing is critical that was seen four times or less.
-- The message names the ranges in which the program itself marked a tenth of that time or more (ranges.outside_ns;
-- the mark around the step is none of them, nor are those that fetch input, nor PyTorch's of the optimizer, the
-- backward pass and the model: what is outside of ops there calls them), also without what is waited for in them:
-- as much as at the lines at which Python was seen in them, or, where it was not seen there, as of the whole.  All of
-- them together are never more than the whole.  The suggestion names the lines at which Python was seen, where
-- there are three samples or more; where such a line of the program only hands on to a library (model.learn(),
-- trainer.train()), the lines of that at which it was seen, if it was not nearly always the same one.  Where half of
-- the time outside ops is writing checkpoints (python_parts.saving_ns), that is what is to be done seldom.
-- What it would save: all of the Python that no op needs, and the ops that it calls by the way; where next to nothing
-- is seen of that, or Python was seen four times or less, or all may be calls of ops, half of what is above a tenth of
-- it, and else all above a tenth; no more than the time in which devices idle, since their work remains; in steps
-- whose ops were not recorded as in those whose were.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over ops, when host_steps is derived from them,
-- one over ranges, and that of python_parts.
-- Needs: steps, ops.
-- Example: SELECT subject, value FROM advise WHERE check_name = 'host_bound';
WITH outside AS (
  SELECT steps.profile_id AS profile_id, count(*) AS step_count, sum(steps.net_ns * steps.sample_weight) AS step_ns,
    sum(host_steps.op_ns * steps.sample_weight) AS op_ns,
    sum(host_steps.outside_ns * steps.sample_weight) AS outside_ns,
    sum(host_steps.call_count * steps.sample_weight) AS call_count, sum(steps.sample_weight) AS weight
  FROM temp.host_steps AS host_steps CROSS JOIN temp.steps AS steps ON steps.id = host_steps.step_id
  WHERE steps.is_warmup = 0 AND host_steps.outside_ns IS NOT NULL AND steps.is_hung IS NOT 1
  GROUP BY steps.profile_id
), step_time AS (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns, avg(net_ns) AS mean_ns FROM temp.steps
  WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
), device_busy AS (
  SELECT device_steps.profile_id AS profile_id, sum(device_steps.busy_ns * steps.sample_weight) AS busy_ns
  FROM temp.device_steps AS device_steps CROSS JOIN temp.steps AS steps ON steps.id = device_steps.step_id
  WHERE steps.is_warmup = 0 AND steps.is_hung IS NOT 1 AND steps.ops_recorded = 1
  GROUP BY device_steps.profile_id
), blind AS ( -- how busy devices are is not known: their rows are of no known kind, or most kernels are lost
  SELECT profile_id FROM temp.diagnostics WHERE reason IN ('unknown_device_rows', 'no_device_work')
  UNION ALL SELECT profile_id FROM temp.api_calls WHERE lacks_kernel IS NOT NULL
  GROUP BY profile_id HAVING 2 * sum(lacks_kernel) >= count(*)
), looked AS MATERIALIZED (
  SELECT parts.*, total(self_ns) FILTER (WHERE part = 'python') OVER of_profile AS python_ns,
    total(self_ns) OVER of_profile AS all_ns, sum(sample_count) OVER of_profile AS all_looks
  FROM temp.python_parts AS parts WINDOW of_profile AS (PARTITION BY profile_id)
), spread AS (
  SELECT profile_id, nullif(total(self_ns), 0) AS all_ns, total(iif(part = 'waits', self_ns, 0)) AS waits_ns,
    total(iif(part = 'python', self_ns, 0)) AS python_ns, total(iif(part = 'python', op_ns, 0)) AS its_op_ns,
    total(saving_ns) AS saving_ns,
    sum(iif(part = 'python', sample_count, 0)) AS python_looks, sum(sample_count) AS look_count
  FROM looked GROUP BY profile_id
), parts AS ( -- python_ns: of Python that no op needs; NULL where too little was seen
  SELECT outside.profile_id AS profile_id, step_count, step_ns, op_ns,
    outside_ns * (1 - coalesce(waits_ns / spread.all_ns, 0)) AS outside_ns,
    outside_ns * coalesce(waits_ns / spread.all_ns, 0) AS waits_ns, python_looks,
    iif(look_count >= 5, outside_ns * python_ns / spread.all_ns, NULL) AS python_ns, its_op_ns,
    outside_ns * saving_ns / spread.all_ns AS saving_ns, look_count, call_count, weight,
    coalesce(look_count, 0) < 5 AND coalesce(outside_ns <= 100000.0 * call_count, 0) AS may_be_calls
  FROM outside LEFT JOIN spread ON spread.profile_id = outside.profile_id
), seen AS ( -- each line and what is below it; of a line that calls a library, whether it is there most of the time
  SELECT profile_id, file, line, location, text, inner_file, inner_line, inner_location, inner_text, is_inside, all_ns,
    all_looks, total(self_ns) AS self_ns,
    total(total(iif(is_inside, self_ns, 0))) OVER of_line > 0.5 * total(total(self_ns)) OVER of_line
      AND max(total(self_ns)) OVER of_line < 0.9 * total(total(self_ns)) OVER of_line AS is_below
  FROM looked
  WHERE part = iif(python_ns > 0, 'python', 'calls')
  GROUP BY profile_id, file, line, inner_file, inner_line
  WINDOW of_line AS (PARTITION BY profile_id, file, line)
), named AS (
  SELECT profile_id, iif(is_below, inner_file, file) AS its_file, iif(is_below, inner_line, line) AS its_line,
    iif(is_below, inner_location || iif(is_inside, ', called at ' || location || ',', ''), location) AS place,
    min(iif(is_below AND is_inside, inner_text, text)) AS text, total(self_ns) / max(all_ns) AS self_ratio,
    max(all_looks) AS all_looks,
    row_number() OVER (PARTITION BY profile_id ORDER BY total(self_ns) DESC, 2, 3) AS position
  FROM seen GROUP BY 1, 2, 3, 4
), lines AS (
  SELECT profile_id, group_concat(format('%s (%.0f %%)%s', place, 100 * self_ratio, coalesce(' ' || trim(text), '')),
    '; ') AS text
  FROM (
    SELECT * FROM named WHERE position <= 3 AND self_ratio >= 0.05 AND all_looks >= 3 ORDER BY profile_id, position
  ) GROUP BY profile_id
), waiting_lines AS ( -- which share of the time of each line is waiting
  SELECT profile_id, file, line, total(iif(part = 'waits', self_ns, 0)) / nullif(total(self_ns), 0) AS waits_ratio
  FROM looked GROUP BY profile_id, file, line
), waiting_marks AS ( -- and of each mark, by the lines at which Python was seen in it
  SELECT looks.profile_id AS profile_id, ranges.name AS name,
    sum(looks.weight * waits_ratio) / sum(looks.weight) AS waits_ratio
  FROM temp._python_looks AS looks JOIN temp.ranges AS ranges ON ranges.id = looks.range_id
  JOIN temp.code_traces AS traces ON traces.id = looks.trace_id
  JOIN temp.code_frames AS frames ON frames.id = coalesce(traces.line_frame_id, traces.leaf_frame_id)
  JOIN waiting_lines AS lines ON lines.profile_id = looks.profile_id AND lines.file IS frames.file
    AND lines.line IS frames.line
  WHERE looks.is_measured GROUP BY looks.profile_id, ranges.name
), marked AS MATERIALIZED (
  SELECT ranges.profile_id AS profile_id, ranges.name AS name, sum(ranges.outside_ns * steps.sample_weight) AS ns
  FROM temp.ranges AS ranges JOIN temp.steps AS steps ON steps.id = ranges.step_id
  WHERE ranges.outside_ns > 0 AND ranges.thread_id = steps.thread_id AND steps.is_warmup = 0
    AND steps.is_hung IS NOT 1 AND steps.ops_recorded = 1
    AND (ranges.start_ns > steps.start_ns OR ranges.end_ns < steps.end_ns)
    AND ranges.name NOT IN (SELECT name FROM temp.input_events)
    AND ranges.name NOT GLOB 'Optimizer.*#*' AND ranges.name NOT GLOB 'torch.autograd.*'
    AND ranges.name NOT GLOB 'DistributedDataParallel.*'
  GROUP BY ranges.profile_id, ranges.name
), running AS (
  SELECT marked.profile_id AS profile_id, marked.name AS name, outside_ns, mean_ns / step_ns AS scale,
    ns * (1 - coalesce(waiting_marks.waits_ratio, waits_ns / nullif(waits_ns + outside_ns, 0), 0)) AS ns
  FROM marked JOIN parts ON parts.profile_id = marked.profile_id
  JOIN step_time ON step_time.profile_id = marked.profile_id
  LEFT JOIN waiting_marks ON waiting_marks.profile_id = marked.profile_id AND waiting_marks.name = marked.name
), bounded AS (
  SELECT profile_id, name, outside_ns, scale,
    ns * min(1.0, outside_ns / nullif(sum(ns) OVER (PARTITION BY profile_id), 0)) AS ns
  FROM running
), marks AS (
  SELECT profile_id, group_concat(format_ns(ns * scale) || ' of it in ' || name, ', ') AS text
  FROM (
    SELECT *, row_number() OVER (PARTITION BY profile_id ORDER BY ns DESC, name) AS place FROM bounded
    WHERE ns >= 0.10 * outside_ns ORDER BY profile_id, place
  ) WHERE place <= 3 GROUP BY profile_id
), known AS ( -- as far as it was seen, and else as it is likely
  SELECT parts.*, marks.text AS marks, coalesce(python_ns < 0.05 * step_ns, may_be_calls AND marks.text IS NULL)
    AS is_calls
  FROM parts LEFT JOIN marks ON marks.profile_id = parts.profile_id
)
SELECT
  'host_bound' AS check_name,
  CASE WHEN is_calls AND outside_ns < 0.40 * step_ns THEN 'info'
    WHEN NOT is_calls AND coalesce(look_count, 5) >= 5 AND coalesce(python_ns, outside_ns) >= 0.50 * step_ns
      AND step_count >= 10 AND coalesce(python_ns, outside_ns) / step_ns * mean_ns >= 1000000 THEN 'critical'
    ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time passes outside any op: %s of %s per step%s%s',
    100.0 * outside_ns / step_ns, format_ns(outside_ns / step_ns * mean_ns), format_ns(mean_ns),
    coalesce(', ' || marks, ''),
    CASE WHEN python_ns < 0.05 * step_ns THEN '; nearly all of it goes into calling ops'
      WHEN is_calls THEN format('; that is %s for each of %.0f calls of ops', format_ns(outside_ns / call_count),
        call_count / weight)
      WHEN python_ns < 0.9 * outside_ns THEN format('; %s of it is Python that no op needs',
        format_ns(python_ns / step_ns * mean_ns))
      ELSE '' END) AS message,
  outside_ns / step_ns AS value,
  0.20 AS threshold,
  CAST(min(CASE WHEN python_ns >= 0.05 * step_ns THEN (python_ns + its_op_ns) / step_ns
    ELSE max(outside_ns / step_ns - 0.10, 0) * iif(is_calls OR look_count < 5, 0.5, 1.0) END,
    1.0 - coalesce(busy_ns / step_ns, 0)) * all_ns AS INTEGER) AS saves_ns,
  CASE WHEN is_calls THEN 'Larger batches, so that each op does more, or a compiled step, which '
      || 'takes many calls together' || coalesce('; most calls are at ' || lines.text, '') || '.'
    WHEN 2 * saving_ns >= outside_ns + waits_ns THEN coalesce('Between the ops Python is at ' || lines.text
      || ' (python_summary has all lines), most of the time writing a checkpoint: ', 'A checkpoint is written: ')
      || advice_words('host_bound.saving', processes.framework)
    ELSE coalesce(
      'Between the ops Python is at ' || lines.text || ' (python_summary has all lines): move that out of the loop',
      CASE WHEN marks IS NOT NULL THEN 'Move what it does there out of the loop'
        ELSE 'Find the Python code between the ops, move it out of the loop' END)
      || advice_words('host_bound', processes.framework) END AS suggestion,
  'SELECT number, dur_ns, recording_ns, op_ns, outside_ns FROM temp.step_op_time WHERE profile_id = '
    || known.profile_id || ' ORDER BY outside_ns DESC LIMIT 20' AS evidence
FROM known
JOIN step_time ON step_time.profile_id = known.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = known.profile_id
LEFT JOIN device_busy ON device_busy.profile_id = known.profile_id
LEFT JOIN lines ON lines.profile_id = known.profile_id
WHERE known.profile_id NOT IN (SELECT profile_id FROM blind) AND op_ns > 0
  AND (outside_ns >= 0.20 * step_ns OR python_ns >= 0.05 * step_ns AND python_looks >= 5)
  AND coalesce(busy_ns / step_ns, 0) < 0.80
ORDER BY saves_ns DESC, known.profile_id
