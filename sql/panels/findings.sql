-- What to do first
-- What the checks found, the most severe first; each says what it rests on, and leads to its place.
-- page: overview 10
-- chart: findings
-- empty: No check had anything to say.
WITH places(check_name, page, panel) AS (VALUES
  ('accelerator_utilization', 'devices', 'device_time'), ('between_steps', 'timeline', NULL),
  ('bias_before_normalization', 'model', 'modules'), ('blocking_copies', 'devices', 'waits'),
  ('device_gaps', 'devices', 'gaps'), ('device_waits', 'devices', 'waits'),
  ('double_precision', 'ops', 'tb_operator_summary'), ('eager_ops', 'ops', 'tb_operator_summary'),
  ('expensive_operation', 'ops', 'op_types'), ('exposed_copies', 'devices', 'transfer_summary'),
  ('hangs', 'timeline', NULL), ('host_bound', 'steps', 'step_host'), ('host_waits', 'code', 'python_lines'),
  ('input_cast_early', 'input', 'input_tree'),
  ('input_decoding', 'input', 'input_parts'), ('input_loading', 'input', 'input_steps'),
  ('input_outside_steps', 'input', 'input_parts'), ('input_python', 'input', 'input_tree'),
  ('input_sequential', 'input', 'input_tree'), ('input_sharded_late', 'input', 'input_tree'),
  ('input_thread_pools', 'input', 'input_parts'), ('input_unprefetched', 'input', 'input_tree'),
  ('job', 'ranks', 'collective_summary'), ('launch_bound', 'devices', 'launches'),
  ('launch_contention', 'devices', 'launches'), ('memory_fragmentation', 'memory', 'memory_reserved'),
  ('memory_growth', 'memory', 'memory_over_time'), ('memory_headroom', 'memory', 'memory_blocks'),
  ('memory_kept', 'memory', 'memory_lines'), ('missing_data', 'overview', 'recorded'),
  ('needless_checkpoints', 'steps', 'phases'), ('operation', 'ops', 'op_types'),
  ('optimizer_loop', 'ops', 'op_steps'), ('out_of_memory', 'memory', 'memory_refused'),
  ('pageable_copies', 'devices', 'transfer_summary'), ('repeated_constants', 'code', 'code_lines'),
  ('retracing', 'ops', 'op_steps'),
  ('scalar_loop', 'code', 'code_lines'),
  ('serial_device_copies', 'devices', 'transfer_summary'), ('single_samples', 'steps', 'phases'),
  ('sixteen_bit_share', 'devices', 'kernel_summary'),
  ('slowest_source_line', 'code', 'code_lines'), ('small_batches', 'devices', 'kernel_summary'),
  ('step_time_outliers', 'steps', 'step_ops'), ('stragglers', 'ranks', 'late_ranks'),
  ('tensor_conversions', 'ops', 'op_steps'), ('tensor_cores', 'devices', 'kernel_summary'),
  ('tiny_ops', 'ops', 'op_durations'), ('unfused_elementwise', 'devices', 'kernel_summary'),
  ('unused_graphs', 'code', 'code_lines'), ('zeroed_gradients', 'ops', 'tb_operator_summary')
), found AS MATERIALIZED (
  SELECT row_number() OVER () AS place, advise.*, _process_names.profile_id AS profile_id,
    CASE advise.check_name
      WHEN 'device_gaps' THEN (SELECT (CAST(start_ms * 1e6 AS INTEGER) + coalesce(:origin_ns, 0)) || ' ' || gap_ns
        FROM temp.gpu_gaps WHERE gpu_gaps.profile_id = _process_names.profile_id ORDER BY gap_ns DESC LIMIT 1)
      WHEN 'step_time_outliers' THEN (SELECT start_ns || ' ' || steps.dur_ns FROM temp.steps
        WHERE steps.profile_id = _process_names.profile_id AND is_warmup = 0 ORDER BY training_ns DESC LIMIT 1)
      WHEN 'input_loading' THEN (SELECT start_ns || ' ' || dur_ns FROM temp.input_events
        WHERE input_events.profile_id = _process_names.profile_id AND parent_id IS NULL ORDER BY dur_ns DESC LIMIT 1)
      WHEN 'tensor_cores' THEN (SELECT start_ns || ' ' || dur_ns FROM temp.kernels
        WHERE kernels.profile_id = _process_names.profile_id AND tensor_core_eligible = 1 ORDER BY dur_ns DESC LIMIT 1)
      WHEN 'device_waits' THEN (SELECT start_ns || ' ' || dur_ns FROM temp.syncs
        WHERE syncs.profile_id = _process_names.profile_id ORDER BY dur_ns DESC LIMIT 1)
      WHEN 'pageable_copies' THEN (SELECT start_ns || ' ' || dur_ns FROM temp.transfers
        WHERE transfers.profile_id = _process_names.profile_id ORDER BY dur_ns DESC LIMIT 1)
      WHEN 'exposed_copies' THEN (SELECT start_ns || ' ' || dur_ns FROM temp.transfers
        WHERE transfers.profile_id = _process_names.profile_id ORDER BY dur_ns DESC LIMIT 1)
      WHEN 'blocking_copies' THEN (SELECT start_ns || ' ' || dur_ns FROM temp.transfers
        WHERE transfers.profile_id = _process_names.profile_id AND is_async = 0 ORDER BY dur_ns DESC LIMIT 1)
      WHEN 'memory_headroom' THEN (SELECT peak_time_ns || ' 0' FROM temp.memory_summary
        WHERE peak_time_ns IS NOT NULL ORDER BY peak_bytes DESC LIMIT 1)
      WHEN 'out_of_memory' THEN (SELECT time_ns || ' 0' FROM temp.memory_failures ORDER BY time_ns LIMIT 1)
    END AS moment,
    advise.check_name = 'job' AND instr(evidence, 'temp.counter') > 0 AS is_of_counters
  FROM temp.advise LEFT JOIN temp._process_names ON _process_names.name = subject
)
SELECT found.check_name AS check_name, severity, subject, message, value, threshold, saves_ns, suggestion, evidence,
  found.profile_id AS profile_id, iif(is_of_counters, 'counters', page) AS page,
  iif(is_of_counters, 'counters_over_time', panel) AS panel,
  CAST(substr(moment, 1, instr(moment, ' ') - 1) AS INTEGER) - coalesce(:origin_ns, 0) AS at_ns,
  CAST(substr(moment, instr(moment, ' ') + 1) AS INTEGER) AS dur_ns
FROM found LEFT JOIN places ON places.check_name = found.check_name
WHERE :profile_id IS NULL OR found.profile_id IS NULL OR found.profile_id = :profile_id
ORDER BY found.place
