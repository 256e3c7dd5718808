-- Time by source line: which lines of the program call the ops that cost.
--
-- One row for each profile and line that lies on the Python stack of an op.  An op's self time goes to one line only,
-- the innermost one of the program itself, that is outside installed packages and Python's own library (the innermost
-- of all where the whole stack lies in those), so self_ns of all lines together is the time of all ops that have a
-- stack.
-- Counted are the ops of measured steps (no warm-up, ops recorded); in a profile without such steps all; weighed by
-- ops.sample_weight.
--   profile_id, rank      the profile
--   location              file:line, the file without its directories
--   text                  the source line, where it could be read
--   count                 ops that count for this line (weighed)
--   self_ns, self_ratio   their self time; share of all lines of the profile
--   self_error_ns         standard error of self_ns where only some steps were recorded; 0 where all were, NULL where
--                         fewer than two were (sampling_summary)
--   sum_ns                self time of all ops with this line anywhere on their stack, so lines of main() have nearly
--                         all
--   backward_ns           time of the autograd nodes that answer forward ops of this line, spent where backward() runs;
--                         on autograd's own threads, where no Python runs, and where this very line (or function, in a
--                         trace that names no lines) called backward(), their self time is part of self_ns already
--   function, file, line  of the frame
--   is_library            1: a line of an installed package or of Python's library
-- Cost: one pass over ops, then one over code_traces.  Example: SELECT * FROM code_summary LIMIT 10;
WITH RECURSIVE by_trace AS (
  SELECT profile_id, code_trace_id, sum(sample_weight) AS count, sum(self_ns * sample_weight) AS self_ns
  FROM temp.ops
  WHERE code_trace_id IS NOT NULL AND category <> 'user' AND category <> 'python' AND category <> 'module'
    AND is_measured = 1
  GROUP BY profile_id, code_trace_id
), backward_of AS (
  SELECT forward.code_trace_id AS code_trace_id, backward.code_trace_id AS backward_trace_id,
    sum(backward.dur_ns * backward.sample_weight) AS backward_ns
  FROM temp.ops AS backward
  JOIN temp.ops AS forward ON forward.id = backward.forward_op_id
  LEFT JOIN temp.ops AS enclosing ON enclosing.id = backward.parent_id
  WHERE backward.forward_op_id IS NOT NULL AND enclosing.forward_op_id IS NULL
    AND backward.code_trace_id IS NOT forward.code_trace_id
    AND backward.is_measured = 1
  GROUP BY forward.code_trace_id, backward.code_trace_id
), places AS MATERIALIZED (
  SELECT id AS frame_id, min(id) OVER (PARTITION BY profile_id, file, line) AS place_id,
    coalesce(is_library_file(file), 1) AS is_library
  FROM temp.code_frames
), traces AS MATERIALIZED (
  SELECT code_traces.profile_id AS profile_id, code_traces.id AS trace_id, code_traces.parent_id AS parent_id,
    places.place_id AS place_id, coalesce(places.is_library, 1) AS is_library
  FROM temp.code_traces AS code_traces LEFT JOIN places ON places.frame_id = code_traces.leaf_frame_id
), walked(trace_id, place_id, is_library) AS ( -- from the outermost inwards
  SELECT trace_id, place_id, is_library FROM traces WHERE parent_id IS NULL
  UNION ALL
  SELECT traces.trace_id,
    CASE WHEN traces.is_library AND NOT walked.is_library THEN walked.place_id ELSE traces.place_id END,
    traces.is_library AND walked.is_library
  FROM walked CROSS JOIN traces ON traces.parent_id = walked.trace_id
), place_of AS MATERIALIZED (
  SELECT trace_id, place_id FROM walked WHERE place_id IS NOT NULL
), backward_by_trace AS (
  SELECT backward_of.code_trace_id AS code_trace_id, sum(backward_of.backward_ns) AS backward_ns
  FROM backward_of
  LEFT JOIN place_of AS forward ON forward.trace_id = backward_of.code_trace_id
  LEFT JOIN place_of AS backward ON backward.trace_id = backward_of.backward_trace_id
  WHERE forward.place_id IS NOT backward.place_id
  GROUP BY backward_of.code_trace_id
), own AS (
  SELECT place_of.place_id AS place_id, sum(by_trace.count) AS count, sum(by_trace.self_ns) AS self_ns,
    sum(backward_by_trace.backward_ns) AS backward_ns
  FROM by_trace
  JOIN place_of ON place_of.trace_id = by_trace.code_trace_id
  LEFT JOIN backward_by_trace ON backward_by_trace.code_trace_id = by_trace.code_trace_id
  GROUP BY place_of.place_id
), sums AS (
  SELECT traces.profile_id AS profile_id,
    path_sums(traces.trace_id, traces.parent_id, traces.place_id, by_trace.self_ns) AS by_place
  FROM traces LEFT JOIN by_trace ON by_trace.code_trace_id = traces.trace_id
  GROUP BY traces.profile_id
), lines AS (
  SELECT sums.profile_id AS profile_id, place.key + 0 AS place_id, place.value AS sum_ns, -- an integer, not its text
    coalesce(own.count, 0) AS count, coalesce(own.self_ns, 0.0) AS self_ns, own.backward_ns AS backward_ns
  FROM sums CROSS JOIN json_each(sums.by_place) AS place LEFT JOIN own ON own.place_id = place.key + 0
), in_step AS (
  SELECT profile_id, code_trace_id, step_id, max(sample_weight) AS weight, sum(1.0 * self_ns) AS self_ns
  FROM temp.ops
  WHERE code_trace_id IS NOT NULL AND category <> 'user' AND category <> 'python' AND category <> 'module'
    AND is_measured = 1 AND profile_id IN (SELECT profile_id FROM temp.sampling_summary)
  GROUP BY profile_id, code_trace_id, step_id
), line_in_step AS (
  SELECT in_step.profile_id AS profile_id, place_of.place_id AS place_id, max(in_step.weight) AS weight,
    sum(in_step.self_ns) AS self_ns
  FROM in_step JOIN place_of ON place_of.trace_id = in_step.code_trace_id
  GROUP BY in_step.profile_id, place_of.place_id, in_step.step_id
), errors AS (
  SELECT line_in_step.profile_id AS profile_id, place_id,
    sqrt(max(0, sampling.error_factor * (sum(weight * self_ns * self_ns)
      - sum(weight * self_ns) * sum(weight * self_ns) / sampling.step_count))) AS self_ns
  FROM line_in_step JOIN temp.sampling_summary AS sampling ON sampling.profile_id = line_in_step.profile_id
  GROUP BY line_in_step.profile_id, place_id
), by_place AS (
  SELECT lines.*, code_frames.file AS file, code_frames.line AS line, code_frames.function AS function,
    code_frames.text AS text, coalesce(is_library_file(code_frames.file), 1) AS is_library
  FROM lines JOIN temp.code_frames AS code_frames ON code_frames.id = lines.place_id
  WHERE code_frames.file IS NOT NULL OR lines.count > 0 -- built-in functions lie in no line
), totals AS (
  SELECT profile_id, sum(self_ns) AS all_self_ns FROM by_trace GROUP BY profile_id
)
SELECT
  by_place.profile_id AS profile_id,
  profiles.rank AS rank,
  replace(by_place.file, rtrim(by_place.file, replace(by_place.file, '/', '')), '') || ':' || by_place.line AS location,
  by_place.text AS text,
  CAST(round(by_place.count) AS INTEGER) AS count,
  CAST(by_place.self_ns AS INTEGER) AS self_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.self_ns AS INTEGER) ELSE 0 END AS self_error_ns,
  by_place.self_ns / nullif(totals.all_self_ns, 0) AS self_ratio,
  CAST(by_place.sum_ns AS INTEGER) AS sum_ns,
  CAST(by_place.backward_ns AS INTEGER) AS backward_ns,
  by_place.function AS function,
  by_place.file AS file,
  by_place.line AS line,
  by_place.is_library AS is_library
FROM by_place
JOIN totals ON totals.profile_id = by_place.profile_id
JOIN temp.profiles AS profiles ON profiles.id = by_place.profile_id
LEFT JOIN errors ON errors.profile_id = by_place.profile_id AND errors.place_id = by_place.place_id
ORDER BY self_ns DESC, sum_ns DESC, profile_id, file, line
