-- Advice: a pipeline of tf.data that prepares elements for all workers, and then keeps its own share.
--
-- For each Shard of a pipeline: the time of all iterators below it that do more than list files or indices, times the
-- share of their elements that the shard throws away (its calls against those of the iterator that it asks).
-- A DistributedSampler of PyTorch hands out indices before anything is read, so there is nothing to find there.
-- Thresholds: 1 % of the step time; a warning from 5 % on, where steps wait for input (_input_waits).
-- What it would save: that time, but no more than what the steps wait for.
-- Columns: those of every check, see docs/checks.md.  Cost: that of _input_waits, and one pass over input_events.
-- Needs: input_events, steps.
-- Example: SELECT message FROM advise WHERE check_name = 'input_sharded_late';
WITH iterators AS MATERIALIZED (
  SELECT waits.profile_id AS profile_id, events.long_name AS long_name, count(*) AS count,
    sum(1.0 * events.self_ns) AS self_ns
  FROM temp._input_waits AS waits CROSS JOIN temp.input_events AS events ON events.profile_id = waits.profile_id
  WHERE waits.has_iterators
    AND (events.step_id IS NULL OR events.step_id NOT IN (SELECT id FROM temp.steps WHERE is_warmup = 1))
  GROUP BY 1, 2
), shards AS (
  SELECT profile_id, long_name, count FROM iterators WHERE long_name GLOB '*::Shard'
), below AS (
  SELECT shards.profile_id AS profile_id, shards.long_name AS long_name, shards.count AS kept,
    max(iterators.count) FILTER (WHERE instr(substr(iterators.long_name, length(shards.long_name) + 3), '::') = 0)
      AS asked,
    sum(iterators.self_ns) AS self_ns,
    max(iterators.long_name GLOB '*Map*' OR iterators.long_name GLOB '*Interleave*'
      OR iterators.long_name GLOB '*Record*' OR iterators.long_name GLOB '*TextLine*'
      OR iterators.long_name GLOB '*Batch*' OR iterators.long_name GLOB '*Generator*'
      OR iterators.long_name GLOB '*Shuffle*') AS has_work
  FROM shards JOIN iterators ON iterators.profile_id = shards.profile_id
    AND substr(iterators.long_name, 1, length(shards.long_name) + 2) = shards.long_name || '::'
  GROUP BY 1, 2
), wasted AS (
  SELECT below.*, self_ns * (1 - 1.0 * kept / asked) AS wasted_ns FROM below WHERE has_work AND asked > kept
)
SELECT
  'input_sharded_late' AS check_name,
  CASE WHEN wasted.wasted_ns >= 0.05 * waits.step_ns AND waits.wait_ns >= 0.05 * waits.step_ns THEN 'warning'
    ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format('The input pipeline prepares %d elements and keeps %d of them, its shard: %s a step for '
      || 'nothing', wasted.asked, wasted.kept, format_ns(wasted.wasted_ns / waits.step_count)) AS message,
  wasted.wasted_ns / waits.step_ns AS value,
  0.01 AS threshold,
  CAST(stands_for * min(wasted.wasted_ns, 1.0 * waits.wait_ns) AS INTEGER) AS saves_ns,
  'Shard first, the list of files where there are enough: files.shard(count, index), and only then read, shuffle, map '
    || 'and batch.' AS suggestion,
  'SELECT long_name, count(*), sum(self_ns) FROM temp.input_events WHERE profile_id = ' || wasted.profile_id
    || ' GROUP BY 1 ORDER BY length(long_name) LIMIT 20' AS evidence
FROM wasted
JOIN temp._input_waits AS waits ON waits.profile_id = wasted.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = wasted.profile_id
WHERE waits.step_ns > 0 AND wasted.wasted_ns >= 0.01 * waits.step_ns
ORDER BY saves_ns DESC, wasted.profile_id
