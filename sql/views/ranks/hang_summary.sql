-- Hangs of a job: who waits where, who is waited for, and since when.
--
-- One row for each hang and process of the job.  A hang is a time at which processes ended no step (hangs).  Hangs of
-- one job that last at the same time are one.  The processes are those that were found hanging, and of a job with ranks
-- its other ranks, too.  Helpers, such as workers of a DataLoader, are left out.  A process that has ended no step was
-- not watched, and has a row only as a rank.  By dumps of PyTorch Flight Recorder a rank hangs where a collective is
-- pending in its dump.  A dump beside the recording of its rank adds to it what the recorder could not know, at the
-- last hang of the job.
--   hang               INTEGER  -      Number of the hang in the job, from 1, by time.
--   run_id             INTEGER  -      The run, as in runs.
--   job                TEXT     -      The job, as in profiles.  A dump has that of the recordings beside it.  It is
--                                      empty where it is not known.
--   profile_id         INTEGER  -      The process, as in profiles.  NULL for a rank that is absent.
--   rank               INTEGER  -      Rank of the process.  NULL where it is unknown.
--   host               TEXT     -      Host that it ran on.  NULL where it is unknown, and for a rank that is absent.
--   name               TEXT     -      Name of the process, as in _process_names.
--   role               TEXT     -      What it does.  missing: the others wait for it.  silent: it is missing, and
--                                      nothing more was recorded of it from before the others were found hanging, while
--                                      they were recorded for seconds more.  It is dead, was killed or stopped.  ended:
--                                      it is missing, since it had come to its end by then.  waiting: it waits for
--                                      those.  working: it ends no steps, and ops, ranges or allocations go on, as when
--                                      it evaluates.  Where others wait for it, it is missing.  running: it was not
--                                      found hanging.  absent: a rank of the group without a dump and without a
--                                      recording.  hanging: nothing tells who waits for whom, as where a process is
--                                      alone.
--   is_missing         INTEGER  -      1: it is waited for.  The first of these signs that a process of the job shows
--                                      tells which processes are: it is silent or has ended.  Its process group has not
--                                      begun the collective that most others of the job wait in (hang_collectives).  It
--                                      is in another collective than most under its number.  It has ended fewer steps.
--                                      It is not in torch.distributed, or in a call of TensorFlow, where others are. It
--                                      is absent.
--   start_ns           INTEGER  ns     Since when it has ended no step.  By a dump it is since when its collective is
--                                      pending.  Of a silent or ended process it is when it was recorded last.  NULL
--                                      where it is not known.
--   noticed_ns         INTEGER  ns     When the hang of the process was noticed.  NULL where it was not found hanging.
--   end_ns             INTEGER  ns     When the hang was over, by the next step of the process or by its end.  NULL
--                                      where the recording ends before, for a dump, and where it was not found hanging.
--   lasted_ns          INTEGER  ns     Time from start_ns to end_ns, or to the end of the recording where that comes
--                                      first.  NULL for a dump, and where it was not found hanging.
--   step_number        INTEGER  -      Number of the step that does not end.  NULL for a dump, and where it was not
--                                      found hanging.
--   waits_for          TEXT     -      What the thread that ends the steps waits for, in the words of python_samples.
--                                      Where it waits in TensorFlow or JAX for a function of the program that they call
--                                      on another thread, such as the generator of a tf.data.Dataset, this column and
--                                      the next are of that thread.  By a dump it is collective.  NULL where it runs,
--                                      and where it was not found hanging.
--   busy_ratio         REAL     ratio  Share of a processor that this thread had.  NULL where it is not known, as for a
--                                      dump.
--   location           TEXT     -      Line at which it is, as _code_trace_lines has it: the innermost one of the
--                                      program.  By a dump it is the line that called the collective.  NULL where it is
--                                      not known.
--   text               TEXT     -      Source text of that line.  NULL where it could not be read.
--   function           TEXT     -      Function that the line stands in.
--   file               TEXT     -      File that the line stands in.
--   line               INTEGER  -      Number of the line in the file.
--   system_call        TEXT     -      System call that this thread waits in.  NULL where there is none.
--   thread             TEXT     -      Name of this thread.
--   collective         TEXT     -      Collective that it waits in, or its last one, in the process group that most
--                                      wait in.  NULL where none is known.
--   collective_number  INTEGER  -      Number of that collective in its group.
--   doing              TEXT     -      What it does and where, as words of a sentence.  NULL where nothing is known of
--                                      that.
--   meanwhile          TEXT     -      What went on in the job.  work: a process of the job went on working.  input:
--                                      one waited for a data loader.  NULL where neither is so.
--   message            TEXT     -      All of that in a sentence.
-- Cost: linear in hangs, hang_threads and the steps of their processes.  Example: SELECT message FROM hang_summary;
WITH recorded AS MATERIALIZED ( -- the last recording of each rank
  SELECT run_id, rank, max(job) AS job, max(id) AS profile_id FROM temp.profiles
  WHERE origin IS NOT 'flight_recorder' AND rank IS NOT NULL GROUP BY run_id, rank
), of_jobs AS MATERIALIZED ( -- process_id: whose dump it is, where that was recorded
  SELECT profiles.id AS profile_id, profiles.run_id AS run_id, coalesce(profiles.job, recorded.job, '') AS job,
    profiles.rank AS rank, host, complete, end_ns, coalesce(recorded.profile_id, profiles.id) AS process_id,
    origin IS 'flight_recorder' AS is_dump,
    max(end_ns) OVER (PARTITION BY profiles.run_id, coalesce(profiles.job, recorded.job, '')) AS latest_ns
  FROM temp.profiles AS profiles LEFT JOIN recorded ON profiles.origin IS 'flight_recorder'
    AND recorded.run_id = profiles.run_id AND recorded.rank = profiles.rank
  WHERE profiles.run_id IN (SELECT run_id FROM temp.hangs JOIN temp.profiles AS of_hangs
    ON of_hangs.id = hangs.profile_id)
), moments AS (
  SELECT profile_id, noticed_ns AS time_ns, id AS hang_id, NULL AS step_end_ns FROM temp.hangs
  UNION ALL
  SELECT profile_id, end_ns, NULL, end_ns FROM temp.steps WHERE profile_id IN (SELECT profile_id FROM temp.hangs)
), next_steps AS MATERIALIZED ( -- the first end of a step after each hang was noticed
  SELECT hang_id, min(step_end_ns) OVER (PARTITION BY profile_id ORDER BY time_ns DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS next_ns
  FROM moments
), ended AS (
  SELECT hangs.*, run_id, job, process_id, is_dump,
    iif(is_dump, NULL, coalesce(next_ns, CASE WHEN complete THEN of_jobs.end_ns END)) AS over_ns,
    coalesce(next_ns, of_jobs.end_ns, noticed_ns) AS until_ns
  FROM temp.hangs AS hangs JOIN of_jobs ON of_jobs.profile_id = hangs.profile_id
  JOIN next_steps ON next_steps.hang_id = hangs.id
), own AS ( -- until when the recording of a process says that it hung
  SELECT *, coalesce(max(iif(is_dump, NULL, coalesce(over_ns, 9223372036854775807))) OVER (PARTITION BY process_id), 0)
    AS own_ns
  FROM ended
), begun AS ( -- what is not over lasts for as long as any is known: files of others may go on for longer
  SELECT *, coalesce(noticed_ns > max(coalesce(over_ns, 9223372036854775807)) OVER (PARTITION BY run_id, job
    ORDER BY noticed_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS is_new
  FROM own WHERE NOT is_dump OR own_ns <= start_ns
), numbered AS MATERIALIZED (
  SELECT *, sum(is_new) OVER (PARTITION BY run_id, job ORDER BY noticed_ns, id) AS hang FROM begun
), at_once AS MATERIALIZED ( -- one hang of a job
  SELECT run_id, job, hang, min(noticed_ns) AS first_ns, max(step_number) AS most_steps,
    hang = max(hang) OVER (PARTITION BY run_id, job) AS is_last
  FROM numbered GROUP BY run_id, job, hang
), members AS MATERIALIZED (
  SELECT at_once.*, of_jobs.profile_id AS profile_id, of_jobs.rank AS rank, of_jobs.host AS host,
    of_jobs.complete AS complete, of_jobs.end_ns AS last_ns, latest_ns, is_dump, names.name AS name
  FROM of_jobs JOIN at_once ON at_once.run_id = of_jobs.run_id AND at_once.job = of_jobs.job
  JOIN temp._process_names AS names ON names.profile_id = of_jobs.profile_id
  WHERE process_id = of_jobs.profile_id AND (names.is_helper = 0 OR is_dump)
), told_progress AS ( -- of the process groups: as the recorder saw it, and as dumps tell it
  SELECT run_id, job, hang, process_id, 1 AS is_own, collectives.*
  FROM numbered JOIN temp.hang_collectives AS collectives ON collectives.hang_id = numbered.id
  WHERE NOT is_dump AND is_point_to_point = 0
  UNION ALL
  SELECT of_jobs.run_id, of_jobs.job, hang, process_id, 0, collectives.*
  FROM of_jobs JOIN temp.hang_collectives AS collectives ON collectives.profile_id = of_jobs.profile_id
  JOIN at_once ON at_once.run_id = of_jobs.run_id AND at_once.job = of_jobs.job AND is_last
  WHERE is_dump AND is_point_to_point = 0
), whose_progress AS (
  SELECT *, max(is_own) OVER (PARTITION BY process_id, hang) AS has_own FROM told_progress
), progress AS MATERIALIZED (
  SELECT * FROM whose_progress WHERE is_own = has_own
), groups AS ( -- how many wait for which collective, that most wait in first
  SELECT run_id, job, hang, process_group, max(number) AS wanted_number,
    row_number() OVER (PARTITION BY run_id, job, hang ORDER BY count(*) DESC, process_group) AS place
  FROM progress WHERE is_pending = 1 GROUP BY run_id, job, hang, process_group
), wanted AS MATERIALIZED (
  SELECT * FROM groups WHERE place = 1
), wanted_names AS MATERIALIZED ( -- which operation most wait in, where more do than in any other
  SELECT run_id, job, hang, max(name) FILTER (WHERE place = 1) AS name
  FROM (SELECT progress.run_id, progress.job, progress.hang, name, count(*) AS count,
      rank() OVER (PARTITION BY progress.run_id, progress.job, progress.hang ORDER BY count(*) DESC) AS place
    FROM progress JOIN wanted ON wanted.run_id = progress.run_id AND wanted.job = progress.job
      AND wanted.hang = progress.hang AND wanted.process_group IS progress.process_group
    WHERE is_pending = 1 AND number = wanted_number
    GROUP BY progress.run_id, progress.job, progress.hang, name)
  GROUP BY run_id, job, hang HAVING sum(place = 1) = 1
), reached AS MATERIALIZED ( -- how far each had come in the group that most wait in
  SELECT progress.hang AS hang, process_id, progress.profile_id AS source_id, progress.process_group AS process_group,
    progress.name AS collective, progress.number AS collective_number,
    progress.last_number < wanted_number AS is_behind,
    progress.is_pending AS is_in_it, progress.is_pending AND progress.number = wanted_number
      AND progress.name <> wanted_names.name AS is_other, wanted_names.name AS wanted_name
  FROM progress JOIN wanted ON wanted.run_id = progress.run_id AND wanted.job = progress.job
    AND wanted.hang = progress.hang AND wanted.process_group IS progress.process_group
  LEFT JOIN wanted_names ON wanted_names.run_id = progress.run_id AND wanted_names.job = progress.job
    AND wanted_names.hang = progress.hang
), steppers AS MATERIALIZED ( -- looks at the threads that end the steps
  SELECT threads.* FROM temp.hang_threads AS threads JOIN temp.hangs AS hangs
    ON hangs.id = threads.hang_id AND hangs.thread_id = threads.thread_id
), frames_beside(hang_id, thread_id, trace_id) AS ( -- of the others, where that one waits for what frameworks do
  SELECT threads.hang_id, threads.thread_id, threads.code_trace_id
  FROM steppers JOIN temp.code_traces AS traces ON traces.id = steppers.code_trace_id
  JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  JOIN temp.hang_threads AS threads ON threads.hang_id = steppers.hang_id AND threads.thread_id <> steppers.thread_id
  WHERE threads.code_trace_id IS NOT NULL AND (frames.file GLOB '*/tensorflow/python/*' OR frames.file GLOB '*/jax/*')
  UNION ALL
  SELECT hang_id, thread_id, parent_id FROM frames_beside JOIN temp.code_traces AS traces ON traces.id = trace_id
  WHERE parent_id IS NOT NULL
), called_back AS MATERIALIZED ( -- functions of the program that a framework calls on a thread of its own
  SELECT hang_id, min(thread_id) AS thread_id FROM frames_beside JOIN temp.code_traces AS traces ON traces.id = trace_id
  JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  WHERE frames.file GLOB '*/tensorflow/python/ops/script_ops.py' OR frames.file GLOB '*/jax/_src/callback.py'
  GROUP BY hang_id
), looks AS MATERIALIZED ( -- at the threads that are waited for
  SELECT threads.* FROM steppers LEFT JOIN called_back ON called_back.hang_id = steppers.hang_id
  JOIN temp.hang_threads AS threads ON threads.hang_id = steppers.hang_id
    AND threads.thread_id = coalesce(called_back.thread_id, steppers.thread_id)
), frames_of(hang_id, trace_id) AS (
  SELECT hang_id, code_trace_id FROM looks WHERE code_trace_id IS NOT NULL
  UNION ALL
  SELECT hang_id, parent_id FROM frames_of JOIN temp.code_traces AS traces ON traces.id = trace_id
  WHERE parent_id IS NOT NULL
), distributed AS MATERIALIZED (
  SELECT DISTINCT hang_id FROM frames_of JOIN temp.code_traces AS traces ON traces.id = trace_id
  JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  WHERE frames.file GLOB '*/torch/distributed/*' OR frames.file GLOB '*/tensorflow/python/eager/execute.py'
    OR frames.file GLOB '*/jax/experimental/multihost_utils.py'
), loading AS MATERIALIZED ( -- by the frames around what it waits in
  SELECT DISTINCT hang_id FROM frames_of JOIN temp.code_traces AS traces ON traces.id = trace_id
  JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
  WHERE frames.file GLOB '*/torch/utils/data/*'
), called AS MATERIALIZED ( -- which line asked for the last collective, of those that wait for none
  SELECT reached.process_id AS process_id, reached.hang AS hang, max(code_trace_id) AS code_trace_id
  FROM reached JOIN temp.flight_records AS records ON records.profile_id = source_id
    AND records.process_group IS reached.process_group AND records.number = collective_number
    AND records.is_point_to_point = 0
  GROUP BY reached.process_id, reached.hang
), listed AS MATERIALIZED ( -- the ranks of the group that most wait in
  SELECT DISTINCT of_jobs.run_id AS run_id, of_jobs.job AS job, wanted.hang AS hang, records.group_ranks AS group_ranks
  FROM wanted JOIN of_jobs ON of_jobs.run_id = wanted.run_id AND of_jobs.job = wanted.job AND is_dump
  JOIN temp.flight_records AS records ON records.profile_id = of_jobs.profile_id
    AND records.process_group IS wanted.process_group
  WHERE json_valid(group_ranks)
), absent AS (
  SELECT DISTINCT listed.run_id AS run_id, listed.job AS job, hang, ranks.value AS rank
  FROM listed JOIN json_each(group_ranks) AS ranks
  WHERE NOT EXISTS (SELECT 1 FROM of_jobs WHERE of_jobs.run_id = listed.run_id AND of_jobs.rank = ranks.value)
), signs AS (
  SELECT members.run_id AS run_id, members.job AS job, members.hang AS hang, members.profile_id AS profile_id,
    members.rank AS rank, members.host AS host, members.name AS name, complete, last_ns, most_steps,
    numbered.id AS hang_id, numbered.start_ns AS start_ns, numbered.noticed_ns AS noticed_ns,
    numbered.over_ns AS end_ns, numbered.until_ns AS until_ns, numbered.step_number AS step_number,
    numbered.is_working AS is_working, coalesce(numbered.is_dump, members.is_dump) AS is_dump, collective,
    collective_number, wanted_name, code_trace_id AS called_at,
    numbered.id IS NULL AND NOT members.is_dump AND last_ns < first_ns
      AND (complete OR last_ns < latest_ns - 2500000000) AS is_gone,
    coalesce(is_behind, 0) AS is_behind, coalesce(is_in_it, 0) AS is_in_it, coalesce(is_other, 0) AS is_other,
    coalesce(numbered.step_number < most_steps, 0) AS is_late,
    numbered.id IS NOT NULL AND NOT numbered.is_dump AND distributed.hang_id IS NULL AND NOT coalesce(is_in_it, 0)
      AS is_outside,
    loading.hang_id IS NOT NULL AS is_loading, 0 AS is_absent
  FROM members LEFT JOIN numbered ON numbered.process_id = members.profile_id AND numbered.hang = members.hang
  LEFT JOIN reached ON reached.process_id = members.profile_id AND reached.hang = members.hang
  LEFT JOIN called ON called.process_id = members.profile_id AND called.hang = members.hang
  LEFT JOIN distributed ON distributed.hang_id = numbered.id
  LEFT JOIN loading ON loading.hang_id = numbered.id
  WHERE numbered.id IS NOT NULL OR members.rank IS NOT NULL
  UNION ALL
  SELECT run_id, job, hang, NULL, rank, NULL, 'rank ' || rank, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 1
  FROM absent
), weighed AS (
  SELECT *, count(*) OVER job AS member_count, max(is_gone) OVER job AS any_gone, max(is_behind) OVER job AS any_behind,
    max(is_other) OVER job AS any_other, max(is_late) OVER job AS any_late, max(is_absent) OVER job AS any_absent,
    iif(max(is_working) OVER job = 1, 'work', iif(max(is_loading) OVER job, 'input', NULL)) AS meanwhile,
    max(is_outside) OVER job AND min(iif(hang_id IS NULL, 1, is_outside)) OVER job = 0 AS any_outside
  FROM signs WINDOW job AS (PARTITION BY run_id, job, hang)
), judged AS (
  SELECT *, any_gone OR any_behind OR any_other OR any_late OR any_outside OR any_absent AS is_known,
    member_count > 1 AND CASE WHEN any_gone THEN is_gone WHEN any_behind THEN is_behind WHEN any_other THEN is_other
      WHEN any_late THEN is_late WHEN any_outside THEN is_outside ELSE is_absent END AS is_missing
  FROM weighed
), rows AS (
  SELECT judged.*, CASE
      WHEN is_gone THEN iif(complete, 'ended', 'silent')
      WHEN is_absent THEN 'absent'
      WHEN is_missing THEN 'missing'
      WHEN judged.hang_id IS NULL THEN 'running'
      WHEN is_working THEN 'working'
      WHEN is_known AND member_count > 1 THEN 'waiting'
      ELSE 'hanging' END AS role,
    looks.waits_for AS waits_for, looks.busy_ratio AS busy_ratio, looks.system_call AS system_call,
    threads.name AS thread, lines.location AS location, lines.text AS text, lines.function AS function,
    lines.file AS file, lines.line AS line, coalesce(until_ns, last_ns) - coalesce(start_ns, last_ns) AS lasted_ns
  FROM judged LEFT JOIN looks ON looks.hang_id = judged.hang_id
  LEFT JOIN temp.threads AS threads ON threads.id = looks.thread_id
  LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = coalesce(looks.code_trace_id, called_at)
), told AS (
  SELECT *, iif(hang_id IS NULL, iif(is_dump AND collective IS NOT NULL, 'does something else after collective '
      || collective_number || coalesce(' at ' || location, ''), NULL), CASE coalesce(waits_for, 'processor')
      WHEN 'processor' THEN 'runs' WHEN 'sleep' THEN 'sleeps'
      WHEN 'something else' THEN coalesce('waits in ' || system_call, 'waits')
      WHEN 'collective' THEN coalesce(format('waits for collective %d, %s,', collective_number, collective),
        'waits for a collective')
      WHEN 'GIL' THEN 'waits for Python''s lock' WHEN 'events' THEN 'waits for one of several files or sockets'
      ELSE 'waits for a ' || waits_for END
    || coalesce(' at ' || location || coalesce(' (' || trim(text) || ')', ''), '')) AS doing
  FROM rows
)
SELECT
  hang AS hang,
  run_id AS run_id,
  job AS job,
  profile_id AS profile_id,
  rank AS rank,
  host AS host,
  name AS name,
  role AS role,
  is_missing AS is_missing,
  coalesce(start_ns, iif(is_gone, last_ns, NULL)) AS start_ns,
  noticed_ns AS noticed_ns,
  end_ns AS end_ns,
  iif(hang_id IS NULL OR is_dump, NULL, lasted_ns) AS lasted_ns,
  step_number AS step_number,
  waits_for AS waits_for,
  busy_ratio AS busy_ratio,
  location AS location,
  text AS text,
  function AS function,
  file AS file,
  line AS line,
  system_call AS system_call,
  thread AS thread,
  collective AS collective,
  collective_number AS collective_number,
  doing AS doing,
  meanwhile AS meanwhile,
  name || coalesce(' on ' || host, '') || CASE role
    WHEN 'silent' THEN ' is waited for: nothing was recorded of it after '
    WHEN 'ended' THEN ' is waited for: it had ended at '
    WHEN 'missing' THEN ' is waited for: '
    WHEN 'running' THEN ' was not found hanging'
    WHEN 'absent' THEN iif(is_missing, ' is waited for: ', ': ') || 'there is neither a dump nor a recording of it'
    WHEN 'working' THEN ' does something else than steps: '
    WHEN 'waiting' THEN ' waits for others: '
    ELSE ' hangs: ' END
  || CASE
    WHEN is_gone THEN strftime('%Y-%m-%d %H:%M:%S', last_ns / 1000000000, 'unixepoch') || ' UTC'
    WHEN hang_id IS NULL THEN iif(is_behind AND is_dump, format('its last collective was %d, %s', collective_number,
      collective) || coalesce(', at ' || location, ''), '')
    ELSE iif(step_number IS NULL, 'since ' || coalesce(strftime('%Y-%m-%d %H:%M:%S', start_ns / 1000000000, 'unixepoch')
        || ' UTC', 'no one knows when') || ' it ',
      format('in step %d, which %s %.0f s, it ', step_number,
        iif(end_ns IS NULL, 'has not ended for', 'did not end for'), lasted_ns / 1e9)) || doing
      || CASE WHEN is_other THEN format(', where most are in %s', wanted_name)
        WHEN waits_for = 'collective' AND is_in_it THEN ''
        WHEN is_in_it THEN format(', in collective %d, %s', collective_number, collective)
        WHEN is_behind THEN format('; its last collective was %d, %s', collective_number, collective) ELSE '' END
    END AS message
FROM told
ORDER BY run_id, job, hang, is_missing DESC, rank, profile_id
