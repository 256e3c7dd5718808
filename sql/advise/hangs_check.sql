-- Advice: processes that ended no step for long, for ever or for a while, and did nothing else.
--
-- A finding for each hang of a job (hang_summary) after which not every process that hung ended another step: who is
-- waited for, at which line, and what it waits for; for other hangs one for each process and line that hung, with how
-- often.  Hangs in which a process worked at something else, such as evaluations, are none; nor are those in which one
-- waited for its data loader until the next step (input_loading).
-- It is critical where a process never ended a step again and did not end in order: it still hangs, or a signal, an
-- exception that nobody caught, or a status other than 0 ended it (capture_program_failed in diagnostics).  Where all
-- of them ended in order, it is information: training may be done, and the program waits for something else, as a
-- server does.  What ended with another step is a warning from a twentieth of the recording on.
-- A dump of PyTorch Flight Recorder tells of no end, and so is critical, where a collective is pending in it.
-- Threshold: what the recorder watches for, in seconds (--hang-after).
-- What it would save: the time that the hangs lasted, without a usual step; none where all ended in order, and of
-- dumps, which do not tell how long it lasted: nor have they a value.
-- Columns: those of every check, see docs/checks.md.  Cost: that of hang_summary, and linear in the steps of processes
-- that hung.
-- Needs: hangs.
-- Example: SELECT severity, message FROM advise WHERE check_name = 'hangs';
WITH failed AS (
  SELECT profile_id, min(message) AS message FROM temp.diagnostics WHERE reason = 'capture_program_failed'
  GROUP BY profile_id
), last_steps AS (
  SELECT profile_id, max(end_ns) AS end_ns FROM temp.steps WHERE profile_id IN (SELECT profile_id FROM temp.hangs)
  GROUP BY profile_id
), members AS MATERIALIZED (
  SELECT summary.*, hangs.usual_ns AS usual_ns, hangs.limit_ns AS limit_ns, failed.message AS failure,
    profiles.end_ns - profiles.start_ns AS recorded_ns,
    coalesce(summary.noticed_ns > coalesce(last_steps.end_ns, 0), 0) AS is_last,
    coalesce(profiles.complete AND origin IS NOT 'flight_recorder', 0) AND failed.profile_id IS NULL AS is_in_order,
    max(summary.lasted_ns, summary.noticed_ns - summary.start_ns) AS hung_ns -- NULL of a dump
  FROM temp.hang_summary AS summary LEFT JOIN temp.profiles AS profiles ON profiles.id = summary.profile_id
  LEFT JOIN temp.hangs AS hangs ON hangs.profile_id = summary.profile_id AND hangs.noticed_ns = summary.noticed_ns
  LEFT JOIN failed ON failed.profile_id = summary.profile_id
  LEFT JOIN last_steps ON last_steps.profile_id = summary.profile_id
  WHERE EXISTS (SELECT 1 FROM temp.hangs) AND coalesce(meanwhile, 'input') = 'input'
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY run_id, job, hang ORDER BY is_missing DESC,
      role IN ('waiting', 'running'), rank, profile_id) AS place,
    sum(role = 'waiting') OVER of_hang AS waiting_count, sum(is_missing) OVER of_hang AS missing_count,
    max(is_last AND NOT is_in_order) OVER of_hang AS is_for_ever, max(is_last) OVER of_hang AS is_end,
    max(hung_ns) OVER of_hang AS longest_ns, max(usual_ns) OVER of_hang AS step_ns,
    min(limit_ns) OVER of_hang AS least_ns, max(recorded_ns) OVER of_hang AS all_ns,
    max(failure) OVER of_hang AS any_failure
  FROM members WINDOW of_hang AS (PARTITION BY run_id, job, hang)
), leading AS ( -- who is told of each hang; those of one line that are over are one
  SELECT *, CASE WHEN is_for_ever THEN 'for ever' WHEN is_end THEN 'end' ELSE 'over' END AS kind,
    coalesce(location, role) AS place_of_it
  FROM placed WHERE place = 1 AND (meanwhile IS NULL OR is_for_ever)
), told AS (
  SELECT *, count(*) OVER alike AS hang_count, sum(longest_ns - coalesce(step_ns, 0)) OVER alike AS taken_ns,
    row_number() OVER (PARTITION BY run_id, job, kind, iif(kind = 'over', 0, hang), name, place_of_it
      ORDER BY longest_ns DESC, hang) AS number
  FROM leading
  WINDOW alike AS (PARTITION BY run_id, job, kind, iif(kind = 'over', 0, hang), name, place_of_it)
)
SELECT
  'hangs' AS check_name,
  CASE kind WHEN 'for ever' THEN 'critical' WHEN 'end' THEN 'info'
    ELSE iif(taken_ns >= 0.05 * all_ns, 'warning', 'info') END AS severity,
  name AS subject,
  iif(kind = 'end' AND missing_count = 0,
    format('%s: after its last step it ended none for %.0f s, until it ended in order: it %s', name, longest_ns / 1e9,
      doing),
    message || iif(missing_count > 1, format('; %d more are waited for', missing_count - 1), '')
    || iif(waiting_count > 0, format('; %d others wait', waiting_count), '')
    || iif(hang_count > 1, format('; %d such times, %.0f s in all', hang_count, taken_ns / 1e9), '')
    || iif(kind = 'for ever' AND any_failure IS NOT NULL, '; ' || any_failure, '')) AS message,
  longest_ns / 1e9 AS value,
  min(least_ns, longest_ns) / 1e9 AS threshold,
  iif(kind = 'end', NULL, CAST(taken_ns AS INTEGER)) AS saves_ns,
  CASE WHEN kind = 'end' THEN 'Nothing, where the program is meant to wait there. Else end it, or what it waits for, '
      || 'when training is done.'
    WHEN role = 'silent' THEN 'Look at what ended it: its own output, what its launcher says of its status, and the '
      || 'kernel''s log where memory ran out (dmesg).'
    WHEN role = 'absent' THEN 'Open its dump, too (TORCH_NCCL_DUMP_ON_TIMEOUT has each rank write one); where it wrote '
      || 'none, look at what ended it.'
    WHEN role = 'ended' THEN 'Give all ranks equally many steps and collectives: it came to its end while the others '
      || 'wait (batches that one rank lacks; Join of torch.distributed.algorithms).'
    WHEN collective IS NOT NULL AND (is_missing OR waits_for = 'collective') THEN 'Let all ranks take part in the same '
      || 'collectives in the same order: look for branches on the rank around that line.'
    ELSE CASE coalesce(waits_for, 'processor')
      WHEN 'processor' THEN 'It runs: look for a loop at that line that does not end.'
      WHEN 'lock' THEN 'Look at who has what it waits for: a lock that the same thread has already (threading.RLock), '
        || 'two that are taken in different orders, or a thread or queue that is waited for in vain.'
      WHEN 'GIL' THEN 'Look at the thread that keeps Python''s lock: native code that does not let it go.'
      WHEN 'sleep' THEN 'Look at what the sleep is meant to wait for, and give that an end.'
      ELSE 'Look at the other side: what it waits for does not come. Give the wait a timeout that says what is missing.'
      END || ' hang_threads has what each thread was at.' END AS suggestion,
  'SELECT name, role, message FROM temp.hang_summary WHERE hang = ' || hang AS evidence
FROM told
WHERE number = 1
ORDER BY saves_ns DESC, profile_id, hang
