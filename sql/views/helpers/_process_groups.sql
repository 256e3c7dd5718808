-- Process groups: in which rows of a page each process counts, its own and that for all hosts of its run.
--
-- One row for each process by itself, and one more for each process of a run of several hosts.  The views that are
-- pages of the TensorFlow 2 Profiler (overview, input_summary ...) have one more row for all hosts together.  Processes
-- that never went on all together (_process_windows.session_id) are no hosts of one job, such as runs that a pattern
-- names, and restarts.
--   run_id      INTEGER  -  The run, as in runs.
--   profile_id  INTEGER  -  The profile of the row of such a page.  NULL in the row for all hosts.
--   host        TEXT     -  Host of the row of such a page.  ALL_HOSTS in the row for all hosts.
--   rank        INTEGER  -  Rank of the row of such a page.  NULL where it is unknown and in the row for all hosts.
--   member_id   INTEGER  -  The profile of the process that counts in that row.
-- Cost: linear in profiles.
-- Example: SELECT g.host, count(*) FROM _process_groups AS g JOIN kernels AS k ON k.profile_id = member_id GROUP BY 1;
WITH kinds(is_of_all) AS (
  VALUES (0), (1)
)
SELECT
  profiles.run_id AS run_id,
  iif(is_of_all, NULL, profiles.id) AS profile_id,
  iif(is_of_all, 'ALL_HOSTS', profiles.host) AS host,
  iif(is_of_all, NULL, profiles.rank) AS rank,
  profiles.id AS member_id
FROM temp.profiles AS profiles CROSS JOIN kinds
WHERE is_of_all = 0
  OR (profiles.run_id IN (SELECT run_id FROM temp.profiles GROUP BY run_id HAVING count(DISTINCT host) > 1)
    AND profiles.run_id NOT IN (
      SELECT windows.run_id FROM temp._process_windows AS windows
      JOIN temp.profiles AS members ON members.id = windows.profile_id
      WHERE members.origin IS NOT 'tfprof' -- what tfprof-capture records together is one job, its helpers end earlier
      GROUP BY windows.run_id HAVING max(windows.session_count) < count(DISTINCT windows.process_id)))
ORDER BY run_id, profile_id, member_id
