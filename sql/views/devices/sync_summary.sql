-- Synchronisations: where the host or a stream waited for a device, which op asked for it, and on which line.
--
-- One row for each profile, kind, op name and line.  Waits that no recorded op asked for have a row without an op name.
-- Where the source has no waits as such (torch.profiler writes them only when asked to, with enable_cuda_sync_events),
-- the calls that wait stand for them: cudaStreamSynchronize and the like, and their names in the driver and in HIP.  A
-- copy to the host that was done when its call returned is a wait, too.  The call .item() waits in cudaMemcpyAsync, as
-- its target is not pinned, and what it asks to wait for afterwards is over.
-- Waits in warm-up steps are left out, and those outside any step count.  Where waits were recorded only in some steps,
-- count and times are weighed (sample_weight).
--   profile_id    INTEGER  -      The profile: a process or rank.
--   rank          INTEGER  -      Rank of the process.  NULL where it is unknown.
--   kind          TEXT     -      Kind of the wait: event, stream, stream_wait, context, device or copy.
--   op            TEXT     -      Name of the innermost op that made the call.  NULL where no recorded op asked for it.
--   location      TEXT     -      File:line of the program that asked for it (_code_trace_lines), without directories.
--                                 NULL where no stack was recorded.
--   count         INTEGER  count  Number of waits (weighed).
--   sum_ns        INTEGER  ns     Duration of these waits (weighed).
--   sum_error_ns  INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary).  0 where all
--                                 were, NULL where too few were.
--   sum_ratio     REAL     ratio  Share of sum_ns in all waiting of the profile.
--   mean_ns       INTEGER  ns     Mean duration of a wait.
--   max_ns        INTEGER  ns     Duration of the longest wait.
--   kernel        TEXT     -      Name of a kernel that was waited for, in the last of the waits where it is known.
--                                 NULL where it is known in none.
-- Cost: one pass over syncs or api_calls and over transfers, a few look-ups for each wait, and _code_trace_lines.
-- Example: SELECT kind, op, location, sum_ns FROM sync_summary;
WITH asked AS MATERIALIZED (
  SELECT profile_id, kind, op_id, sampled_step_id, sample_weight, dur_ns, waits_on_kernel_id AS kernel_id
  FROM temp.syncs WHERE is_measured = 1
  UNION ALL
  SELECT profile_id, CASE WHEN name GLOB '*Stream*' THEN 'stream' WHEN name GLOB '*Event*' THEN 'event'
      WHEN name GLOB '*Ctx*' THEN 'context' ELSE 'device' END, op_id, sampled_step_id, sample_weight, dur_ns, NULL
  FROM temp.api_calls
  WHERE name GLOB '*Synchronize*' AND is_measured = 1 AND profile_id NOT IN (SELECT profile_id FROM temp.syncs)
  UNION ALL
  SELECT calls.profile_id, 'copy', calls.op_id, calls.sampled_step_id, calls.sample_weight, calls.dur_ns, NULL
  FROM temp.transfers AS transfers CROSS JOIN temp.api_calls AS calls ON calls.id = transfers.api_call_id
  WHERE transfers.direction = 'DtoH' AND calls.end_ns >= transfers.end_ns AND calls.is_measured = 1
), lines AS MATERIALIZED (
  SELECT code_trace_id, file, line, location FROM temp._code_trace_lines WHERE EXISTS (SELECT 1 FROM asked)
), sums AS (
  SELECT asked.profile_id AS profile_id, asked.kind AS kind, ops.name AS op, lines.file AS file,
    lines.line AS line, min(lines.location) AS location, CAST(round(sum(asked.sample_weight)) AS INTEGER) AS count,
    CAST(sum(asked.dur_ns * asked.sample_weight) AS INTEGER) AS sum_ns,
    CAST(sample_error(asked.dur_ns, asked.sampled_step_id) AS INTEGER) AS sum_error_ns, max(asked.dur_ns) AS max_ns,
    max(asked.kernel_id) AS kernel_id
  FROM asked
  LEFT JOIN temp.ops AS ops ON ops.id = asked.op_id
  LEFT JOIN lines ON lines.code_trace_id = ops.code_trace_id
  GROUP BY asked.profile_id, asked.kind, ops.name, lines.file, lines.line
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.kind AS kind,
  sums.op AS op,
  sums.location AS location,
  sums.count AS count,
  sums.sum_ns AS sum_ns,
  sums.sum_error_ns AS sum_error_ns,
  1.0 * sums.sum_ns / nullif(total(sums.sum_ns) OVER (PARTITION BY sums.profile_id), 0) AS sum_ratio,
  sums.sum_ns / sums.count AS mean_ns,
  sums.max_ns AS max_ns,
  kernels.name AS kernel
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN temp.kernels AS kernels ON kernels.id = sums.kernel_id
ORDER BY sum_ns DESC, profile_id, kind, op, location, kernel
