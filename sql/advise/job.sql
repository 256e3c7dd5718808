-- Advice: what the job as a whole needs: receiving tensors from other processes, collectives, processors and memory.
--
-- One row for each job (all processes of a run together) that tells, as far as each is known,
--   RecvTensor     tensors received from other processes (transfers of kind receive): how many, how long one takes,
--                  how fast
--   each kind of collective, such as all_reduce: the same, with the rate of the data and that of the links (bus)
--   CPU            processors that all its processes used together, and how busy the busiest machine was (counters
--                  process_cpu, host_cpu)
--   waiting        how long the main thread of a process that trains could have run while no processor was free for it
--                  (main_thread_wait_s) from the first measured step to the end of the last: the process that waited
--                  longest, where that is too long
--   memory         what the largest process held (process_resident_bytes) and what was left at least on the machine
--                  with the least (host_available_bytes)
-- Settings, beyond which it is a warning instead of information, and begins with what is beyond:
--   slow_bytes_per_second (100e6)  a rate below it is no better than gigabit Ethernet, slower than any link made for
--                                  training; told where it is at least time_ratio (0.1) of the time of the steps.  A
--                                  collective takes as long as for the rank that enters it last and so waits for no
--                                  other (collective_waits)
--   busy_ratio (0.95)              of the machine's processors: then input and launching wait for each other
--   wait_ratio (0.05)              of the time of the steps: others take the processors from the one thread that
--                                  launches everything
--   left_ratio (0.05)              of memory: less of it left, and the process may be killed
-- TensorFlow's profiler announces such a check, and says nothing; nor does this one with tfprof_set('compat', 1).
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL.  Cost: one pass over transfers, collectives,
-- counters.
-- Example: SELECT message FROM advise WHERE check_name = 'job';
WITH settings AS MATERIALIZED (
  SELECT tfprof_setting('job.slow_bytes_per_second', 100e6) AS slow,
    tfprof_setting('job.time_ratio', 0.1) AS time_ratio,
    tfprof_setting('job.busy_ratio', 0.95) AS busy_ratio, tfprof_setting('job.wait_ratio', 0.05) AS wait_ratio,
    tfprof_setting('job.left_ratio', 0.05) AS left_ratio
), processes AS MATERIALIZED (
  SELECT profile_id, name, framework FROM temp._process_names
), step_time AS MATERIALIZED ( -- profiles have ids, through processes it would be a search
  SELECT profiles.run_id AS run_id, sum(1.0 * steps.dur_ns) AS all_ns
  FROM temp.steps AS steps JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id GROUP BY profiles.run_id
), received AS (
  SELECT profiles.run_id AS run_id, coalesce(transfers.name, 'receive') AS name, transfers.dur_ns AS dur_ns,
    transfers.dur_ns AS transfer_ns, transfers.bytes AS bytes, NULL AS bus_bytes
  FROM temp.transfers AS transfers JOIN temp.profiles AS profiles ON profiles.id = transfers.profile_id
  WHERE transfers.kind = 'receive'
), exchanged AS (
  SELECT profiles.run_id AS run_id, collectives.name AS name, collectives.dur_ns AS dur_ns,
    coalesce(waits.transfer_ns, collectives.dur_ns) AS transfer_ns, collectives.bytes AS bytes,
    collectives.bus_bytes_per_second * collectives.dur_ns AS bus_bytes
  FROM temp.collective_waits AS waits -- which has each collective once
  CROSS JOIN temp.collectives AS collectives ON collectives.id = waits.collective_id
  CROSS JOIN temp.profiles AS profiles ON profiles.id = collectives.profile_id
  WHERE collectives.dur_ns > 0 AND collectives.carried_by IS NOT NULL
), moved AS (
  SELECT run_id, 1 AS place, name, count(*) AS count, avg(dur_ns) AS mean_ns, max(dur_ns) AS longest_ns,
    sum(1.0 * transfer_ns) AS sum_ns,
    1e9 * sum(1.0 * bytes) / nullif(sum(1.0 * transfer_ns) FILTER (WHERE bytes IS NOT NULL), 0) AS rate,
    NULL AS bus_rate, 'SELECT name, dur_ns, bytes FROM temp.transfers WHERE kind = ''receive'' ORDER BY 2 DESC LIMIT 20'
      AS evidence
  FROM received GROUP BY run_id, name
  UNION ALL
  SELECT run_id, 2, name, count(*), avg(dur_ns), max(dur_ns), sum(1.0 * transfer_ns),
    1e9 * sum(1.0 * bytes) / nullif(sum(1.0 * transfer_ns) FILTER (WHERE bytes IS NOT NULL), 0),
    sum(bus_bytes) / nullif(sum(1.0 * transfer_ns) FILTER (WHERE bus_bytes IS NOT NULL), 0),
    'SELECT name, dur_ns, bytes FROM temp.collectives WHERE name = ' || quote(name) || ' ORDER BY 2 DESC LIMIT 20'
  FROM exchanged GROUP BY run_id, name
), rates AS (
  SELECT moved.*, coalesce(rate < slow AND sum_ns >= time_ratio * coalesce(all_ns, 0), 0) AS is_slow, slow
  FROM moved JOIN settings LEFT JOIN step_time ON step_time.run_id = moved.run_id
), readings AS MATERIALIZED (
  SELECT counters.profile_id AS profile_id, min(profiles.run_id) AS run_id, min(profiles.host) AS host,
    avg(CASE WHEN counters.name = 'process_cpu' THEN value END) AS cpu,
    max(CASE WHEN counters.name = 'process_cpu' THEN value END) AS most_cpu,
    min(CASE WHEN counters.name = 'process_cpu' THEN time_ns END) AS first_ns,
    max(CASE WHEN counters.name = 'process_cpu' THEN time_ns END) AS last_ns,
    avg(CASE WHEN counters.name = 'host_cpu' THEN value END) AS busy,
    max(CASE WHEN counters.name = 'process_resident_bytes' THEN value END) AS resident,
    min(CASE WHEN counters.name = 'host_available_bytes' THEN value END) AS available
  FROM temp.counters AS counters CROSS JOIN temp.profiles AS profiles ON profiles.id = counters.profile_id
  WHERE counters.name IN ('process_cpu', 'host_cpu', 'process_resident_bytes', 'host_available_bytes')
  GROUP BY counters.profile_id
), used AS MATERIALIZED ( -- a process that lives for a part of the time counts for that part
  SELECT run_id, count(cpu) AS cpu_count, count(resident) AS resident_count, count(DISTINCT host) AS host_count,
    CASE WHEN count(cpu) > 1 AND max(last_ns) > min(first_ns)
      THEN sum(cpu * (1.0 * last_ns - first_ns)) / (1.0 * max(last_ns) - min(first_ns)) ELSE max(cpu) END AS cpu,
    max(most_cpu) AS most_cpu, max(busy) AS busy, max(resident) AS resident, min(available) AS available,
    total(resident) AS all_resident
  FROM readings GROUP BY run_id
), extremes AS ( -- which machine and which process these are of
  SELECT used.*,
    (SELECT min(host) FROM readings WHERE readings.run_id = used.run_id AND readings.busy = used.busy) AS busy_host,
    (SELECT min(host) FROM readings WHERE readings.run_id = used.run_id AND readings.available = used.available)
      AS full_host,
    (SELECT min(name) FROM processes WHERE profile_id IN (SELECT profile_id FROM readings
      WHERE readings.run_id = used.run_id AND readings.resident = used.resident)) AS largest
  FROM used
), loops AS ( -- of those that train: a worker may wait, it works ahead
  SELECT profile_id, coalesce(min(iif(is_warmup = 0, start_ns, NULL)), min(start_ns)) AS start_ns,
    max(end_ns) AS end_ns
  FROM temp.steps GROUP BY profile_id
), spans AS ( -- from one reading to the next, and how much of that is in the loop
  SELECT counters.profile_id AS profile_id, 1e9 * (lead(value) OVER of_process - value) AS waited_ns,
    lead(time_ns) OVER of_process - time_ns AS dur_ns,
    min(lead(time_ns) OVER of_process, loops.end_ns) - max(time_ns, loops.start_ns) AS loop_ns
  FROM temp.counters AS counters JOIN loops ON loops.profile_id = counters.profile_id
  WHERE counters.name = 'main_thread_wait_s'
  WINDOW of_process AS (PARTITION BY counters.profile_id ORDER BY time_ns)
), waited AS (
  SELECT profile_id, sum(waited_ns / dur_ns * loop_ns) / sum(loop_ns) AS ratio FROM spans
  WHERE dur_ns > 0 AND loop_ns > 0 GROUP BY profile_id
), waits AS (
  SELECT profiles.run_id AS run_id, waited.profile_id AS profile_id, ratio,
    count(*) OVER (PARTITION BY profiles.run_id) AS count,
    row_number() OVER (PARTITION BY profiles.run_id ORDER BY ratio DESC, waited.profile_id) AS position
  FROM waited JOIN temp.profiles AS profiles ON profiles.id = waited.profile_id
), found AS (
  SELECT run_id, place, name, is_slow,
    format('%s: %d times, latency %s on average and %s at most', name, count, format_ns(mean_ns), format_ns(longest_ns))
      || coalesce(', ' || format_bytes(rate) || '/s', '') || coalesce(', links ' || format_bytes(bus_rate) || '/s', '')
      AS message,
    CASE WHEN is_slow THEN slow / nullif(rate, 0) ELSE 1.0 * count END AS value,
    CASE WHEN is_slow THEN 1.0 ELSE 0.0 END AS threshold,
    CASE WHEN is_slow
      THEN 'Send less or less often (larger buckets, lower precision, fewer parameter servers'' variables), '
      || 'or use a faster network.' END AS suggestion,
    evidence
  FROM rates
  UNION ALL
  SELECT run_id, 3, 'CPU', coalesce(busy >= busy_ratio, 0),
    format('CPU: %.2f processors used on average', cpu)
      || CASE WHEN cpu_count > 1 THEN ' by ' || cpu_count || ' processes' ELSE format(', %.2f at most', most_cpu) END
      || CASE WHEN busy IS NULL THEN '' ELSE format('; %s is %.0f %% busy',
        CASE WHEN host_count > 1 THEN 'the busiest machine, ' || busy_host || ',' ELSE 'the machine' END, 100 * busy)
        END,
    CASE WHEN busy >= busy_ratio THEN busy ELSE cpu END, CASE WHEN busy >= busy_ratio THEN busy_ratio ELSE 0.0 END,
    CASE WHEN busy >= busy_ratio
      THEN 'Where the job itself takes them, fewer workers and threads; where others do (top shows them), stop those; '
        || 'or a machine with more processors.' END,
    'SELECT profile_id, name, mean, max FROM temp.counter_summary WHERE name GLOB ''*_cpu'''
  FROM extremes JOIN settings WHERE cpu IS NOT NULL
  UNION ALL
  SELECT run_id, 4, 'waiting', 1,
    format('the main thread%s waited for a free processor %.0f %% of the time of the steps',
      CASE WHEN count > 1
        THEN (SELECT ' of ' || name FROM processes WHERE processes.profile_id = waits.profile_id) ELSE '' END,
      100 * ratio),
    ratio, wait_ratio,
    advice_words('job.waiting', (SELECT framework FROM processes WHERE processes.profile_id = waits.profile_id)),
    'SELECT profile_id, time_ns, value FROM temp.counters WHERE name = ''main_thread_wait_s'''
  FROM waits JOIN settings WHERE position = 1 AND ratio > wait_ratio
  UNION ALL
  SELECT run_id, 5, 'memory', coalesce(available < left_ratio * (available + all_resident), 0),
    'memory: ' || format_bytes(resident) || ' resident at most'
      || CASE WHEN resident_count > 1 THEN ' by ' || largest || ', the largest of ' || resident_count || ' processes'
      ELSE '' END
      || coalesce(', ' || format_bytes(available) || ' left on '
      || CASE WHEN host_count > 1 THEN full_host ELSE 'the machine' END || ' at least', ''),
    1.0 * resident, 0.0,
    CASE WHEN available < left_ratio * (available + all_resident) THEN
      'Keep fewer samples and copies in memory (workers, caches, pinned buffers), or take a machine with more.' END,
    'SELECT profile_id, name, max, min FROM temp.counter_summary WHERE unit = ''bytes'''
  FROM extremes JOIN settings WHERE resident IS NOT NULL
), ordered AS ( -- what is beyond its limit comes first, and stands for the job
  SELECT found.*, row_number() OVER (PARTITION BY run_id ORDER BY is_slow DESC, place, name) AS position FROM found
)
SELECT
  'job' AS check_name,
  CASE WHEN max(ordered.is_slow) THEN 'warning' ELSE 'info' END AS severity,
  'the job' || CASE WHEN (SELECT count(*) FROM temp.runs) > 1 THEN ' of '
    || replace(rtrim(runs.path, '/'), rtrim(rtrim(runs.path, '/'), replace(runs.path, '/', '')), '') ELSE '' END
    AS subject,
  ordered_concat(ordered.message, '; ', ordered.position) AS message,
  max(CASE WHEN position = 1 THEN ordered.value END) AS value,
  max(CASE WHEN position = 1 THEN ordered.threshold END) AS threshold,
  NULL AS saves_ns,
  coalesce(ordered_concat(ordered.suggestion, ' ', ordered.position),
    'Nothing to do; collective_summary, transfer_summary and counter_summary have the rest.') AS suggestion,
  max(CASE WHEN position = 1 THEN ordered.evidence END) AS evidence
FROM ordered JOIN temp.runs AS runs ON runs.id = ordered.run_id
WHERE NOT tfprof_setting('compat', 0)
GROUP BY ordered.run_id
ORDER BY ordered.run_id
