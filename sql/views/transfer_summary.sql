-- Transfers: copies and fills of device memory by direction and kind of memory.
--
-- One row for each profile, kind, direction and pair of memory kinds.  Those that a warm-up step launched are left
-- out, those launched outside any step count.  Where transfers were recorded only in some steps, count, bytes and times
-- are weighed (thinned_steps).
--   profile_id, rank
--   kind, direction                memcpy or memset; HtoD, DtoH, DtoD, PtoP or HtoH (NULL for a fill)
--   source_memory, target_memory   pageable, pinned, device, array or managed
--   count, bytes, mean_bytes       how many, and what they moved
--   sum_ns, sum_ratio              their time; its share of the time of all transfers of the profile
--   mean_ns, max_ns                of their durations
--   bytes_per_second               all bytes by all time
-- Cost: one pass over transfers.  Example: SELECT direction, source_memory, bytes_per_second FROM transfer_summary;
WITH thinned AS MATERIALIZED (
  SELECT step_id, weight FROM temp.thinned_steps
), sums AS (
  SELECT profile_id, kind, direction, source_memory, target_memory,
    CAST(round(sum(coalesce(weight, 1.0))) AS INTEGER) AS count,
    CAST(sum(bytes * coalesce(weight, 1.0)) AS INTEGER) AS bytes,
    CAST(sum(dur_ns * coalesce(weight, 1.0)) AS INTEGER) AS sum_ns, max(dur_ns) AS max_ns
  FROM temp.transfers AS transfers LEFT JOIN thinned ON thinned.step_id = transfers.step_id
  WHERE (transfers.step_id IS NULL OR transfers.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
    AND weight IS NOT 0
  GROUP BY profile_id, kind, direction, source_memory, target_memory
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.kind AS kind,
  sums.direction AS direction,
  sums.source_memory AS source_memory,
  sums.target_memory AS target_memory,
  sums.count AS count,
  sums.bytes AS bytes,
  sums.bytes / sums.count AS mean_bytes,
  sums.sum_ns AS sum_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.max_ns AS max_ns,
  1e9 * sums.bytes / nullif(sums.sum_ns, 0) AS bytes_per_second
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, kind, direction, source_memory, target_memory
