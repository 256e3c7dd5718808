-- Overview as the PyTorch TensorBoard plugin has it
-- Shares of the step time, to the end of the work on devices.
-- page: steps 48
-- chart: facts
-- empty: There are no steps: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i, _r=1) makes them.
SELECT profile_id, rank, step_count, mean_step_ns, kernel_ratio, memcpy_ratio, memset_ratio, communication_ratio,
  runtime_ratio, data_loader_ratio, cpu_ratio, other_ratio, utilization_ratio, sm_efficiency_ratio, occupancy_ratio,
  tensor_core_ratio
FROM temp.tb_overview
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id LIMIT 100
