-- Advice: time that passes between the steps.
--
-- For each profile the gaps between measured steps that follow one another (step_gaps): Python that logs, saves,
-- counts, or collects garbage; input that is fetched there is left to input_outside_steps.  Silent where the busiest
-- device works for four fifths of the time of steps and gaps: a host that is ahead of its device costs nothing.  Silent
-- where each step was recorded by itself, as sessions of TensorFlow are: there the gaps are the recorder's own work.
-- The message names what takes a tenth of that time or more: ranges in which the program itself marked time outside of
-- ops (ranges.outside_ns), without those that fetch input, and ops, by the time in them alone.  All of them together
-- are never more than the whole.
-- Threshold: 5 % of the time of steps and gaps; from the half on, when that is a millisecond per step or more and ten
-- steps were measured, it is critical: then the marks leave out most of what the loop does.
-- What it would save: that time, but for ops that run there, since moving these does not make them fewer, and no more
-- than devices idle.
-- Columns: those of every check, see docs/checks.md.  Cost: linear in steps, and in ranges, ops, kernels and
-- input_events where there are such gaps.
-- Needs: steps.
-- Example: SELECT message FROM advise WHERE check_name = 'between_steps';
WITH gaps AS MATERIALIZED (
  SELECT profile_id, count(*) AS step_count, total(taken_ns) AS step_ns, total(max(gap_ns, 0)) AS gap_ns,
    count(gap_ns) AS gap_count, max(gap_ns) AS longest_ns
  FROM temp.step_gaps GROUP BY profile_id
), speaking AS MATERIALIZED (
  SELECT gaps.*, first_ns, last_ns, thread_id
  FROM gaps JOIN (
    SELECT profile_id, min(start_ns) AS first_ns, max(start_ns) AS last_ns, min(thread_id) AS thread_id
    FROM temp.steps WHERE is_warmup = 0 AND is_hung IS NOT 1 GROUP BY profile_id
  ) AS spans ON spans.profile_id = gaps.profile_id
  WHERE gap_ns >= 0.05 * (step_ns + gap_ns) AND gap_ns > 0
), fetching AS (
  SELECT speaking.profile_id AS profile_id, sum(1.0 * events.dur_ns) AS input_ns
  FROM speaking CROSS JOIN temp.input_events AS events ON events.profile_id = speaking.profile_id
  WHERE events.step_id IS NULL AND events.parent_id IS NULL AND events.thread_id = speaking.thread_id GROUP BY 1
), device_work AS (
  SELECT measured.profile_id AS profile_id, device_steps.device_id AS device_id,
    device_steps.busy_ns * measured.weight AS busy_ns
  FROM temp._measured_steps AS measured JOIN temp.device_steps AS device_steps
    ON device_steps.step_id = measured.step_id
  WHERE measured.profile_id IN (SELECT profile_id FROM speaking)
  UNION ALL SELECT kernels.profile_id, kernels.device_id, kernels.dur_ns
  FROM speaking CROSS JOIN temp.kernels AS kernels ON kernels.profile_id = speaking.profile_id
  WHERE kernels.step_id IS NULL AND kernels.start_ns BETWEEN first_ns AND last_ns
), device_busy AS ( -- streams side by side may make it more than all time
  SELECT profile_id, max(busy_ns) AS busy_ns
  FROM (SELECT profile_id, sum(1.0 * busy_ns) AS busy_ns FROM device_work GROUP BY profile_id, device_id)
  GROUP BY profile_id
), found AS MATERIALIZED (
  SELECT speaking.*, max(0, gap_ns - coalesce(input_ns, 0)) AS lost_ns,
    max(0, step_ns + gap_ns - coalesce(busy_ns, 0)) AS idle_ns
  FROM speaking LEFT JOIN fetching ON fetching.profile_id = speaking.profile_id
  LEFT JOIN device_busy ON device_busy.profile_id = speaking.profile_id
  WHERE coalesce(busy_ns, 0) < 0.80 * (step_ns + gap_ns)
), there AS MATERIALIZED (
  SELECT found.profile_id AS profile_id, ranges.name AS name, sum(1.0 * ranges.outside_ns) AS ns, 0 AS op_ns
  FROM found CROSS JOIN temp.ranges AS ranges ON ranges.profile_id = found.profile_id
  WHERE ranges.step_id IS NULL AND ranges.thread_id = found.thread_id AND ranges.outside_ns > 0
    AND ranges.start_ns > found.first_ns AND ranges.start_ns < found.last_ns
    AND ranges.name NOT IN (SELECT name FROM temp.input_events)
  GROUP BY 1, 2
  UNION ALL
  SELECT found.profile_id, ops.name, sum(1.0 * ops.self_ns),
    sum(CASE WHEN ops.category = 'python' THEN 0 ELSE 1.0 * ops.self_ns END)
  FROM found CROSS JOIN temp.ops AS ops ON ops.profile_id = found.profile_id
  WHERE ops.step_id IS NULL AND ops.thread_id = found.thread_id AND ops.category NOT IN ('user', 'input')
    AND ops.start_ns > found.first_ns AND ops.start_ns < found.last_ns
  GROUP BY 1, 2
), in_ops AS (
  SELECT profile_id, sum(op_ns) AS op_ns FROM there GROUP BY profile_id
), scaled AS (
  SELECT there.profile_id AS profile_id, name, gap_count, lost_ns,
    ns * min(1.0, lost_ns / sum(ns) OVER (PARTITION BY there.profile_id)) AS ns
  FROM there JOIN found ON found.profile_id = there.profile_id
), named AS (
  SELECT profile_id, group_concat(format_ns(ns / gap_count) || ' of it in ' || name, ', ') AS text
  FROM (
    SELECT scaled.*, row_number() OVER (PARTITION BY profile_id ORDER BY ns DESC, name) AS place
    FROM scaled WHERE ns >= 0.10 * lost_ns
    ORDER BY profile_id, place
  ) WHERE place <= 3 GROUP BY profile_id
)
SELECT
  'between_steps' AS check_name,
  CASE WHEN lost_ns >= 0.50 * (step_ns + gap_ns) AND step_count >= 10 AND lost_ns >= 1e6 * step_count
    THEN 'critical' ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the time passes between the steps: %s for each step of %s, at most %s%s',
    100.0 * lost_ns / (step_ns + gap_ns), format_ns(lost_ns / gap_count), format_ns(step_ns / step_count),
    format_ns(longest_ns), coalesce(', ' || named.text, '')) AS message,
  lost_ns / (step_ns + gap_ns) AS value,
  0.05 AS threshold,
  CAST(min(max(lost_ns - coalesce(op_ns, 0), 0), idle_ns) AS INTEGER) AS saves_ns,
  CASE WHEN op_ns >= 0.50 * lost_ns
    THEN 'Mark the whole iteration as the step: what runs there is in no figure of steps. '
    ELSE '' END
    || 'Log, save and count every so many steps, or in another thread; convert metrics to numbers when they are '
    || 'printed.'
    || iif(named.text IS NULL, advice_words('between_steps.unseen', processes.framework), '') AS suggestion,
  'SELECT number, taken_ns, gap_ns FROM temp.step_gaps WHERE profile_id = ' || found.profile_id
    || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM found JOIN temp._process_names AS processes ON processes.profile_id = found.profile_id
LEFT JOIN in_ops ON in_ops.profile_id = found.profile_id
LEFT JOIN named ON named.profile_id = found.profile_id
WHERE lost_ns >= 0.05 * (step_ns + gap_ns)
ORDER BY saves_ns DESC, found.profile_id
