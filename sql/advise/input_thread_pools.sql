-- Advice: the input pipeline works on the threads that run the model's ops.
--
-- For each profile with iterators of tf.data: their own time on threads of the pool that executes ops (tf_Compute),
-- where neither steps nor input run by themselves: whichever comes later waits.
-- Thresholds: 5 % of the step time, and steps wait for input for 5 % (_input_waits) or have devices that they feed.
-- What it would save: half of it, but no more than what the steps wait for.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and one pass over input_events.
-- Needs: input_events, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'input_thread_pools';
WITH pool AS MATERIALIZED (
  SELECT id, profile_id FROM temp.threads WHERE name GLOB 'tf_Compute*'
), shared AS (
  SELECT pool.profile_id AS profile_id, count(DISTINCT pool.id) AS thread_count, sum(1.0 * events.self_ns) AS self_ns
  FROM pool CROSS JOIN temp.input_events AS events ON events.profile_id = pool.profile_id
  WHERE events.thread_id = pool.id AND events.iterator IS NOT NULL AND events.name <> 'Iterator::Root'
    AND events.name <> 'Iterator::Prefetch' AND events.parent_id IS NOT NULL
  GROUP BY 1
)
SELECT
  'input_thread_pools' AS check_name,
  'info' AS severity,
  processes.name AS subject,
  processes.prefix || format('The input pipeline works %s a step on %d threads of the pool that runs the model''s ops',
    format_ns(shared.self_ns / waits.step_count), shared.thread_count) AS message,
  shared.self_ns / waits.step_ns AS value,
  0.05 AS threshold,
  CAST(stands_for * min(0.5 * shared.self_ns, 1.0 * waits.wait_ns) AS INTEGER) AS saves_ns,
  'Give the pipeline threads of its own: options.threading.private_threadpool_size = number of processors, and '
    || 'options.threading.max_intra_op_parallelism = 1.' AS suggestion,
  'SELECT name, count(*), sum(self_ns) FROM temp.input_events WHERE profile_id = ' || shared.profile_id
    || ' AND thread_id IN (SELECT id FROM temp.threads WHERE name GLOB ''tf_Compute*'') GROUP BY 1 LIMIT 20' AS evidence
FROM shared
JOIN temp._input_waits AS waits ON waits.profile_id = shared.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = shared.profile_id
WHERE waits.step_ns > 0 AND shared.self_ns >= 0.05 * waits.step_ns AND waits.wait_ns >= 0.05 * waits.step_ns
ORDER BY saves_ns DESC, shared.profile_id
