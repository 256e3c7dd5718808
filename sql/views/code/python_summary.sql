-- Python between ops: which lines the time passes at in which no op runs.
--
-- One row for each profile and line of the program at which Python was seen (python_samples) while no op ran: loops,
-- tokenizers, NumPy, waiting for files, the garbage collector.  The line is the innermost one outside installed
-- packages and the library of Python, which called them.  For generated code it is the line that calls it, as in
-- code_summary, and where the whole stack lies in those it is the innermost line of all.
-- The samples in measured steps count (no warm-up, none that a hang made long: _hung_steps, ops recorded), and all
-- samples in a profile without such steps.  Together they stand for the time of all measured steps that passes outside
-- ops (step_op_time), weighed by steps.sample_weight, and without steps for the time between the looks.  What recording
-- took outside of ops, which is seen at the lines that call them, is taken off there.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   location       TEXT     -      The line as file:line, the file without its directories.
--   text           TEXT     -      The source line.  NULL where it could not be read.
--   sample_count   INTEGER  count  How often Python was seen there.
--   self_ns        INTEGER  ns     The time outside ops at this line.
--   self_error_ns  INTEGER  ns     Standard error of self_ns, as that of a share of so many samples of these weights.
--   self_ratio     REAL     ratio  Share of self_ns in the time of all lines of the profile.
--   waits_for      TEXT     -      What the thread waited for there, and most of all where it was several things
--                                  (python_samples has the words).  NULL where it ran.
--   wait_ns        INTEGER  ns     The part of self_ns for which it waited, 0 where it ran.  Lacking a processor is no
--                                  waiting of its own: it counts in the same proportion as the rest of the line.
--   function       TEXT     -      Function that the line stands in.
--   file           TEXT     -      File that the line stands in, with its directories.
--   line           INTEGER  -      Number of the line in the file.
--   is_library     INTEGER  -      1: a line of an installed package or of the library of Python.
-- Cost: linear in python_samples, ops and code_traces.  Example: SELECT location, self_ns FROM python_summary LIMIT
-- 10;
WITH weighed AS MATERIALIZED (
  SELECT profile_id, trace_id, weight, is_measured, waits_for FROM temp._python_looks
), outside AS MATERIALIZED (
  SELECT profile_id, sum(sample_weight
    * coalesce(outside_ns, max(dur_ns - coalesce(recording_ns, 0) - op_ns, 0))) AS outside_ns
  FROM temp.step_op_time WHERE step_id NOT IN (SELECT step_id FROM temp._hung_steps) GROUP BY profile_id
), costs AS MATERIALIZED (
  SELECT steps.profile_id AS profile_id, sum(steps.sample_weight * (recording_ns - op_recording_ns)) AS cost_ns
  FROM temp.host_steps AS host_steps CROSS JOIN temp.steps AS steps ON steps.id = host_steps.step_id
  WHERE host_steps.profile_id IN (SELECT profile_id FROM weighed) AND recording_ns > 0 AND is_warmup = 0
  GROUP BY steps.profile_id
), calls AS MATERIALIZED ( -- of ops, each of which took as much of that
  SELECT ops.profile_id AS profile_id, coalesce(traces.line_frame_id, traces.leaf_frame_id) AS frame_id,
    sum(sample_weight) AS call_count
  FROM temp.ops AS ops JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  WHERE ops.profile_id IN (SELECT profile_id FROM costs) AND ops.outermost_id = ops.id AND ops.is_measured = 1
    AND ops.category IN ('op', 'autograd')
  GROUP BY 1, 2
), line_costs AS MATERIALIZED (
  SELECT calls.profile_id AS profile_id, frames.file AS file, frames.line AS line,
    cost_ns * call_count / sum(call_count) OVER (PARTITION BY calls.profile_id) AS cost_ns
  FROM calls JOIN costs ON costs.profile_id = calls.profile_id
  JOIN temp.code_frames AS frames ON frames.id = calls.frame_id
), by_trace AS MATERIALIZED (
  SELECT weighed.profile_id AS profile_id, weighed.trace_id AS trace_id, count(*) AS sample_count,
    sum(weighed.weight) AS weight, sum(weighed.weight * weighed.weight) AS square, weighed.waits_for AS waits_for
  FROM weighed LEFT JOIN outside ON outside.profile_id = weighed.profile_id
  WHERE outside.profile_id IS NULL OR weighed.is_measured
  GROUP BY weighed.profile_id, weighed.trace_id, weighed.waits_for
), seen_lines AS MATERIALIZED (
  SELECT by_trace.profile_id AS profile_id, min(frames.id) AS frame_id, frames.file AS file, frames.line AS line,
    sum(by_trace.sample_count) AS sample_count, sum(by_trace.weight) AS weight, sum(by_trace.square) AS square,
    sum(sum(by_trace.weight)) OVER (PARTITION BY by_trace.profile_id) AS all_weight,
    substr(max(substr('0000000000000000000' || CAST(by_trace.weight AS INTEGER), -19)
      || nullif(waits_for, 'processor')), 20) AS waits_for,
    total(by_trace.weight) FILTER (WHERE waits_for <> 'processor') AS waiting_weight,
    total(by_trace.weight) FILTER (WHERE waits_for = 'processor') AS lacking_weight
  FROM by_trace JOIN temp.code_traces AS traces ON traces.id = by_trace.trace_id
  JOIN temp.code_frames AS frames ON frames.id = coalesce(traces.line_frame_id, traces.leaf_frame_id)
  GROUP BY by_trace.profile_id, frames.file, frames.line
), paid AS (
  SELECT profile_id, file, line, sum(cost_ns) AS cost_ns FROM line_costs GROUP BY profile_id, file, line
), lines AS MATERIALIZED ( -- the looks stand for the time outside ops, with what recording took of it
  SELECT seen_lines.profile_id AS profile_id, seen_lines.frame_id AS frame_id,
    seen_lines.sample_count AS sample_count, seen_lines.square AS square,
    seen_lines.waits_for AS waits_for,
    coalesce(waiting_weight / nullif(seen_lines.weight - lacking_weight, 0), 0) AS waiting,
    seen_lines.weight * max(0, 1 - coalesce(
      paid.cost_ns * all_weight / (seen_lines.weight * (outside.outside_ns + costs.cost_ns)), 0)) AS weight
  FROM seen_lines LEFT JOIN outside ON outside.profile_id = seen_lines.profile_id
  LEFT JOIN costs ON costs.profile_id = seen_lines.profile_id
  LEFT JOIN paid ON paid.profile_id = seen_lines.profile_id AND paid.file IS seen_lines.file
    AND paid.line IS seen_lines.line
), shares AS (
  SELECT lines.profile_id AS profile_id, lines.frame_id AS frame_id, lines.sample_count AS sample_count,
    lines.waits_for AS waits_for, lines.waiting AS waiting,
    coalesce(lines.weight / nullif(sum(lines.weight) OVER of_profile, 0), 0) AS share,
    coalesce(outside.outside_ns, sum(lines.weight) OVER of_profile) AS all_ns,
    lines.square / pow(nullif(sum(lines.weight) OVER of_profile, 0), 2) AS square,
    sum(lines.square) OVER of_profile / pow(nullif(sum(lines.weight) OVER of_profile, 0), 2) AS all_square
  FROM lines LEFT JOIN outside ON outside.profile_id = lines.profile_id
  WINDOW of_profile AS (PARTITION BY lines.profile_id)
)
SELECT
  shares.profile_id AS profile_id,
  profiles.rank AS rank,
  replace(frames.file, rtrim(frames.file, replace(frames.file, '/', '')), '') || ':' || frames.line AS location,
  frames.text AS text,
  shares.sample_count AS sample_count,
  CAST(shares.share * shares.all_ns AS INTEGER) AS self_ns,
  CAST(sqrt(max(0, shares.square * (1 - 2 * shares.share) + shares.all_square * shares.share * shares.share))
    * shares.all_ns AS INTEGER) AS self_error_ns,
  shares.share AS self_ratio,
  shares.waits_for AS waits_for,
  CAST(shares.waiting * shares.share * shares.all_ns AS INTEGER) AS wait_ns,
  frames.function AS function,
  frames.file AS file,
  frames.line AS line,
  coalesce(frames.source_kind NOT IN ('program', 'generated'), 1) AS is_library
FROM shares JOIN temp.profiles AS profiles ON profiles.id = shares.profile_id
JOIN temp.code_frames AS frames ON frames.id = shares.frame_id
ORDER BY self_ns DESC, profile_id, file, line
