-- Memory by source line: which lines of the program allocate, what of it is still held, and what they held at the peak.
--
-- One row for each profile, device and line, which is the innermost line of the program itself on the stack of the
-- allocation (_code_trace_lines).  What has no line has rows by what else is known of it, so that nothing is left out.
-- The rows of a device add up to what was allocated.  Where the source tells totals, they add up to
-- memory_summary.heap_bytes of its memories at the peak of each, too.  In a program that was killed, what is live is
-- what it held when it died.  Warm-up steps count like any other, since memory that they keep is held, too.
-- Where ops were recorded only in some steps, pieces below 1 MiB have a line only there.  Their count and bytes are
-- weighed by steps.sample_weight, and what was allocated in steps for which others speak is left out of these two.
-- What is live and what was held at the peak is counted as it is, with the line where that is known.  Pieces without
-- rows (memory_totals) were neither, and count for their line.
-- A memory profile in the format of pprof tells only what is held.  All of it is live there and held at the peak, and a
-- row of allocations counts as often as it stands for pieces (occurrence_count).
--   profile_id   INTEGER  -      The profile: a process or rank.
--   rank         INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id    INTEGER  -      The device, as in devices.
--   device       TEXT     -      Name of the device.  NULL where it is unknown.
--   location     TEXT     -      The line as file:line, the file without its directories.  NULL where the allocations
--                                have no line.
--   name         TEXT     -      The location, and without one what is known best.  That is the function on the stack,
--                                the op that allocated (op aten::mm), the module that the pieces belong to (module
--                                net.0), memory from before the recording, or no line.
--   text         TEXT     -      The source line.  NULL where it could not be read.
--   count        INTEGER  count  Allocations (weighed).  In the row of memory from before the recording it is the
--                                pieces that are known.
--   bytes        INTEGER  bytes  What the allocations were given in all (weighed).
--   error_bytes  INTEGER  bytes  Error of bytes where only some steps were recorded (sampling_summary).  0 where all
--                                were, NULL where too few were.
--   bytes_ratio  REAL     ratio  Share of bytes in all bytes that were allocated on the device.
--   live_count   INTEGER  count  Allocations that were never released, not weighed.  NULL where releases are not known,
--                                as the source has no addresses.
--   live_bytes   INTEGER  bytes  Memory of the allocations that were never released, not weighed.  NULL where releases
--                                are not known, as the source has no addresses.
--   peak_bytes   INTEGER  bytes  What the line held of each memory of the device when most of that memory was in use,
--                                added up.  NULL where the source has no totals.
--   peak_ratio   REAL     ratio  Share of peak_bytes in all that was in use then, with what was allocated before the
--                                recording.  Where all lines together held more than the totals of the allocator, as
--                                with shared memory, it is the share in what they held.  NULL as peak_bytes is.
--   function     TEXT     -      Function that the line stands in.
--   file         TEXT     -      File that the line stands in, with its directories.
--   line         INTEGER  -      Number of the line in the file.
--   is_library   INTEGER  -      1: a line of an installed package or of the library of Python.
-- Cost: two passes over allocations, one over memory_totals and code_traces, a look-up of a step for each line in each
-- step, and of an op for each op that made some without a line.
-- Example: SELECT name, text, live_bytes FROM memory_by_line ORDER BY live_bytes DESC LIMIT 10;
WITH peaks AS MATERIALIZED (
  SELECT peaks.profile_id AS profile_id, peaks.device_id AS device_id, peaks.allocator AS allocator,
    events.time_ns AS time_ns, events.in_use_bytes AS heap_bytes
  FROM temp.memory_peaks AS peaks LEFT JOIN temp.memory_events AS events ON events.id = peaks.memory_event_id
), by_step AS ( -- allocations come in the orders that they are grouped in
  SELECT allocations.profile_id AS profile_id, allocations.device_id AS device_id,
    allocations.code_trace_id AS code_trace_id, NULL AS op_id, NULL AS module, 0 AS is_before,
    allocations.step_id AS step_id, total(coalesce(occurrence_count, 1)) AS count,
    total(allocations.bytes) AS bytes,
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.bytes < 1 << 20) AS small_count,
    total(allocations.bytes) FILTER (WHERE allocations.bytes < 1 << 20) AS small_bytes,
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.released_ns IS NULL) AS live_count,
    total(allocations.bytes) FILTER (WHERE allocations.released_ns IS NULL) AS live_bytes,
    total(allocations.bytes) FILTER (WHERE coalesce(allocations.allocated_ns <= peaks.time_ns, 1)
      AND coalesce(allocations.released_ns > peaks.time_ns, 1)) AS peak_bytes,
    max(peaks.heap_bytes IS NOT NULL) AS has_peak,
    max(allocations.address IS NULL AND allocations.released_ns IS NULL AND peaks.profile_id IS NOT NULL) AS is_unpaired
  FROM temp.allocations AS allocations
  LEFT JOIN peaks ON peaks.profile_id = allocations.profile_id AND peaks.device_id IS allocations.device_id
    AND peaks.allocator IS allocations.allocator
  WHERE allocations.code_trace_id IS NOT NULL
  GROUP BY allocations.profile_id, allocations.device_id, allocations.code_trace_id, allocations.step_id
  UNION ALL
  SELECT allocations.profile_id, allocations.device_id, NULL, allocations.op_id, allocations.module, 0,
    allocations.step_id, total(coalesce(occurrence_count, 1)),
    total(allocations.bytes),
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.bytes < 1 << 20),
    total(allocations.bytes) FILTER (WHERE allocations.bytes < 1 << 20),
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.released_ns IS NULL),
    total(allocations.bytes) FILTER (WHERE allocations.released_ns IS NULL),
    total(allocations.bytes) FILTER (WHERE coalesce(allocations.allocated_ns <= peaks.time_ns, 1)
      AND coalesce(allocations.released_ns > peaks.time_ns, 1)),
    max(peaks.heap_bytes IS NOT NULL),
    max(allocations.address IS NULL AND allocations.released_ns IS NULL AND peaks.profile_id IS NOT NULL)
  FROM temp.allocations AS allocations
  LEFT JOIN peaks ON peaks.profile_id = allocations.profile_id AND peaks.device_id IS allocations.device_id
    AND peaks.allocator IS allocations.allocator
  WHERE allocations.code_trace_id IS NULL AND allocations.allocated_ns IS NOT NULL
  GROUP BY allocations.profile_id, allocations.device_id, allocations.op_id, allocations.module, allocations.step_id
  UNION ALL
  SELECT allocations.profile_id, allocations.device_id, NULL, allocations.op_id, allocations.module, 1,
    allocations.step_id, total(coalesce(occurrence_count, 1)),
    total(allocations.bytes),
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.bytes < 1 << 20),
    total(allocations.bytes) FILTER (WHERE allocations.bytes < 1 << 20),
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.released_ns IS NULL),
    total(allocations.bytes) FILTER (WHERE allocations.released_ns IS NULL),
    total(allocations.bytes) FILTER (WHERE coalesce(allocations.allocated_ns <= peaks.time_ns, 1)
      AND coalesce(allocations.released_ns > peaks.time_ns, 1)),
    max(peaks.heap_bytes IS NOT NULL),
    max(allocations.address IS NULL AND allocations.released_ns IS NULL AND peaks.profile_id IS NOT NULL)
  FROM temp.allocations AS allocations
  LEFT JOIN peaks ON peaks.profile_id = allocations.profile_id AND peaks.device_id IS allocations.device_id
    AND peaks.allocator IS allocations.allocator
  WHERE allocations.code_trace_id IS NULL AND allocations.allocated_ns IS NULL
  GROUP BY allocations.profile_id, allocations.device_id, allocations.op_id, allocations.module, allocations.step_id
  UNION ALL
  SELECT profile_id, device_id, code_trace_id, NULL, NULL, 0, step_id,
    1.0 * allocation_count * iif(code_trace_id IS NULL AND step_id IS NOT NULL, coalesce(sample_weight, 1), 1),
    1.0 * allocated_bytes * iif(code_trace_id IS NULL AND step_id IS NOT NULL, coalesce(sample_weight, 1), 1),
    0.0, 0.0, 0.0, 0.0, 0.0, 1, 0
  FROM temp.memory_totals
), named AS MATERIALIZED ( -- a profile for pprof is of one moment
  SELECT by_step.profile_id AS profile_id, by_step.device_id AS device_id, by_step.step_id AS step_id,
    lines.file AS file, lines.line AS line, lines.location AS location, lines.text AS text, lines.function AS function,
    lines.is_library AS is_library,
    coalesce(lines.location, lines.function, 'op ' || ops.name, 'module ' || nullif(by_step.module, ''),
      iif(is_before AND profiles.origin IS NOT 'pprof', 'memory from before the recording', 'no line')) AS name,
    count AS count, bytes AS bytes, small_count AS small_count, small_bytes AS small_bytes, live_count AS live_count,
    live_bytes AS live_bytes, iif(profiles.origin = 'pprof', live_bytes, peak_bytes) AS peak_bytes,
    has_peak OR profiles.origin = 'pprof' AS has_peak, is_unpaired AS is_unpaired
  FROM by_step
  JOIN temp.profiles AS profiles ON profiles.id = by_step.profile_id
  LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = by_step.code_trace_id
  LEFT JOIN temp.ops AS ops ON ops.id = by_step.op_id
), parts AS (
  SELECT named.profile_id AS profile_id, named.device_id AS device_id, named.name AS name, named.file AS file,
    named.line AS line, named.location AS location, named.text AS text, named.function AS function,
    named.is_library AS is_library,
    count - small_count + small_count * coalesce(steps.sample_weight, 1.0) AS count,
    bytes - small_bytes + small_bytes * coalesce(steps.sample_weight, 1) AS bytes,
    live_count, live_bytes, peak_bytes, has_peak, is_unpaired, 0.0 AS whole_bytes
  FROM named LEFT JOIN temp.steps AS steps ON steps.id = named.step_id
  UNION ALL
  SELECT profile_id, device_id, 'memory from before the recording', NULL, NULL, NULL, NULL, NULL, NULL, 0.0, 0.0, 0.0,
    0.0, 0.0, 1, 0, heap_bytes
  FROM peaks WHERE heap_bytes > 0
), sums AS (
  SELECT profile_id, device_id, name, file, line, max(location) AS location, max(text) AS text,
    max(function) AS function, max(is_library) AS is_library, total(count) AS count, total(bytes) AS bytes,
    total(live_count) AS live_count, total(live_bytes) AS live_bytes, total(peak_bytes) AS peak_bytes,
    max(has_peak) AS has_peak, max(is_unpaired) AS is_unpaired, total(whole_bytes) AS whole_bytes
  FROM parts GROUP BY profile_id, device_id, name, file, line
), whole AS ( -- what has no row was there before, and nobody saw it go
  SELECT sums.*,
    iif(location IS NULL AND name = 'memory from before the recording'
        AND NOT max(is_unpaired) OVER (PARTITION BY profile_id, device_id),
      max(0.0, whole_bytes - total(peak_bytes) OVER (PARTITION BY profile_id, device_id)), 0.0) AS before_bytes,
    max(total(whole_bytes) OVER (PARTITION BY profile_id, device_id),
      total(peak_bytes) OVER (PARTITION BY profile_id, device_id)) AS all_bytes
  FROM sums
), errors AS ( -- a large piece speaks for itself alone
  SELECT profile_id, device_id, name, file, sample_error(small_bytes, step_id) AS bytes
  FROM named
  WHERE small_count > 0 AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY profile_id, device_id, name, file
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.location AS location,
  sums.name AS name,
  sums.text AS text,
  CAST(round(sums.count) AS INTEGER) AS count,
  CAST(round(sums.bytes) AS INTEGER) AS bytes,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(round(errors.bytes) AS INTEGER) ELSE 0 END AS error_bytes,
  sums.bytes / nullif(total(sums.bytes) OVER (PARTITION BY sums.profile_id, sums.device_id), 0) AS bytes_ratio,
  CASE WHEN NOT sums.is_unpaired THEN CAST(sums.live_count AS INTEGER) END AS live_count,
  CASE WHEN NOT sums.is_unpaired THEN CAST(sums.live_bytes + sums.before_bytes AS INTEGER) END AS live_bytes,
  CASE WHEN sums.has_peak AND NOT sums.is_unpaired THEN CAST(sums.peak_bytes + sums.before_bytes AS INTEGER) END
    AS peak_bytes,
  CASE WHEN sums.has_peak AND NOT sums.is_unpaired
    THEN (sums.peak_bytes + sums.before_bytes) / nullif(sums.all_bytes, 0) END AS peak_ratio,
  sums.function AS function,
  sums.file AS file,
  sums.line AS line,
  sums.is_library AS is_library
FROM whole AS sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
LEFT JOIN errors ON errors.profile_id = sums.profile_id AND errors.device_id IS sums.device_id
  AND errors.name IS sums.name AND errors.file IS sums.file
WHERE sums.count > 0 OR sums.live_count > 0 OR sums.peak_bytes > 0 OR sums.before_bytes > 0
ORDER BY peak_bytes DESC, bytes DESC, profile_id, device_id, file, line, name
