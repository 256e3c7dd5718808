-- Allocations that failed: how much was asked for, where, and how much was in use.
--
-- One row for each event of running out of memory, whether the program went on or died of it.
--   profile_id      INTEGER  -      The profile: a process or rank.
--   rank            INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id       INTEGER  -      The device, as in devices.
--   device          TEXT     -      Name of the device.  NULL where it is unknown.
--   id              INTEGER  -      The event, as in memory_events.
--   time_ns         INTEGER  ns     When the allocation failed.
--   bytes           INTEGER  bytes  How much was asked for.
--   in_use_bytes    INTEGER  bytes  How much the program had then.
--   peak_bytes      INTEGER  bytes  The most that it had had until then.
--   reserved_bytes  INTEGER  bytes  How much the allocator held of the device.  NULL where it holds nothing in reserve.
--   capacity_bytes  INTEGER  bytes  Size of the memory of the device.  NULL where it is not known.
--   op              TEXT     -      Name of the innermost op that asked, also of a program that died in it.  NULL where
--                                   none is known.
--   location        TEXT     -      File:line of the innermost line of the program itself.  NULL where no stack was
--                                   recorded.
--   text            TEXT     -      Text of that line.  NULL where it could not be read.
--   step_id         INTEGER  -      The step in which it failed.  NULL outside all steps.
-- Cost: linear in memory_events.  Example: SELECT * FROM memory_failures;
SELECT
  memory_events.profile_id AS profile_id,
  profiles.rank AS rank,
  memory_events.device_id AS device_id,
  devices.name AS device,
  memory_events.id AS id,
  memory_events.time_ns AS time_ns,
  memory_events.bytes AS bytes,
  memory_events.in_use_bytes AS in_use_bytes,
  memory_events.peak_bytes AS peak_bytes,
  memory_events.reserved_bytes AS reserved_bytes,
  devices.memory_bytes AS capacity_bytes,
  coalesce(ops.name, memory_events.op_name) AS op,
  lines.location AS location,
  lines.text AS text,
  memory_events.step_id AS step_id
FROM temp.memory_events AS memory_events
JOIN temp.profiles AS profiles ON profiles.id = memory_events.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = memory_events.device_id
LEFT JOIN temp.ops AS ops ON ops.id = memory_events.op_id
LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = memory_events.code_trace_id
WHERE memory_events.kind = 'out_of_memory'
ORDER BY profile_id, time_ns, id
