-- Advice: steps that wait for their input.
--
-- For each profile the share of the measured steps (no warm-up) that their own thread spent in the input pipeline: the
-- outermost input_events of that thread, such as the DataLoader's __next__, which are recorded in every step, as
-- step_summary.in_input_ratio has it.  Work that loader processes or threads do meanwhile does not count, since nobody
-- waits for it.
-- Thresholds: 5 % is moderately and 20 % highly input-bound, as in the TensorFlow 2 Profiler; critical only when that
-- is a millisecond per step or more and ten steps were measured.  Where the loader has worker processes already, which
-- its own events tell, more of them are suggested instead of the first.
-- What it would save: that time.
-- Columns: those of every check, see sql/README.md.  Cost: linear in input_events.
-- Example: SELECT subject, value, saves_ns FROM advise WHERE check_name = 'input_loading';
WITH measured AS MATERIALIZED (
  SELECT profile_id, thread_id, id AS step_id FROM temp.steps WHERE is_warmup = 0 AND thread_id IS NOT NULL
), step_time AS (
  SELECT profile_id, count(*) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), input_time AS (
  SELECT measured.profile_id AS profile_id, CAST(sum(1.0 * input_events.dur_ns) AS INTEGER) AS input_ns,
    max(input_events.name GLOB '*MultiProcessing*') AS has_workers
  FROM measured CROSS JOIN temp.input_events AS input_events ON input_events.step_id = measured.step_id
  WHERE input_events.parent_id IS NULL AND input_events.thread_id = measured.thread_id
  GROUP BY measured.profile_id
)
SELECT
  'input_loading' AS check_name,
  CASE WHEN input_ns >= 0.20 * step_ns AND step_count >= 10 AND input_ns >= 1000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the step time is spent waiting for input: %s of %s per step',
    100.0 * input_ns / step_ns, format_ns(input_ns / step_count), format_ns(step_ns / step_count)) AS message,
  1.0 * input_ns / step_ns AS value,
  0.05 AS threshold,
  input_ns AS saves_ns,
  CASE WHEN has_workers THEN
    'The loader''s workers do not keep up: more of them (num_workers) while processors are idle, a larger '
      || 'prefetch_factor, persistent_workers=True, or cheaper samples (decode once, cache, batch the transforms).'
  ELSE
    'Load in the background: DataLoader(num_workers=…, persistent_workers=True, prefetch_factor=…), or make the '
      || 'samples cheaper (decode once, cache, batch the transforms).'
  END AS suggestion,
  'SELECT name, step_id, dur_ns FROM temp.input_events WHERE parent_id IS NULL AND profile_id = '
    || step_time.profile_id || ' ORDER BY 3 DESC' AS evidence
FROM step_time
JOIN input_time ON input_time.profile_id = step_time.profile_id
JOIN temp.process_names AS processes ON processes.profile_id = step_time.profile_id
WHERE step_ns > 0 AND input_ns >= 0.05 * step_ns
ORDER BY saves_ns DESC, step_time.profile_id
