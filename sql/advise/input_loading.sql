-- Advice: steps that wait for their input.
--
-- For each profile the share of the measured steps (no warm-up) that waited for input (_input_waits): of PyTorch the
-- outermost input_events of the steps' own thread, such as the DataLoader's __next__, which are recorded in every step,
-- as step_summary.input_ratio has it; of tf.data also where another thread waits for the next element.  Work that
-- loader processes or threads do meanwhile does not count, since nobody waits for it.
-- Thresholds: 5 % is moderately and 20 % highly input-bound, as in the TensorFlow 2 Profiler; critical only when that
-- is a millisecond per step or more and ten steps were measured.  Where the loader has worker processes already, which
-- its own events tell, more of them are suggested instead of the first.
-- The message names the line that waits, and where the loader works on that thread the one at which Python is meanwhile
-- (_python_looks in ranges of the input), if a third of what was seen there was at that.
-- What it would save: that time.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and
-- linear in python_samples.
-- Needs: input_events, steps.
-- Example: SELECT subject, value, saves_ns FROM advise WHERE check_name = 'input_loading';
WITH workers AS (
  SELECT profile_id, max(name GLOB '*MultiProcessing*') AS has_workers FROM temp.input_events GROUP BY profile_id
), speaking AS MATERIALIZED (
  SELECT profile_id FROM temp._input_waits WHERE step_ns > 0 AND wait_ns >= 0.05 * step_ns
), waiting AS (
  SELECT ops.profile_id AS profile_id, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, min(lines.text) AS text,
    row_number() OVER (PARTITION BY ops.profile_id ORDER BY sum(ops.dur_ns) DESC, lines.file, lines.line) AS place
  FROM temp.ops AS ops CROSS JOIN temp.code_traces AS traces ON traces.id = ops.code_trace_id
  CROSS JOIN temp.code_frames AS lines ON lines.id = traces.line_frame_id
  WHERE ops.category = 'user' AND ops.name GLOB 'enumerate(DataLoader)#*'
    AND ops.profile_id IN (SELECT profile_id FROM speaking)
  GROUP BY ops.profile_id, lines.file, lines.line
), seen AS ( -- of the program, while it fetches input
  SELECT looks.profile_id AS profile_id, coalesce('In[' || lines.cell || ']',
      replace(lines.file, rtrim(lines.file, replace(lines.file, '/', '')), '')) || ':' || lines.line
      AS location, min(lines.text) AS text, sum(looks.weight) AS weight,
    sum(sum(looks.weight)) OVER (PARTITION BY looks.profile_id) AS all_weight,
    row_number() OVER (PARTITION BY looks.profile_id ORDER BY sum(looks.weight) DESC, lines.file, lines.line) AS place
  FROM temp._python_looks AS looks JOIN temp.ranges AS ranges ON ranges.id = looks.range_id
  JOIN temp.code_traces AS traces ON traces.id = looks.trace_id
  JOIN temp.code_frames AS lines ON lines.id = coalesce(traces.line_frame_id, traces.leaf_frame_id)
  WHERE looks.is_measured AND ranges.name IN (SELECT name FROM temp.input_events)
    AND looks.profile_id IN (SELECT profile_id FROM speaking)
  GROUP BY looks.profile_id, lines.file, lines.line
), meanwhile AS (
  SELECT profile_id, location, text FROM seen WHERE place = 1 AND weight >= 0.33 * all_weight
)
SELECT
  'input_loading' AS check_name,
  CASE WHEN wait_ns >= 0.20 * step_ns AND step_count >= 10 AND wait_ns >= 1000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time is spent waiting for input: %s of %s per step',
    100.0 * wait_ns / step_ns, format_ns(wait_ns / step_count), format_ns(step_ns / step_count))
    || coalesce(', at ' || waiting.location, '') || coalesce(': ' || trim(waiting.text), '')
    || CASE WHEN NOT workers.has_workers AND meanwhile.location IS NOT waiting.location
      THEN coalesce('; Python is at ' || meanwhile.location || coalesce(', ' || trim(meanwhile.text), ''), '')
      ELSE '' END AS message,
  1.0 * wait_ns / step_ns AS value,
  0.05 AS threshold,
  CAST(stands_for * wait_ns AS INTEGER) AS saves_ns,
  CASE WHEN has_iterators THEN
    'Let tf.data work ahead and in parallel: dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE), '
      || 'interleave for files, cache() for what does not change, prefetch(tf.data.AUTOTUNE) at the end.'
  WHEN has_workers THEN
    'The loader''s workers do not keep up: more of them (num_workers) while processors are idle, a larger '
      || 'prefetch_factor, persistent_workers=True, or cheaper samples (decode once, cache, batch the transforms).'
  ELSE advice_words('input_loading', processes.framework) END AS suggestion,
  'SELECT name, step_id, dur_ns FROM temp.input_events WHERE parent_id IS NULL AND profile_id = '
    || waits.profile_id || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM temp._input_waits AS waits
JOIN workers ON workers.profile_id = waits.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = waits.profile_id
LEFT JOIN waiting ON waiting.profile_id = waits.profile_id AND waiting.place = 1
LEFT JOIN meanwhile ON meanwhile.profile_id = waits.profile_id
WHERE step_ns > 0 AND wait_ns >= 0.05 * step_ns
ORDER BY saves_ns DESC, waits.profile_id
