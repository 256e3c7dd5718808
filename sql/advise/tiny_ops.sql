-- Advice: a step made of so many tiny ops that calling them costs more than what they compute.
--
-- For each profile the outermost ops (those with no recorded op around them, user ranges left aside) on the thread of
-- the measured steps (no warm-up, ops recorded).  An op under 20 microseconds does little else than be dispatched: on
-- current processors an eager PyTorch op costs 1 to 10 microseconds before it computes anything.  The check speaks when
-- such ops are more than half of all and take more than a tenth of the step time; three tenths are critical when half
-- of them is a millisecond per step or more and ten steps were measured.
-- What it would save: half of their time, which is what fusing neighbours in pairs would spare, in steps whose ops were
-- not recorded as in those whose were.
-- Columns: those of every check, see sql/README.md.  Cost: linear in ops.
-- Example: SELECT message, suggestion FROM advise WHERE check_name = 'tiny_ops';
WITH step_time AS (
  SELECT profile_id, sum(ops_recorded = 1) AS step_count, CAST(sum(1.0 * dur_ns) AS INTEGER) AS all_ns,
    CAST(sum(1.0 * CASE WHEN ops_recorded = 1 THEN dur_ns ELSE 0 END) AS INTEGER) AS step_ns
  FROM temp.steps WHERE is_warmup = 0 GROUP BY profile_id
), launched AS (
  SELECT steps.profile_id AS profile_id, count(*) AS op_count,
    count(*) FILTER (WHERE ops.dur_ns < 20000) AS tiny_count,
    CAST(total(ops.dur_ns) FILTER (WHERE ops.dur_ns < 20000) AS INTEGER) AS tiny_ns
  FROM temp.steps AS steps -- grouped by what comes first and in order, so that nothing has to be sorted
  CROSS JOIN temp.ops AS ops ON ops.step_id = steps.id AND ops.thread_id = steps.thread_id
  WHERE steps.is_warmup = 0 AND steps.ops_recorded = 1
    AND ops.category IN ('op', 'autograd') AND ops.outermost_id = ops.id
  GROUP BY steps.profile_id
)
SELECT
  'tiny_ops' AS check_name,
  CASE WHEN tiny_ns >= 0.30 * step_ns AND step_count >= 10 AND tiny_ns >= 2000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  format('%.0f %% of the %d ops called in a step take less than 20 µs, together %.0f %% of the step time',
    100.0 * tiny_count / op_count, op_count / step_count, 100.0 * tiny_ns / step_ns) AS message,
  1.0 * tiny_ns / step_ns AS value,
  0.10 AS threshold,
  CAST(0.5 * tiny_ns / step_ns * all_ns AS INTEGER) AS saves_ns,
  'Call fewer and larger ops: torch.compile the model, use a larger batch, the foreach or fused optimizer, and '
    || 'operate on stacked tensors instead of looping over them in Python.' AS suggestion,
  'SELECT name, count(*), sum(dur_ns) FROM temp.ops WHERE dur_ns < 20000 AND profile_id = ' || step_time.profile_id
    || ' GROUP BY 1 ORDER BY 3 DESC' AS evidence
FROM step_time
JOIN launched ON launched.profile_id = step_time.profile_id
JOIN temp.profiles AS profiles ON profiles.id = step_time.profile_id
WHERE tiny_count > 0.5 * op_count AND tiny_ns >= 0.10 * step_ns
ORDER BY saves_ns DESC, step_time.profile_id
