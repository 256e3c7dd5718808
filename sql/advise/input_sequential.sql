-- Advice: an iterator of tf.data that prepares one element after the other, which the steps wait for.
--
-- For each profile whose steps wait for their input (_input_waits) the iterator that works one element at a time (Map,
-- Interleave, FlatMap and Batch without Parallel, or a parallel one that was given one place) and takes most time by
-- itself, all its calls in measured steps.  Python functions in it are left to input_python: they run one at a time
-- however many places there are.  A loader of PyTorch without workers is input_loading's.
-- Thresholds: the steps wait for 5 % of their time, and the iterator has 20 % of the time of all iterators.
-- What it would save: three quarters of what it takes, four places at a time, but no more than what the steps wait.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and one pass over input_events.
-- Needs: input_events, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'input_sequential';
WITH waiting AS MATERIALIZED (
  SELECT profile_id, step_count, step_ns, wait_ns, stands_for FROM temp._input_waits
  WHERE has_iterators AND step_ns > 0 AND wait_ns >= 0.05 * step_ns
), iterators AS MATERIALIZED (
  SELECT waiting.profile_id AS profile_id, events.name AS name, events.long_name AS long_name,
    min(events.parallelism) AS parallelism, count(*) AS count, sum(1.0 * events.self_ns) AS self_ns
  FROM waiting CROSS JOIN temp.input_events AS events ON events.profile_id = waiting.profile_id
  WHERE events.step_id IS NULL OR events.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1)
  GROUP BY 1, 2, 3
), in_python AS (
  SELECT waiting.profile_id AS profile_id, sum(1.0 * ops.dur_ns) AS python_ns
  FROM waiting CROSS JOIN temp.ops AS ops ON ops.profile_id = waiting.profile_id
  WHERE ops.category = 'op' AND ops.op_type IN ('PyFunc', 'PyFuncStateless', 'EagerPyFunc') GROUP BY 1
), ranked AS (
  SELECT iterators.*, row_number() OVER (PARTITION BY profile_id ORDER BY self_ns DESC, long_name) AS place
  FROM iterators
  WHERE parallelism = 1
    OR parallelism IS NULL AND name IN ('Iterator::Map', 'Iterator::Interleave', 'Iterator::FlatMap', 'Iterator::Batch')
), sums AS (
  SELECT profile_id, sum(self_ns) AS self_ns FROM iterators GROUP BY profile_id
)
SELECT
  'input_sequential' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('%s prepares one element after the other: %s a step, %.0f %% of the input pipeline''s '
      || 'time, while steps wait for input for %.0f %% of theirs', replace(ranked.name, 'Iterator::', ''),
    format_ns(ranked.self_ns / waiting.step_count), 100.0 * ranked.self_ns / sums.self_ns,
    100.0 * waiting.wait_ns / waiting.step_ns) AS message,
  ranked.self_ns / waiting.step_ns AS value,
  0.20 * sums.self_ns / waiting.step_ns AS threshold,
  CAST(stands_for * min(0.75 * ranked.self_ns, 1.0 * waiting.wait_ns) AS INTEGER) AS saves_ns,
  CASE ranked.name WHEN 'Iterator::Interleave' THEN 'dataset.interleave(…, num_parallel_calls=tf.data.AUTOTUNE)'
    WHEN 'Iterator::FlatMap' THEN 'dataset.interleave(…, num_parallel_calls=tf.data.AUTOTUNE) instead of flat_map'
    WHEN 'Iterator::Batch' THEN 'dataset.batch(…, num_parallel_calls=tf.data.AUTOTUNE)'
    ELSE 'dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE)' END
    || ', which takes as many elements at once as there are processors free; cache() what does not change.'
    AS suggestion,
  'SELECT name, count(*), sum(self_ns), min(parallelism) FROM temp.input_events WHERE profile_id = '
    || ranked.profile_id || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20' AS evidence
FROM ranked
JOIN waiting ON waiting.profile_id = ranked.profile_id
JOIN sums ON sums.profile_id = ranked.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = ranked.profile_id
LEFT JOIN in_python ON in_python.profile_id = ranked.profile_id
WHERE ranked.place = 1 AND ranked.self_ns >= 0.20 * sums.self_ns AND coalesce(python_ns, 0) < 0.5 * ranked.self_ns
ORDER BY saves_ns DESC, ranked.profile_id
