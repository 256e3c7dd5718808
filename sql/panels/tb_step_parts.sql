-- Step time as the PyTorch TensorBoard plugin divides it
-- What the program marked is work of the host there. Each moment counts once. Warm-up is shaded.
-- page: steps 47
-- chart: stack
-- x: number
-- y: kernel_ns memcpy_ns memset_ns communication_ns runtime_ns data_loader_ns cpu_ns other_ns
-- step: number
-- empty: There are no steps: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i, _r=1) makes them.
SELECT profile_id, rank, number, (SELECT is_warmup FROM temp.steps WHERE steps.id = step_id) AS is_warmup, dur_ns,
  kernel_ns, memcpy_ns, memset_ns, communication_ns, runtime_ns, data_loader_ns, cpu_ns, other_ns
FROM temp.tb_step_breakdown
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number LIMIT 20000
