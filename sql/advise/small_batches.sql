-- Advice: kernels too small for the device: a larger batch would fill it.
--
-- For each device the time of compute kernels in the measured steps (_measured_steps) that have fewer blocks than the
-- device has multiprocessors, so that some of these have nothing to do.  Only where there are steps, and devices work
-- for a fifth of them: a host that does not keep up is launch_bound's, device_gaps' and host_bound's.  Silent where
-- four fifths of the device's memory are taken: there a larger batch does not fit.
-- Thresholds: half of the kernel time; a warning where half of the device has nothing to do in it.
-- What it would save: the share of the device that had nothing to do, of that time, for the same number of samples.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over step_kernel_totals; memory_summary
-- where it speaks.
-- Needs: kernels, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'small_batches';
WITH time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns
  FROM temp._measured_steps WHERE step_id IS NOT NULL GROUP BY 1
), sums AS MATERIALIZED (
  SELECT kernels.profile_id AS profile_id, kernels.device_id AS device_id,
    sum(kernels.compute_ns * measured.weight) AS kernel_ns,
    total(kernels.small_ns * measured.weight) AS small_ns,
    total(kernels.small_ns * kernels.empty_ratio * measured.weight * coalesce(min(1.0, 1.0 * busy_ns / sum_ns), 1.0))
      AS empty_ns
  FROM temp.step_kernel_totals AS kernels
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = kernels.profile_id AND measured.step_id IS kernels.step_id
  WHERE kernels.compute_ns > 0 GROUP BY kernels.profile_id, kernels.device_id
), speaking AS MATERIALIZED (
  SELECT sums.*, time.weight AS weight, time.step_ns AS step_ns, devices.multiprocessor_count AS multiprocessor_count,
    coalesce(devices.name, devices.model, 'a device') AS device, devices.memory_bytes AS memory_bytes
  FROM sums JOIN time ON time.profile_id = sums.profile_id JOIN temp.devices AS devices ON devices.id = sums.device_id
  WHERE small_ns >= 0.50 * kernel_ns AND kernel_ns >= 0.20 * step_ns AND small_ns > 0
)
SELECT
  'small_batches' AS check_name,
  CASE WHEN speaking.empty_ns >= 0.50 * speaking.small_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the kernel time of %s, %s a step, is of kernels with fewer blocks than its %s'
      || 'multiprocessors: %.0f %% of it has nothing to do meanwhile', 100.0 * speaking.small_ns / speaking.kernel_ns,
    speaking.device, format_ns(speaking.small_ns / speaking.weight),
    coalesce(nullif(speaking.multiprocessor_count, 0) || ' ', ''),
    100.0 * speaking.empty_ns / speaking.small_ns) AS message,
  speaking.small_ns / speaking.kernel_ns AS value,
  0.50 AS threshold,
  CAST(speaking.empty_ns AS INTEGER) AS saves_ns,
  'Take a larger batch, and scale the learning rate with it; memory is left for it.' AS suggestion,
  'SELECT name, count(*), avg(blocks_per_multiprocessor), sum(dur_ns) FROM temp.kernels '
    || 'WHERE blocks_per_multiprocessor < 1 AND profile_id = ' || speaking.profile_id
    || ' GROUP BY 1 ORDER BY 4 DESC LIMIT 20' AS evidence
FROM speaking
JOIN temp._process_names AS processes ON processes.profile_id = speaking.profile_id
WHERE NOT EXISTS (
  SELECT 1 FROM temp.memory_summary AS summary
  WHERE summary.device_id = speaking.device_id
    AND max(summary.peak_bytes, coalesce(summary.reserved_peak_bytes, 0)) > 0.80 * speaking.memory_bytes)
ORDER BY saves_ns DESC, speaking.profile_id, speaking.device_id
