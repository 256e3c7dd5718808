-- Names of work: which names of ops and of what devices did take most time, to show step by step those alone.
--
-- One row for each row of op_totals but marks of the program, and for each row of activity_totals but waits.  Where
-- kernels were recorded only in some steps, time is that of these as they are.
--   side   TEXT     -  The side: host or device.  On the host the own time of an op counts, and on the device that of a
--                      kernel or a copy.
--   id     INTEGER  -  The row of op_totals or activity_totals, by which step_op_totals and step_activity_totals go.
--   name   TEXT     -  Name of the op, kernel or copy.
--   place  INTEGER  -  Place of the name by its time on its side, of all that is open together, with 1 for the most.
--                      NULL where it has no name.
-- Cost: linear in op_totals and activity_totals.
-- Example: SELECT DISTINCT name FROM _work_names WHERE side = 'device' AND place <= 10 ORDER BY place;
WITH named AS (
  SELECT 'host' AS side, id, name, self_ns AS ns FROM temp.op_totals WHERE category <> 'user'
  UNION ALL SELECT 'device', id, name, sum_ns FROM temp.activity_totals WHERE kind <> 'sync'
), summed AS (
  SELECT side, id, name, sum(1.0 * ns) OVER (PARTITION BY side, name) AS name_ns FROM named
)
SELECT summed.side AS side, summed.id AS id, summed.name AS name,
  CASE WHEN summed.name IS NOT NULL
    THEN dense_rank() OVER (PARTITION BY summed.side, summed.name IS NULL ORDER BY summed.name_ns DESC, summed.name)
  END AS place
FROM summed
ORDER BY summed.side DESC, place, summed.id
