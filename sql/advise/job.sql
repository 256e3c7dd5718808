-- Advice: what the job as a whole needs: receiving tensors from other processes, collectives, processors and memory.
--
-- One row for each profile and
--   RecvTensor     tensors received from other processes (transfers of kind receive): how many, how long one takes,
--                  how fast
--   each kind of collective, such as all_reduce: the same, with the rate of the data and that of the links (bus)
--   CPU            processors that the process used, and how busy the machine was (counters process_cpu, host_cpu)
--   memory         what the process held (process_resident_bytes) and what the machine had left (host_available_bytes)
-- Settings, beyond which a row is a warning instead of information:
--   slow_bytes_per_second (100e6)  a rate below it is no better than gigabit Ethernet, slower than any link made for
--                                  training; told where it is at least time_ratio (0.1) of the time of the steps
--   busy_ratio (0.95)              of the machine's processors: then input and launching wait for each other
--   left_ratio (0.05)              of memory: less of it left, and the process may be killed
-- TensorFlow's profiler announces such a check and has none.
-- Columns: those of every check, see sql/README.md; saves_ns is NULL.  Cost: one pass over transfers, collectives,
-- counters.
-- Example: SELECT message FROM advise WHERE check_name = 'job';
WITH settings AS MATERIALIZED (
  SELECT tfprof_setting('job.slow_bytes_per_second', 100e6) AS slow,
    tfprof_setting('job.time_ratio', 0.1) AS time_ratio,
    tfprof_setting('job.busy_ratio', 0.95) AS busy_ratio, tfprof_setting('job.left_ratio', 0.05) AS left_ratio
), step_time AS MATERIALIZED (
  SELECT profile_id, sum(1.0 * dur_ns) AS all_ns FROM temp.steps GROUP BY 1
), moved AS (
  SELECT profile_id, 1 AS place, coalesce(name, 'receive') AS name, count(*) AS count, avg(dur_ns) AS mean_ns,
    max(dur_ns) AS longest_ns, sum(1.0 * dur_ns) AS sum_ns,
    sum(CASE WHEN bytes IS NOT NULL THEN 1.0 * bytes END) / nullif(sum(CASE WHEN bytes IS NOT NULL THEN dur_ns END),
      0) * 1e9
      AS rate, NULL AS bus_rate, 'SELECT name, dur_ns, bytes FROM temp.transfers WHERE kind = ''receive''' AS evidence
  FROM temp.transfers WHERE kind = 'receive' GROUP BY 1, coalesce(name, 'receive')
  UNION ALL
  SELECT profile_id, 2, name, count(*), avg(dur_ns), max(dur_ns), sum(1.0 * dur_ns),
    sum(CASE WHEN bytes IS NOT NULL THEN 1.0 * bytes END) / nullif(sum(CASE WHEN bytes IS NOT NULL THEN dur_ns END),
      0) * 1e9,
    sum(bus_bytes_per_second * dur_ns) / nullif(sum(CASE WHEN bus_bytes_per_second IS NOT NULL THEN dur_ns END), 0),
    'SELECT name, dur_ns, bytes FROM temp.collectives WHERE name = ' || quote(name)
  FROM temp.collectives WHERE dur_ns > 0 GROUP BY profile_id, name
), rates AS (
  SELECT moved.*, rate < slow AND sum_ns >= time_ratio * coalesce(all_ns, 0) AS is_slow, slow
  FROM moved JOIN settings LEFT JOIN step_time ON step_time.profile_id = moved.profile_id
), used AS MATERIALIZED (
  SELECT profile_id, avg(CASE WHEN name = 'process_cpu' THEN value END) AS mean_cpu,
    max(CASE WHEN name = 'process_cpu' THEN value END) AS most_cpu, avg(CASE WHEN name = 'host_cpu' THEN value END)
      AS busy,
    max(CASE WHEN name = 'process_resident_bytes' THEN value END) AS resident,
    min(CASE WHEN name = 'host_available_bytes' THEN value END) AS available
  FROM temp.counters WHERE name IN ('process_cpu', 'host_cpu', 'process_resident_bytes', 'host_available_bytes')
  GROUP BY profile_id
), found AS (
  SELECT profile_id, place, name,
    CASE WHEN is_slow THEN 'warning' ELSE 'info' END AS severity,
    format('%s: %d times, latency %s on average and %s at most', name, count, format_ns(mean_ns), format_ns(longest_ns))
      || coalesce(', ' || format_bytes(rate) || '/s', '') || coalesce(', links ' || format_bytes(bus_rate) || '/s', '')
      AS message,
    CASE WHEN is_slow THEN slow / nullif(rate, 0) ELSE mean_ns END AS value, CASE WHEN is_slow THEN 1.0 ELSE 0.0 END
      AS threshold,
    CASE WHEN is_slow
      THEN 'Send less or less often (larger buckets, lower precision, fewer parameter servers'' variables), '
      || 'or use a faster network.'
      ELSE 'Nothing to do; collective_summary and transfer_summary have the rest.' END AS suggestion, evidence
  FROM rates
  UNION ALL
  SELECT profile_id, 3, 'CPU', CASE WHEN busy >= busy_ratio THEN 'warning' ELSE 'info' END,
    format('CPU: %.2f processors used on average, %.2f at most', mean_cpu, most_cpu)
      || coalesce(format('; the machine is %.0f %% busy', 100 * busy), ''),
    CASE WHEN busy >= busy_ratio THEN busy ELSE mean_cpu END, CASE WHEN busy >= busy_ratio THEN busy_ratio ELSE 0.0 END,
    CASE WHEN busy >= busy_ratio
      THEN 'Where the job itself takes them, fewer workers and threads; where others do (top shows them), stop those; '
        || 'or a machine with more processors.'
      ELSE 'Nothing to do; counter_summary has the rest.' END,
    'SELECT name, mean, maximum FROM temp.counter_summary WHERE name GLOB ''*_cpu'''
  FROM used JOIN settings WHERE mean_cpu IS NOT NULL
  UNION ALL
  SELECT profile_id, 4, 'memory', CASE WHEN available < left_ratio * (available + resident) THEN 'warning'
    ELSE 'info' END,
    'memory: ' || format_bytes(resident) || ' held at most'
      || coalesce(', ' || format_bytes(available) || ' left on the machine at least', ''),
    resident, 0.0,
    CASE WHEN available < left_ratio * (available + resident) THEN
      'Keep fewer samples and copies in memory (workers, caches, pinned buffers), or take a machine with more.'
      ELSE 'Nothing to do; counter_summary has the rest.' END,
    'SELECT name, maximum, minimum FROM temp.counter_summary WHERE unit = ''bytes'''
  FROM used JOIN settings WHERE resident IS NOT NULL
)
SELECT
  'job' AS check_name,
  found.severity AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  found.message AS message,
  found.value AS value,
  found.threshold AS threshold,
  NULL AS saves_ns,
  found.suggestion AS suggestion,
  found.evidence AS evidence
FROM found JOIN temp.profiles AS profiles ON profiles.id = found.profile_id
ORDER BY found.profile_id, place, name
