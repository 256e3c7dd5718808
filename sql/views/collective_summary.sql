-- Collectives: what the ranks exchange, how much, and how fast.
--
-- One row for each profile, operation, process group, number type and size; those of a warm-up step are left out.
--   profile_id, rank
--   name, process_group, group_size, dtype, bytes   what is exchanged, each time
--   count, total_bytes                how often; the bytes of all of them
--   sum_ns, mean_ns, min_ns, max_ns   of the durations; the shortest is the closest to what the exchange itself takes,
--                                     as others contain waiting for a slower rank
--   transfer_ns, mean_transfer_ns     what the exchange itself took, told by the other ranks (collective_waits), in all
--                                     and each time; the rest of sum_ns is waiting; NULL where no other rank is open
--   bytes_per_second                  total_bytes by sum_ns
--   bus_bytes_per_second              the same per link, as NCCL's tests define it: all_reduce moves 2 (n - 1) / n of
--                                     the data, all_gather, reduce_scatter and all_to_all (n - 1) / n, others all of it
-- Cost: one pass over collectives, and collective_waits.
-- Example: SELECT name, bytes, count, bus_bytes_per_second FROM collective_summary;
WITH sums AS (
  SELECT collectives.profile_id AS profile_id, collectives.name AS name, process_group, group_size, dtype, bytes,
    count(*) AS count, CAST(sum(1.0 * bytes) AS INTEGER) AS total_bytes,
    CAST(sum(1.0 * collectives.dur_ns) AS INTEGER) AS sum_ns, min(collectives.dur_ns) AS min_ns,
    max(collectives.dur_ns) AS max_ns, sum(1.0 * waits.transfer_ns) AS transfer_ns,
    avg(waits.transfer_ns) AS mean_transfer_ns
  FROM temp.collective_waits AS waits -- which has each collective once
  CROSS JOIN temp.collectives AS collectives ON collectives.id = waits.collective_id
  WHERE collectives.step_id IS NULL OR collectives.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1)
  GROUP BY collectives.profile_id, collectives.name, process_group, group_size, dtype, bytes
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS name,
  sums.process_group AS process_group,
  sums.group_size AS group_size,
  sums.dtype AS dtype,
  sums.bytes AS bytes,
  sums.count AS count,
  sums.total_bytes AS total_bytes,
  sums.sum_ns AS sum_ns,
  sums.sum_ns / sums.count AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  CAST(sums.transfer_ns AS INTEGER) AS transfer_ns,
  CAST(sums.mean_transfer_ns AS INTEGER) AS mean_transfer_ns,
  1e9 * sums.total_bytes / nullif(sums.sum_ns, 0) AS bytes_per_second,
  1e9 * sums.total_bytes / nullif(sums.sum_ns, 0) * CASE
    WHEN replace(lower(sums.name), '_', '') GLOB 'allreduce*' THEN 2.0 * (sums.group_size - 1) / sums.group_size
    WHEN replace(lower(sums.name), '_', '') GLOB 'allgather*'
      OR replace(lower(sums.name), '_', '') GLOB '*reducescatter*'
      OR replace(lower(sums.name), '_', '') GLOB 'alltoall*' THEN 1.0 * (sums.group_size - 1) / sums.group_size
    ELSE 1.0 END AS bus_bytes_per_second
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, name, process_group, group_size, dtype, bytes
