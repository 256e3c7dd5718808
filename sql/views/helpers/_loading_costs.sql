-- Costs in loading data: what recording ops took while a step waited for its input.
--
-- One row for each step and thread with such a cost.  The ranges around the waiting know it (ops.net_ns): the ops in
-- them were recorded, as those of a loader without workers.
--   step_id    INTEGER  -   The step, as in steps.
--   thread_id  INTEGER  -   The thread, as in threads.
--   cost_ns    REAL     ns  Time that recording took in the outermost input_events of the step on this thread.
-- Cost: one pass over the ranges in ops.
-- Example: SELECT step_id, cost_ns FROM _loading_costs;
SELECT step_id AS step_id, thread_id AS thread_id, sum(1.0 * (dur_ns - net_ns)) AS cost_ns
FROM temp.ops
WHERE category = 'user' AND net_ns < dur_ns AND step_id IS NOT NULL
  AND name IN (SELECT name FROM temp.input_events WHERE parent_id IS NULL)
GROUP BY step_id, thread_id
ORDER BY step_id, thread_id
