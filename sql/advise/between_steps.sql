-- Advice: time that passes between the steps.
--
-- For each profile the gaps between the end of a measured step (no warm-up) and the start of the next one by number on
-- the same thread: Python that logs, saves, counts, or collects garbage; input that is fetched there is left to
-- input_outside_steps.  Silent where devices are busy for four fifths of the steps: a host that is ahead of its device
-- costs nothing.
-- The message names the ranges in which the program itself marked a tenth of that time or more (ranges.outside_ns),
-- without those that fetch input.  All of them together are never more than the whole.
-- Threshold: 5 % of the time of steps and gaps.
-- What it would save: that time.
-- Columns: those of every check, see sql/README.md.  Cost: linear in steps, ranges and input_events.
-- Needs: steps.
-- Example: SELECT message FROM advise WHERE check_name = 'between_steps';
WITH ordered AS (
  SELECT profile_id, thread_id, number, dur_ns, start_ns, start_ns - lag(end_ns) OVER before AS gap_ns,
    number - lag(number) OVER before AS distance
  FROM temp.steps WHERE is_warmup = 0 AND thread_id IS NOT NULL
  WINDOW before AS (PARTITION BY profile_id, thread_id ORDER BY start_ns, number)
), gaps AS MATERIALIZED (
  SELECT profile_id, min(thread_id) AS thread_id, sum(1.0 * dur_ns) AS step_ns, count(*) AS step_count,
    min(start_ns) AS first_ns, max(start_ns) AS last_ns,
    total(gap_ns) FILTER (WHERE gap_ns > 0 AND distance = 1) AS gap_ns,
    max(gap_ns) FILTER (WHERE distance = 1) AS longest_ns
  FROM ordered GROUP BY profile_id
), speaking AS MATERIALIZED (
  SELECT * FROM gaps WHERE gap_ns >= 0.05 * (step_ns + gap_ns) AND gap_ns > 0
), fetching AS (
  SELECT speaking.profile_id AS profile_id, sum(1.0 * events.dur_ns) AS input_ns
  FROM speaking CROSS JOIN temp.input_events AS events ON events.profile_id = speaking.profile_id
  WHERE events.step_id IS NULL AND events.parent_id IS NULL AND events.thread_id = speaking.thread_id GROUP BY 1
), device_busy AS (
  SELECT speaking.profile_id AS profile_id, sum(1.0 * device_steps.busy_ns) AS busy_ns
  FROM speaking CROSS JOIN temp.device_steps AS device_steps ON device_steps.profile_id = speaking.profile_id GROUP BY 1
), found AS (
  SELECT speaking.*, max(0, gap_ns - coalesce(input_ns, 0)) AS lost_ns
  FROM speaking LEFT JOIN fetching ON fetching.profile_id = speaking.profile_id
  LEFT JOIN device_busy ON device_busy.profile_id = speaking.profile_id
  WHERE coalesce(busy_ns, 0) < 0.80 * step_ns
), marked AS MATERIALIZED (
  SELECT found.profile_id AS profile_id, ranges.name AS name, sum(1.0 * ranges.outside_ns)
    * min(1.0, max(lost_ns) / sum(sum(1.0 * ranges.outside_ns)) OVER (PARTITION BY found.profile_id)) AS ns
  FROM found CROSS JOIN temp.ranges AS ranges ON ranges.profile_id = found.profile_id
  WHERE ranges.step_id IS NULL AND ranges.thread_id = found.thread_id AND ranges.outside_ns > 0
    AND ranges.start_ns > found.first_ns AND ranges.start_ns < found.last_ns
    AND ranges.name NOT IN (SELECT name FROM temp.input_events)
  GROUP BY 1, 2
), marks AS (
  SELECT profile_id, group_concat(format_ns(ns / step_count) || ' of it in ' || name, ', ') AS text
  FROM (
    SELECT marked.profile_id AS profile_id, name, ns, step_count,
      row_number() OVER (PARTITION BY marked.profile_id ORDER BY ns DESC, name) AS place
    FROM marked JOIN found ON found.profile_id = marked.profile_id
    WHERE ns >= 0.10 * lost_ns
    ORDER BY marked.profile_id, place
  ) WHERE place <= 3 GROUP BY profile_id
)
SELECT
  'between_steps' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the time passes between the steps: %s for each step of %s, at most %s%s',
    100.0 * lost_ns / (step_ns + gap_ns), format_ns(lost_ns / step_count), format_ns(step_ns / step_count),
    format_ns(longest_ns), coalesce(', ' || marks.text, '')) AS message,
  lost_ns / (step_ns + gap_ns) AS value,
  0.05 AS threshold,
  CAST(lost_ns AS INTEGER) AS saves_ns,
  'Log, save and count every so many steps, or in another thread; convert metrics to numbers when they are printed.'
    AS suggestion,
  'SELECT number, dur_ns, start_ns - lag(end_ns) OVER (ORDER BY start_ns) AS gap_ns FROM temp.steps WHERE profile_id = '
    || found.profile_id || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM found JOIN temp.process_names AS processes ON processes.profile_id = found.profile_id
LEFT JOIN marks ON marks.profile_id = found.profile_id
WHERE lost_ns >= 0.05 * (step_ns + gap_ns)
ORDER BY saves_ns DESC, found.profile_id
