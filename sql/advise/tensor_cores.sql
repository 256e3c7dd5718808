-- Advice: kernels of ops that tensor cores could compute do without them.
--
-- For each device that has tensor cores (compute capability 7.0 and newer, or not known) the time of kernels in the
-- measured steps (_measured_steps) whose op is one that they can compute (kernels.tensor_core_eligible: convolutions,
-- matrix products, recurrent layers), but whose name is none of a kernel that uses them (kernels.uses_tensor_core).
-- Copies and sums that such ops launch, too, count with them, so not all of it can be won; what only changes the layout
-- of their data does not, of which operation speaks.  Where kernels run side by side each has its part of the time in
-- which any of them runs, so that a device has no more kernel time than time.
-- Thresholds: 10 % of the time of all kernels and 1 % of the step time; a warning from 30 % and 5 % on.
-- What it would save: half of that time, where the device is what the step waits for: numbers of half the size take
-- half the memory traffic, which bounds small products, and tensor cores compute large ones several times as fast.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over step_kernel_totals; over kernels
-- where it speaks.
-- Needs: kernels.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'tensor_cores';
WITH sums AS MATERIALIZED (
  SELECT kernels.profile_id AS profile_id, kernels.device_id AS device_id,
    sum(kernels.sum_ns * measured.weight * coalesce(min(1.0, 1.0 * busy_ns / sum_ns), 1.0)) AS kernel_ns,
    total(kernels.tensor_core_ns * measured.weight * coalesce(min(1.0, 1.0 * busy_ns / sum_ns), 1.0)) AS with_ns,
    total(kernels.without_tensor_core_ns * measured.weight * coalesce(min(1.0, 1.0 * busy_ns / sum_ns), 1.0))
      AS without_ns
  FROM temp.step_kernel_totals AS kernels
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = kernels.profile_id AND measured.step_id IS kernels.step_id
  GROUP BY kernels.profile_id, kernels.device_id
), time AS MATERIALIZED (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns,
    CASE WHEN count(step_id) THEN 'a step' ELSE 'in all' END AS each
  FROM temp._measured_steps GROUP BY 1
), speaking AS MATERIALIZED (
  SELECT sums.*, CAST(devices.compute_capability AS REAL) < 8.0 AS is_before_bfloat16, devices.name AS device,
    devices.model AS model, time.weight AS weight, time.step_ns AS step_ns,
    time.each AS each
  FROM sums JOIN time ON time.profile_id = sums.profile_id
  LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
  WHERE without_ns > 0 AND without_ns >= 0.10 * kernel_ns AND without_ns >= 0.01 * time.step_ns
    AND coalesce(CAST(devices.compute_capability AS REAL), 7.0) >= 7.0 AND coalesce(devices.kind, 'gpu') = 'gpu'
), by_op AS (
  SELECT speaking.profile_id AS profile_id, speaking.device_id AS device_id, kernels.op_name AS op_name,
    sum(1.0 * kernels.dur_ns) AS without_ns
  FROM speaking JOIN temp.kernels AS kernels
    ON kernels.profile_id = speaking.profile_id AND kernels.device_id IS speaking.device_id
  WHERE kernels.tensor_core_eligible = 1 AND kernels.uses_tensor_core = 0
  GROUP BY 1, 2, 3
), most AS (
  SELECT profile_id, device_id, op_name, row_number() OVER (
    PARTITION BY profile_id, device_id ORDER BY without_ns DESC, op_name) AS place
  FROM by_op
)
SELECT
  'tensor_cores' AS check_name,
  CASE WHEN without_ns >= 0.30 * kernel_ns AND without_ns >= 0.05 * step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%.0f %% of the kernel time of %s, %s %s, is of ops that tensor cores could compute, '
      || 'without them; with them it is %.0f %%', 100.0 * without_ns / kernel_ns,
      coalesce(speaking.device, speaking.model, 'a device'), format_ns(without_ns / speaking.weight), speaking.each,
      100.0 * with_ns / kernel_ns)
    || coalesce('; most in ' || most.op_name, '') AS message,
  without_ns / kernel_ns AS value,
  0.10 AS threshold,
  CAST(0.5 * without_ns AS INTEGER) AS saves_ns,
  CASE WHEN is_before_bfloat16 THEN advice_words('sixteen_bit_share.float16', processes.framework)
      || '; sizes that are multiples of 8. Before compute capability 8.0 tensor cores know neither bfloat16 nor TF32.'
    ELSE advice_words('tensor_cores', processes.framework) END AS suggestion,
  'SELECT op_name, name, dur_ns FROM temp.kernels WHERE tensor_core_eligible = 1 AND uses_tensor_core = 0 '
    || 'AND profile_id = ' || speaking.profile_id || ' ORDER BY 3 DESC LIMIT 20' AS evidence
FROM speaking
JOIN temp._process_names AS processes ON processes.profile_id = speaking.profile_id
LEFT JOIN most ON most.profile_id = speaking.profile_id AND most.device_id IS speaking.device_id AND most.place = 1
ORDER BY saves_ns DESC, speaking.profile_id, speaking.device_id
