-- Advice: devices that are fed one after the other.
--
-- For each profile with several devices: how much longer the copies to devices of a measured step (_measured_steps)
-- take together (union_ns) than those of the device that gets most, which is how long they would take side by side.
-- Copies of 64 KiB and less are left out.
-- Threshold: 1 % of the step time; a warning from 5 % on.
-- What it would save: that time.
-- Columns: those of every check, see docs/checks.md.  Cost: one pass over transfers.
-- Needs: transfers.
-- Example: SELECT message FROM advise WHERE check_name = 'serial_device_copies';
WITH several AS MATERIALIZED (
  SELECT profile_id FROM temp.devices WHERE kind <> 'cpu' GROUP BY profile_id HAVING count(*) > 1
), copies AS MATERIALIZED (
  SELECT transfers.profile_id AS profile_id, measured.step_id AS step_id, measured.weight AS weight,
    transfers.device_id AS device_id, transfers.start_ns AS start_ns, transfers.end_ns AS end_ns,
    transfers.dur_ns AS dur_ns
  FROM several CROSS JOIN temp.transfers AS transfers ON transfers.profile_id = several.profile_id
  CROSS JOIN temp._measured_steps AS measured -- an index is made of it, which each row is looked up in
    ON measured.profile_id = transfers.profile_id AND measured.step_id IS transfers.step_id
  WHERE transfers.kind = 'memcpy' AND transfers.direction IN ('HtoD', 'PtoP') AND transfers.bytes > 65536
    AND measured.step_id IS NOT NULL
), together AS (
  SELECT profile_id, step_id, max(weight) AS weight, union_ns(start_ns, end_ns) AS copy_ns,
    count(DISTINCT device_id) AS device_count
  FROM copies GROUP BY 1, 2
), alone AS (
  SELECT profile_id, step_id, max(copy_ns) AS copy_ns
  FROM (SELECT profile_id, step_id, device_id, union_ns(start_ns, end_ns) AS copy_ns FROM copies GROUP BY 1, 2, 3)
  GROUP BY 1, 2
), sums AS (
  SELECT together.profile_id AS profile_id, max(together.device_count) AS device_count,
    sum(together.copy_ns * together.weight) AS copy_ns,
    sum((together.copy_ns - alone.copy_ns) * together.weight) AS serial_ns
  FROM together JOIN alone ON alone.profile_id = together.profile_id AND alone.step_id = together.step_id
  WHERE together.device_count > 1 GROUP BY 1
), time AS (
  SELECT profile_id, sum(weight) AS weight, sum(1.0 * dur_ns * weight) AS step_ns FROM temp._measured_steps GROUP BY 1
)
SELECT
  'serial_device_copies' AS check_name,
  CASE WHEN sums.serial_ns >= 0.05 * time.step_ns THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%d devices are fed one after the other: copies to them take %s a step, side by side %s',
    sums.device_count, format_ns(sums.copy_ns / time.weight), format_ns((sums.copy_ns - sums.serial_ns) / time.weight))
    AS message,
  sums.serial_ns / time.step_ns AS value,
  0.01 AS threshold,
  CAST(sums.serial_ns AS INTEGER) AS saves_ns,
  advice_words('serial_device_copies', processes.framework) AS suggestion,
  'SELECT step_id, device_id, start_ns, dur_ns, bytes FROM temp.transfers WHERE direction IN (''HtoD'', ''PtoP'') AND '
    || 'profile_id = ' || sums.profile_id || ' ORDER BY start_ns LIMIT 20' AS evidence
FROM sums
JOIN time ON time.profile_id = sums.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = sums.profile_id
WHERE sums.serial_ns >= 0.01 * time.step_ns AND sums.serial_ns > 0
ORDER BY saves_ns DESC, sums.profile_id
