-- Advice: hardly anything is computed in numbers of 16 bits.
--
-- For each device that is fast with them (compute capability 7.0 and newer, or not known): the share of the kernel time
-- in 16 bits and less (precision_breakdown), and in 32 bits.  Silent where tensor_cores speaks of the device, which
-- says the same of ops that tensor cores could compute: here they do, in TF32, or there are few such ops.
-- Thresholds: below 10 % in 16 bits, as in the TensorFlow 2 Profiler; half of the kernel time known to be in 32 bits,
-- and that 5 % of the step time (_measured_steps).
-- What it would save: half of the time in 32 bits: numbers of half the size take half the memory traffic, and half the
-- time on tensor cores.
-- Below compute capability 8.0 there is no bfloat16, and float16 is suggested, with loss scaling.
-- Columns: those of every check, see docs/checks.md.  Cost: that of precision_breakdown, and one over
-- step_kernel_totals where it may speak.
-- Needs: kernels.
-- Example: SELECT message FROM advise WHERE check_name = 'sixteen_bit_share';
WITH shares AS MATERIALIZED (
  SELECT profile_id, device_id, device, total(sum_ratio) FILTER (WHERE precision IN ('8 bit', '16 bit')) AS small_ratio,
    total(sum_ratio) FILTER (WHERE precision = '32 bit') AS large_ratio,
    total(sum_ns) FILTER (WHERE precision = '32 bit') AS large_ns
  FROM temp.precision_breakdown GROUP BY profile_id, device_id
), time AS (
  SELECT profile_id, sum(1.0 * dur_ns * weight) AS step_ns FROM temp._measured_steps GROUP BY 1
), speaking AS MATERIALIZED (
  SELECT shares.*, devices.compute_capability AS compute_capability
  FROM shares LEFT JOIN temp.devices AS devices ON devices.id = shares.device_id
  JOIN time ON time.profile_id = shares.profile_id
  WHERE large_ns >= 0.05 * time.step_ns AND small_ratio < 0.10 AND large_ratio >= 0.50
    AND coalesce(CAST(devices.compute_capability AS REAL), 7.0) >= 7.0
), without AS (
  SELECT speaking.profile_id AS profile_id, speaking.device_id AS device_id,
    sum(kernels.sum_ns * measured.weight) AS kernel_ns,
    total(kernels.without_tensor_core_ns * measured.weight) AS without_ns
  FROM speaking
  CROSS JOIN temp.step_kernel_totals AS kernels
    ON kernels.profile_id = speaking.profile_id AND kernels.device_id IS speaking.device_id
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = kernels.profile_id AND measured.step_id IS kernels.step_id
  GROUP BY 1, 2
)
SELECT
  'sixteen_bit_share' AS check_name,
  'info' AS severity,
  processes.name AS subject,
  processes.prefix || iif(speaking.small_ratio = 0, 'Nothing', format('Only %.0f %%', 100.0 * speaking.small_ratio))
    || format(' of the kernel time of %s is computed in 16 bits, %.0f %% in 32', coalesce(speaking.device, 'a device'),
      100.0 * speaking.large_ratio) AS message,
  speaking.small_ratio AS value,
  0.10 AS threshold,
  CAST(0.5 * speaking.large_ns AS INTEGER) AS saves_ns,
  CASE WHEN CAST(speaking.compute_capability AS REAL) < 8.0
    THEN advice_words('sixteen_bit_share.float16', processes.framework) || '; compute capability '
      || speaking.compute_capability || ' has no bfloat16.'
    ELSE advice_words('sixteen_bit_share', processes.framework) END AS suggestion,
  'SELECT device, precision, count, sum_ns, sum_ratio FROM temp.precision_breakdown WHERE profile_id = '
    || speaking.profile_id AS evidence
FROM speaking
JOIN without ON without.profile_id = speaking.profile_id AND without.device_id IS speaking.device_id
JOIN temp._process_names AS processes ON processes.profile_id = speaking.profile_id
WHERE without.without_ns < 0.10 * without.kernel_ns
ORDER BY saves_ns DESC, speaking.profile_id, speaking.device_id
