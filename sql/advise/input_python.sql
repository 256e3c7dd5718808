-- Advice: Python functions inside a pipeline of tf.data, which the steps wait for.
--
-- For each profile whose steps wait for their input (_input_waits) the time of tf.py_function, tf.numpy_function and
-- Dataset.from_generator (ops PyFunc and EagerPyFunc): one of them runs at a time, whatever num_parallel_calls says,
-- since each holds Python's lock, which the training loop wants as well.  All of it counts, on whatever thread.
-- Thresholds: the steps wait for 5 % of their time, and the functions take 5 % of it.
-- What it would save: that time, but no more than what the steps wait for.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and one pass over ops where they
-- wait.  Needs: input_events, steps, ops.
-- Example: SELECT message FROM advise WHERE check_name = 'input_python';
WITH waiting AS MATERIALIZED (
  SELECT profile_id, step_count, step_ns, wait_ns, stands_for FROM temp._input_waits
  WHERE has_iterators AND step_ns > 0 AND wait_ns >= 0.05 * step_ns
), calls AS (
  SELECT waiting.profile_id AS profile_id, count(*) AS count, sum(1.0 * ops.dur_ns) AS python_ns
  FROM waiting CROSS JOIN temp.ops AS ops ON ops.profile_id = waiting.profile_id
  WHERE ops.category = 'op' AND ops.op_type IN ('PyFunc', 'PyFuncStateless', 'EagerPyFunc')
    AND (ops.step_id IS NULL OR ops.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
  GROUP BY 1
), generators AS (
  SELECT waiting.profile_id AS profile_id, max(events.name = 'Iterator::Generator') AS has_generator
  FROM waiting CROSS JOIN temp.input_events AS events ON events.profile_id = waiting.profile_id GROUP BY 1
)
SELECT
  'input_python' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('Python functions of the input pipeline take %s a step, %s %s, one at a time; steps '
      || 'wait for input for %.0f %% of their time', format_ns(calls.python_ns / waiting.step_count),
    format_count(1.0 * calls.count / waiting.step_count),
    iif(calls.count = waiting.step_count, 'call', 'calls'), 100.0 * waiting.wait_ns / waiting.step_ns) AS message,
  calls.python_ns / waiting.step_ns AS value,
  0.05 AS threshold,
  CAST(stands_for * min(calls.python_ns, 1.0 * waiting.wait_ns) AS INTEGER) AS saves_ns,
  CASE WHEN generators.has_generator THEN 'Dataset.from_generator asks Python for each element: '
    ELSE 'tf.py_function and tf.numpy_function hold Python''s lock: ' END
    || 'write it in ops of TensorFlow, or do it once and keep the results in files (TFRecord) that are read in '
    || 'parallel.' AS suggestion,
  'SELECT name, op_type, dur_ns FROM temp.ops WHERE op_type GLOB ''*PyFunc*'' AND profile_id = ' || calls.profile_id
    || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM calls
JOIN waiting ON waiting.profile_id = calls.profile_id
JOIN generators ON generators.profile_id = calls.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = calls.profile_id
WHERE calls.python_ns >= 0.05 * waiting.step_ns
ORDER BY saves_ns DESC, calls.profile_id
