-- Advice: decoding images or sound on processors of the host, which the steps wait for.
--
-- For each profile whose steps wait for their input (_input_waits) the time of ops that decode: Decode… and
-- ExtractJpeg… of TensorFlow, image::decode_… of torchvision, on whatever thread; and functions of Python's imaging
-- library that load an image, where Python's functions were recorded.  Loaders' own processes of the same run count
-- with the process that trains.
-- Thresholds: the steps wait for 5 % of their time, and decoding takes 20 % of the step time, on one processor or more.
-- What it would save: what the steps wait for, but no more than the decoding.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and one pass over ops where they
-- wait.  Needs: input_events, steps, ops.
-- Example: SELECT message FROM advise WHERE check_name = 'input_decoding';
WITH waiting AS MATERIALIZED (
  SELECT waits.profile_id AS profile_id, profiles.run_id AS run_id, step_count, step_ns, wait_ns, stands_for
  FROM temp._input_waits AS waits JOIN temp.profiles AS profiles ON profiles.id = waits.profile_id
  WHERE step_ns > 0 AND wait_ns >= 0.05 * step_ns
), names AS (
  SELECT waiting.profile_id AS profile_id, ops.name AS name, ops.op_type AS op_type, ops.category AS category,
    sum(coalesce(ops.sample_weight, 1.0)) AS count, sum(ops.net_ns * coalesce(ops.sample_weight, 1.0)) AS sum_ns
  FROM waiting
  CROSS JOIN temp.profiles AS profiles ON profiles.id = waiting.profile_id OR profiles.run_id = waiting.run_id
    AND profiles.id NOT IN (SELECT profile_id FROM temp.steps)
  CROSS JOIN temp.ops AS ops ON ops.profile_id = profiles.id
  GROUP BY 1, 2, 3, 4
), decoding AS (
  SELECT profile_id, sum(count) AS count, sum(sum_ns) AS decode_ns, min(name) AS name
  FROM names
  WHERE name GLOB 'image::decode*' OR op_type GLOB 'Decode[AIJPBGW][nmpaei]*' OR op_type = 'ExtractJpegShape'
    OR category = 'python' AND name GLOB '*PIL/ImageFile.py*: load'
  GROUP BY 1
)
SELECT
  'input_decoding' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('Decoding takes %s of processor time a step, %s %s (%s); steps wait for '
      || 'input for %.0f %% of their time', format_ns(decoding.decode_ns / waiting.step_count),
    format_count(decoding.count / waiting.step_count),
    iif(decoding.count = waiting.step_count, 'call', 'calls'), decoding.name,
    100.0 * waiting.wait_ns / waiting.step_ns) AS message,
  decoding.decode_ns / waiting.step_ns AS value,
  0.20 AS threshold,
  CAST(stands_for * min(1.0 * waiting.wait_ns, decoding.decode_ns) AS INTEGER) AS saves_ns,
  advice_words('input_decoding', processes.framework) AS suggestion,
  'SELECT name, thread_id, dur_ns FROM temp.ops WHERE name = ' || quote(decoding.name) || ' ORDER BY 3 DESC LIMIT 20'
    AS evidence
FROM decoding
JOIN waiting ON waiting.profile_id = decoding.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = decoding.profile_id
WHERE decoding.decode_ns >= 0.20 * waiting.step_ns
ORDER BY saves_ns DESC, decoding.profile_id
