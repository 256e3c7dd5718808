-- Transfers: copies and fills of device memory by direction and kind of memory.
--
-- One row for each profile, kind, direction and pair of memory kinds.  Transfers that a warm-up step launched are left
-- out, and those launched outside any step count.  Where transfers were recorded only in some steps, count, bytes and
-- times are weighed (sample_weight).
--   profile_id        INTEGER  -        The profile: a process or rank.
--   rank              INTEGER  -        Rank of the process.  NULL where it is unknown.
--   kind              TEXT     -        Kind of the transfer: memcpy or memset.
--   direction         TEXT     -        Direction of a copy: HtoD, DtoH, DtoD, PtoP or HtoH.  NULL for a fill.
--   source_memory     TEXT     -        Memory that is read: pageable, pinned, device, array or managed.  NULL where it
--                                       is unknown.
--   target_memory     TEXT     -        Memory that is written: pageable, pinned, device, array or managed.  NULL where
--                                       it is unknown.
--   count             INTEGER  count    Number of transfers.
--   bytes             INTEGER  bytes    What they moved.
--   mean_bytes        INTEGER  bytes    Mean size of a transfer.
--   sum_ns            INTEGER  ns       Duration of all these transfers.
--   sum_error_ns      INTEGER  ns       Error of sum_ns where only some steps were recorded (sampling_summary).  0
--                                       where all were, NULL where too few were.
--   sum_ratio         REAL     ratio    Share of sum_ns in the time of all transfers of the profile.
--   mean_ns           INTEGER  ns       Mean duration of a transfer.
--   max_ns            INTEGER  ns       Duration of the longest transfer.
--   bytes_per_second  REAL     bytes/s  All bytes by all time.  NULL where there is no time.
-- Cost: one pass over transfers.  Example: SELECT direction, source_memory, bytes_per_second FROM transfer_summary;
WITH sums AS (
  SELECT profile_id, kind, direction, source_memory, target_memory,
    CAST(round(sum(sample_weight)) AS INTEGER) AS count, CAST(sum(dur_ns * sample_weight) AS INTEGER) AS sum_ns,
    CAST(sum(bytes * sample_weight) AS INTEGER) AS bytes, max(dur_ns) AS max_ns,
    CAST(sample_error(dur_ns, sampled_step_id) AS INTEGER) AS sum_error_ns
  FROM temp.transfers WHERE is_measured = 1
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
  sums.sum_error_ns AS sum_error_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.max_ns AS max_ns,
  1e9 * sums.bytes / nullif(sums.sum_ns, 0) AS bytes_per_second
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, kind, direction, source_memory, target_memory
