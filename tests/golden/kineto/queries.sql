-- Each line: a fixture of tests/fixtures/kineto (. for all of them), a bar, a query.
waits.json|SELECT kind, name, dur_ns, previous_end_ns - start_ns AS before_ns, launch_end_ns - launch_ns AS launch_ns FROM device_activities
waits.json|SELECT idle_ns, compute_ns, non_compute_ns, kernel_ns, idle_ratio FROM hta_temporal_breakdown
waits.json|SELECT stream, idle_category, idle_ns, count FROM hta_idle_breakdown
waits.json|SELECT kernel_type, sum_ns, sum_ratio FROM hta_kernel_type_breakdown
waits.json|SELECT kernel_type, kernel, count, sum_ns, stddev_ns FROM hta_kernel_breakdown
waits.json|SELECT stream, count, mean, min, p25, p50, p75, max, full_ns FROM hta_queue_length
waits.json|SELECT stream, queue_length FROM hta_queue_length_series
waits.json|SELECT correlation, api_name, kernel, cpu_ns, gpu_ns, launch_delay_ns, is_short_kernel, is_slow_launch, is_long_delay FROM hta_kernel_launch_stats
waits.json|SELECT count, short_count, slow_count, long_delay_count, cpu_ns, gpu_ns FROM hta_launch_summary
waits.json|SELECT number, kind, count, sum_ns FROM critical_path_summary
waits.json|SELECT position, kind, edge, dur_ns, slack_ns FROM critical_path
waits.json|SELECT kind, op, count, sum_ns, kernel FROM sync_summary
waits.json|SELECT number, dur_ns, kernel_ns, runtime_ns, cpu_ns, other_ns FROM tb_step_breakdown
waits.json|SELECT start_ms, gap_ns, reason, next_name FROM gpu_gaps
waits.json|SELECT span_ns, busy_ns, utilization_ratio, kernel_count FROM device_utilization
links.json|SELECT name, count, mean, max FROM hta_memory_bandwidth
links.json|SELECT op, kernel_sequence, count, launch_delay_ns, kernel_delay_ns FROM hta_op_kernels
links.json|SELECT op, count, host_self_ns, host_sum_ns, device_self_ns, device_sum_ns FROM tb_operator_summary
old_2021.json|SELECT kernel, count, sum_ns, unused_ns, threads_per_block, registers_per_thread, shared_bytes FROM kernel_summary ORDER BY unused_ns DESC, kernel
collectives.json|SELECT name, process_group, group_size, dtype, bytes, count, sum_ns FROM collective_summary
collectives.json|SELECT communication_ns, overlap_ns, overlap_ratio FROM hta_communication_overlap
old_2021.json|SELECT kernel_type, kernel, count, sum_ns FROM hta_kernel_breakdown
old_2021.json|SELECT number, kernel_ns, memcpy_ns, memset_ns, runtime_ns, data_loader_ns, cpu_ns, other_ns FROM tb_step_breakdown
python.json|SELECT name, stage, pipeline, step_id IS NOT NULL AS has_step, dur_ns, self_ns FROM input_events
python.json|SELECT step_count, step_ns, input_ns FROM input_summary
gloo.json|SELECT name, dtype, in_elements, bytes, dur_ns, step_id IS NOT NULL AS has_step, bus_bytes_per_second FROM collectives
gloo.json|SELECT name, bytes, count, sum_ns, bytes_per_second FROM collective_summary
collectives.json|SELECT name, group_size, bytes, dur_ns, bus_bytes_per_second FROM collectives
links.json|SELECT op, pattern, kernel_count, count, kernel_ns, op_ns FROM hta_frequent_sequences
links.json|SELECT kernel, kind, count, sum_ns, sum_ratio, launch_delay_ns, per_step_count FROM kernel_summary
old_2021.json|SELECT kernel, count, mean_ns, uses_tensor_core, blocks_per_multiprocessor, occupancy_ratio FROM kernel_summary
distributed.json|SELECT rank, step_count, step_ns, computation_ns, overlap_ns, communication_ns, other_ns, collective_count, bytes FROM tb_distributed_summary
gloo.json|SELECT rank, step_count, step_ns, computation_ns, overlap_ns, communication_ns, other_ns, collective_count, bytes FROM tb_distributed_summary
.|SELECT * FROM op_diff('*links.json', '*waits.json')
.|SELECT * FROM kernel_diff('*links.json', '*waits.json')
.|SELECT * FROM op_diff('*links.json', '*waits.json', 3, 3, 1, 1)
.|SELECT * FROM kernel_diff('*links.json', '*waits.json', 3, 3, 1, 9)
