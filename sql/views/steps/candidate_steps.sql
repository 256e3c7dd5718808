-- Candidate steps: what else could be steps, in programs without any and in those with several optimizers.
--
-- One row for each candidate.  No other view counts by them, and tfprof.step() says better what a step is.
-- In profiles that have no steps, since no optimizer runs there and nothing is marked, they are guesses: the
-- repetitions of a server or of a loop over vmap.  They are those of one outermost range: of the ranges that came eight
-- times or more, the one that takes most time.  Where there is no such range they are those of one outermost call of an
-- op (its name and the stack that it was called from).  The number of repetitions is then the least one, from eight on,
-- that divides how often nine tenths of the calls of the thread came.  The earliest call that came so often begins each
-- repetition.
-- In profiles in which several optimizers step (ops.optimizer), they go from step to step of each optimizer, from batch
-- to batch of the data loader, and from backward pass to backward pass, where a capture tells these.  Where all steps
-- of a trace look alike, it does not tell which optimizer steps.  There they go from batch to batch, from backward pass
-- to backward pass, and to each second step, as of two optimizers that take turns.  In recordings calls of a compiled
-- function may stand for steps, or lie in none of those that are marked (diagnostics: steps_marked_in_part).  There
-- they are the calls of each function and the runs of the fetches of each session, that came three times.
--   profile_id  INTEGER  -   The profile: a process or rank.
--   rank        INTEGER  -   Rank of the process.  NULL where it is unknown.
--   number      INTEGER  -   Place among the candidates of its kind, from 0.
--   origin      TEXT     -   What repeats: repetition, optimizer, batch, backward, turns or call.
--   name        TEXT     -   The range or op that begins it.  Of origin optimizer and turns it is the one that ends it.
--   optimizer   INTEGER  -   Number of the optimizer.  NULL of another origin than optimizer.
--   is_range    INTEGER  -   1: a range begins or ends it.  0: an op does.
--   thread_id   INTEGER  -   The thread of that range or op, as in threads.
--   start_ns    INTEGER  ns  When that range or op began.  Of origin optimizer and turns it is the end of the one
--                            before, and for the first one its own beginning.
--   end_ns      INTEGER  ns  When the next one begins, and for the last one the end of its range or op.  Of origin
--                            optimizer and turns it is the end of the range.
--   dur_ns      INTEGER  ns  Time from start_ns to end_ns.
-- Cost: one pass over ops.
-- Example: SELECT origin, name, optimizer, count(*), median(dur_ns) FROM candidate_steps GROUP BY 1, 2, 3;
WITH calls AS MATERIALIZED (
  SELECT profile_id, thread_id, category IN ('user', 'input') AS is_range, name,
    CASE WHEN category IN ('user', 'input') THEN 0 ELSE coalesce(code_trace_id, 0) END AS place, start_ns, end_ns
  FROM temp.ops
  WHERE parent_id IS NULL AND thread_id IS NOT NULL AND category NOT IN ('python', 'module')
    AND profile_id IN (SELECT id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM temp.steps))
), series AS (
  SELECT profile_id, thread_id, is_range, name, place, count(*) AS call_count, sum(1.0 * end_ns - start_ns) AS call_ns,
    min(start_ns) AS first_ns
  FROM calls GROUP BY profile_id, thread_id, is_range, name, place HAVING count(*) >= 8
), numbers AS ( -- how often calls came, and how many calls did
  SELECT profile_id, thread_id, call_count, sum(call_count) AS calls
  FROM series WHERE NOT is_range GROUP BY profile_id, thread_id, call_count
), explained AS (
  SELECT one.profile_id AS profile_id, one.thread_id AS thread_id, one.call_count AS call_count,
    sum(CASE WHEN other.call_count % one.call_count = 0 THEN other.calls ELSE 0 END) AS calls,
    sum(other.calls) AS all_calls
  FROM numbers AS one
  JOIN numbers AS other ON other.profile_id = one.profile_id AND other.thread_id = one.thread_id
  GROUP BY one.profile_id, one.thread_id, one.call_count
), ranked AS (
  SELECT series.*, row_number() OVER (PARTITION BY series.profile_id ORDER BY is_range DESC,
    CASE WHEN is_range THEN call_ns ELSE explained.all_calls END DESC, series.thread_id, series.call_count, first_ns,
    name, place) AS choice
  FROM series LEFT JOIN explained ON explained.profile_id = series.profile_id
    AND explained.thread_id = series.thread_id AND explained.call_count = series.call_count AND NOT series.is_range
  WHERE is_range OR explained.calls >= 0.9 * explained.all_calls
), chosen AS (
  SELECT * FROM ranked WHERE choice = 1
), repetitions AS (
  SELECT calls.*, row_number() OVER ordered - 1 AS number, lead(calls.start_ns) OVER ordered AS next_ns
  FROM chosen JOIN calls ON calls.profile_id = chosen.profile_id AND calls.thread_id = chosen.thread_id
    AND calls.is_range = chosen.is_range AND calls.name = chosen.name AND calls.place = chosen.place
  WINDOW ordered AS (PARTITION BY calls.profile_id ORDER BY calls.start_ns, calls.end_ns)
), alike AS MATERIALIZED ( -- steps of optimizers that are not told
  SELECT id, profile_id, name, thread_id, start_ns, end_ns,
    row_number() OVER (PARTITION BY profile_id ORDER BY end_ns, id) AS place
  FROM temp.ops WHERE category = 'user' AND optimizer IS NULL AND name GLOB 'Optimizer.step#*'
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE origin = 'optimizer')
), several AS MATERIALIZED (
  SELECT profile_id FROM temp.ops WHERE category = 'user' AND optimizer > 1
  UNION
  SELECT profile_id FROM alike
), marks AS (
  SELECT profile_id, 'optimizer' AS origin, name, optimizer, thread_id, start_ns, end_ns
  FROM temp.ops WHERE category = 'user' AND optimizer IS NOT NULL AND profile_id IN (SELECT profile_id FROM several)
  UNION ALL
  SELECT profile_id, iif(name = 'torch.autograd.backward', 'backward', 'batch'), name, NULL, thread_id, start_ns, end_ns
  FROM temp.ops
  WHERE category IN ('user', 'input') AND profile_id IN (SELECT profile_id FROM several)
    AND (name = 'torch.autograd.backward' OR name GLOB 'enumerate(Data*)#*')
  UNION ALL
  SELECT profile_id, 'turns', name, NULL, thread_id, start_ns, end_ns FROM alike WHERE place % 2 = 0
  UNION ALL
  SELECT profile_id, 'call', name, NULL, thread_id, start_ns, end_ns
  FROM (
    SELECT profile_id, name, thread_id, start_ns, end_ns, count(*) OVER (PARTITION BY profile_id, name) AS call_count
    FROM temp.ops
    WHERE category = 'user' AND (name GLOB 'PjitFunction(*' OR name GLOB 'tf.function(*' OR name GLOB 'SessionRun(*')
      AND profile_id IN (SELECT profile_id FROM temp.steps WHERE origin = 'repetition'
        UNION SELECT profile_id FROM temp.diagnostics WHERE reason = 'steps_marked_in_part')
  )
  WHERE call_count >= 3
), candidates AS (
  SELECT profile_id, row_number() OVER counted - 1 AS number, origin, name, optimizer, thread_id,
    iif(origin IN ('optimizer', 'turns'), lag(end_ns, 1, start_ns) OVER counted, start_ns) AS start_ns,
    iif(origin IN ('optimizer', 'turns'), end_ns, lead(start_ns, 1, end_ns) OVER counted) AS end_ns, 1 AS is_range
  FROM marks
  WINDOW counted AS (PARTITION BY profile_id, origin, name, optimizer ORDER BY start_ns, end_ns)
  UNION ALL
  SELECT profile_id, number, 'repetition', name, NULL, thread_id, start_ns, coalesce(next_ns, end_ns), is_range
  FROM repetitions
)
SELECT
  candidates.profile_id AS profile_id,
  profiles.rank AS rank,
  candidates.number AS number,
  candidates.origin AS origin,
  candidates.name AS name,
  candidates.optimizer AS optimizer,
  candidates.is_range AS is_range,
  candidates.thread_id AS thread_id,
  candidates.start_ns AS start_ns,
  candidates.end_ns AS end_ns,
  candidates.end_ns - candidates.start_ns AS dur_ns
FROM candidates JOIN temp.profiles AS profiles ON profiles.id = candidates.profile_id
ORDER BY profile_id, origin, name, optimizer, number
