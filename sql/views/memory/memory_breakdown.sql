-- What each memory held when most of it was in use: by op, line and module, kind, number type and shape.
--
-- One row for each profile, memory, op, line, module, region, dtype and shape among the pieces that were in use at
-- memory_summary.peak_time_ns.  The rows of a memory add up to its peak_bytes.
--   profile_id       INTEGER  -      The profile: a process or rank.
--   host             TEXT     -      Host that it ran on.
--   rank             INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id        INTEGER  -      The device, as in devices.
--   allocator        TEXT     -      Name of the allocator, as in memory_summary.  NULL where it is unknown.
--   memory           TEXT     -      Name of the device, or of the allocator where there is no device, as in
--                                    memory_summary.
--   op               TEXT     -      Name of the op that allocated the pieces.  NULL where none was recorded.
--   bytes            INTEGER  bytes  What the allocator gave for them.
--   requested_bytes  INTEGER  bytes  What the program had asked for, as the source has it.  Without that it is bytes on
--                                    a CPU, and elsewhere what the tensors in the pieces take.  NULL where none of that
--                                    is known.
--   count            INTEGER  count  Number of pieces.  NULL where they are not known one by one.
--   region           TEXT     -      What the pieces are for (allocations.region), and unknown where nothing tells it.
--                                    The region before holds what was in use without an allocation on record, which was
--                                    made before the recording.  The region stack is what is set aside for stacks.
--                                    Where the source has no addresses, releases cannot be paired with allocations, and
--                                    all that was in use is one row of unknown.
--   dtype            TEXT     -      Number type of the tensors in the pieces when they were allocated
--                                    (allocations.dtype).  It is what the source has, or for parameters what the model
--                                    has, or else what the op that allocated them was asked for or returns.  NULL where
--                                    none of these is known.
--   shape            TEXT     -      Shape of the tensors in the pieces when they were allocated (allocations.shape),
--                                    known as dtype is.  NULL where nothing tells it, and for a single number.
--   module           TEXT     -      The innermost module of the model in which the pieces were allocated
--                                    (allocations.module).  For a parameter it is the module that it belongs to.
--   location         TEXT     -      File:line of the innermost line of the program itself.  NULL where no stack was
--                                    recorded.
--   peak_ratio       REAL     ratio  Share of bytes in the peak_bytes of the memory.  1 where the pieces are more than
--                                    the source says was in use.
-- A profile for pprof has all pieces in use.  Its rows stand for several pieces (occurrence_count).
-- XProf knows of a piece only when it was allocated in the step of the peak, and calls the rest unused.
-- Cost: that of memory_summary, one pass over allocations, a look-up of an op for each piece in use then.
-- Example: SELECT op, location, region, bytes FROM memory_breakdown LIMIT 10;
WITH peaks AS MATERIALIZED (
  SELECT *, profile_id IN (SELECT id FROM temp.profiles WHERE origin = 'pprof') AS is_sum
  FROM temp.memory_summary WHERE peak_bytes IS NOT NULL
), lines AS MATERIALIZED (
  SELECT code_trace_id, location FROM temp._code_trace_lines
), held AS MATERIALIZED ( -- comparisons alone are made before a row is looked at: so released later, or never
  SELECT allocations.profile_id AS profile_id, allocations.device_id AS device_id, allocations.allocator AS allocator,
    allocations.bytes AS bytes, coalesce(allocations.requested_bytes, allocations.tensor_bytes) AS requested_bytes,
    allocations.op_id AS op_id,
    coalesce(allocations.region, 'unknown') AS region, allocations.dtype AS dtype, allocations.shape AS shape,
    allocations.module AS module, allocations.code_trace_id AS code_trace_id,
    coalesce(allocations.occurrence_count, 1) AS count
  FROM peaks CROSS JOIN temp.allocations AS allocations
    ON allocations.profile_id = peaks.profile_id AND allocations.device_id IS peaks.device_id
    AND allocations.allocator IS peaks.allocator
    AND allocations.allocated_ns <= peaks.peak_time_ns AND allocations.released_ns > peaks.peak_time_ns
  UNION ALL
  SELECT allocations.profile_id, allocations.device_id, allocations.allocator, allocations.bytes,
    coalesce(allocations.requested_bytes, allocations.tensor_bytes), allocations.op_id,
    coalesce(allocations.region, 'unknown'), allocations.dtype, allocations.shape, allocations.module,
    allocations.code_trace_id, coalesce(allocations.occurrence_count, 1)
  FROM peaks CROSS JOIN temp.allocations AS allocations
    ON allocations.profile_id = peaks.profile_id AND allocations.device_id IS peaks.device_id
    AND allocations.allocator IS peaks.allocator
    AND allocations.allocated_ns <= peaks.peak_time_ns AND allocations.released_ns IS NULL
    AND allocations.address IS NOT NULL -- else nobody knows
  UNION ALL
  SELECT allocations.profile_id, allocations.device_id, allocations.allocator, allocations.bytes,
    coalesce(allocations.requested_bytes, allocations.tensor_bytes), allocations.op_id,
    coalesce(allocations.region, iif(peaks.is_sum, 'unknown', 'before')), allocations.dtype, allocations.shape,
    allocations.module, allocations.code_trace_id, coalesce(allocations.occurrence_count, 1)
  FROM peaks CROSS JOIN temp.allocations AS allocations -- of the one moment that is told, or made before the recording
    ON allocations.profile_id = peaks.profile_id AND allocations.device_id IS peaks.device_id
    AND allocations.allocator IS peaks.allocator AND allocations.allocated_ns IS NULL
  WHERE peaks.peak_time_ns IS NULL OR allocations.released_ns > peaks.peak_time_ns
    OR (allocations.released_ns IS NULL AND allocations.address IS NOT NULL)
), known AS (
  SELECT profile_id, device_id, allocator, total(bytes) AS bytes FROM held GROUP BY profile_id, device_id, allocator
), parts AS (
  SELECT held.profile_id AS profile_id, held.device_id AS device_id, held.allocator AS allocator, ops.name AS op,
    held.module AS module, lines.location AS location, held.region AS region, held.dtype AS dtype, held.shape AS shape,
    CAST(total(held.bytes) AS INTEGER) AS bytes,
    CASE WHEN count(held.requested_bytes) = count(*)
      THEN CAST(sum(1.0 * held.requested_bytes) AS INTEGER) END AS requested_bytes,
    CAST(total(held.count) AS INTEGER) AS count
  FROM held
  LEFT JOIN temp.ops AS ops ON ops.id = held.op_id
  LEFT JOIN lines ON lines.code_trace_id = held.code_trace_id
  GROUP BY held.profile_id, held.device_id, held.allocator, ops.name, held.module, lines.location, held.region,
    held.dtype, held.shape
  UNION ALL
  SELECT profile_id, device_id, allocator, NULL, NULL, NULL, 'stack', NULL, NULL, stack_bytes, stack_bytes, NULL
  FROM peaks WHERE stack_bytes > 0
  UNION ALL
  SELECT peaks.profile_id, peaks.device_id, peaks.allocator, NULL, NULL, NULL,
    CASE WHEN known.bytes IS NULL AND EXISTS (SELECT 1 FROM temp.allocations AS allocations
        WHERE allocations.profile_id = peaks.profile_id AND allocations.address IS NULL
          AND allocations.released_ns IS NULL) THEN 'unknown' ELSE 'before' END,
    NULL, NULL, peaks.heap_bytes - CAST(coalesce(known.bytes, 0) AS INTEGER), NULL, NULL
  FROM peaks LEFT JOIN known ON known.profile_id = peaks.profile_id AND known.device_id IS peaks.device_id
    AND known.allocator IS peaks.allocator
  WHERE peaks.heap_bytes > coalesce(known.bytes, 0)
)
SELECT
  parts.profile_id AS profile_id,
  peaks.host AS host,
  peaks.rank AS rank,
  parts.device_id AS device_id,
  parts.allocator AS allocator,
  peaks.memory AS memory,
  parts.op AS op,
  parts.bytes AS bytes,
  coalesce(parts.requested_bytes, CASE WHEN devices.kind = 'cpu' THEN parts.bytes END) AS requested_bytes,
  parts.count AS count,
  parts.region AS region,
  parts.dtype AS dtype,
  parts.shape AS shape,
  parts.module AS module,
  parts.location AS location,
  min(1.0, 1.0 * parts.bytes / nullif(peaks.peak_bytes, 0)) AS peak_ratio
FROM parts
JOIN peaks ON peaks.profile_id = parts.profile_id AND peaks.device_id IS parts.device_id
  AND peaks.allocator IS parts.allocator
LEFT JOIN temp.devices AS devices ON devices.id = parts.device_id
ORDER BY profile_id, memory, allocator, bytes DESC, op, location, module, region, dtype, shape
