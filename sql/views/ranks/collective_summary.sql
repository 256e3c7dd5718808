-- Collectives: what the ranks exchange, how much, and how fast.
--
-- One row for each profile, operation, process group, number type and size.  Collectives of a warm-up step are left
-- out.  Where kernels were recorded only in some steps, counts, bytes and times of what they carried out are weighed
-- (sample_weight).  Durations are of those collectives only that have a known one (collectives.carried_by), and NULL
-- where none has.
--   profile_id            INTEGER  -        The profile: a process or rank.
--   rank                  INTEGER  -        Rank of the process.  NULL where it is unknown.
--   name                  TEXT     -        The operation.  It is all_reduce, all_gather or all_to_all also where the
--                                           source says allreduce, allgather or alltoall, as rows of c10d in traces do.
--   process_group         TEXT     -        Name of the group of ranks.
--   group_size            INTEGER  -        Number of ranks in the group.
--   dtype                 TEXT     -        Number type of the data.
--   bytes                 INTEGER  bytes    Size of the data of one collective.
--   count                 INTEGER  count    Number of collectives.
--   total_bytes           INTEGER  bytes    Size of the data of all collectives.
--   sum_ns                INTEGER  ns       Sum of the durations.  They contain waiting for slower ranks.
--   sum_error_ns          INTEGER  ns       Error of sum_ns where only some steps were recorded (sampling_summary).  0
--                                           where all were, NULL where too few were.
--   mean_ns               INTEGER  ns       Mean duration.
--   min_ns                INTEGER  ns       Shortest duration.  It is closest to what the exchange itself takes, as
--                                           others contain waiting for a slower rank.
--   max_ns                INTEGER  ns       Longest duration.
--   transfer_ns           INTEGER  ns       Time that the exchange itself took in all, as the other ranks tell it
--                                           (collective_waits).  The rest of sum_ns is waiting.  NULL where no other
--                                           rank is open.
--   mean_transfer_ns      INTEGER  ns       Mean time that the exchange itself took.  NULL where no other rank is open.
--   bytes_per_second      REAL     bytes/s  Bytes of the collectives with known durations over sum_ns.
--   bus_bytes_per_second  REAL     bytes/s  The rate per link, as the tests of NCCL define it.  Of n ranks, all_reduce
--                                           moves 2 (n - 1) / n of the data, all_gather, reduce_scatter and all_to_all
--                                           move (n - 1) / n, and others move all of it.
-- Cost: one pass over collectives, and collective_waits.
-- Example: SELECT name, bytes, count, bus_bytes_per_second FROM collective_summary;
WITH named AS NOT MATERIALIZED ( -- so that one is found by its id
  SELECT id, profile_id, is_measured, sample_weight, sampled_step_id, process_group, group_size, dtype, bytes,
    iif(carried_by IS NOT NULL, dur_ns, NULL) AS dur_ns,
    replace(replace(replace(name, 'allreduce', 'all_reduce'), 'allgather', 'all_gather'), 'alltoall', 'all_to_all')
      AS name
  FROM temp.collectives
), sums AS (
  SELECT each.profile_id AS profile_id, each.name AS name, each.process_group AS process_group,
    each.group_size AS group_size, each.dtype AS dtype, each.bytes AS bytes,
    CAST(round(sum(sample_weight)) AS INTEGER) AS count,
    CAST(sum(each.bytes * sample_weight) AS INTEGER) AS total_bytes,
    sum(sample_weight) FILTER (WHERE each.dur_ns IS NOT NULL) AS timed_count,
    CAST(sum(each.dur_ns * sample_weight) AS INTEGER) AS sum_ns, min(each.dur_ns) AS min_ns, max(each.dur_ns) AS max_ns,
    iif(count(sampled_step_id), CAST(sample_error(each.dur_ns, sampled_step_id) AS INTEGER), 0) AS sum_error_ns,
    sum(waits.transfer_ns * sample_weight) AS transfer_ns, sum(waits.transfer_ns * sample_weight)
      / sum(sample_weight) FILTER (WHERE waits.transfer_ns IS NOT NULL) AS mean_transfer_ns
  FROM temp.collective_waits AS waits -- which has each collective once
  CROSS JOIN named AS each ON each.id = waits.collective_id
  WHERE is_measured = 1
  GROUP BY each.profile_id, each.name, each.process_group, each.group_size, each.dtype, each.bytes
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
  sums.sum_error_ns AS sum_error_ns,
  CAST(sums.sum_ns / sums.timed_count AS INTEGER) AS mean_ns,
  sums.min_ns AS min_ns,
  sums.max_ns AS max_ns,
  CAST(sums.transfer_ns AS INTEGER) AS transfer_ns,
  CAST(sums.mean_transfer_ns AS INTEGER) AS mean_transfer_ns,
  1e9 * sums.bytes * sums.timed_count / nullif(sums.sum_ns, 0) AS bytes_per_second,
  1e9 * sums.bytes * sums.timed_count / nullif(sums.sum_ns, 0) * CASE
    WHEN replace(lower(sums.name), '_', '') GLOB 'allreduce*' THEN 2.0 * (sums.group_size - 1) / sums.group_size
    WHEN replace(lower(sums.name), '_', '') GLOB 'allgather*'
      OR replace(lower(sums.name), '_', '') GLOB '*reducescatter*'
      OR replace(lower(sums.name), '_', '') GLOB 'alltoall*' THEN 1.0 * (sums.group_size - 1) / sums.group_size
    ELSE 1.0 END AS bus_bytes_per_second
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, name, process_group, group_size, dtype, bytes
