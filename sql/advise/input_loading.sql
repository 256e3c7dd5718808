-- Advice: steps that wait for their input.
--
-- For each profile the share of the measured steps (no warm-up) that waited for input (input_waits): of PyTorch the
-- outermost input_events of the steps' own thread, such as the DataLoader's __next__, which are recorded in every step,
-- as step_summary.in_input_ratio has it; of tf.data also where another thread waits for the next element.  Work that
-- loader processes or threads do meanwhile does not count, since nobody waits for it.
-- Thresholds: 5 % is moderately and 20 % highly input-bound, as in the TensorFlow 2 Profiler; critical only when that
-- is a millisecond per step or more and ten steps were measured.  Where the loader has worker processes already, which
-- its own events tell, more of them are suggested instead of the first.
-- What it would save: that time.
-- Columns: those of every check, see sql/README.md.  Cost: that of input_waits.
-- Needs: input_events, steps.
-- Example: SELECT subject, value, saves_ns FROM advise WHERE check_name = 'input_loading';
WITH workers AS (
  SELECT profile_id, max(name GLOB '*MultiProcessing*') AS has_workers FROM temp.input_events GROUP BY profile_id
)
SELECT
  'input_loading' AS check_name,
  CASE WHEN wait_ns >= 0.20 * step_ns AND step_count >= 10 AND wait_ns >= 1000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time is spent waiting for input: %s of %s per step',
    100.0 * wait_ns / step_ns, format_ns(wait_ns / step_count), format_ns(step_ns / step_count)) AS message,
  1.0 * wait_ns / step_ns AS value,
  0.05 AS threshold,
  wait_ns AS saves_ns,
  CASE WHEN has_iterators THEN
    'Let tf.data work ahead and in parallel: dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE), '
      || 'interleave for files, cache() for what does not change, prefetch(tf.data.AUTOTUNE) at the end.'
  WHEN has_workers THEN
    'The loader''s workers do not keep up: more of them (num_workers) while processors are idle, a larger '
      || 'prefetch_factor, persistent_workers=True, or cheaper samples (decode once, cache, batch the transforms).'
  ELSE
    'Load in the background: DataLoader(num_workers=…, persistent_workers=True, prefetch_factor=…), or make the '
      || 'samples cheaper (decode once, cache, batch the transforms).'
  END AS suggestion,
  'SELECT name, step_id, dur_ns FROM temp.input_events WHERE parent_id IS NULL AND profile_id = '
    || waits.profile_id || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM temp.input_waits AS waits
JOIN workers ON workers.profile_id = waits.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = waits.profile_id
WHERE step_ns > 0 AND wait_ns >= 0.05 * step_ns
ORDER BY saves_ns DESC, waits.profile_id
