-- Process groups: in which rows of a page each process counts, its own and that for all hosts of its run.
--
-- One row for each process by itself, and one more for each process of a run of several hosts: for all of them together
-- the views that are pages of the TensorFlow 2 Profiler (overview, input_summary ...) have one more row.
--   run_id
--   profile_id, host, rank   of the row of such a page; in that for all hosts of a run NULL, ALL_HOSTS and NULL
--   member_id                the process that counts in it
--   is_helper                1: it has no steps though another process of its run has, as workers of a DataLoader
--                            (process_names)
-- Cost: linear in profiles, and the steps of those that share a run.
-- Example: SELECT g.run_id, g.profile_id, count(*) FROM process_groups AS g JOIN ops ON ops.profile_id = member_id
--          GROUP BY 1, 2;
WITH large AS (
  SELECT run_id FROM temp.profiles GROUP BY run_id HAVING count(*) > 1
), members AS MATERIALIZED (
  SELECT id AS member_id, run_id, host, rank,
    run_id IN (SELECT run_id FROM large)
      AND id IN (SELECT profile_id FROM temp.process_names WHERE is_helper = 1) AS is_helper
  FROM temp.profiles
), groups AS (
  SELECT run_id, member_id AS profile_id, host, rank, member_id, is_helper FROM members
  UNION ALL
  SELECT run_id, NULL, 'ALL_HOSTS', NULL, member_id, is_helper FROM members
  WHERE run_id IN (SELECT run_id FROM members GROUP BY run_id HAVING count(DISTINCT host) > 1)
)
SELECT
  run_id AS run_id,
  profile_id AS profile_id,
  host AS host,
  rank AS rank,
  member_id AS member_id,
  is_helper AS is_helper
FROM groups
ORDER BY run_id, profile_id, member_id
