-- Synchronisations: where the host or a stream waited for a device, and which op asked for it.
--
-- One row for each profile, kind and op name; waits that no recorded op asked for have a row without an op name.  Waits
-- are recorded in every step, so nothing is weighed; those in warm-up steps are left out, those outside any step count.
--   profile_id, rank
--   kind                         event, stream, stream_wait, context or device
--   op_name                      the innermost op that made the call
--   count, sum_ns                how often and how long
--   sum_ratio                    share of all waiting of the profile
--   mean_ns, max_ns              of their durations
-- Cost: one pass over syncs, one look-up of an op for each.  Example: SELECT kind, op_name, sum_ns FROM sync_summary;
WITH sums AS (
  SELECT syncs.profile_id AS profile_id, syncs.kind AS kind, ops.name AS op_name, count(*) AS count,
    sum(syncs.dur_ns) AS sum_ns, max(syncs.dur_ns) AS max_ns
  FROM temp.syncs AS syncs LEFT JOIN temp.ops AS ops ON ops.id = syncs.op_id
  WHERE syncs.step_id IS NULL OR syncs.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1)
  GROUP BY syncs.profile_id, syncs.kind, ops.name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.kind AS kind,
  sums.op_name AS op_name,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  1.0 * sums.sum_ns / nullif(sum(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.max_ns AS max_ns
FROM sums JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
ORDER BY sum_ns DESC, profile_id, kind, op_name
