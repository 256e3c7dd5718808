-- Threads: what each host thread and device stream was busy with.
--
-- One row for each profile and thread that ran ops, kernels or transfers.  Warm-up counts here, since the view is about
-- what ran where, not about averages.  Ops are weighed by ops.sample_weight, so that they stand for all steps, and so
-- is the work of devices where that was recorded only in some (sample_weight).
--   profile_id       INTEGER  -      The profile: a process or rank.
--   rank             INTEGER  -      Rank of the process.  NULL where it is unknown.
--   thread_id        INTEGER  -      The thread, as in threads.
--   thread           TEXT     -      Name and tid of the thread, or its stream.
--   kind             TEXT     -      Kind of the thread, as in threads: host or stream.
--   op_count         INTEGER  count  Ops on it (weighed), without ranges, modules and Python frames.
--   op_ns            INTEGER  ns     Time in which one of these ops ran (weighed).
--   op_error_ns      INTEGER  ns     Error of op_ns where only some steps were recorded (sampling_summary).  0 where
--                                    all were, NULL where too few were.
--   autograd_count   INTEGER  count  Autograd nodes among the ops of op_count.
--   kernel_count     INTEGER  count  Kernels on the stream (weighed).
--   kernel_ns        INTEGER  ns     Duration of these kernels (weighed).
--   kernel_error_ns  INTEGER  ns     Error of kernel_ns where only some steps were recorded (sampling_summary).  0
--                                    where all were, NULL where too few were.
--   transfer_count   INTEGER  count  Copies and fills on the stream (weighed).
--   transfer_ns      INTEGER  ns     Duration of these copies and fills (weighed).
--   start_ms         REAL     -      The first start on it, in ms from the start of the run.
--   end_ms           REAL     -      The last end on it, in ms from the start of the run.
--   busy_ratio       REAL     ratio  Share of op_ns, or of kernel_ns + transfer_ns, in the time from start_ms to
--                                    end_ms.  It is at most 1, also where they overlap.
-- Not weighed: end_ms.  It is of what was recorded.
-- Cost: linear in op_totals and stream_totals, once these are made.  Where only some steps were recorded one pass over
-- ops, kernels and transfers.  Example: SELECT thread, op_count, busy_ratio FROM thread_summary;
WITH ops_of AS MATERIALIZED (
  SELECT thread_id, category, sum(count) AS count, sum(1.0 * self_ns) AS self_ns, min(first_start_ns) AS start_ns,
    max(last_end_ns) AS end_ns
  FROM temp.op_totals WHERE thread_id IS NOT NULL GROUP BY thread_id, category
), rows_of AS (
  SELECT thread_id, CASE WHEN category NOT IN ('user', 'python', 'module') THEN count ELSE 0 END AS op_count,
    CASE WHEN category = 'autograd' THEN count ELSE 0 END AS autograd_count,
    CASE WHEN category NOT IN ('user', 'python', 'module') THEN self_ns ELSE 0 END AS op_ns,
    0 AS kernel_count, 0 AS kernel_ns, 0 AS transfer_count, 0 AS transfer_ns, start_ns, end_ns
  FROM ops_of
  UNION ALL
  SELECT thread_id, 0, 0, 0, iif(is_kernel, count * sample_weight, 0), iif(is_kernel, 1.0 * sum_ns * sample_weight, 0),
    iif(is_kernel, 0, count * sample_weight), iif(is_kernel, 0, 1.0 * sum_ns * sample_weight), first_start_ns,
    last_end_ns
  FROM temp.stream_totals
  WHERE thread_id IS NOT NULL AND kind IS NOT 'sync' AND sample_weight > 0
), sums AS (
  SELECT thread_id, sum(op_count) AS op_count, sum(autograd_count) AS autograd_count,
    CAST(sum(1.0 * op_ns) AS INTEGER) AS op_ns, sum(kernel_count) AS kernel_count,
    CAST(sum(1.0 * kernel_ns) AS INTEGER) AS kernel_ns, sum(transfer_count) AS transfer_count,
    CAST(sum(1.0 * transfer_ns) AS INTEGER) AS transfer_ns, min(start_ns) AS start_ns, max(end_ns) AS end_ns
  FROM rows_of GROUP BY thread_id
), errors AS (
  SELECT thread_id, sample_error(self_ns, step_id) AS error_ns
  FROM temp.ops
  WHERE category <> 'user' AND category <> 'python' AND category <> 'module' AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY thread_id
), kernel_errors AS (
  SELECT thread_id, sample_error(sum_ns, sampled_step_id) AS error_ns
  FROM temp.stream_totals WHERE sampled_step_id IS NOT NULL AND is_kernel GROUP BY thread_id
)
SELECT
  threads.profile_id AS profile_id,
  profiles.rank AS rank,
  threads.id AS thread_id,
  CASE threads.kind WHEN 'stream' THEN 'stream ' || threads.stream
    ELSE CASE WHEN instr(threads.name, threads.tid) THEN threads.name -- such as "thread 41 (python)"
      ELSE coalesce(threads.name || ' ', '') || coalesce(threads.tid, '') END END AS thread,
  threads.kind AS kind,
  CAST(round(sums.op_count) AS INTEGER) AS op_count,
  CAST(sums.op_ns AS INTEGER) AS op_ns,
  CASE WHEN errors.thread_id IS NOT NULL THEN CAST(errors.error_ns AS INTEGER) ELSE 0 END AS op_error_ns,
  CAST(round(sums.autograd_count) AS INTEGER) AS autograd_count,
  CAST(round(sums.kernel_count) AS INTEGER) AS kernel_count,
  sums.kernel_ns AS kernel_ns,
  CASE WHEN kernel_errors.thread_id IS NOT NULL THEN CAST(kernel_errors.error_ns AS INTEGER) ELSE 0 END
    AS kernel_error_ns,
  CAST(round(sums.transfer_count) AS INTEGER) AS transfer_count,
  sums.transfer_ns AS transfer_ns,
  (sums.start_ns - runs.start_ns) / 1e6 AS start_ms,
  (sums.end_ns - runs.start_ns) / 1e6 AS end_ms,
  min(1.0, 1.0 * (sums.op_ns + sums.kernel_ns + sums.transfer_ns) / nullif(sums.end_ns - sums.start_ns, 0))
    AS busy_ratio
FROM sums
JOIN temp.threads AS threads ON threads.id = sums.thread_id
JOIN temp.profiles AS profiles ON profiles.id = threads.profile_id
JOIN temp.runs AS runs ON runs.id = profiles.run_id
LEFT JOIN errors ON errors.thread_id = sums.thread_id
LEFT JOIN kernel_errors ON kernel_errors.thread_id = sums.thread_id
ORDER BY profile_id, op_ns + kernel_ns + transfer_ns DESC, thread_id
