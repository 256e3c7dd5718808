-- Step statistics: how long steps take and how that varies, as a whole and by what their time goes to.
--
-- One row for each process and part of its steps, those of weighed_steps, and for each part one more for all hosts of a
-- run that has several, with ALL_HOSTS for host and NULL for profile_id and rank: there the step, the whole, is that of
-- common_steps, which all hosts went through and which took as long as the slowest of them, and the parts are those of
-- all steps of all hosts.  Parts are cut as step_breakdown cuts them.  Of a capture's steps only those count in which
-- the part is known.
--   profile_id    INTEGER  -      Profile id.
--   host          TEXT     -      Host.
--   rank          INTEGER  -      Rank.
--   run_id        INTEGER  -      Run id.
--   position      INTEGER  -      0 step, the whole; 1 device_compute, 2 device_to_device, 3 device_collectives, 4
--                                 host_compute, 5 kernel_launch, 6 input, 7 output, 8 compile, 9 other: these add up to
--                                 it; and of these, as the PyTorch TensorBoard plugin has them, 11 kernel, 12 memcpy,
--                                 13 memset, 14 data_loader (its communication and runtime are 3 and 5, its cpu 4 and
--                                 8).
--   part          TEXT     -      0 step, the whole; 1 device_compute, 2 device_to_device, 3 device_collectives, 4
--                                 host_compute, 5 kernel_launch, 6 input, 7 output, 8 compile, 9 other: these add up to
--                                 it; and of these, as the PyTorch TensorBoard plugin has them, 11 kernel, 12 memcpy,
--                                 13 memset, 14 data_loader (its communication and runtime are 3 and 5, its cpu 4 and
--                                 8).
--   step_count    INTEGER  count  Steps that count.
--   sum_ns        INTEGER  ns     What they spent on it, and its share of what they took; weighed where ops or the work
--                                 of devices were recorded in some steps only, so that sum_ns speaks for all.
--   ratio         REAL     ratio  What they spent on it, and its share of what they took; weighed where ops or the work
--                                 of devices were recorded in some steps only, so that sum_ns speaks for all.
--   mean_ns       INTEGER  ns     Of the part in a step; the deviation is that of a sample.
--   stddev_ns     INTEGER  ns     Of the part in a step; the deviation is that of a sample.
--   min_ns        INTEGER  ns     Of the part in a step; the deviation is that of a sample.
--   max_ns        INTEGER  ns     Of the part in a step; the deviation is that of a sample.
--   mean_ratio    REAL     ratio  Of its shares of each step: with part 'input' the percentages that the input pipeline
--                                 analyzer sums up.
--   stddev_ratio  REAL     ratio  Of its shares of each step: with part 'input' the percentages that the input pipeline
--                                 analyzer sums up.
--   min_ratio     REAL     ratio  Of its shares of each step: with part 'input' the percentages that the input pipeline
--                                 analyzer sums up.
--   max_ratio     REAL     ratio  Of its shares of each step: with part 'input' the percentages that the input pipeline
--                                 analyzer sums up.
-- TensorFlow's profiler takes copies of GPUs for device compute, so its input and output lack them.  Of several hosts
-- it has the parts of one of them, whichever that is; XProf leaves out the first and the
-- last of more than five steps.
-- Cost: that of step_breakdown.  Example: SELECT part, mean_ns, stddev_ns, ratio FROM step_statistics;
WITH parts(position, part) AS (
  VALUES (0, 'step'), (1, 'device_compute'), (2, 'device_to_device'), (3, 'device_collectives'), (4, 'host_compute'),
    (5, 'kernel_launch'), (6, 'input'), (7, 'output'), (8, 'compile'), (9, 'other'), (11, 'kernel'), (12, 'memcpy'),
    (13, 'memset'), (14, 'data_loader')
), known AS (
  SELECT cut.profile_id AS profile_id, parts.position AS position, parts.part AS part, cut.dur_ns AS dur_ns,
    CASE parts.position WHEN 0 THEN cut.dur_ns WHEN 1 THEN cut.device_compute_ns WHEN 2 THEN cut.device_to_device_ns
      WHEN 3 THEN cut.device_collectives_ns WHEN 4 THEN cut.host_compute_ns WHEN 5 THEN cut.kernel_launch_ns
      WHEN 6 THEN cut.input_ns WHEN 7 THEN cut.output_ns WHEN 8 THEN cut.compile_ns
      WHEN 9 THEN cut.other_ns WHEN 11 THEN cut.kernel_ns WHEN 12 THEN cut.memcpy_ns WHEN 13 THEN cut.memset_ns
      WHEN 14 THEN cut.data_loader_ns END AS part_ns,
    CASE WHEN parts.position IN (0, 14) THEN 1.0 WHEN parts.position IN (4, 9) THEN cut.host_weight
      ELSE cut.device_weight END AS weight
  FROM temp.weighed_steps AS cut CROSS JOIN parts
), counted AS ( -- the step of all hosts is the one that they share
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id, groups.host AS host, groups.rank AS rank,
    known.position AS position, known.part AS part, known.dur_ns AS dur_ns, known.part_ns AS part_ns,
    known.weight AS weight
  FROM known JOIN temp.process_groups AS groups ON groups.member_id = known.profile_id
  WHERE known.part_ns IS NOT NULL AND known.weight > 0 AND (known.position > 0 OR groups.profile_id IS NOT NULL)
  UNION ALL
  SELECT run_id, NULL, 'ALL_HOSTS', NULL, 0, 'step', dur_ns, dur_ns, 1.0 FROM temp.common_steps
)
SELECT
  known.profile_id AS profile_id,
  known.host AS host,
  known.rank AS rank,
  known.run_id AS run_id,
  known.position AS position,
  known.part AS part,
  count(*) AS step_count,
  CAST(sum(known.part_ns * known.weight) AS INTEGER) AS sum_ns,
  sum(known.part_ns * known.weight) / nullif(sum(known.dur_ns * known.weight), 0) AS ratio,
  CAST(round(avg(known.part_ns)) AS INTEGER) AS mean_ns,
  CAST(round(stddev(known.part_ns)) AS INTEGER) AS stddev_ns,
  min(known.part_ns) AS min_ns,
  max(known.part_ns) AS max_ns,
  avg(1.0 * known.part_ns / nullif(known.dur_ns, 0)) AS mean_ratio,
  stddev(1.0 * known.part_ns / nullif(known.dur_ns, 0)) AS stddev_ratio,
  min(1.0 * known.part_ns / nullif(known.dur_ns, 0)) AS min_ratio,
  max(1.0 * known.part_ns / nullif(known.dur_ns, 0)) AS max_ratio
FROM counted AS known
GROUP BY known.run_id, known.profile_id, known.host, known.rank, known.position, known.part
ORDER BY known.run_id, profile_id, position
