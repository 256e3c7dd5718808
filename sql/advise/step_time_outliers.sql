-- Advice: single steps that take much longer than the others.
--
-- For each profile the measured steps (no warm-up, none that a hang made long: _hung_steps; no batches of requests to a
-- server of models, which are as long as they are large) that last more than 1.5
-- times the median, evaluation left out (steps.training_ns), once there are ten steps to compare and the outliers cost
-- at least 2 % of all step time: below that, chance alone makes some.  What their thread waited for a processor
-- meanwhile (main_thread_wait_s, read each second) is no fault of theirs: it is taken off both, and `job` tells it.
-- What it waited in them beyond what it waits in others for a lock, a file, another process or a time is promised by
-- host_waits and is taken off what they cost, where that is a tenth of the step time or more; the long steps whose ops
-- were recorded tell the share.  So is what its rank waits in collectives for others (collective_waits) beyond what it
-- waits in other steps: that is of the rank that came last.  It is critical from a tenth of all step time on, when that
-- is a millisecond per step or more and it is known what they do that the others do not; where all that is known is
-- that they take longer, and they come at no regular distance, it may be the machine, and that is information.  What
-- they do that others do not is called at least twice as often in them, in ten times the time: an op that was
-- interrupted takes long and is called as often as ever.  Looks at Python that waits for what is taken off count for no
-- line.  The message names what they spend more on: ranges (data loaders that begin anew, checkpoints, full garbage
-- collections, compilation and the program's own among them), which are recorded in every step, and where ops were
-- recorded of long steps and of others, ops by name and lines of Python at which time passes outside ops (three looks
-- of python_samples at least); those that explain a fifth of what the long steps take more, three at most.
-- What it would save: their time beyond the median and all that waiting.
-- Columns: those of every check, see docs/checks.md.  Cost: linear in steps and ranges, and in ops where there are long
-- steps whose ops were recorded.
-- Example: SELECT message FROM advise WHERE check_name = 'step_time_outliers';
WITH measured AS MATERIALIZED ( -- without _hung_steps: a join is no subquery, of which SQLite 3.54 allows 1,000
  SELECT steps.profile_id AS profile_id, steps.id AS id, number, training_ns, ops_recorded, steps.start_ns AS start_ns,
    end_ns, row_number() OVER (PARTITION BY steps.profile_id ORDER BY steps.start_ns, steps.id) AS place
  FROM temp.steps AS steps LEFT JOIN temp.hangs AS hangs ON hangs.profile_id = steps.profile_id AND is_working = 0
    AND noticed_ns > steps.start_ns AND noticed_ns < end_ns
  WHERE is_warmup = 0 AND hangs.id IS NULL AND steps.origin IS NOT 'serving'
), typical AS (
  SELECT profile_id, count(*) AS step_count, CAST(sum(1.0 * training_ns) AS INTEGER) AS step_ns,
    median(training_ns) AS median_ns
  FROM measured GROUP BY profile_id
), long AS MATERIALIZED (
  SELECT measured.profile_id AS profile_id, measured.id AS id, measured.start_ns AS start_ns,
    measured.end_ns AS end_ns, measured.training_ns AS training_ns,
    measured.training_ns - typical.median_ns AS excess_ns,
    measured.place - lag(measured.place) OVER (PARTITION BY measured.profile_id ORDER BY measured.place) AS distance
  FROM typical JOIN measured ON measured.profile_id = typical.profile_id
  WHERE step_count >= 10 AND measured.training_ns > 1.5 * typical.median_ns
), moments AS ( -- of their starts and ends, and of readings of what the thread had waited for a processor until then
  SELECT profile_id, iif(sides.opened = 1, start_ns, end_ns) AS time_ns, opened, 0 AS is_reading, NULL AS waited_ns
  FROM long CROSS JOIN (SELECT 1 AS opened UNION ALL SELECT -1) AS sides
  UNION ALL SELECT profile_id, time_ns, 0, 1, 1e9 * value FROM temp.counters
  WHERE name = 'main_thread_wait_s' AND profile_id IN (SELECT profile_id FROM typical)
), pieces AS ( -- from one moment to the next: how many of them go on, and after which reading
  SELECT profile_id, waited_ns, sum(opened) OVER until_now AS open_count, sum(is_reading) OVER until_now AS reading,
    lead(time_ns) OVER (PARTITION BY profile_id ORDER BY time_ns, is_reading, opened) - time_ns AS dur_ns
  FROM moments
  WINDOW until_now AS (PARTITION BY profile_id ORDER BY time_ns, is_reading, opened
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), waiting AS ( -- from one reading to the next: how long they went on, and what was waited
  SELECT profile_id, total(dur_ns) FILTER (WHERE open_count > 0) AS long_ns,
    lead(max(waited_ns)) OVER (PARTITION BY profile_id ORDER BY reading) - max(waited_ns) AS waited_ns
  FROM pieces GROUP BY profile_id, reading
), waited AS (
  SELECT profile_id, total(min(long_ns, max(waited_ns, 0))) AS waited_ns FROM waiting
  WHERE waited_ns IS NOT NULL GROUP BY profile_id
), distances AS ( -- whether most come at the same distance
  SELECT profile_id, distance, count(*) AS count FROM long WHERE distance IS NOT NULL GROUP BY profile_id, distance
), outliers AS (
  SELECT profile_id, count(*) AS outlier_count, max(training_ns) AS longest_ns, sum(excess_ns) AS over_ns,
    count(*) >= 4 AND 0.6 * count(distance) <= (SELECT max(count) FROM distances
      WHERE distances.profile_id = long.profile_id) AS is_regular
  FROM long GROUP BY profile_id
), found AS MATERIALIZED (
  SELECT typical.*, outlier_count, longest_ns, is_regular, over_ns, min(over_ns, coalesce(waited_ns, 0)) AS waited_ns,
    over_ns - min(over_ns, coalesce(waited_ns, 0)) AS lost_ns
  FROM typical JOIN outliers ON outliers.profile_id = typical.profile_id
  LEFT JOIN waited ON waited.profile_id = typical.profile_id
  WHERE over_ns - coalesce(waited_ns, 0) >= 0.02 * (step_ns - min(over_ns, coalesce(waited_ns, 0)))
), compared AS MATERIALIZED ( -- their steps, the long ones and the others
  SELECT measured.profile_id AS profile_id, measured.id AS id, measured.ops_recorded AS ops_recorded,
    measured.start_ns AS start_ns, measured.end_ns AS end_ns, measured.training_ns > 1.5 * found.median_ns AS is_long
  FROM found JOIN measured ON measured.profile_id = found.profile_id
), counts AS (
  SELECT profile_id, sum(is_long) AS long_count, sum(NOT is_long) AS other_count,
    sum(is_long AND ops_recorded = 1) AS long_recorded, sum(NOT is_long AND ops_recorded = 1) AS other_recorded
  FROM compared GROUP BY profile_id
), evaluated AS ( -- whose time counts for no step
  SELECT step_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM temp.step_phases
  WHERE phase = 'evaluation' AND step_id IN (SELECT id FROM compared WHERE is_long) GROUP BY step_id
), kinds AS MATERIALIZED ( -- what is waited for so long that host_waits tells it, too
  SELECT looks.profile_id AS profile_id, looks.waits_for AS waits_for
  FROM temp._python_looks AS looks JOIN (SELECT profile_id, sum(net_ns * sample_weight) AS step_ns FROM temp.steps
    WHERE is_warmup = 0 AND ops_recorded = 1 GROUP BY profile_id) AS recorded ON recorded.profile_id = looks.profile_id
  WHERE looks.is_measured AND looks.waits_for <> 'processor' AND looks.profile_id IN (SELECT profile_id FROM found)
  GROUP BY looks.profile_id, looks.waits_for
  HAVING sum(looks.weight) >= 0.10 * max(recorded.step_ns) AND count(*) >= 3
), asleep AS (
  SELECT samples.step_id AS step_id, sum(1.0 * samples.period_ns) AS ns
  FROM temp.python_samples AS samples JOIN kinds
    ON kinds.profile_id = samples.profile_id AND kinds.waits_for = samples.waits_for
  WHERE samples.step_id IS NOT NULL AND samples.code_trace_id IS NOT NULL GROUP BY samples.step_id
), exchanged AS ( -- in steps with collectives
  SELECT step_id, total(waiting_ns) AS ns FROM temp.collective_waits
  WHERE waiting_ns IS NOT NULL AND profile_id IN (SELECT profile_id FROM found) GROUP BY step_id
), slept AS ( -- excess_ns: of the step, NULL where it is not long
  SELECT measured.profile_id AS profile_id, coalesce(asleep.ns, 0.0) AS ns, long.excess_ns AS excess_ns
  FROM measured LEFT JOIN asleep ON asleep.step_id = measured.id LEFT JOIN long ON long.id = measured.id
  WHERE measured.ops_recorded = 1 AND measured.profile_id IN (SELECT profile_id FROM kinds)
), awaited AS (
  SELECT measured.profile_id AS profile_id, exchanged.ns AS ns, long.excess_ns AS excess_ns
  FROM exchanged JOIN measured ON measured.id = exchanged.step_id LEFT JOIN long ON long.id = measured.id
), sleeping AS ( -- the share of what long steps take longer
  SELECT profile_id, total(min(excess_ns, max(ns - other_ns, 0))) / sum(excess_ns) AS ratio
  FROM (SELECT slept.*, coalesce(avg(iif(excess_ns IS NULL, ns, NULL)) OVER (PARTITION BY profile_id), 0) AS other_ns
    FROM slept)
  WHERE excess_ns IS NOT NULL GROUP BY profile_id
), waiting_for_ranks AS (
  SELECT profile_id, total(min(excess_ns, max(ns - other_ns, 0))) / sum(excess_ns) AS ratio
  FROM (SELECT awaited.*, coalesce(avg(iif(excess_ns IS NULL, ns, NULL)) OVER (PARTITION BY profile_id), 0) AS other_ns
    FROM awaited)
  WHERE excess_ns IS NOT NULL GROUP BY profile_id
), by_range AS (
  SELECT ranges.profile_id AS profile_id, ranges.name AS name,
    sum(CASE WHEN compared.is_long THEN 1.0 * ranges.dur_ns ELSE 0 END) AS long_ns,
    sum(CASE WHEN compared.is_long THEN 0 ELSE 1.0 * ranges.dur_ns END) AS other_ns,
    sum(compared.is_long) AS long_calls, sum(NOT compared.is_long) AS other_calls
  FROM compared JOIN temp.ranges AS ranges ON ranges.step_id = compared.id
  LEFT JOIN evaluated ON evaluated.step_id = compared.id
  WHERE ranges.name NOT GLOB 'ProfilerStep#*' AND ranges.name NOT GLOB 'tfprof.step#*'
    AND ranges.name NOT GLOB 'StepTraceAnnotation#*' AND ranges.name NOT GLOB 'keras.step#*'
    AND NOT (ranges.start_ns = compared.start_ns AND ranges.end_ns = compared.end_ns) -- the mark of the step itself
    AND NOT coalesce(ranges.start_ns >= evaluated.start_ns AND ranges.end_ns <= evaluated.end_ns, 0)
  GROUP BY ranges.profile_id, ranges.name
), by_op AS (
  SELECT ops.profile_id AS profile_id, ops.name AS name,
    sum(CASE WHEN compared.is_long THEN 1.0 * ops.self_ns ELSE 0 END) AS long_ns,
    sum(CASE WHEN compared.is_long THEN 0 ELSE 1.0 * ops.self_ns END) AS other_ns,
    sum(compared.is_long) AS long_calls, sum(NOT compared.is_long) AS other_calls
  FROM compared JOIN temp.ops AS ops ON ops.step_id = compared.id
  LEFT JOIN evaluated ON evaluated.step_id = compared.id
  WHERE compared.profile_id IN (SELECT profile_id FROM counts WHERE long_recorded > 0 AND other_recorded > 0)
    AND compared.ops_recorded = 1 AND ops.category NOT IN ('user', 'input', 'python', 'module')
    AND NOT coalesce(ops.start_ns >= evaluated.start_ns AND ops.end_ns <= evaluated.end_ns, 0)
  GROUP BY ops.profile_id, ops.name
), by_trace AS (
  SELECT samples.profile_id AS profile_id, samples.code_trace_id AS trace_id,
    sum(compared.is_long) AS long_looks,
    sum(CASE WHEN compared.is_long THEN 1.0 * samples.period_ns ELSE 0 END) AS long_ns,
    sum(CASE WHEN compared.is_long THEN 0 ELSE 1.0 * samples.period_ns END) AS other_ns
  FROM compared JOIN temp.python_samples AS samples ON samples.step_id = compared.id
  LEFT JOIN evaluated ON evaluated.step_id = compared.id
  WHERE compared.profile_id IN (SELECT profile_id FROM counts WHERE long_recorded > 0 AND other_recorded > 0)
    AND compared.ops_recorded = 1 AND samples.code_trace_id IS NOT NULL AND samples.waits_for IS NOT 'processor'
    AND NOT EXISTS (SELECT 1 FROM kinds
      WHERE kinds.profile_id = samples.profile_id AND kinds.waits_for = samples.waits_for)
    AND NOT coalesce(samples.time_ns BETWEEN evaluated.start_ns AND evaluated.end_ns, 0)
  GROUP BY samples.profile_id, samples.code_trace_id
), by_line AS (
  SELECT by_trace.profile_id AS profile_id,
    'Python at ' || replace(frames.file, rtrim(frames.file, replace(frames.file, '/', '')), '') || ':' || frames.line
      AS name, sum(long_ns) AS long_ns, sum(other_ns) AS other_ns
  FROM by_trace JOIN temp.code_traces AS traces ON traces.id = by_trace.trace_id
  JOIN temp.code_frames AS frames ON frames.id = coalesce(traces.line_frame_id, traces.leaf_frame_id)
  GROUP BY by_trace.profile_id, frames.file, frames.line HAVING sum(long_looks) >= 3
), excesses AS ( -- of a long step, on average
  SELECT by_range.profile_id AS profile_id, by_range.name AS name, 0 AS kind,
    long_ns / long_count - other_ns / max(other_count, 1) AS excess_ns,
    other_ns / max(other_count, 1) < 0.1 * long_ns / long_count
      AND 2.0 * other_calls / max(other_count, 1) < 1.0 * long_calls / long_count AS is_extra
  FROM by_range JOIN counts ON counts.profile_id = by_range.profile_id
  UNION ALL
  SELECT by_op.profile_id, by_op.name, 1, long_ns / long_recorded - other_ns / other_recorded,
    other_ns / other_recorded < 0.1 * long_ns / long_recorded
      AND 2.0 * other_calls / other_recorded < 1.0 * long_calls / long_recorded
  FROM by_op JOIN counts ON counts.profile_id = by_op.profile_id
  UNION ALL
  SELECT by_line.profile_id, by_line.name, 2, long_ns / long_recorded - other_ns / other_recorded,
    other_ns / other_recorded < 0.1 * long_ns / long_recorded
  FROM by_line JOIN counts ON counts.profile_id = by_line.profile_id
), ranked AS (
  SELECT excesses.*, row_number() OVER (PARTITION BY profile_id ORDER BY excess_ns DESC, kind, name) AS place
  FROM excesses
), causes AS (
  SELECT profile_id, group_concat(name || ' (' || format_ns(CAST(excess_ns AS INTEGER)) || ')', ', ') AS list,
    max(is_extra) AS has_extra
  FROM (SELECT ranked.profile_id AS profile_id, name, excess_ns, is_extra FROM ranked
    JOIN found ON found.profile_id = ranked.profile_id
    WHERE place <= 3 AND excess_ns * outlier_count >= 0.2 * lost_ns ORDER BY ranked.profile_id, place)
  GROUP BY profile_id
), costs AS ( -- what is left of them
  SELECT found.*, min(lost_ns, over_ns * coalesce(waiting_for_ranks.ratio, 0)) AS ranks_ns,
    min(lost_ns - min(lost_ns, over_ns * coalesce(waiting_for_ranks.ratio, 0)), over_ns * coalesce(sleeping.ratio, 0))
      AS asleep_ns
  FROM found LEFT JOIN sleeping ON sleeping.profile_id = found.profile_id
  LEFT JOIN waiting_for_ranks ON waiting_for_ranks.profile_id = found.profile_id
)
SELECT
  'step_time_outliers' AS check_name,
  CASE WHEN NOT coalesce(causes.has_extra, 0) AND NOT is_regular THEN 'info'
    WHEN left_ns >= 0.10 * step_ns AND left_ns >= 1000000 * step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  processes.name AS subject,
  processes.prefix || format('%d of %d steps take more than 1.5 times the median of %s; the longest takes %s',
    outlier_count, step_count, format_ns(CAST(median_ns AS INTEGER)), format_ns(longest_ns))
    || coalesce('; each spends more on ' || causes.list, '')
    || iif(waited_ns >= 0.2 * over_ns, format('; of what they take longer their thread waited %.0f %% for a '
      || 'processor, which is not counted', 100 * waited_ns / over_ns), '')
    || iif(asleep_ns >= 0.2 * over_ns, format('; during %.0f %% of what they take longer their thread '
      || 'waited for what host_waits tells, which is not counted', 100 * asleep_ns / over_ns), '')
    || iif(ranks_ns >= 0.2 * over_ns, format('; during %.0f %% of what they take longer it waited for other ranks, '
      || 'which is not counted', 100 * ranks_ns / over_ns), '') AS message,
  1.0 * left_ns / (step_ns - waited_ns - asleep_ns - ranks_ns) AS value,
  0.02 AS threshold,
  CAST(left_ns AS INTEGER) AS saves_ns,
  CASE WHEN causes.has_extra THEN advice_words('step_time_outliers', processes.framework)
    WHEN causes.list IS NOT NULL THEN 'They do what the others do, but take longer: look for batches of other shapes, '
    || 'and for other load on the machine.'
    ELSE 'Look at what the long steps do that the others do not: nothing that was recorded of them is longer by a '
    || 'fifth of the difference. Logging, files, batches of another shape, other load on the machine.'
  END AS suggestion,
  'SELECT number, start_ns, dur_ns FROM temp.steps WHERE is_warmup = 0 AND profile_id = ' || costs.profile_id
    || ' ORDER BY training_ns DESC LIMIT ' || outlier_count AS evidence
FROM (SELECT *, lost_ns - asleep_ns - ranks_ns AS left_ns FROM costs) AS costs
JOIN temp._process_names AS processes ON processes.profile_id = costs.profile_id
LEFT JOIN causes ON causes.profile_id = costs.profile_id
WHERE left_ns > 0 AND left_ns >= 0.02 * (step_ns - waited_ns - asleep_ns - ranks_ns)
ORDER BY saves_ns DESC, costs.profile_id
