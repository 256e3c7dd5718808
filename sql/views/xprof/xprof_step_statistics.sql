-- Step statistics: how long steps take and how that varies, as a whole and by what their time goes to.
--
-- One row for each process and part of its steps, those of _weighed_steps, and for each part one more for all hosts of
-- a run that has several.  That row has ALL_HOSTS for host and NULL for profile_id and rank.  There the step, the
-- whole, is that of _common_steps, which all hosts went through and which took as long as the slowest of them.  The
-- other parts are those of all steps of all hosts.  Parts are cut as xprof_step_breakdown and tb_step_breakdown cut
-- them.  In a capture only the steps count in which the part is known.
--   profile_id    INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host          TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank          INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   run_id        INTEGER  -      The run, as in runs.
--   position      INTEGER  -      Number of the part.  0 step, 1 device_compute, 2 device_to_device, 3
--                                 device_collectives, 4 host_compute, 5 kernel_launch, 6 input, 7 output, 8 compile, 9
--                                 other, 11 kernel, 12 memcpy, 13 memset, 14 data_loader.
--   part          TEXT     -      The part.  The step is the whole, and the parts 1 to 9 add up to it.  The parts from
--                                 11 on cut it as the PyTorch TensorBoard plugin does, which has communication as part
--                                 3, runtime as 5, and cpu as 4 and 8 together.
--   step_count    INTEGER  count  Steps that count.
--   sum_ns        INTEGER  ns     What these steps spent on the part.  It is weighed where ops or the work of devices
--                                 were recorded in some steps only, so that it speaks for all.
--   sum_ratio     REAL     ratio  Share of sum_ns in what the steps took (weighed).
--   mean_ns       INTEGER  ns     Mean time of the part in a step.
--   stddev_ns     INTEGER  ns     Standard deviation of the time of the part in a step, as that of a sample.
--   min_ns        INTEGER  ns     The shortest time of the part in a step.
--   max_ns        INTEGER  ns     The longest time of the part in a step.
--   mean_ratio    REAL     ratio  Mean share of the part in a step.  The ratios of the part input are the percentages
--                                 that the input pipeline analyzer sums up.
--   stddev_ratio  REAL     ratio  Standard deviation of the share of the part in a step.
--   min_ratio     REAL     ratio  The smallest share of the part in a step.
--   max_ratio     REAL     ratio  The largest share of the part in a step.
-- The profiler of TensorFlow takes copies of GPUs for device compute, so its input and output lack them.  With several
-- hosts it has the parts of one of them, whichever that is.  XProf leaves out the first and the last of more than five
-- steps.
-- Not weighed: step_count, sum_ns.  They are of the steps that are told, as in _step_parts.
-- Cost: that of _step_parts.  Example: SELECT part, mean_ns, stddev_ns, sum_ratio FROM xprof_step_statistics;
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
    CASE WHEN parts.position = 0 THEN 1.0 WHEN parts.position = 14 THEN cut.loader_weight
      WHEN parts.position IN (4, 9) THEN cut.host_weight ELSE cut.device_weight END AS weight
  FROM temp._weighed_steps AS cut CROSS JOIN parts WHERE cut.is_measured = 1
), counted AS ( -- the step of all hosts is the one that they share
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id, groups.host AS host, groups.rank AS rank,
    known.position AS position, known.part AS part, known.dur_ns AS dur_ns, known.part_ns AS part_ns,
    known.weight AS weight
  FROM known JOIN temp._process_groups AS groups ON groups.member_id = known.profile_id
  WHERE known.part_ns IS NOT NULL AND known.weight > 0 AND (known.position > 0 OR groups.profile_id IS NOT NULL)
  UNION ALL
  SELECT run_id, NULL, 'ALL_HOSTS', NULL, 0, 'step', dur_ns, dur_ns, 1.0 FROM temp._common_steps
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
  sum(known.part_ns * known.weight) / nullif(sum(known.dur_ns * known.weight), 0) AS sum_ratio,
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
