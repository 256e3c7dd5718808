-- Overview as XProf has it
-- Shares of the step time. Input, other and idle time are as XProf counts them. The view says what
-- the words mean there.
-- page: steps 46
-- chart: facts
-- empty: There are no steps: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i, _r=1) makes them.
SELECT profile_id, rank, host, verdict, step_count, mean_step_ns, stddev_step_ns, min_step_ns, max_step_ns,
  device_compute_ratio, device_to_device_ratio, device_collectives_ratio, host_compute_ratio, kernel_launch_ratio,
  input_ratio, output_ratio, compile_ratio, other_ratio, idle_ratio, memcpy_ratio, data_loader_ratio,
  half_precision_ratio, host_op_ratio, device_op_ratio, host_eager_ratio
FROM temp.xprof_overview
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND step_count > 0
ORDER BY profile_id IS NOT NULL, profile_id, run_id LIMIT 100
