-- Steps at a glance: how many, how long, how regular, and where their time goes.
--
-- One row for each profile that has steps.  Each window of a process that was recorded again and again is a profile of
-- its own, and window says which it is (_process_windows).  Statistics of durations are over measured steps (no
-- warm-up).  They leave out evaluation that only some of these have in them (steps.training_ns), and where the host
-- runs ahead of its devices they are of the pace of steps (steps.pace_ns).  What ops did is over the measured steps
-- with recorded ops, weighed by steps.sample_weight.  What recording took is in no time here (steps.net_ns).
--   profile_id                INTEGER  -      The profile: a process or rank.
--   job                       TEXT     -      The job as the scheduler calls it (profiles.job), where several are open.
--   host                      TEXT     -      Host that it ran on.
--   rank                      INTEGER  -      Rank of the process.  NULL where it is unknown.
--   window                    INTEGER  -      Number of the window in its process, from 1.  NULL where it is the only
--                                             one.
--   window_count              INTEGER  count  Windows of the process.  NULL where it is the only one.
--   step_count                INTEGER  count  All steps of the profile.
--   warmup_count              INTEGER  count  Steps that are left out as warm-up.
--   recorded_count            INTEGER  count  Measured steps with recorded ops.
--   mean_ns                   INTEGER  ns     Mean duration of a measured step.
--   median_ns                 INTEGER  ns     Median duration of a measured step.
--   stddev_ns                 INTEGER  ns     Standard deviation of the duration of measured steps.
--   min_ns                    INTEGER  ns     Duration of the shortest measured step.
--   max_ns                    INTEGER  ns     Duration of the longest measured step.
--   p95_ns                    INTEGER  ns     Duration within which 95 % of the measured steps end.
--   steps_per_second          REAL     -      Steps by the mean time from step to step: what each takes, and what
--                                             passes between one and the next (step_gaps).  NULL where each step was
--                                             recorded by itself (steps.origin is session), and for batches of requests
--                                             (serving): batch_summary has their rate.
--   between_ns                INTEGER  ns     Mean time that passes between one step and the next.  The check
--                                             between_steps says what the program does there.
--   net_ns                    INTEGER  ns     Mean duration of a step on the host alone (steps.net_ns).  All shares
--                                             here but input_ratio are of it.  It is less than mean_ns where the host
--                                             runs ahead.
--   evaluation_ratio          REAL     ratio  Share of the step time in the phase evaluation, as phase_summary has it.
--                                             Where Keras tells of evaluate() and predict(), which mostly lie between
--                                             steps, it is their share in the time of the steps and of these calls,
--                                             from the first step on.
--   in_ops_ratio              REAL     ratio  Share of the step time in which an op ran, at most 1.  It ran on the
--                                             thread of the step, or on one that runs the backward pass for it.
--   input_ratio               REAL     ratio  Share of the step time that waited for input, as input_summary has it.
--                                             It may be in ops, too.  NULL in recordings of TensorFlow and JAX alone,
--                                             unless a window tells of their input.
--   in_wait_ratio             REAL     ratio  Share of the step time in which the thread was in no op and no input.
--                                             It took part in a collective of hosts or waited for a device.
--   outside_ratio             REAL     ratio  Share of the step time that passed outside all of these (step_op_time).
--                                             NULL where no op ran on its thread, so that what it waits for is not
--                                             known.
--   in_optimizer_ratio        REAL     ratio  Share of the step time that was spent in the phase optimizer
--                                             (step_phases), without closures.  It is at most 1, also where ops overlap
--                                             or outlast their step.
--   ops_per_step              REAL     -      Mean number of ops (no ranges, modules or Python frames) that started in
--                                             a step, on any thread.
--   in_ops_error_ratio        REAL     ratio  Error of in_ops_ratio where only some steps were recorded
--                                             (sampling_summary). 0 where all were, NULL where too few were.
--   in_optimizer_error_ratio  REAL     ratio  Error of in_optimizer_ratio where only some steps were recorded
--                                             (sampling_summary).  0 where all were, NULL where too few were.
--   ops_per_step_error        REAL     -      Error of ops_per_step where only some steps were recorded
--                                             (sampling_summary). 0 where all were, NULL where too few were.
-- Not weighed: recorded_count.  It tells in how many steps ops were recorded.
-- Cost: linear in ops and steps.  Example: SELECT step_count, median_ns, input_ratio FROM step_summary;
WITH measured AS (
  SELECT profile_id, net_ns, training_ns, ops_recorded, sample_weight FROM temp.steps
  WHERE is_warmup = 0
), counted AS (
  SELECT profile_id, count(*) AS step_count, sum(is_warmup) AS warmup_count,
    sum(is_warmup = 0 AND ops_recorded = 1) AS recorded_count,
    max(coalesce(origin IN ('session', 'serving'), 0)) AS is_alone
  FROM temp.steps GROUP BY profile_id
), durations AS (
  SELECT profile_id, CAST(sum(1.0 * net_ns) AS INTEGER) AS sum_ns, avg(net_ns) AS host_ns,
    avg(training_ns) AS mean_ns,
    median(training_ns) AS median_ns,
    stddev(training_ns) AS stddev_ns, min(training_ns) AS min_ns, max(training_ns) AS max_ns,
    percentile(training_ns, 95) AS p95_ns,
    count(*) AS step_count, sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight ELSE 0 END) AS recorded_ns,
    sum(CASE WHEN ops_recorded = 1 THEN sample_weight ELSE 0 END) AS weight
  FROM measured GROUP BY profile_id
), told AS ( -- evaluation that Keras tells of
  SELECT ranges.profile_id AS profile_id, total(ranges.dur_ns) FILTER (WHERE ranges.step_id IS NULL) AS between_ns,
    total(ranges.dur_ns) FILTER (WHERE ranges.step_id IS NOT NULL) AS inside_ns
  FROM temp.ranges AS ranges JOIN (
    SELECT profile_id, min(start_ns) AS start_ns FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
  ) AS since ON since.profile_id = ranges.profile_id AND ranges.start_ns >= since.start_ns
  WHERE ranges.name IN ('keras.evaluate', 'keras.predict') GROUP BY ranges.profile_id
), passing AS (
  SELECT profile_id, avg(1.0 * taken_ns) + coalesce(avg(1.0 * gap_ns), 0) AS period_ns,
    avg(1.0 * max(gap_ns, 0)) AS between_ns
  FROM temp.step_gaps GROUP BY profile_id
), op_time AS (
  SELECT profile_id, sum(1.0 * op_ns * sample_weight) AS in_ops_ns,
    sum(1.0 * wait_ns * sample_weight) AS in_wait_ns, sum(1.0 * outside_ns * sample_weight) AS outside_ns,
    sum(1.0 * optimizer_ns * sample_weight) AS in_optimizer_ns, sum(1.0 * op_count * sample_weight) AS op_count
  FROM temp.step_op_time GROUP BY profile_id HAVING total(op_count) > 0 OR total(optimizer_ns) > 0
), shares AS (
  SELECT op_time.*, in_ops_ns / recorded_ns AS in_ops, in_wait_ns / recorded_ns AS in_wait,
    outside_ns / recorded_ns AS outside, in_optimizer_ns / recorded_ns AS in_optimizer
  FROM op_time JOIN durations ON durations.profile_id = op_time.profile_id
), differences AS ( -- of a share of the time: how much steps differ from it
  SELECT shares.profile_id AS profile_id, max(drawn.unseen_ratio) AS unseen_ratio,
    sample_error(of_step.op_ns - in_ops * drawn.duration_ns, drawn.step_id) AS in_ops_ns,
    sample_error(of_step.optimizer_ns - in_optimizer * drawn.duration_ns, drawn.step_id) AS in_optimizer_ns,
    sample_error(of_step.op_count, drawn.step_id) AS op_count
  FROM shares JOIN temp.step_op_time AS of_step ON of_step.profile_id = shares.profile_id
  JOIN temp._sampled_steps AS drawn ON drawn.step_id = of_step.step_id
  GROUP BY shares.profile_id
), errors AS ( -- in the time that nothing is known of the share may be another
  SELECT differences.profile_id AS profile_id, differences.op_count AS op_count,
    sqrt(pow(differences.in_ops_ns, 2) + pow(unseen_ratio * shares.in_ops_ns, 2)) AS in_ops_ns,
    sqrt(pow(differences.in_optimizer_ns, 2) + pow(unseen_ratio * shares.in_optimizer_ns, 2)) AS in_optimizer_ns
  FROM differences JOIN shares ON shares.profile_id = differences.profile_id
)
SELECT
  counted.profile_id AS profile_id,
  profiles.job AS job,
  profiles.host AS host,
  profiles.rank AS rank,
  iif(windows.window_count > 1, windows.window + 1, NULL) AS window,
  nullif(windows.window_count, 1) AS window_count,
  counted.step_count AS step_count,
  counted.warmup_count AS warmup_count,
  counted.recorded_count AS recorded_count,
  CAST(durations.mean_ns AS INTEGER) AS mean_ns,
  CAST(durations.median_ns AS INTEGER) AS median_ns,
  CAST(durations.stddev_ns AS INTEGER) AS stddev_ns,
  durations.min_ns AS min_ns,
  durations.max_ns AS max_ns,
  CAST(durations.p95_ns AS INTEGER) AS p95_ns,
  CASE WHEN NOT counted.is_alone THEN 1e9 / nullif(passing.period_ns, 0) END AS steps_per_second,
  CAST(passing.between_ns AS INTEGER) AS between_ns,
  CAST(durations.host_ns AS INTEGER) AS net_ns,
  CASE WHEN durations.sum_ns > 0 THEN min(1.0, (max(coalesce(phases.sum_ratio, 0.0) * durations.sum_ns,
    coalesce(told.inside_ns, 0.0)) + coalesce(told.between_ns, 0.0)) / (durations.sum_ns
    + coalesce(told.between_ns, 0.0))) END AS evaluation_ratio,
  min(1.0, shares.in_ops) AS in_ops_ratio,
  min(1.0, inputs.wait_ns / nullif(inputs.step_ns, 0)) AS input_ratio,
  shares.in_wait AS in_wait_ratio,
  CASE WHEN shares.in_ops_ns > 0 THEN shares.outside END AS outside_ratio,
  min(1.0, shares.in_optimizer) AS in_optimizer_ratio,
  shares.op_count / nullif(durations.weight, 0) AS ops_per_step,
  CASE WHEN errors.profile_id IS NOT NULL THEN errors.in_ops_ns / nullif(durations.recorded_ns, 0)
    WHEN shares.profile_id IS NOT NULL THEN 0 END AS in_ops_error_ratio,
  CASE WHEN errors.profile_id IS NOT NULL THEN errors.in_optimizer_ns / nullif(durations.recorded_ns, 0)
    WHEN shares.profile_id IS NOT NULL THEN 0 END AS in_optimizer_error_ratio,
  CASE WHEN errors.profile_id IS NOT NULL THEN errors.op_count / nullif(durations.weight, 0)
    WHEN shares.profile_id IS NOT NULL THEN 0 END AS ops_per_step_error
FROM counted
JOIN temp.profiles AS profiles ON profiles.id = counted.profile_id
LEFT JOIN temp._process_windows AS windows ON windows.profile_id = counted.profile_id
LEFT JOIN durations ON durations.profile_id = counted.profile_id
LEFT JOIN told ON told.profile_id = counted.profile_id
LEFT JOIN passing ON passing.profile_id = counted.profile_id
LEFT JOIN shares ON shares.profile_id = counted.profile_id
LEFT JOIN errors ON errors.profile_id = counted.profile_id
LEFT JOIN temp.phase_summary AS phases ON phases.profile_id = counted.profile_id AND phases.phase = 'evaluation'
LEFT JOIN temp._input_shares AS inputs ON inputs.profile_id = counted.profile_id
ORDER BY profile_id
