-- What NVML measured of each device, step by step: utilisation, memory, power, clocks, temperature.
--
-- One row for each step and each device that has readings.  All steps count, also warm-up steps and those without
-- recorded kernels (_thinned_steps), since NVML is asked each second whatever else is recorded.  A reading holds from
-- the one before it to itself, as the utilisation that NVML tells is that of the time before it is asked.  The first
-- reading holds for one second, and none holds for more than two.  So nothing is known of what lies between readings
-- that were missed, and of what follows the last one.  A step shorter than a second takes the reading around it, as
-- its neighbours do.  Means are weighed by time.  What no reading tells of a step is NULL.  To add up steps, take the
-- sum of energy_joules, and of other columns the mean weighed by known_ns.
--   profile_id                      INTEGER  -        The profile: a process or rank.
--   rank                            INTEGER  -        Rank of the process.  NULL where it is unknown.
--   device_id                       INTEGER  -        The device, as in devices.
--   device                          TEXT     -        Name of the device.
--   step_id                         INTEGER  -        The step, as in steps.
--   number                          INTEGER  -        Number of the step.
--   dur_ns                          INTEGER  ns       Duration of the step.
--   known_ns                        INTEGER  ns       Part of dur_ns that readings tell of.
--   reading_count                   INTEGER  count    Number of readings that overlap the step.
--   utilization_ratio               REAL     ratio    Share of the time in which kernels ran.
--   memory_utilization_ratio        REAL     ratio    Share of the time in which memory of the device was read or
--                                                     written.
--   memory_used_bytes               INTEGER  bytes    Mean of the memory in use by all processes.
--   max_memory_used_bytes           INTEGER  bytes    Largest reading of the memory in use by all processes.
--   process_memory_bytes            INTEGER  bytes    Largest reading of the memory in use by this process.
--   power_watts                     REAL     -        Mean power.
--   energy_joules                   REAL     -        Energy over known_ns, which is the power by its time.
--   multiprocessor_clock_hz         REAL     Hz       Mean clock rate of the multiprocessors.
--   memory_clock_hz                 REAL     Hz       Mean clock rate of the memory.
--   temperature_celsius             REAL     -        Mean temperature.
--   throttled_ratio                 REAL     ratio    Share of the time in which clocks were lowered
--                                                     (gpu_throttle_reasons).
--   pcie_sent_bytes_per_second      REAL     bytes/s  Mean rate of data that the device sent over PCIe.
--   pcie_received_bytes_per_second  REAL     bytes/s  Mean rate of data that the device received over PCIe.
-- Cost: one pass over counters, a sort of readings and of the ends of steps, a look-up for each reading of a step.
-- Example: SELECT device, sum(energy_joules), sum(utilization_ratio * known_ns) / sum(known_ns)
--   FROM device_counters_by_step GROUP BY device;
WITH RECURSIVE readings AS MATERIALIZED (
  SELECT profile_id, device_id, time_ns,
    max(value) FILTER (WHERE name = 'gpu_utilization') AS utilization,
    max(value) FILTER (WHERE name = 'gpu_memory_utilization') AS memory_utilization,
    max(value) FILTER (WHERE name = 'gpu_memory_used_bytes') AS memory_used,
    max(value) FILTER (WHERE name = 'gpu_process_memory_bytes') AS process_memory,
    max(value) FILTER (WHERE name = 'gpu_power') AS power,
    max(value) FILTER (WHERE name = 'gpu_sm_clock') AS multiprocessor_clock,
    max(value) FILTER (WHERE name = 'gpu_memory_clock') AS memory_clock,
    max(value) FILTER (WHERE name = 'gpu_temperature') AS temperature,
    max(value) FILTER (WHERE name = 'gpu_throttle_reasons') <> 0 AS is_throttled,
    max(value) FILTER (WHERE name = 'gpu_pcie_sent_bytes') AS sent,
    max(value) FILTER (WHERE name = 'gpu_pcie_received_bytes') AS received
  FROM temp.counters
  WHERE device_id IS NOT NULL AND time_ns IS NOT NULL AND name IN ('gpu_utilization', 'gpu_memory_utilization',
    'gpu_memory_used_bytes', 'gpu_process_memory_bytes', 'gpu_power', 'gpu_sm_clock', 'gpu_memory_clock',
    'gpu_temperature', 'gpu_throttle_reasons', 'gpu_pcie_sent_bytes', 'gpu_pcie_received_bytes')
  GROUP BY profile_id, device_id, time_ns
), in_order AS MATERIALIZED (
  SELECT *, row_number() OVER device AS place,
    max(lag(time_ns, 1, time_ns - 1000000000) OVER device, time_ns - 2000000000) AS start_ns,
    1e9 * (sent - lag(sent) OVER device) / (time_ns - lag(time_ns) OVER device) AS sent_rate, -- it counts on and on
    1e9 * (received - lag(received) OVER device) / (time_ns - lag(time_ns) OVER device) AS received_rate
  FROM readings
  WINDOW device AS (PARTITION BY device_id ORDER BY time_ns)
), devices AS MATERIALIZED (
  SELECT DISTINCT profile_id, device_id FROM readings
), moments AS ( -- at the same time: what ends (0), a reading (1), what begins (2)
  SELECT device_id, NULL AS step_id, time_ns, 1 AS sort FROM readings
  UNION ALL
  SELECT devices.device_id, steps.id, steps.end_ns, 0
  FROM devices CROSS JOIN temp.steps AS steps ON steps.profile_id = devices.profile_id
  UNION ALL
  SELECT devices.device_id, steps.id, steps.start_ns, 2
  FROM devices CROSS JOIN temp.steps AS steps ON steps.profile_id = devices.profile_id
), counted AS (
  SELECT device_id, step_id, sort,
    sum(sort = 1) OVER (PARTITION BY device_id ORDER BY time_ns, sort ROWS UNBOUNDED PRECEDING) AS readings_before
  FROM moments
), touched (device_id, step_id, place, last_place) AS ( -- steps may lie within others, so each has its own readings
  SELECT device_id, step_id, max(readings_before) FILTER (WHERE sort = 2) + 1,
    max(readings_before) FILTER (WHERE sort = 0) + 1
  FROM counted WHERE step_id IS NOT NULL GROUP BY device_id, step_id
  UNION ALL
  SELECT device_id, step_id, place + 1, last_place FROM touched WHERE place < last_place
), parts AS (
  SELECT touched.device_id AS device_id, touched.step_id AS step_id, in_order.*,
    min(steps.end_ns, in_order.time_ns) - max(steps.start_ns, in_order.start_ns) AS ns
  FROM touched
  CROSS JOIN temp.steps AS steps ON steps.id = touched.step_id
  LEFT JOIN in_order ON in_order.device_id = touched.device_id AND in_order.place = touched.place
    AND min(steps.end_ns, in_order.time_ns) > max(steps.start_ns, in_order.start_ns)
), means AS (
  SELECT device_id, step_id, coalesce(sum(ns), 0) AS known_ns, count(ns) AS reading_count,
    sum(ns * utilization) / sum(ns) FILTER (WHERE utilization IS NOT NULL) AS utilization,
    sum(ns * memory_utilization) / sum(ns) FILTER (WHERE memory_utilization IS NOT NULL) AS memory_utilization,
    sum(ns * memory_used) / sum(ns) FILTER (WHERE memory_used IS NOT NULL) AS memory_used,
    max(memory_used) AS max_memory_used, max(process_memory) AS process_memory,
    sum(ns * power) / sum(ns) FILTER (WHERE power IS NOT NULL) AS power, sum(ns * power) / 1e9 AS energy,
    sum(ns * multiprocessor_clock) / sum(ns) FILTER (WHERE multiprocessor_clock IS NOT NULL) AS multiprocessor_clock,
    sum(ns * memory_clock) / sum(ns) FILTER (WHERE memory_clock IS NOT NULL) AS memory_clock,
    sum(ns * temperature) / sum(ns) FILTER (WHERE temperature IS NOT NULL) AS temperature,
    sum(1.0 * ns * is_throttled) / sum(ns) FILTER (WHERE is_throttled IS NOT NULL) AS throttled,
    sum(ns * sent_rate) FILTER (WHERE sent_rate >= 0) / sum(ns) FILTER (WHERE sent_rate >= 0) AS sent_rate,
    sum(ns * received_rate) FILTER (WHERE received_rate >= 0) / sum(ns) FILTER (WHERE received_rate >= 0)
      AS received_rate
  FROM parts GROUP BY device_id, step_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.rank AS rank,
  means.device_id AS device_id,
  devices.name AS device,
  means.step_id AS step_id,
  steps.number AS number,
  steps.dur_ns AS dur_ns,
  means.known_ns AS known_ns,
  means.reading_count AS reading_count,
  means.utilization AS utilization_ratio,
  means.memory_utilization AS memory_utilization_ratio,
  CAST(round(means.memory_used) AS INTEGER) AS memory_used_bytes,
  CAST(means.max_memory_used AS INTEGER) AS max_memory_used_bytes,
  CAST(means.process_memory AS INTEGER) AS process_memory_bytes,
  means.power AS power_watts,
  means.energy AS energy_joules,
  means.multiprocessor_clock AS multiprocessor_clock_hz,
  means.memory_clock AS memory_clock_hz,
  means.temperature AS temperature_celsius,
  means.throttled AS throttled_ratio,
  means.sent_rate AS pcie_sent_bytes_per_second,
  means.received_rate AS pcie_received_bytes_per_second
FROM means
CROSS JOIN temp.steps AS steps ON steps.id = means.step_id
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
JOIN temp.devices AS devices ON devices.id = means.device_id
ORDER BY profile_id, means.device_id, means.step_id
