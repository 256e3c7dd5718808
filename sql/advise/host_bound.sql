-- Advice: steps whose thread is busy with something else than framework ops.
--
-- For each profile the share of the measured steps (no warm-up, ops recorded; weighed by steps.sample_weight) in which
-- nothing went on that is known: no op or autograd node on the step's own thread, nor on one that runs the backward
-- pass while that one waits for it, no wait for input, for a device or for other ranks: Python code, waiting for locks
-- or files.  It is step_summary.outside_ratio, so ranges that the program or its profiler put around everything hide
-- nothing, nor do Python frames; waits for input are left to the check input_loading, those for other ranks to
-- stragglers; what ops of XPlane files on other threads, which XLA has, cover beside those of the step's is taken off.
-- On a job with kernels the check asks further that the device idles too (device_steps), since a host that is ahead of
-- its device costs nothing; where rows of devices are not understood, or half of the launches have no kernel, that is
-- not known: it is silent.
-- Thresholds: 20 %, since a tight eager loop over small ops spends about a tenth there; 50 % is critical when that is
-- a millisecond per step or more and ten steps were measured.
-- The message names the ranges in which the program itself marked a tenth of that time or more (ranges.outside_ns; the
-- mark around the step is none of them); the suggestion names the lines at which Python was seen meanwhile
-- (python_summary), where there are samples; where such a line of the program only hands on to a library
-- (model.learn(), trainer.train()), the lines of that at which it was seen, if it was not nearly always the same one.
-- What it would save: the part above a tenth, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: one pass over ops, when host_steps is derived from them,
-- and one over ranges.
-- Needs: steps, ops.
-- Example: SELECT subject, value FROM advise WHERE check_name = 'host_bound';
WITH known AS ( -- XLA computes on threads of its own, for which the thread of the step waits in Python or in an op
  SELECT ops.profile_id AS profile_id, ops.start_ns AS start_ns, ops.end_ns AS end_ns,
    ops.thread_id IS steps.thread_id AS is_own
  FROM temp.ops AS ops CROSS JOIN temp.steps AS steps ON steps.id = ops.step_id
  WHERE ops.profile_id IN (SELECT id FROM temp.profiles WHERE origin = 'xplane') AND steps.is_warmup = 0
    AND (ops.category = 'op' OR (ops.thread_id IS steps.thread_id AND ops.category NOT IN ('python', 'user')))
), elsewhere AS (
  SELECT profile_id, union_ns(start_ns, end_ns) - coalesce(union_ns(start_ns, end_ns) FILTER (WHERE is_own), 0)
    AS busy_ns
  FROM known GROUP BY profile_id
), every AS (
  SELECT steps.profile_id AS profile_id, count(*) AS step_count, sum(steps.net_ns * steps.sample_weight) AS step_ns,
    sum(host_steps.op_ns * steps.sample_weight) AS op_ns, sum(host_steps.outside_ns * steps.sample_weight) AS outside_ns
  FROM temp.host_steps AS host_steps CROSS JOIN temp.steps AS steps ON steps.id = host_steps.step_id
  WHERE steps.is_warmup = 0 AND host_steps.outside_ns IS NOT NULL
  GROUP BY steps.profile_id
), parts AS (
  SELECT every.profile_id AS profile_id, step_count, step_ns, op_ns,
    max(outside_ns - coalesce(busy_ns, 0), 0) AS outside_ns
  FROM every LEFT JOIN elsewhere ON elsewhere.profile_id = every.profile_id
), step_time AS (
  SELECT profile_id, sum(1.0 * net_ns) AS all_ns, avg(net_ns) AS mean_ns FROM temp.steps WHERE is_warmup = 0
  GROUP BY profile_id
), device_busy AS (
  SELECT device_steps.profile_id AS profile_id, sum(device_steps.busy_ns * steps.sample_weight) AS busy_ns
  FROM temp.device_steps AS device_steps CROSS JOIN temp.steps AS steps ON steps.id = device_steps.step_id
  WHERE steps.is_warmup = 0 AND steps.ops_recorded = 1
  GROUP BY device_steps.profile_id
), blind AS ( -- how busy devices are is not known: their rows are of no known kind, or most kernels are lost
  SELECT profile_id FROM temp.diagnostics WHERE reason IN ('unknown_device_rows', 'no_device_work')
  UNION ALL SELECT profile_id FROM temp.api_calls WHERE lacks_kernel IS NOT NULL
  GROUP BY profile_id HAVING 2 * sum(lacks_kernel) >= count(*)
), ranked AS (
  SELECT profile_id, location, text, self_ratio, file, line,
    row_number() OVER (PARTITION BY profile_id ORDER BY self_ratio DESC, file, line) AS place
  FROM temp.python_summary
), looks AS ( -- how often a line was seen, and a line of a library below it
  SELECT samples.profile_id AS profile_id, program.file AS file, program.line AS line, inside.file AS inner_file,
    inside.line AS inner_line, max(inside.text) AS inner_text, count(*) AS look_count,
    inside.file IS NOT program.file OR inside.line IS NOT program.line AS is_inside
  FROM temp.python_samples AS samples
  JOIN temp.code_traces AS traces ON traces.id = samples.code_trace_id
  JOIN temp.code_frames AS program ON program.id = traces.line_frame_id
  JOIN temp.code_frames AS inside ON inside.id = traces.library_line_frame_id
  LEFT JOIN temp.steps AS steps ON steps.id = samples.step_id
  WHERE coalesce(steps.is_warmup = 0, 1)
  GROUP BY samples.profile_id, program.file, program.line, inside.file, inside.line
), seen AS (
  SELECT looks.*, sum(look_count) OVER of_line AS all_count, total(iif(is_inside, look_count, 0)) OVER of_line
      AS inside_count, max(look_count) OVER of_line AS most_count
  FROM looks WINDOW of_line AS (PARTITION BY profile_id, file, line)
), named AS (
  SELECT ranked.profile_id AS profile_id, ranked.self_ratio AS self_ratio, ranked.location AS location,
    ranked.text AS text, ranked.file AS file, ranked.line AS line
  FROM ranked WHERE NOT EXISTS (SELECT 1 FROM seen WHERE seen.profile_id = ranked.profile_id
    AND seen.file IS ranked.file AND seen.line IS ranked.line AND 2 * inside_count > all_count
    AND most_count < 0.9 * all_count)
  UNION ALL
  SELECT ranked.profile_id, ranked.self_ratio * look_count / all_count,
    replace(inner_file, rtrim(inner_file, replace(inner_file, '/', '')), '') || ':' || inner_line
      || iif(is_inside, ', called at ' || ranked.location || ',', ''),
    iif(is_inside, inner_text, ranked.text), inner_file, inner_line
  FROM ranked JOIN seen ON seen.profile_id = ranked.profile_id AND seen.file IS ranked.file
    AND seen.line IS ranked.line AND 2 * inside_count > all_count AND most_count < 0.9 * all_count
), placed AS (
  SELECT named.*, row_number() OVER (PARTITION BY profile_id ORDER BY self_ratio DESC, file, line) AS place FROM named
), lines AS (
  SELECT profile_id, group_concat(format('%s (%.0f %%)%s', location, 100 * self_ratio, coalesce(' ' || text, '')), '; ')
    AS text
  FROM (SELECT * FROM placed WHERE place <= 3 AND self_ratio >= 0.05 ORDER BY profile_id, place) GROUP BY profile_id
), marked AS MATERIALIZED (
  SELECT ranges.profile_id AS profile_id, ranges.name AS name, sum(ranges.outside_ns * steps.sample_weight) AS ns
  FROM temp.ranges AS ranges JOIN temp.steps AS steps ON steps.id = ranges.step_id
  WHERE ranges.outside_ns > 0 AND ranges.thread_id = steps.thread_id AND steps.is_warmup = 0 AND steps.ops_recorded = 1
    AND (ranges.start_ns > steps.start_ns OR ranges.end_ns < steps.end_ns)
  GROUP BY ranges.profile_id, ranges.name
), marks AS (
  SELECT profile_id, group_concat(format_ns(in_step_ns) || ' of it in ' || name, ', ') AS text
  FROM (
    SELECT marked.profile_id AS profile_id, name, ns / step_ns * mean_ns AS in_step_ns,
      row_number() OVER (PARTITION BY marked.profile_id ORDER BY ns DESC, name) AS place
    FROM marked JOIN parts ON parts.profile_id = marked.profile_id
    JOIN step_time ON step_time.profile_id = marked.profile_id
    WHERE ns >= 0.10 * outside_ns
    ORDER BY marked.profile_id, place
  ) WHERE place <= 3 GROUP BY profile_id
)
SELECT
  'host_bound' AS check_name,
  CASE WHEN outside_ns >= 0.50 * step_ns AND step_count >= 10 AND outside_ns / step_ns * mean_ns >= 1000000
    THEN 'critical' ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time passes outside any op: %s of %s per step%s',
    100.0 * outside_ns / step_ns, format_ns(outside_ns / step_ns * mean_ns), format_ns(mean_ns),
    coalesce(', ' || marks.text, '')) AS message,
  outside_ns / step_ns AS value,
  0.20 AS threshold,
  CAST((outside_ns / step_ns - 0.10) * all_ns AS INTEGER) AS saves_ns,
  coalesce(
    'Between the ops Python is at ' || lines.text || ' (python_summary has all lines): move that out of the loop',
    CASE WHEN marks.text IS NOT NULL THEN 'Move what it does there out of the loop'
      ELSE 'Find the Python code between the ops, move it out of the loop' END)
    || advice_words('host_bound', processes.framework) AS suggestion,
  'SELECT number, dur_ns, recording_ns, op_ns, outside_ns FROM temp.step_op_time WHERE profile_id = '
    || parts.profile_id || ' ORDER BY outside_ns DESC LIMIT 20' AS evidence
FROM parts
JOIN step_time ON step_time.profile_id = parts.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = parts.profile_id
LEFT JOIN device_busy ON device_busy.profile_id = parts.profile_id
LEFT JOIN lines ON lines.profile_id = parts.profile_id
LEFT JOIN marks ON marks.profile_id = parts.profile_id
WHERE parts.profile_id NOT IN (SELECT profile_id FROM blind) AND op_ns > 0 AND outside_ns >= 0.20 * step_ns
  AND coalesce(busy_ns / step_ns, 0) < 0.80
ORDER BY saves_ns DESC, parts.profile_id
