-- Python between ops, by what it is: waiting, calling ops, or code of its own that no op needs.
--
-- One row for each profile, line of the program, line of a library below it and part of the time at these in which no
-- op ran.  It is python_summary, divided by what was seen there. The part waits is waiting.  Where a line waits for
-- half of its time or more, all of its time is waits.  Where it waits for a file, pipe, process or connection, so is
-- the time of the lines within two lines of it in the same function, which make what is written there, unless they
-- call ops.  The part calls is what calling ops costs: modules, optimizers and backward passes of PyTorch, and lines
-- with ops that take longer than the Python around them.  The part python is all else, which could be done elsewhere
-- or not at all.
--   profile_id      INTEGER  -      The profile: a process or rank.
--   location        TEXT     -      File:line of the line of the program, as python_summary has it.
--   text            TEXT     -      Text of the line of the program.  NULL where it could not be read.
--   inner_location  TEXT     -      File:line of the innermost line outside of PyTorch and of the library of Python.
--                                   It is of the program, or of a library that the program calls.
--   inner_text      TEXT     -      Text of this innermost line.  NULL where it could not be read.
--   is_inside       INTEGER  -      1 where the innermost line is another line than that of the program, else 0.
--   part            TEXT     -      The part: waits, calls or python.
--   waits_for       TEXT     -      What the thread waited for, as in python_samples.  NULL where part is not waits.
--   sample_count    INTEGER  count  How often it was seen.
--   self_ns         INTEGER  ns     The time outside ops.  All rows of a line together are its self_ns in
--                                   python_summary.
--   saving_ns       INTEGER  ns     The part of self_ns in which a checkpoint was written.  That is in the range
--                                   torch.save, or innermost in what frameworks save with.
--   processor_ns    INTEGER  ns     The part of self_ns in which the thread waited for a processor.
--   op_ns           INTEGER  ns     Time of the ops that the line calls besides, without their backward passes.  It is
--                                   there where part is python, or is waits only for a line close by.  It is less than
--                                   self_ns.  0 for other parts.
--   file            TEXT     -      File of the line of the program, with its directories.
--   line            INTEGER  -      Number of the line of the program in its file.
--   inner_file      TEXT     -      File of the innermost line, with its directories.
--   inner_line      INTEGER  -      Number of the innermost line in its file.
-- Only what was seen in measured steps (no warm-up, none that a hang made long, ops recorded) counts.
-- Cost: that of python_summary, and one pass over code_traces.
-- Example: SELECT part, sum(self_ns) FROM python_parts GROUP BY part;
WITH lines AS (
  SELECT profile_id, location, text, function, file, line, 1.0 * self_ns AS self_ns, waits_for,
    wait_ns > 0 AND 2 * wait_ns >= self_ns AS is_waiting
  FROM temp.python_summary
), looks AS (
  SELECT looks.profile_id AS profile_id, program.file AS file, program.line AS line, inside.file AS inner_file,
    inside.line AS inner_line, max(inside.text) AS inner_text, nullif(looks.waits_for, 'processor') AS waits_for,
    coalesce(leaf.file GLOB '*/torch/nn/modules/*' OR leaf.file GLOB '*/torch/nn/functional.py'
      OR leaf.file GLOB '*/torch/optim/*' OR leaf.file GLOB '*/torch/autograd/*' OR leaf.file GLOB '*/torch/_ops.py'
      OR leaf.file GLOB '*/torch/_tensor.py' AND leaf.function GLOB '*backward', 0) AS is_calling,
    total(iif(ranges.name = 'torch.save' OR (leaf.file GLOB '*/torch/serialization.py'
      OR leaf.file GLOB '*/safetensors/*' OR leaf.file GLOB '*/tensorflow/python/checkpoint/*'
      OR leaf.file GLOB '*/tensorflow/python/training/saver.py' OR leaf.file GLOB '*/keras/src/saving/*'
      OR leaf.file GLOB '*/orbax/*' OR leaf.file GLOB '*/flax/serialization.py')
      AND NOT coalesce(leaf.function GLOB '*load*' OR leaf.function GLOB '*restore*', 0), looks.weight, 0))
      / sum(looks.weight) AS saving_ratio,
    total(iif(looks.waits_for = 'processor', looks.weight, 0)) / sum(looks.weight) AS processor_ratio,
    count(*) AS sample_count, sum(looks.weight) AS weight
  FROM temp._python_looks AS looks JOIN temp.code_traces AS traces ON traces.id = looks.trace_id
  JOIN temp.code_frames AS program ON program.id = coalesce(traces.line_frame_id, traces.leaf_frame_id)
  JOIN temp.code_frames AS inside
    ON inside.id = coalesce(traces.library_line_frame_id, traces.line_frame_id, traces.leaf_frame_id)
  LEFT JOIN temp.code_frames AS leaf ON leaf.id = traces.leaf_frame_id
  LEFT JOIN temp.ranges AS ranges ON ranges.id = looks.range_id
  WHERE looks.is_measured
  GROUP BY looks.profile_id, program.file, program.line, inside.file, inside.line, 7, 8
), op_times AS (
  SELECT traces.profile_id AS profile_id, program.file AS file, program.line AS line, inside.file AS inner_file,
    inside.line AS inner_line, sum(1.0 * traces.self_ns) AS op_ns,
    sum(1.0 * traces.self_ns - coalesce(traces.backward_ns, 0)) AS forward_ns
  FROM temp.code_traces AS traces
  JOIN temp.code_frames AS program ON program.id = coalesce(traces.line_frame_id, traces.leaf_frame_id)
  JOIN temp.code_frames AS inside
    ON inside.id = coalesce(traces.library_line_frame_id, traces.line_frame_id, traces.leaf_frame_id)
  WHERE traces.op_count IS NOT NULL
    AND traces.profile_id IN (SELECT profile_id FROM temp.python_samples)
  GROUP BY traces.profile_id, program.file, program.line, inside.file, inside.line
), shares AS (
  SELECT looks.*, weight / total(weight) OVER (PARTITION BY profile_id, file, line) AS share,
    total(iif(waits_for IS NULL, weight, 0)) OVER (PARTITION BY profile_id, file, line, inner_file, inner_line)
      / total(weight) OVER (PARTITION BY profile_id, file, line) AS running_share
  FROM looks
), parts AS (
  SELECT shares.profile_id AS profile_id, lines.location AS location, lines.text AS text,
    lines.function AS function, is_waiting,
    shares.file AS file, shares.line AS line, shares.inner_file AS inner_file, shares.inner_line AS inner_line,
    inner_text, sample_count, coalesce(forward_ns, 0) AS forward_ns,
    share * lines.self_ns AS self_ns, saving_ratio * share * lines.self_ns AS saving_ns,
    processor_ratio * share * lines.self_ns AS processor_ns,
    CASE WHEN lines.is_waiting OR shares.waits_for IS NOT NULL THEN 'waits'
      WHEN is_calling OR coalesce(op_ns >= running_share * lines.self_ns, 0) THEN 'calls' ELSE 'python' END AS part,
    CASE WHEN lines.is_waiting THEN lines.waits_for ELSE shares.waits_for END AS waits_for
  FROM shares JOIN lines ON lines.profile_id = shares.profile_id AND lines.file IS shares.file
    AND lines.line IS shares.line
  LEFT JOIN op_times ON op_times.profile_id = shares.profile_id AND op_times.file IS shares.file
    AND op_times.line IS shares.line AND op_times.inner_file IS shares.inner_file
    AND op_times.inner_line IS shares.inner_line
), around AS ( -- what is made for a line that waits close by
  SELECT parts.*, iif(part = 'python', max(iif(is_waiting AND waits_for IN ('file', 'pipe', 'process', 'connection'),
      waits_for, NULL)) OVER (PARTITION BY profile_id, file, function ORDER BY line RANGE BETWEEN 2 PRECEDING AND 2
      FOLLOWING), NULL) AS is_for
  FROM parts
)
SELECT
  profile_id AS profile_id,
  location AS location,
  text AS text,
  replace(inner_file, rtrim(inner_file, replace(inner_file, '/', '')), '') || ':' || inner_line AS inner_location,
  inner_text AS inner_text,
  inner_file IS NOT file OR inner_line IS NOT line AS is_inside,
  iif(is_for IS NOT NULL, 'waits', part) AS part,
  coalesce(is_for, waits_for) AS waits_for,
  sum(sample_count) AS sample_count,
  CAST(sum(self_ns) AS INTEGER) AS self_ns,
  CAST(sum(saving_ns) AS INTEGER) AS saving_ns,
  CAST(sum(processor_ns) AS INTEGER) AS processor_ns,
  CAST(iif(part = 'python', max(forward_ns), 0) AS INTEGER) AS op_ns,
  file AS file,
  line AS line,
  inner_file AS inner_file,
  inner_line AS inner_line
FROM around
GROUP BY profile_id, file, line, inner_file, inner_line, part, 7, 8
ORDER BY self_ns DESC, profile_id, file, line, inner_file, inner_line, 7, 8
