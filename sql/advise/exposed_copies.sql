-- Advice: devices that copy while they could compute.
--
-- For each profile the time of the measured steps (_measured_steps) in which copies went on and no kernel did
-- (step_segments), by direction; not of TPUs, whose infeeds are input (xprof_recommendations).  Only time counts that
-- the end of a copy ended: where a kernel begins while a copy goes on beside it, it was not the copy that it waited
-- for.  How copies hold up the host is pageable_copies', blocking_copies' and device_waits'.
-- Thresholds: 2 % of the step time; a warning from 10 % on.
-- What it would save: that time.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over step_segments, and over transfers.
-- Needs: transfers, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'exposed_copies';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns FROM temp._measured_steps
  WHERE step_id IS NOT NULL AND profile_id IN (SELECT profile_id FROM temp.transfers WHERE direction IS NOT NULL)
  GROUP BY 1
), sums AS (
  SELECT time.profile_id AS profile_id, sum(segments.dur_ns * measured.weight) AS copy_ns,
    total(segments.dur_ns * measured.weight) FILTER (WHERE segments.category = 'memcpy_HtoD') AS to_device_ns,
    total(segments.dur_ns * measured.weight) FILTER (WHERE segments.category = 'memcpy_DtoH') AS from_device_ns
  FROM time CROSS JOIN temp._measured_steps AS measured ON measured.profile_id = time.profile_id
  CROSS JOIN temp.step_segments AS segments ON segments.step_id = measured.step_id
  WHERE segments.category GLOB 'memcpy*'
    AND segments.end_ns IN (SELECT end_ns FROM temp.transfers WHERE direction IS NOT NULL) GROUP BY 1
)
SELECT
  'exposed_copies' AS check_name,
  CASE WHEN sums.copy_ns >= 0.10 * time.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.1f %% of the step time devices copy and do not compute: %s a step%s%s',
    min(100.0, 100.0 * sums.copy_ns / time.step_ns), format_ns(sums.copy_ns / time.weight),
    iif(sums.to_device_ns > 0, format(', %s to them', format_ns(sums.to_device_ns / time.weight)), ''),
    iif(sums.from_device_ns > 0, format(', %s from them', format_ns(sums.from_device_ns / time.weight)), ''))
    AS message,
  sums.copy_ns / time.step_ns AS value,
  0.02 AS threshold,
  CAST(sums.copy_ns AS INTEGER) AS saves_ns,
  advice_words(iif(sums.to_device_ns >= sums.from_device_ns, 'exposed_copies.to', 'exposed_copies.from'),
    processes.framework) AS suggestion,
  'SELECT name, direction, count(*), sum(bytes), sum(dur_ns) FROM temp.transfers WHERE kind = ''memcpy'' AND '
    || 'profile_id = ' || sums.profile_id || ' GROUP BY 1, 2 ORDER BY 5 DESC LIMIT 20' AS evidence
FROM sums
JOIN time ON time.profile_id = sums.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE sums.copy_ns >= 0.02 * time.step_ns
ORDER BY saves_ns DESC, sums.profile_id
