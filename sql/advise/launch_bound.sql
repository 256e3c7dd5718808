-- Advice: the device works faster than the host launches, and which launches a graph could replace.
--
-- For each device the time of the measured steps (_measured_steps) in gaps below 100 µs (gap_causes) whose next kernel,
-- copy or fill had not been launched when the gap began: the host cannot keep up with small kernels.  Longer gaps are
-- those of device_gaps, device_waits and input_loading.  Kernels that are part of a graph's launch are none of these.
-- Where nine tenths of the kernels are such as every step launches again (device_kernel_totals), and three steps were
-- measured, the whole step, or a large part of it, can be recorded once as a CUDA graph.
-- Thresholds: 10 % of the step time; a warning from 20 % on.
-- What it would save: these gaps but for a microsecond of each, which kernels in a graph have between them as well.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over device_activities, and where the
-- check speaks that of device_kernel_totals.
-- Needs: kernels.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'launch_bound';
WITH time AS MATERIALIZED (
  SELECT profile_id, count(step_id) AS step_count, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), in_step AS MATERIALIZED ( -- as in gap_causes, but before weights are looked up: steps are few
  SELECT profile_id, device_id, step_id, count(*) AS count, sum(1.0 * device_idle_ns) AS gap_ns
  FROM temp.device_activities AS gaps -- with +, so that all are passed over, in the order in which they are grouped
  WHERE +idle_reason = 'host' AND +device_idle_ns > 0 AND +device_idle_ns < 100000
    AND +is_device_gap_known = 1
  GROUP BY profile_id, device_id, step_id
), weighed AS ( -- by a window, since a join would look through all steps for each
  SELECT profile_id, device_id, count, gap_ns, max(weight) OVER (PARTITION BY profile_id, step_id) AS weight
  FROM (
    SELECT profile_id, device_id, step_id, count, gap_ns, NULL AS weight FROM in_step
    UNION ALL
    SELECT profile_id, NULL, step_id, NULL, NULL, weight FROM temp._measured_steps WHERE weight > 0
  )
), sums AS MATERIALIZED (
  SELECT gaps.profile_id AS profile_id, gaps.device_id AS device_id, sum(gaps.count * gaps.weight) AS gap_count,
    sum(gaps.gap_ns * gaps.weight) AS idle_ns, time.step_count AS step_count, time.weight AS weight,
    time.step_ns AS step_ns, time.whole AS whole, time.each AS each
  FROM weighed AS gaps JOIN time ON time.profile_id = gaps.profile_id
  WHERE gaps.count IS NOT NULL AND gaps.weight IS NOT NULL
  GROUP BY gaps.profile_id, gaps.device_id HAVING idle_ns >= 0.10 * time.step_ns
)
SELECT
  'launch_bound' AS check_name,
  CASE WHEN sums.idle_ns >= 0.20 * sums.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || coalesce(devices.name, devices.model, 'a device')
    || format(' waits for the next launch for %.0f %% of the %s, %s %s in %.0f gaps below 0.1 ms',
      min(100.0, 100.0 * sums.idle_ns / sums.step_ns), sums.whole, format_ns(sums.idle_ns / sums.weight), sums.each,
      sums.gap_count / sums.weight)
    || CASE WHEN kernels.launched_count > 0 THEN format('; its %.0f kernels %s take %s each',
      1.0 * kernels.launched_count / max(1, sums.step_count), sums.each,
      format_ns(1.0 * kernels.launched_ns / kernels.launched_count)) ELSE '' END
    || CASE WHEN kernels.launched_count > 0 AND sums.step_count >= 3 THEN format(', and %.0f %% of them are the same '
      || 'in every step', 100.0 * kernels.repeated_count / kernels.launched_count) ELSE '' END AS message,
  sums.idle_ns / sums.step_ns AS value,
  0.10 AS threshold,
  CAST(max(0, sums.idle_ns - 1000 * sums.gap_count) AS INTEGER) AS saves_ns,
  advice_words(iif(sums.step_count >= 3 AND kernels.repeated_count >= 0.9 * kernels.launched_count,
    'launch_bound.repeated', 'launch_bound'), processes.framework) AS suggestion,
  'SELECT op, kernel, count, mean_ns FROM temp.kernel_by_op WHERE profile_id = ' || sums.profile_id
    || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM sums
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
LEFT JOIN temp.device_kernel_totals AS kernels
  ON kernels.profile_id = sums.profile_id AND kernels.device_id IS sums.device_id
ORDER BY saves_ns DESC, sums.profile_id, sums.device_id
