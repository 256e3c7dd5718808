-- Step time as XProf divides it
-- The TensorFlow 2 Profiler and XProf call copies to devices input, too, and marks host compute; what pools compute is
-- other unless a mark of theirs is of the step. Each moment counts once. Warm-up is shaded.
-- page: steps 6
-- chart: stack
-- x: number
-- y: compute_ns device_to_device_ns collectives_ns host_compute_ns launch_ns input_ns output_ns compile_ns other_ns
-- step: number
-- empty: There are no steps: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i, _r=1) makes them.
SELECT profile_id, rank, number, (SELECT is_warmup FROM temp.steps WHERE steps.id = step_id) AS is_warmup,
  dur_ns, device_compute_ns AS compute_ns, device_to_device_ns, device_collectives_ns AS collectives_ns,
  host_compute_ns, kernel_launch_ns AS launch_ns, input_ns, output_ns, compile_ns, other_ns
FROM temp.xprof_step_breakdown
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number LIMIT 20000
