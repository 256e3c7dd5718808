-- Memory by op: which ops allocate, how much, and what of it is still held at the end.
--
-- One row for each profile, device and name of the innermost allocating op.  Allocations outside any recorded op have a
-- row without a name.  Allocations of warm-up steps count, since what they leave behind is held like any other.  Where
-- ops were recorded only in some steps, count and bytes are weighed by steps.sample_weight, and what was allocated in
-- steps for which others speak is left out of these two.  What is live is counted as it is, and there it is under the
-- range or no name.  What has no rows (memory_totals) counts without a name, and as it is where no recorded steps stand
-- for it.
--   profile_id    INTEGER  -      The profile: a process or rank.
--   rank          INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id     INTEGER  -      The device, as in devices.
--   device        TEXT     -      Name of the device.  NULL where it is unknown.
--   op            TEXT     -      Name of the op.  NULL for allocations outside any recorded op.
--   count         INTEGER  count  Allocations (weighed).
--   bytes         INTEGER  bytes  What the allocations were given in all (weighed).
--   error_bytes   INTEGER  bytes  Error of bytes where only some steps were recorded (sampling_summary).  0 where all
--                                 were, NULL where too few were.
--   mean_bytes    INTEGER  bytes  Mean size of an allocation.
--   max_bytes     INTEGER  bytes  Size of the largest allocation.
--   live_count    INTEGER  count  Allocations that were never released, not weighed.  NULL where releases are not
--                                 known, as the source has no addresses.
--   live_bytes    INTEGER  bytes  Memory of the allocations that were never released, not weighed.  NULL where releases
--                                 are not known, as the source has no addresses.
--   mean_held_ns  INTEGER  ns     Mean time from allocation to release of those that were released.  NULL where none
--                                 was.
--   bytes_ratio   REAL     ratio  Share of bytes in all bytes that the profile allocated on the device.
-- Cost: linear in allocation_totals, once these are made, and memory_totals.  Where only some steps were recorded one
-- pass over allocations with one look-up for each op that made some.
-- Example: SELECT op, live_bytes FROM memory_by_op;
WITH parts AS (
  SELECT profile_id, device_id, op_name AS name,
    1.0 * count * coalesce(occurrence_count, 1) * coalesce(sample_weight, 1) AS count,
    bytes * coalesce(sample_weight, 1) AS bytes, max_bytes / coalesce(nullif(occurrence_count, 0), 1) AS max_bytes,
    iif(is_released, 0, 1.0 * count * coalesce(occurrence_count, 1)) AS live_count,
    iif(is_released, NULL, bytes) AS live_bytes, iif(is_released AND has_start, 1.0 * held_ns, 0.0) AS held_ns,
    iif(is_released AND has_start, count, 0) AS held_count, NOT has_address AND NOT is_released AS is_unpaired
  FROM temp.allocation_totals
  UNION ALL
  SELECT profile_id, device_id, NULL,
    1.0 * allocation_count * CASE WHEN step_id IS NULL THEN 1 ELSE coalesce(sample_weight, 1) END,
    1.0 * allocated_bytes * CASE WHEN step_id IS NULL THEN 1 ELSE coalesce(sample_weight, 1) END,
    NULL, 0, NULL, 0.0, 0, 0
  FROM temp.memory_totals
), sums AS (
  SELECT profile_id, device_id, name, sum(count) AS count, sum(bytes) AS bytes, max(max_bytes) AS max_bytes,
    CAST(total(live_count) AS INTEGER) AS live_count, CAST(total(live_bytes) AS INTEGER) AS live_bytes,
    sum(held_ns) / nullif(sum(held_count), 0) AS mean_held_ns,
    max(is_unpaired) AND profile_id IN (SELECT profile_id FROM temp.memory_peaks) AS is_unpaired
  FROM parts GROUP BY profile_id, device_id, name
), by_op AS ( -- allocations come in the order that they are grouped in
  SELECT profile_id, device_id, op_id, step_id, sum(1.0 * bytes) AS bytes
  FROM temp.allocations
  WHERE profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY profile_id, device_id, op_id, step_id
), errors AS (
  SELECT by_op.profile_id AS profile_id, by_op.device_id AS device_id, ops.name AS name,
    sample_error(by_op.bytes, by_op.step_id) AS bytes
  FROM by_op LEFT JOIN temp.ops AS ops ON ops.id = by_op.op_id
  GROUP BY by_op.profile_id, by_op.device_id, ops.name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.device_id AS device_id,
  devices.name AS device,
  sums.name AS op,
  CAST(round(sums.count) AS INTEGER) AS count,
  CAST(round(sums.bytes) AS INTEGER) AS bytes,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(round(errors.bytes) AS INTEGER) ELSE 0 END AS error_bytes,
  CAST(sums.bytes / nullif(sums.count, 0) AS INTEGER) AS mean_bytes,
  sums.max_bytes AS max_bytes,
  iif(sums.is_unpaired, NULL, sums.live_count) AS live_count,
  iif(sums.is_unpaired, NULL, sums.live_bytes) AS live_bytes,
  CAST(sums.mean_held_ns AS INTEGER) AS mean_held_ns,
  1.0 * sums.bytes / nullif(total(sums.bytes) OVER (PARTITION BY sums.profile_id, sums.device_id), 0) AS bytes_ratio
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = sums.device_id
LEFT JOIN errors ON errors.profile_id = sums.profile_id AND errors.device_id IS sums.device_id
  AND errors.name IS sums.name
ORDER BY bytes DESC, profile_id, device_id, op
