-- Memory by source line: which lines of the program allocate, what of it is still held, and what they held at the peak.
--
-- One row for each profile, device and line: the innermost line of the program itself on the stack of the allocation
-- (code_trace_line); allocations without a stack have a row without a line.  Of a program that was killed, what is live
-- is what it held when it died.  Warm-up steps count like any other: memory that they keep is held, too.  Where ops
-- were recorded only in some steps, pieces below 1 MiB have a line only there: of those count and bytes are weighed by
-- steps.sample_weight, and what was allocated in steps for which others speak is left out of them.  What is live and
-- what was held at the peak is counted as it is, with the line where it is known; pieces without rows (memory_totals)
-- were neither, and count for their line.  A memory profile of pprof's format tells what is held, and no more: all of
-- it is live there, and a row of allocations counts as often as it stands for pieces (occurrence_count).
--   profile_id, rank, device_id, device
--   location                file:line, the file without its directories
--   text                    the source line, where it could be read
--   count, bytes            allocations, and what they were given in all
--   bytes_error             error of bytes where only some steps were recorded; 0 where all were, NULL where
--                           too few were (sampling_summary)
--   live_count, live_bytes  of them never released; NULL where releases are not known, as the source has no addresses
--   peak_bytes              what of them was held when most was in use on the device; NULL where the source has no
--                           totals
--   peak_ratio              its share of all that was in use then, what was allocated before the recording included; of
--                           what all lines held where that is more, as shared memory is outside the allocator's totals
--   function, file, line    of the frame
--   is_library              1: a line of an installed package or of Python's library
-- Cost: two passes over memory_events, one over allocations, memory_totals and code_traces, a look-up of a step for
-- each allocation.
-- Example: SELECT location, text, live_bytes FROM memory_by_line ORDER BY live_bytes DESC LIMIT 10;
WITH highest AS (
  SELECT profile_id, device_id, max(in_use_bytes) AS in_use_bytes
  FROM temp.memory_events WHERE +kind = 'allocate' GROUP BY profile_id, device_id
), peaks AS MATERIALIZED (
  SELECT highest.profile_id AS profile_id, highest.device_id AS device_id, highest.in_use_bytes AS in_use_bytes,
    min(memory_events.time_ns) AS time_ns
  FROM temp.memory_events AS memory_events JOIN highest ON highest.profile_id = memory_events.profile_id
    AND highest.device_id IS memory_events.device_id AND highest.in_use_bytes = memory_events.in_use_bytes
  WHERE memory_events.kind = 'allocate'
  GROUP BY highest.profile_id, highest.device_id, highest.in_use_bytes
), lines AS MATERIALIZED (
  SELECT * FROM temp.code_trace_line
), by_step AS ( -- allocations come in the order that they are grouped in
  SELECT allocations.profile_id AS profile_id, allocations.device_id AS device_id,
    allocations.code_trace_id AS code_trace_id, allocations.step_id AS step_id,
    total(coalesce(occurrence_count, 1)) AS count, total(allocations.bytes) AS bytes,
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.bytes < 1 << 20) AS small_count,
    total(allocations.bytes) FILTER (WHERE allocations.bytes < 1 << 20) AS small_bytes,
    total(coalesce(occurrence_count, 1)) FILTER (WHERE allocations.released_ns IS NULL) AS live_count,
    total(allocations.bytes) FILTER (WHERE allocations.released_ns IS NULL) AS live_bytes,
    total(allocations.bytes) FILTER (WHERE allocations.allocated_ns <= peaks.time_ns
      AND (allocations.released_ns IS NULL OR allocations.released_ns > peaks.time_ns)) AS peak_bytes,
    max(peaks.time_ns) AS peak_ns, max(peaks.in_use_bytes) AS in_use_bytes,
    max(allocations.address IS NULL AND allocations.released_ns IS NULL) AS is_unpaired
  FROM temp.allocations AS allocations
  LEFT JOIN peaks ON peaks.profile_id = allocations.profile_id AND peaks.device_id IS allocations.device_id
  WHERE allocations.allocated_ns IS NOT NULL
    OR allocations.profile_id IN (SELECT id FROM temp.profiles WHERE origin = 'pprof')
  GROUP BY allocations.profile_id, allocations.device_id, allocations.code_trace_id, allocations.step_id
), parts AS (
  SELECT by_step.profile_id AS profile_id, by_step.device_id AS device_id, by_step.code_trace_id AS code_trace_id,
    count - small_count + small_count * coalesce(steps.sample_weight, 1.0) AS count,
    bytes - small_bytes + small_bytes * coalesce(steps.sample_weight, 1) AS bytes,
    live_count, live_bytes, peak_bytes, peak_ns, in_use_bytes, is_unpaired
  FROM by_step LEFT JOIN temp.steps AS steps ON steps.id = by_step.step_id
  UNION ALL
  SELECT totals.profile_id, totals.device_id, totals.code_trace_id,
    1.0 * totals.allocation_count * CASE WHEN totals.code_trace_id IS NULL AND totals.step_id IS NOT NULL
      THEN coalesce(totals.sample_weight, 1) ELSE 1 END,
    1.0 * totals.allocated_bytes * CASE WHEN totals.code_trace_id IS NULL AND totals.step_id IS NOT NULL
      THEN coalesce(totals.sample_weight, 1) ELSE 1 END,
    0, 0.0, 0.0, peaks.time_ns, peaks.in_use_bytes, 0
  FROM temp.memory_totals AS totals
  LEFT JOIN peaks ON peaks.profile_id = totals.profile_id AND peaks.device_id IS totals.device_id
), sums AS (
  SELECT parts.profile_id AS profile_id, parts.device_id AS device_id, lines.file AS file, lines.line AS line,
    max(lines.location) AS location, max(lines.text) AS text, max(lines.function) AS function,
    max(lines.is_library) AS is_library, sum(count) AS count, sum(bytes) AS bytes,
    CAST(sum(live_count) AS INTEGER) AS live_count, CAST(sum(live_bytes) AS INTEGER) AS live_bytes,
    max(is_unpaired) AND parts.profile_id IN (SELECT profile_id FROM temp.memory_peaks) AS is_unpaired,
    CASE WHEN max(peak_ns) IS NOT NULL THEN CAST(sum(peak_bytes) AS INTEGER) END AS peak_bytes,
    max(in_use_bytes) AS in_use_bytes
  FROM parts LEFT JOIN lines ON lines.code_trace_id = parts.code_trace_id
  GROUP BY parts.profile_id, parts.device_id, lines.file, lines.line
), in_step AS ( -- a large piece speaks for itself alone
  SELECT by_step.profile_id AS profile_id, by_step.device_id AS device_id, lines.file AS file, lines.line AS line,
    steps.id AS step_id, sum(small_bytes) AS bytes
  FROM by_step JOIN temp.steps AS steps ON steps.id = by_step.step_id
  LEFT JOIN lines ON lines.code_trace_id = by_step.code_trace_id
  WHERE steps.is_warmup = 0 AND steps.ops_recorded = 1
    AND by_step.profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY by_step.profile_id, by_step.device_id, lines.file, lines.line, steps.id
), errors AS (
  SELECT in_step.profile_id AS profile_id, device_id, file, line,
    sample_error(bytes, drawn.weight, drawn.lead_ns, drawn.step_count, drawn.spread_factor, drawn.lead_factor,
      drawn.unseen_ratio) AS bytes
  FROM in_step JOIN temp.sampled_steps AS drawn ON drawn.step_id = in_step.step_id
  GROUP BY in_step.profile_id, device_id, file, line
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.location AS location,
  sums.text AS text,
  CAST(round(sums.count) AS INTEGER) AS count,
  CAST(round(sums.bytes) AS INTEGER) AS bytes,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(round(errors.bytes) AS INTEGER) ELSE 0 END AS bytes_error,
  iif(sums.is_unpaired, NULL, sums.live_count) AS live_count,
  iif(sums.is_unpaired, NULL, sums.live_bytes) AS live_bytes,
  sums.peak_bytes AS peak_bytes,
  1.0 * sums.peak_bytes / nullif(max(sums.in_use_bytes,
    sum(1.0 * sums.peak_bytes) OVER (PARTITION BY sums.profile_id, sums.device_id)), 0) AS peak_ratio,
  sums.function AS function,
  sums.file AS file,
  sums.line AS line,
  sums.is_library AS is_library
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
LEFT JOIN errors ON errors.profile_id = sums.profile_id AND errors.device_id IS sums.device_id
  AND errors.file IS sums.file AND errors.line IS sums.line
WHERE sums.count > 0 OR sums.live_count > 0 OR sums.peak_bytes > 0
ORDER BY peak_bytes DESC, bytes DESC, profile_id, device_id, file, line
