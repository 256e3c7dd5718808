-- Where the time of each step went
-- Each moment of a step counts once: of what goes on at the same time, the first in the list. Warm-up is shaded.
-- page: overview 20
-- chart: stack
-- x: number
-- y: kernel_ns memcpy_ns memset_ns communication_ns runtime_ns data_loader_ns cpu_ns rest_ns
-- step: number
-- empty: No step has its work recorded: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i) makes them.
SELECT profile_id, rank, number, (SELECT is_warmup FROM temp.steps WHERE steps.id = step_id) AS is_warmup,
  name, dur_ns, kernel_ns, memcpy_ns, memset_ns, communication_ns, runtime_ns,
  data_loader_ns, cpu_ns + rest_ns - outside_ns AS cpu_ns, outside_ns AS rest_ns
FROM temp.step_breakdown
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number
