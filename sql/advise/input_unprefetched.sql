-- Advice: a pipeline of tf.data that begins with the next element only when a step asks for it.
--
-- For each profile whose steps wait for their input (_input_waits): the pipelines whose outermost iterator neither
-- prefetches nor works on threads of its own.  Iterators that only pass elements on (Root, Model and the like) are
-- looked through.  A loader of PyTorch without workers is input_loading's.
-- Threshold: the steps wait for 5 % of their time.
-- What it would save: waiting, as far as there is other work in the steps for it to hide behind.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and one pass over input_events.
-- Needs: input_events, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'input_unprefetched';
WITH waiting AS MATERIALIZED (
  SELECT profile_id, step_count, step_ns, wait_ns, stands_for FROM temp._input_waits
  WHERE has_iterators AND step_ns > 0 AND wait_ns >= 0.05 * step_ns
), names AS MATERIALIZED (
  SELECT waiting.profile_id AS profile_id, events.long_name AS long_name, sum(1.0 * events.self_ns) AS self_ns
  FROM waiting CROSS JOIN temp.input_events AS events ON events.profile_id = waiting.profile_id
  WHERE events.long_name GLOB 'Iterator::*' GROUP BY 1, 2
), parts AS (
  SELECT profile_id, self_ns, replace(replace(replace(replace(replace(replace(replace(replace(long_name || '::',
    'Iterator::', ''), 'Root::', ''), 'Model::', ''), 'Optimize::', ''), 'Options::', ''),
    'MaxIntraOpParallelism::', ''), 'PrivateThreadPool::', ''), 'AssertCardinality::', '') AS rest
  FROM names
), pipelines AS (
  SELECT profile_id, substr(rest, 1, instr(rest, '::') - 1) AS outermost, sum(self_ns) AS self_ns
  FROM parts WHERE rest <> '' GROUP BY 1, 2
), ranked AS (
  SELECT pipelines.*, row_number() OVER (PARTITION BY profile_id ORDER BY self_ns DESC, outermost) AS place
  FROM pipelines
)
SELECT
  'input_unprefetched' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('The input pipeline ends in %s, nothing prepares the next element while a step computes: '
      || 'steps wait for %s of %s each', ranked.outermost, format_ns(waiting.wait_ns / waiting.step_count),
    format_ns(waiting.step_ns / waiting.step_count)) AS message,
  1.0 * waiting.wait_ns / waiting.step_ns AS value,
  0.05 AS threshold,
  CAST(stands_for * min(waiting.wait_ns, waiting.step_ns - waiting.wait_ns) AS INTEGER) AS saves_ns,
  'End the pipeline with dataset.prefetch(tf.data.AUTOTUNE).' AS suggestion,
  'SELECT long_name, count(*), sum(dur_ns) FROM temp.input_events WHERE profile_id = ' || ranked.profile_id
    || ' GROUP BY 1 ORDER BY length(long_name) LIMIT 20' AS evidence
FROM ranked
JOIN waiting ON waiting.profile_id = ranked.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = ranked.profile_id
WHERE ranked.place = 1 AND ranked.outermost NOT GLOB 'Prefetch*' AND ranked.outermost NOT GLOB 'Parallel*'
  AND ranked.outermost NOT IN ('MapAndBatch', 'DataService', 'LegacyParallelInterleave')
ORDER BY saves_ns DESC, ranked.profile_id
