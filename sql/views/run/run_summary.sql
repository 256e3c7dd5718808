-- A run in ten lines: what the overview page says, as sentences for a terminal.
--
-- One row for each thing that is known of all that is open together, in the order in which one reads them.  What is not
-- known has no row.  Shares are of step time, of op time, or as the text says.
--   position  INTEGER  -  Place of the row, from 1.
--   title     TEXT     -  What the row is about.
--   text      TEXT     -  What is known of it, with units.
-- run: program, framework, processes, or what is open where nothing ran.  Where profiles of several frameworks are
-- open, each has a row.
-- steps: how many, how long.  step times: the curve of the process with the longest steps, least to most.
-- requests, batches: of servers of models.
-- time: the parts of step_breakdown, over measured steps (no warm-up), as overview has them.
-- input: for how long the measured steps waited for it (input_summary).  docs/words.md says what each word means.
-- ops, lines: those with most self time.  Ops are those of the framework and those of the input, with a row for each of
-- several frameworks.  Only the end of a long name is shown.
-- devices, memory, input, ranks: the worst of each.  Memory is that of PyTorch alone where it says so.
-- held by: where there are allocations alone, as in a snapshot, the lines that hold most at the peak, and what has
-- none.
-- communication: how many collectives lack the work of devices, where some do.
-- recorded: how much this rests on, where that is not all.
-- Cost: that of the views that it reads.  Example: SELECT title, text FROM run_summary;
WITH processes AS (
  SELECT profiles.*, known_count - profile_count AS window_count,
    op_count > 0 OR pid IS NOT NULL OR NOT EXISTS (SELECT 1 FROM temp.nodes UNION ALL SELECT 1 FROM temp.tensors
      UNION ALL SELECT 1 FROM temp.hlo_instructions) AS is_process
  FROM (
    SELECT (SELECT count(DISTINCT process_id) FROM temp._process_windows) AS profile_count, count(*) AS known_count,
      count(DISTINCT host) AS host_count, min(host) AS host, max(dur_ns) AS dur_ns,
      min(coalesce(framework_versions(framework, framework_version), '')) AS framework,
      min(command) AS command, max(pid) AS pid, max(peak_resident_bytes) AS resident_bytes, total(op_count) AS op_count,
      total(kernel_count) AS kernel_count
    FROM temp.profile_summary
  ) AS profiles
), frameworks AS (
  SELECT count(DISTINCT framework) AS framework_count FROM temp.profiles WHERE origin IS NOT 'tfprof'
), apart AS ( -- profiles of several frameworks that one path names: no run, but one of each
  SELECT framework, max(framework_version) AS framework_version, count(DISTINCT process_id) AS profile_count,
    max(dur_ns) AS dur_ns, total(op_count) AS op_count, total(kernel_count) AS kernel_count
  FROM frameworks CROSS JOIN temp.profile_summary JOIN temp._process_windows USING (profile_id)
  WHERE framework_count > 1 AND framework IS NOT NULL
  GROUP BY framework
), helpers AS (
  SELECT CAST(total(is_model) AS INTEGER) AS model_count, count(*) - CAST(total(is_model) AS INTEGER) AS helper_count
  FROM ( -- graphs and checkpoints lie beside what ran
    SELECT op_count = 0 AND pid IS NULL AND (
        EXISTS (SELECT 1 FROM temp.nodes WHERE nodes.profile_id = profile_summary.profile_id)
        OR EXISTS (SELECT 1 FROM temp.tensors WHERE tensors.profile_id = profile_summary.profile_id)) AS is_model
    FROM temp.profile_summary WHERE profile_id IN (SELECT profile_id FROM temp._process_names WHERE is_helper = 1)
  )
), pace AS ( -- of each process with steps, that with the longest first
  SELECT *, row_number() OVER (ORDER BY median_ns DESC, profile_id) AS place,
    sum(coalesce(window, 1) = 1) OVER () AS process_count, min(median_ns) OVER () AS least_ns
  FROM temp.step_summary WHERE median_ns > 0
), breakdown AS (
  SELECT total(kernel_ns) / nullif(total(device_known_ns), 0) AS kernel_ratio,
    total(copy_ns) / nullif(total(device_known_ns), 0) AS copy_ratio,
    total(communication_ns) / nullif(total(device_known_ns), 0) AS communication_ratio,
    total(launch_ns) / nullif(total(device_known_ns), 0) AS launch_ratio,
    total(data_loader_ns) / nullif(total(loader_known_ns), 0) AS data_loader_ratio,
    total(host_ns) / nullif(total(host_known_ns), 0) AS host_ratio,
    total(other_ns) / nullif(total(host_known_ns), 0) AS other_ratio
  FROM temp._step_sums
), names(position, name) AS (
  VALUES (1, 'kernels'), (2, 'copies'), (3, 'communication'), (4, 'launching'), (5, 'data loader'), (6, 'host'),
    (7, 'other')
), parts AS (
  SELECT position, name, CASE position WHEN 1 THEN kernel_ratio WHEN 2 THEN copy_ratio WHEN 3 THEN communication_ratio
    WHEN 4 THEN launch_ratio WHEN 5 THEN data_loader_ratio WHEN 6 THEN host_ratio WHEN 7 THEN other_ratio
    END AS ratio
  FROM breakdown CROSS JOIN names
), time AS (
  SELECT group_concat(printf('%s %.0f %%', name, 100 * ratio), ', ') AS text
  FROM (SELECT name, ratio FROM parts WHERE ratio >= 0.005 ORDER BY ratio DESC, position)
), ops AS ( -- what the framework does around them, and Python, only where there is nothing else
  SELECT framework, count(*) OVER () AS framework_count,
    group_concat(printf(iif(self_ns < 0.0095 * whole_ns, '%s %.2f %%', '%s %.0f %%'),
      coalesce(nullif(iif(length(name) > 48, '…' || substr(name, -47), name), ''), 'without a name'),
      100 * self_ns / whole_ns), ', ') AS text
  FROM (SELECT framework, name, self_ns, sum(self_ns) OVER (PARTITION BY framework) AS whole_ns,
          row_number() OVER (PARTITION BY framework ORDER BY self_ns DESC, name) AS place
        FROM (SELECT framework, name, sum(1.0 * self_ns) AS self_ns
              FROM (SELECT framework, op AS name, self_ns, category NOT IN ('runtime', 'python') AS is_own,
                      max(category NOT IN ('runtime', 'python')) OVER (PARTITION BY framework) AS has_own
                    FROM temp.op_summary WHERE self_ns > 0)
              WHERE is_own OR NOT coalesce(has_own, 0) GROUP BY framework, name)
        ORDER BY framework, self_ns DESC, name)
  WHERE place <= 3 GROUP BY framework
), lines AS ( -- of all processes together, loaders of data with them
  SELECT group_concat(printf(iif(self_ns < 0.0095 * whole_ns, '%s %.2f %%', '%s %.0f %%'),
      iif(length(location) > 48, '…' || substr(location, -47), location), 100 * self_ns / whole_ns), ', ') AS text
  FROM (SELECT location, sum(1.0 * self_ns) AS self_ns, sum(sum(1.0 * self_ns)) OVER () AS whole_ns
        FROM temp.code_summary WHERE self_ns > 0 GROUP BY location ORDER BY location IS NULL, 2 DESC, 1 LIMIT 3)
  WHERE location IS NOT NULL
), devices AS (
  SELECT *, row_number() OVER (ORDER BY utilization_ratio, device_id) AS place, count(*) OVER () AS device_count
  FROM temp.device_utilization WHERE utilization_ratio IS NOT NULL
), memory AS (
  SELECT coalesce(device, allocator) AS device, rank, coalesce(peak_bytes, lifetime_peak_bytes) AS peak_bytes,
    capacity_bytes, iif(lifetime_peak_bytes > 1.005 * peak_bytes, lifetime_peak_bytes, NULL) AS earlier_bytes,
    iif(lifetime_peak_bytes IS NULL AND peak_time_ns IS NULL, 'in use ', 'peak ')
      -- a recording has that of one of several frameworks
      || iif((SELECT origin IS 'tfprof' AND framework GLOB '*,*' AND has_framework(framework, 'pytorch')
              FROM temp.profiles WHERE profiles.id = profile_id), 'of pytorch ', '') AS word,
    row_number() OVER (ORDER BY coalesce(peak_bytes, lifetime_peak_bytes) DESC, profile_id, device_id) AS place,
    count(*) OVER () AS device_count
  FROM temp.memory_summary WHERE coalesce(peak_bytes, lifetime_peak_bytes) > 0
), holders AS ( -- only of what holds allocations and no ops: elsewhere the report shows them
  SELECT group_concat(format('%s %s', iif(length(name) > 48, '…' || substr(name, -47), name),
      format_bytes(bytes)), ', ') AS text
  FROM (SELECT name, sum(coalesce(peak_bytes, live_bytes)) AS bytes FROM temp.memory_by_line
        GROUP BY name HAVING bytes > 0 ORDER BY 2 DESC, 1 LIMIT 3)
), input AS (
  SELECT *, row_number() OVER (ORDER BY input_ratio DESC, profile_id) AS place FROM temp.input_summary
  WHERE input_ratio >= 0.001
), ranks AS (
  SELECT rank, communication_ns + overlap_ns AS whole_ns, overlap_ns, step_ns,
    row_number() OVER (ORDER BY communication_ns DESC, profile_id) AS place
  FROM temp.tb_distributed_summary WHERE communication_ns + overlap_ns > 0 AND step_ns > 0
), lost AS ( -- collectives that only an op tells; captures leave the work of devices out in some steps
  SELECT sum(carried_by IS NULL) AS lost_count, count(*) AS collective_count
  FROM temp.profiles JOIN temp.collectives ON collectives.profile_id = profiles.id
  WHERE profiles.origin IS NOT 'tfprof' AND collectives.op_id IS NOT NULL
), recorded AS (
  SELECT min(steps_recorded_ratio) AS steps_ratio, total(rows_dropped) AS rows_dropped
  FROM temp.coverage
), served AS ( -- by servers of models
  SELECT count(*) AS count, 1e9 * count(*) / nullif(max(end_ns) - min(start_ns), 0) AS rate,
    median(dur_ns) AS median_ns, percentile(dur_ns, 99) AS p99_ns,
    sum(1.0 * wait_ns) / nullif(sum(1.0 * dur_ns) FILTER (WHERE wait_ns >= 0), 0) AS wait_ratio
  FROM temp.requests
), told(place, title, text) AS (
  SELECT 1, 'run', concat_parts FROM (
    SELECT coalesce(substr(command, 1, 60) || iif(length(command) > 60, '…', '') || ', ', '')
      || coalesce(nullif(framework, '') || ', ', '')
      || iif(profile_count > 1, format(iif(is_process, iif(profile_count - helper_count - model_count = 1,
            '%d process', '%d processes'), '%d models'), profile_count - helper_count - model_count)
        || iif(helper_count, format(' and %d without steps, such as data loaders', helper_count), '')
        || iif(model_count, format(iif(model_count = 1, ' and %d model', ' and %d models'), model_count), '')
        || iif(host_count > 1, format(' on %d hosts', host_count), ''), coalesce('on ' || host,
          iif(is_process, '1 process', iif(EXISTS (SELECT 1 FROM temp.nodes), '1 graph',
            iif(EXISTS (SELECT 1 FROM temp.tensors), '1 checkpoint', '1 module of XLA')))))
      || iif(window_count, format(' in %d windows', profile_count + window_count), '')
      || coalesce(', ' || format_ns(nullif(dur_ns, 0)), '')
      || iif(op_count, ', ' || format_count(op_count) || ' ops', '')
      || iif(kernel_count, ', ' || format_count(kernel_count) || ' kernels', '') AS concat_parts
    FROM processes CROSS JOIN helpers CROSS JOIN frameworks WHERE profile_count > 0 AND framework_count < 2)
  UNION ALL SELECT 1, 'run', framework_versions(framework, framework_version)
      || format(iif(profile_count = 1, ', %d process', ', %d processes'), profile_count)
      || coalesce(', ' || format_ns(nullif(dur_ns, 0)), '')
      || iif(op_count, ', ' || format_count(op_count) || ' ops', '')
      || iif(kernel_count, ', ' || format_count(kernel_count) || ' kernels', '')
    FROM apart
  UNION ALL SELECT titles.place, titles.title, iif(titles.place = 2,
      format('%d', step_count)
      || iif(EXISTS (SELECT 1 FROM temp.steps WHERE steps.profile_id = pace.profile_id AND origin = 'repetition'),
        ' by repetition', '') || iif(warmup_count, format(' (%d warm-up)', warmup_count), '')
      || ', median ' || format_ns(median_ns) || ', 95 % within ' || format_ns(p95_ns)
      || iif(window_count > 1, format(', in window %d of %d of', window, window_count)
        || coalesce(' rank ' || rank, ' a process'), iif(process_count > 1, coalesce(', rank ' || rank, ''), ''))
      || iif(process_count > 1, '; the fastest process ' || format_ns(least_ns),
        coalesce(', ' || format_count(steps_per_second) || ' a second', ''))
      || iif(between_ns >= 0.05 * (mean_ns + between_ns), ', ' || format_ns(between_ns) || ' between them', ''),
      (SELECT sparkline(training_ns) || '  ' || format_ns(min(training_ns)) || ' … ' || format_ns(max(training_ns))
       FROM (SELECT training_ns FROM temp.steps WHERE steps.profile_id = pace.profile_id AND is_warmup = 0
             ORDER BY start_ns, id)
       HAVING count(*) > 1))
    FROM pace CROSS JOIN (SELECT 2 AS place, 'steps' AS title UNION ALL SELECT 3, 'step times') AS titles
    WHERE pace.place = 1
  UNION ALL SELECT 3.5, 'requests', format_count(count)
      || coalesce(', ' || iif(rate < 100, printf('%.3g', rate), printf('%,d', CAST(round(rate) AS INTEGER)))
        || ' a second', '') || ', median ' || format_ns(median_ns) || ', 99 % within ' || format_ns(p99_ns)
      || coalesce(printf(', %.0f %% of it waiting for a batch', 100.0 * wait_ratio), '')
    FROM served WHERE count > 0
  UNION ALL SELECT 3.6, 'batches', format_count(count) || coalesce(printf(' of %.3g examples on average', size), '')
      || coalesce(printf(', %.0f %% of what is computed is padding', 100.0 * padding_ratio), '')
    FROM (SELECT count(*) AS count, avg(size) AS size,
        sum(1.0 * padding) / nullif(sum(1.0 * padded_size), 0) AS padding_ratio FROM temp.batches)
    WHERE count > 0
  UNION ALL SELECT 4, 'time', text || ' of the step time' FROM time WHERE text IS NOT NULL
  UNION ALL SELECT 5, 'ops', text || ' of the op time'
      || iif(framework_count > 1 OR (SELECT max(framework GLOB '*,*') FROM temp.profiles), ' of ' || framework, '')
    FROM ops WHERE text IS NOT NULL
  -- beside PyTorch other frameworks run, whose ops are in windows of their profilers if anywhere
  UNION ALL SELECT 6, 'lines', text || ' of the op time' || iif((SELECT max(framework <> 'pytorch' AND is_xplane = 0
      AND has_framework(framework, 'pytorch')) FROM temp.profiles), ' of pytorch',
      iif((SELECT max(framework GLOB '*,*') FROM temp.profiles) AND (SELECT count(*) FROM ops) > 1,
        ' of all frameworks', ''))
    FROM lines WHERE text IS NOT NULL
  UNION ALL SELECT 7, 'devices', coalesce(device, model, 'a device')
      || coalesce(' (' || nullif(model, device) || ')', '')
      || iif(device_count > 1, coalesce(', rank ' || rank, '') || format(', least of %d,', device_count), '')
      || printf(' busy %.0f %%', 100 * utilization_ratio)
      || iif(sm_efficiency_ratio >= 0, printf(', multiprocessors %.0f %%', 100 * sm_efficiency_ratio), '')
      || iif(tensor_core_ratio >= 0, printf(', tensor cores %.0f %%', 100 * tensor_core_ratio), '')
    FROM devices WHERE place = 1
  UNION ALL SELECT 8, 'memory', coalesce(
      coalesce(device || ' ', '') || word || format_bytes(peak_bytes)
        || coalesce(' of ' || format_bytes(capacity_bytes), '')
        || coalesce(' (' || format_bytes(earlier_bytes) || ' before the recording)', '')
        || iif(device_count > 1, format(', most of %d memories', device_count), '')
        || coalesce(', resident ' || format_bytes(resident_bytes), ''), 'resident ' || format_bytes(resident_bytes))
    FROM processes LEFT JOIN memory ON memory.place = 1 WHERE resident_bytes > 0 OR peak_bytes > 0
  UNION ALL SELECT 8.5, 'held by', (SELECT text FROM holders) WHERE NOT EXISTS (SELECT 1 FROM temp.ops) -- or not made
  UNION ALL SELECT 9, 'input', printf('%.1f %% of the step time is spent waiting for it', 100 * input_ratio)
      || coalesce(' (rank ' || rank || ')', '') FROM input WHERE place = 1
  UNION ALL SELECT 10, 'ranks', printf('communication %.0f %% of the step time, %.0f %% of it beside computation',
      100.0 * whole_ns / step_ns, 100.0 * overlap_ns / whole_ns)
      || coalesce(' (rank ' || rank || ')', '') FROM ranks WHERE place = 1
  UNION ALL SELECT 10.5, 'communication', format('not known of %d of %d collectives: what carried them out was not '
      || 'recorded', lost_count, collective_count)
    FROM lost WHERE lost_count > 0
  UNION ALL SELECT 11, 'recorded', printf('ops of %.3g %% of the steps', 100 * coalesce(steps_ratio, 1))
      || iif(rows_dropped, ', ' || format_count(rows_dropped) || ' rows lost', '')
    FROM recorded WHERE steps_ratio < 1 OR rows_dropped > 0
)
SELECT row_number() OVER (ORDER BY place) AS position, title AS title, text AS text FROM told
WHERE text IS NOT NULL
ORDER BY place
