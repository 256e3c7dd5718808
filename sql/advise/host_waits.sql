-- Advice: the thread that trains waits, for a lock, a file, a process or a time.
--
-- For each profile and thing that is waited for the time of the measured steps (no warm-up, none that a hang made long,
-- ops recorded; weighed by steps.sample_weight) in which the thread that trains slept in a system call outside of any
-- op (python_parts): for locks, Python's own one among them, files, pipes, sockets, other processes, or because it was
-- told to.  The time of a line that waits for half of its time or more is counted whole, and so are the lines around it
-- that make what it writes, also what the thread waited for a processor there: without the line it would not have to.
-- How much that is is told, from a tenth of it on.  Waits for input, for devices, other ranks and, at other lines,
-- processors are not among them: input_loading, device_waits, stragglers and job tell those.
-- Thresholds: a twentieth of the step time, seen three times; three tenths are critical when that is a millisecond
-- per step or more and ten steps were measured.
-- What it would save: all of it, in steps without recorded ops as in those with them.  Steps that somebody chose
-- (tfprof-capture --steps) speak for themselves alone: means and savings are theirs.
-- Columns: those of every check, see docs/checks.md.  Cost: that of python_parts.
-- Needs: steps, ops, python_samples.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'host_waits';
WITH step_time AS (
  SELECT profile_id, step_count, step_ns, iif(speaks_for_all, all_ns, step_ns) AS all_ns,
    iif(speaks_for_all, all_ns / step_count, step_ns / weight) AS mean_ns
  FROM (
    SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS all_ns,
      sum(CASE WHEN ops_recorded = 1 THEN net_ns * sample_weight END) AS step_ns,
      total(sample_weight) FILTER (WHERE ops_recorded = 1) AS weight,
      total(sample_weight) FILTER (WHERE ops_recorded = 1) >= 0.5 * count(*) AS speaks_for_all
    FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
  )
), lines AS (
  SELECT profile_id, waits_for, location, min(text) AS text, sum(sample_count) AS sample_count, file, line,
    sum(1.0 * self_ns) AS taken_ns, sum(1.0 * processor_ns) AS processor_ns
  FROM temp.python_parts WHERE part = 'waits' GROUP BY profile_id, waits_for, location, file, line
), placed AS (
  SELECT lines.*, row_number() OVER of_kind AS place, sum(sample_count) OVER all_of_kind AS look_count,
    sum(taken_ns) OVER all_of_kind AS all_ns, sum(processor_ns) OVER all_of_kind AS all_processor_ns
  FROM lines WINDOW of_kind AS (PARTITION BY profile_id, waits_for ORDER BY taken_ns DESC, file, line),
    all_of_kind AS (PARTITION BY profile_id, waits_for)
), kinds AS (
  SELECT profile_id, waits_for, max(look_count) AS look_count, max(all_ns) AS taken_ns,
    max(all_processor_ns) AS processor_ns,
    group_concat(location || coalesce(': ' || trim(text), ''), '; ') AS text,
    min(iif(place = 1, location, NULL)) AS location
  FROM (SELECT * FROM placed WHERE place = 1 OR place <= 3 AND taken_ns >= 0.2 * all_ns
    ORDER BY profile_id, waits_for, place)
  GROUP BY profile_id, waits_for
), bounded AS (
  SELECT kinds.profile_id AS profile_id, waits_for, look_count, location, text, step_count, step_time.all_ns AS all_ns,
    mean_ns, step_ns, processor_ns / taken_ns AS processor_ratio,
    taken_ns * min(1.0, step_ns / sum(taken_ns) OVER (PARTITION BY kinds.profile_id)) AS taken_ns
  FROM kinds JOIN step_time ON step_time.profile_id = kinds.profile_id
), words(waits_for, said, advice) AS (VALUES
  ('lock', 'a lock, or for what another thread does',
    'Hold the lock for less time in the other thread, or hand over through a queue that is filled ahead; leave out '
    || 'joining threads and waiting for their results within the step.'),
  ('GIL', 'Python''s own lock, which another thread holds',
    'Move what the other threads of this process do in Python to a process of its own (multiprocessing, workers '
    || 'that load): only one thread at a time runs Python.'),
  ('sleep', 'a time that it is told to sleep',
    'Leave out the sleep, or wait for what it is meant for in another thread.'),
  ('process', 'another process',
    'Start processes once before the loop and keep them, or leave them running beside it (Popen, wait for its end '
    || 'later); what a command of the shell does is often a call of a library.'),
  ('file', 'files',
    'Read ahead and write behind in another thread; open files once, before the loop; leave out fsync, and write and '
    || 'save every so many steps.'),
  ('pipe', 'another process or thread, which it reads from or writes to',
    'Let the other side work ahead by more than one step, or read in another thread; print and log less.'),
  ('connection', 'the network',
    'Send and ask in another thread, many things at once, every so many steps.'),
  ('events', 'what others send, or a time',
    'Ask in another thread, ahead of the step that needs it, or every so many steps.'),
  ('something else', 'the system',
    'See in python_summary what the line calls; do it in another thread, or every so many steps.')
)
SELECT
  'host_waits' AS check_name,
  CASE WHEN taken_ns >= 0.30 * step_ns AND step_count >= 10 AND taken_ns / step_ns * mean_ns >= 1000000
    THEN 'critical' ELSE 'warning' END AS severity,
  bounded.location AS subject,
  processes.prefix || format('%.0f %% of the step time the thread that trains waits for %s, %s of %s per step%s, at %s',
    100.0 * taken_ns / step_ns, words.said, format_ns(taken_ns / step_ns * mean_ns), format_ns(mean_ns),
    iif(processor_ratio >= 0.1, format(', %.0f %% of that for a processor', 100 * processor_ratio), ''), bounded.text)
    AS message,
  taken_ns / step_ns AS value,
  0.05 AS threshold,
  CAST(taken_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  words.advice AS suggestion,
  'SELECT location, text, waits_for, self_ns FROM temp.python_parts WHERE part = ''waits'' AND profile_id = '
    || bounded.profile_id || ' ORDER BY 4 DESC LIMIT 20' AS evidence
FROM bounded
JOIN words ON words.waits_for = bounded.waits_for
JOIN temp._process_names AS processes ON processes.profile_id = bounded.profile_id
WHERE taken_ns >= 0.05 * step_ns AND look_count >= 3
ORDER BY saves_ns DESC, bounded.profile_id, bounded.waits_for
