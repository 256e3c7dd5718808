-- Input events by name: what the input pipeline spends its time on.
--
-- One row for each process and name of input_events, and one more for all hosts of a run that has several.  Warm-up
-- steps are left out.  Events are recorded in every step, so nothing is weighed.  In windows of the profiler of
-- TensorFlow, they are weighed by steps.sample_weight.  Of XPlane files the whole recording counts, and names are those
-- of the iterators with all around them.  XProf lowers times that it does not find enqueued, where programs enqueue
-- (TPU).  Here times are as they were.
--   profile_id  INTEGER  -      The profile: a process or rank.  NULL in the row for all hosts.
--   host        TEXT     -      Host that it ran on.  ALL_HOSTS in the row for all hosts.
--   rank        INTEGER  -      Rank of the process.  NULL where it is unknown and in the row for all hosts.
--   run_id      INTEGER  -      The run, as in runs.
--   name        TEXT     -      Name of the events.  Of XPlane files it is the name of the iterator with all around it.
--   count       INTEGER  count  Number of events.
--   sum_ns      INTEGER  ns     Time of the events.
--   sum_ratio   REAL     ratio  Share of sum_ns in all self_ns of the process, 1 at most.  Events inside others of
--                               their name count twice in it.
--   self_ns     INTEGER  ns     Time of the events without those inside them on the same thread.
--   self_ratio  REAL     ratio  Share of self_ns in that of all rows of the process.
--   working_ns  INTEGER  ns     Part of self_ns that is no waiting for events on other threads either.  The time of a
--                               Prefetch is mostly such waiting.
--   category    TEXT     -      What the events do, as input_events.stage.
--   suggestion  TEXT     -      What may shorten the time.  NULL where nothing is known to.
-- Cost: one pass over input_events. op_totals of XPlane files.
-- Example: SELECT name, count, self_ratio FROM xprof_input_op_stats;
WITH xplanes AS MATERIALIZED ( -- whose input the profiler of the framework tells, in files or windows
  SELECT id, origin = 'tfprof' AS is_window FROM temp.profiles
  WHERE is_xplane = 1 AND (origin <> 'tfprof' OR has_framework(framework, 'tensorflow'))
), weighed AS (
  SELECT events.profile_id AS profile_id, name, long_name, stage, dur_ns, self_ns, step_id,
    iif(events.profile_id IN (SELECT id FROM xplanes WHERE is_window = 1),
      coalesce((SELECT sample_weight FROM temp.steps WHERE id = step_id), 0), 1) AS weight
  FROM temp.input_events AS events
), measured AS (
  SELECT profile_id, name, long_name, stage, total(weight) AS count, sum(dur_ns * weight) AS sum_ns,
    sum(self_ns * weight) AS self_ns
  FROM weighed
  WHERE step_id IS NULL OR profile_id IN (SELECT id FROM xplanes WHERE is_window = 0)
    OR step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1)
  GROUP BY profile_id, name, long_name, stage
), nested AS ( -- the same events, as their threads nest them
  SELECT profile_id, name, sum(1.0 * op_self_ns) AS self_ns
  FROM temp.op_totals
  WHERE category = 'input' AND profile_id IN (SELECT id FROM xplanes)
  GROUP BY profile_id, name
), sums AS (
  SELECT profile_id, name, stage, sum(count) AS count, sum(sum_ns) AS sum_ns, sum(self_ns) AS self_ns,
    sum(self_ns) AS working_ns
  FROM measured WHERE profile_id NOT IN (SELECT id FROM xplanes)
  GROUP BY profile_id, name, stage
  UNION ALL
  SELECT measured.profile_id, coalesce(long_name, measured.name), min(stage), sum(count), sum(sum_ns),
    coalesce(max(nested.self_ns), sum(measured.self_ns)), sum(measured.self_ns)
  FROM measured LEFT JOIN nested ON nested.profile_id = measured.profile_id
    AND nested.name = coalesce(long_name, measured.name)
  WHERE measured.profile_id IN (SELECT id FROM xplanes)
  GROUP BY measured.profile_id, coalesce(long_name, measured.name)
), grouped AS (
  SELECT groups.run_id AS run_id, groups.profile_id AS profile_id, groups.host AS host, groups.rank AS rank, name,
    stage, sum(count) AS count, sum(sum_ns) AS sum_ns, sum(self_ns) AS self_ns, sum(working_ns) AS working_ns,
    max(sums.profile_id IN (SELECT id FROM xplanes)) AS is_tf_data
  FROM sums JOIN temp._process_groups AS groups ON groups.member_id = sums.profile_id
  GROUP BY groups.run_id, groups.profile_id, groups.host, groups.rank, name, stage
)
SELECT
  profile_id AS profile_id,
  host AS host,
  rank AS rank,
  run_id AS run_id,
  name AS name,
  CAST(count AS INTEGER) AS count,
  CAST(sum_ns AS INTEGER) AS sum_ns,
  min(1.0, sum_ns / nullif(total(self_ns) OVER of_process, 0)) AS sum_ratio,
  CAST(self_ns AS INTEGER) AS self_ns,
  self_ns / nullif(total(self_ns) OVER of_process, 0) AS self_ratio,
  CAST(working_ns AS INTEGER) AS working_ns,
  stage AS category,
  CASE stage
    WHEN 'enqueue' THEN 'hand over fewer and larger pieces'
    WHEN 'preprocess' THEN iif(is_tf_data,
      'num_parallel_calls=tf.data.AUTOTUNE of map and interleave, or do it once and store the result',
      'DataLoader(num_workers=...), or do it once and store the result')
    WHEN 'read_in_advance' THEN iif(is_tf_data, 'tune the sizes of prefetch, interleave and of the readers'' buffers',
      'more num_workers, a larger prefetch_factor')
    WHEN 'read_on_demand' THEN iif(is_tf_data, 'read in advance: prefetch, interleave, buffers of the readers',
      'DataLoader(num_workers=...) reads in advance')
  END AS suggestion
FROM grouped
WINDOW of_process AS (PARTITION BY run_id, profile_id)
ORDER BY run_id, profile_id, self_ns DESC, name, category
