-- Advice: input that is fetched outside of what the program marks as a step, so that no step's time shows it.
--
-- For each profile the outermost input_events on the thread of the steps that belong to no step, from the first step on
-- to the last.  Step times, and everything that is measured against them, leave out what passes there.
-- Threshold: 5 % of the time of steps and that input together.
-- What it would save: that time, where a pipeline that works ahead makes it vanish.
-- Columns: those of every check, see docs/checks.md.  Cost: linear in steps and input_events.
-- Needs: input_events, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'input_outside_steps';
WITH loops AS MATERIALIZED (
  SELECT profile_id, thread_id, count(*) AS step_count, sum(1.0 * dur_ns) AS step_ns, min(start_ns) AS first_ns,
    max(end_ns) AS last_ns
  FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 AND thread_id IS NOT NULL GROUP BY 1, 2
), outside AS (
  SELECT loops.profile_id AS profile_id, loops.step_count AS step_count, loops.step_ns AS step_ns,
    count(*) AS count, sum(1.0 * events.dur_ns) AS input_ns
  FROM loops CROSS JOIN temp.input_events AS events ON events.profile_id = loops.profile_id
  WHERE events.thread_id = loops.thread_id AND events.step_id IS NULL AND events.parent_id IS NULL
    AND events.start_ns >= loops.first_ns AND events.end_ns <= loops.last_ns
  GROUP BY loops.profile_id, loops.thread_id
)
SELECT
  'input_outside_steps' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('Input is fetched outside of the marked steps, %d times, %s in all beside %s of steps: '
      || 'no step''s time shows it', outside.count, format_ns(outside.input_ns), format_ns(outside.step_ns)) AS message,
  outside.input_ns / (outside.input_ns + outside.step_ns) AS value,
  0.05 AS threshold,
  CAST(outside.input_ns AS INTEGER) AS saves_ns,
  advice_words('input_outside_steps', processes.framework) AS suggestion,
  'SELECT name, dur_ns FROM temp.input_events WHERE step_id IS NULL AND parent_id IS NULL AND profile_id = '
    || outside.profile_id || ' ORDER BY 2 DESC LIMIT 20' AS evidence
FROM outside JOIN temp._process_names AS processes ON processes.profile_id = outside.profile_id
WHERE outside.input_ns >= 0.05 * (outside.input_ns + outside.step_ns)
ORDER BY saves_ns DESC, outside.profile_id
