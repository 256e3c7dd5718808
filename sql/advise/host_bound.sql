-- Advice: steps whose thread is busy with something else than framework ops.
--
-- For each profile the share of the measured steps (no warm-up, ops recorded) in which no op or autograd node ran on
-- the step's own thread, nor on one that runs the backward pass while that one waits for it: Python code, waiting for
-- locks, files or other processes.  It is what the self times of the ops leave, so ranges that the program or its
-- profiler put around everything hide nothing, nor do Python frames; the data loader's own time is left to the check
-- input_loading.  On a job with kernels the check asks further that the device idles too (device_steps), since a host
-- that is ahead of its device costs nothing.
-- Thresholds: 20 %, since a tight eager loop over small ops spends about a tenth there; 50 % is critical when that is
-- a millisecond per step or more and ten steps were measured.
-- What it would save: the part above a tenth, in steps whose ops were not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: linear in ops.
-- Example: SELECT subject, value FROM advise WHERE check_name = 'host_bound';
WITH measured AS MATERIALIZED (
  SELECT profile_id, id, thread_id FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1 AND thread_id IS NOT NULL
), step_time AS (
  SELECT profile_id, sum(ops_recorded = 1) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS all_ns,
    CAST(sum(1.0 * CASE WHEN ops_recorded = 1 THEN dur_ns ELSE 0 END) AS INTEGER) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), in_loader AS ( -- the range that PyTorch marks around the wait for the next batch
  SELECT ops.profile_id AS profile_id, sum(1.0 * ops.self_ns) AS loader_ns
  FROM temp.ops AS ops JOIN measured ON measured.id = ops.step_id AND measured.thread_id = ops.thread_id
  WHERE ops.category = 'user' AND ops.name GLOB 'enumerate(Data*'
  GROUP BY ops.profile_id
), in_ops AS (
  SELECT step_op_time.profile_id AS profile_id,
    CAST(sum(1.0 * op_ns) + coalesce(max(in_loader.loader_ns), 0) AS INTEGER) AS op_ns
  FROM temp.step_op_time AS step_op_time JOIN measured ON measured.id = step_op_time.step_id
  LEFT JOIN in_loader ON in_loader.profile_id = step_op_time.profile_id
  WHERE step_op_time.op_ns > 0
  GROUP BY step_op_time.profile_id
), device_busy AS (
  SELECT device_steps.profile_id AS profile_id, sum(device_steps.busy_ns) AS busy_ns
  FROM measured CROSS JOIN temp.device_steps AS device_steps ON device_steps.step_id = measured.id
  GROUP BY device_steps.profile_id
), shares AS (
  SELECT step_time.profile_id AS profile_id, step_count, step_ns, all_ns, step_ns - op_ns AS outside_ns,
    coalesce(1.0 * busy_ns / step_ns, 0) AS device_ratio
  FROM step_time
  JOIN in_ops ON in_ops.profile_id = step_time.profile_id
  LEFT JOIN device_busy ON device_busy.profile_id = step_time.profile_id
)
SELECT
  'host_bound' AS check_name,
  CASE WHEN outside_ns >= 0.50 * step_ns AND step_count >= 10 AND outside_ns >= 1000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  format('%.0f %% of the step time passes outside any op: %s of %s per step', 100.0 * outside_ns / step_ns,
    format_ns(outside_ns / step_count), format_ns(step_ns / step_count)) AS message,
  1.0 * outside_ns / step_ns AS value,
  0.20 AS threshold,
  CAST((outside_ns - 0.10 * step_ns) / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Find the Python code between the ops (py-spy shows it by line), move it out of the loop or into a DataLoader '
    || 'worker, and let torch.compile take over loops over small ops.' AS suggestion,
  'SELECT number, s.dur_ns, sum(self_ns) FROM temp.steps s JOIN temp.ops ON step_id = s.id WHERE s.profile_id = '
    || shares.profile_id || ' GROUP BY s.id' AS evidence
FROM shares JOIN temp.profiles AS profiles ON profiles.id = shares.profile_id
WHERE outside_ns >= 0.20 * step_ns AND device_ratio < 0.80
ORDER BY saves_ns DESC, shares.profile_id
