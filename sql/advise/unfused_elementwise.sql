-- Advice: kernels that compute number by number, one behind the other, each reading what the last one wrote.
--
-- For each device the compute kernels of the measured steps (_measured_steps) that add, multiply, activate or convert
-- number by number (by their names: …elementwise…, Eigen's TensorCwise…, or the TensorFlow op that launched them), and
-- of these such that come right behind another one, the last thing that their stream had done: a compiler makes one
-- kernel of them.  They are found with the tables (step_kernel_totals.unfused_count).
-- Thresholds: those that follow another one take 5 % of the step time; a warning from 15 % on.
-- What it would save: half of their time, what reading and writing what lies between takes.
-- Columns: those of every check, see docs/checks.md.  Cost: that of step_kernel_totals.
-- Needs: kernels.
-- Example: SELECT message FROM advise WHERE check_name = 'unfused_elementwise';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'step time' ELSE 'time' END AS whole,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), measured AS MATERIALIZED (
  SELECT profile_id, step_id, weight FROM temp._measured_steps
), sums AS (
  SELECT totals.profile_id AS profile_id, totals.device_id AS device_id,
    sum(totals.unfused_count * measured.weight) AS count, sum(1.0 * totals.unfused_ns * measured.weight) AS follow_ns
  FROM temp.step_kernel_totals AS totals
  CROSS JOIN measured ON measured.profile_id = totals.profile_id AND measured.step_id IS totals.step_id
  WHERE totals.unfused_count > 0 GROUP BY 1, 2
)
SELECT
  'unfused_elementwise' AS check_name,
  CASE WHEN sums.follow_ns >= 0.15 * time.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the %s, %s %s, is of kernels on %s that compute number by number right behind '
      || 'another one: %.0f of them', min(100.0, 100.0 * sums.follow_ns / time.step_ns), time.whole,
    format_ns(sums.follow_ns / time.weight), time.each, coalesce(devices.name, devices.model, 'a device'),
    sums.count / time.weight) AS message,
  sums.follow_ns / time.step_ns AS value,
  0.05 AS threshold,
  CAST(0.5 * sums.follow_ns AS INTEGER) AS saves_ns,
  advice_words('unfused_elementwise', processes.framework) AS suggestion,
  'SELECT step_id, unfused_count, unfused_ns FROM temp.step_kernel_totals WHERE profile_id = ' || sums.profile_id
    || ' AND device_id IS ' || coalesce(sums.device_id, 'NULL') || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM sums
JOIN time ON time.profile_id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE sums.follow_ns >= 0.05 * time.step_ns
ORDER BY saves_ns DESC, sums.profile_id, sums.device_id
