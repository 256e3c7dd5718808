-- What bounds the steps
-- Shares of the step time. Each moment counts once, from kernels to other; waiting for input may go on beside them. Of
-- several hosts all together, too.
-- page: overview 18
-- chart: facts
-- empty: There are no steps: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i, _r=1) makes them.
SELECT profile_id, rank, host, verdict, step_count, mean_step_ns, stddev_step_ns, min_step_ns, max_step_ns,
  input_ratio, kernel_ratio, copy_ratio, communication_ratio, launch_ratio, data_loader_ratio, host_ratio, other_ratio,
  utilization_ratio, sm_efficiency_ratio, occupancy_ratio, tensor_core_ratio
FROM temp.overview
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND step_count > 0
ORDER BY profile_id IS NOT NULL, profile_id, run_id LIMIT 100
