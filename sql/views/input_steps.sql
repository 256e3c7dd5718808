-- Input by step: how long each step waited for its input.
--
-- One row for each measured step (no warm-up) of a profile that has input_events.
--   profile_id, rank, step_id, number
--   dur_ns, input_ns, input_ratio   of the step; time of the outermost input_events on the step's own thread; their
--                                   share
-- Cost: linear in steps and input_events.  Example: SELECT number, input_ratio FROM input_steps LIMIT 10;
WITH input_time AS (
  SELECT step_id, thread_id, CAST(sum(1.0 * dur_ns) AS INTEGER) AS input_ns
  FROM temp.input_events WHERE parent_id IS NULL AND step_id IS NOT NULL GROUP BY step_id, thread_id
)
SELECT
  steps.profile_id AS profile_id,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  steps.dur_ns AS dur_ns,
  coalesce(input_time.input_ns, 0) AS input_ns,
  1.0 * coalesce(input_time.input_ns, 0) / nullif(steps.dur_ns, 0) AS input_ratio
FROM temp.steps AS steps
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
LEFT JOIN input_time ON input_time.step_id = steps.id AND input_time.thread_id = steps.thread_id
WHERE steps.is_warmup = 0 AND steps.profile_id IN (SELECT profile_id FROM temp.input_events)
ORDER BY profile_id, number, step_id
