-- Input at a glance: the share of the step time that waits for input, and what the input pipeline did meanwhile.
--
-- One row for each process that input_steps has steps of, and one more for all hosts of a run that has several.  Steps
-- are those of input_steps.  Times of stages are what the threads of the pipeline spent (xprof_input_op_stats.self_ns),
-- and NULL without input_events.
--   profile_id          INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host                TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank                INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   run_id              INTEGER  -      The run, as in runs.
--   step_count          INTEGER  count  Number of steps.
--   step_ns             INTEGER  ns     Time of all steps, and of those that they stand for (input_steps.weight).
--   input_ns            INTEGER  ns     Time of these in which they waited for input (input_steps.input_ns).
--   input_ratio         REAL     ratio  Share of input_ns in step_ns.
--   mean_input_ns       INTEGER  ns     Mean input time of a step.
--   stddev_input_ns     INTEGER  ns     Standard deviation of the input times of steps.
--   min_input_ns        INTEGER  ns     Shortest input time of a step.
--   max_input_ns        INTEGER  ns     Longest input time of a step.
--   mean_input_ratio    REAL     ratio  Mean share of the input in the time of a step.
--   stddev_input_ratio  REAL     ratio  Standard deviation of the shares of the input in the times of steps.
--   min_input_ratio     REAL     ratio  Smallest share of the input in the time of a step.
--   max_input_ratio     REAL     ratio  Largest share of the input in the time of a step.
--   verdict             TEXT     -      What input_ratio means, with the thresholds of the TensorFlow 2 Profiler.  It
--                                       is not input-bound under 5 %, moderately input-bound under 20 %, and highly
--                                       input-bound from there on.  Of steps cut as by the profiler of TensorFlow it is
--                                       potentially input-bound under 5 %, where nothing recorded tells of 3 % of the
--                                       step time or more.
--   enqueue_ns          INTEGER  ns     Time of handing data to a device (enqueue).
--   read_on_demand_ns   INTEGER  ns     Time of reading data when it is asked for (read_on_demand).
--   read_in_advance_ns  INTEGER  ns     Time of reading data before it is asked for (read_in_advance).
--   preprocess_ns       INTEGER  ns     Time of preparing data (preprocess).
--   rest_ns             INTEGER  ns     Time of all other stages.
-- Cost: that of input_steps and xprof_input_op_stats.  Example: SELECT input_ratio, verdict FROM input_summary;
WITH sums AS (
  SELECT members.run_id AS run_id, members.profile_id AS profile_id, members.host AS host, members.rank AS rank,
    count(*) AS step_count, sum(dur_ns * weight) AS step_ns, sum(input_ns * weight) AS input_ns,
    sum(untold_ns * weight) AS untold_ns, sum(weight) AS weight,
    stddev(input_ns) AS stddev_ns, min(input_ns) AS min_ns, max(input_ns) AS max_ns, avg(input_ratio) AS mean_ratio,
    stddev(input_ratio) AS stddev_ratio, min(input_ratio) AS min_ratio, max(input_ratio) AS max_ratio
  FROM temp.input_steps AS steps JOIN temp._process_groups AS members ON members.member_id = steps.profile_id
  GROUP BY members.run_id, members.profile_id, members.host, members.rank
  HAVING members.profile_id IS NOT NULL OR count(DISTINCT steps.profile_id) > 1
), stages AS (
  SELECT run_id, profile_id, total(self_ns) FILTER (WHERE category = 'enqueue') AS enqueue_ns,
    total(self_ns) FILTER (WHERE category = 'read_on_demand') AS read_on_demand_ns,
    total(self_ns) FILTER (WHERE category = 'read_in_advance') AS read_in_advance_ns,
    total(self_ns) FILTER (WHERE category = 'preprocess') AS preprocess_ns, total(self_ns) AS all_ns
  FROM temp.xprof_input_op_stats GROUP BY run_id, profile_id
)
SELECT
  sums.profile_id AS profile_id,
  sums.host AS host,
  sums.rank AS rank,
  sums.run_id AS run_id,
  sums.step_count AS step_count,
  CAST(sums.step_ns AS INTEGER) AS step_ns,
  CAST(sums.input_ns AS INTEGER) AS input_ns,
  sums.input_ns / nullif(sums.step_ns, 0) AS input_ratio,
  CAST(sums.input_ns / sums.weight AS INTEGER) AS mean_input_ns,
  CAST(sums.stddev_ns AS INTEGER) AS stddev_input_ns,
  sums.min_ns AS min_input_ns,
  sums.max_ns AS max_input_ns,
  sums.mean_ratio AS mean_input_ratio,
  sums.stddev_ratio AS stddev_input_ratio,
  sums.min_ratio AS min_input_ratio,
  sums.max_ratio AS max_input_ratio,
  CASE WHEN sums.input_ns >= 0.20 * sums.step_ns THEN 'highly input-bound'
    WHEN sums.input_ns >= 0.05 * sums.step_ns THEN 'moderately input-bound'
    WHEN sums.untold_ns >= 0.03 * sums.step_ns THEN 'potentially input-bound' ELSE 'not input-bound' END AS verdict,
  CAST(stages.enqueue_ns AS INTEGER) AS enqueue_ns,
  CAST(stages.read_on_demand_ns AS INTEGER) AS read_on_demand_ns,
  CAST(stages.read_in_advance_ns AS INTEGER) AS read_in_advance_ns,
  CAST(stages.preprocess_ns AS INTEGER) AS preprocess_ns,
  CAST(stages.all_ns - stages.enqueue_ns - stages.read_on_demand_ns - stages.read_in_advance_ns - stages.preprocess_ns
    AS INTEGER) AS rest_ns
FROM sums
LEFT JOIN stages ON stages.run_id = sums.run_id AND stages.profile_id IS sums.profile_id
ORDER BY sums.run_id, sums.profile_id
