-- Windows of processes: which profiles are of one process, that was recorded again and again.
--
-- One row for each profile.  torch.profiler writes a file for each cycle of its schedule: files of one run, rank, host
-- and pid, one after the other, are windows of one process.  What has no rank, and other formats, are by themselves.
--   run_id, profile_id
--   process_id     the profile of the first window of its process
--   window         which window it is, from 0
--   window_count   how many there are
-- Cost: linear in profiles.  Example: SELECT process_id, count(*) FROM process_windows GROUP BY process_id;
WITH keyed AS (
  SELECT run_id, id AS profile_id, start_ns,
    iif(origin = 'kineto' AND rank IS NOT NULL AND pid IS NOT NULL,
      format('%d %d %s', rank, pid, coalesce(host, '')), format('profile %d', id)) AS process
  FROM temp.profiles
)
SELECT
  keyed.run_id AS run_id,
  keyed.profile_id AS profile_id,
  first_value(keyed.profile_id) OVER in_process AS process_id,
  row_number() OVER in_process - 1 AS window,
  count(*) OVER (PARTITION BY keyed.run_id, keyed.process) AS window_count
FROM keyed
WINDOW in_process AS (PARTITION BY keyed.run_id, keyed.process ORDER BY keyed.start_ns, keyed.profile_id)
ORDER BY run_id, process_id, window
