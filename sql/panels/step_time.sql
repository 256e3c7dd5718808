-- Where the time of each step went
-- Each moment of a step counts once: of what goes on at the same time, the first in the list. Warm-up is shaded.
-- page: overview 20
-- chart: stack
-- x: number
-- y: kernel_ns copy_ns communication_ns launch_ns data_loader_ns host_ns other_ns
-- step: number
-- empty: No step has its work recorded: an optimizer, prof.step(), StepTraceAnnotation or Trace(step_num=i) makes them.
SELECT profile_id, rank, number, is_warmup, name, dur_ns, kernel_ns, copy_ns, communication_ns, launch_ns,
  data_loader_ns, host_ns, other_ns
FROM temp.step_breakdown
WHERE (:profile_id IS NULL OR profile_id = :profile_id)
  AND number BETWEEN coalesce(:first_step, number) AND coalesce(:last_step, number)
ORDER BY profile_id, number
