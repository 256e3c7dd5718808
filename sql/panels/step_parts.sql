-- Where the time of one step went
-- Each moment counts once, as in the overview; beside the median step. Measured steps, without warm-up.
-- page: steps 7
-- chart: against
-- x: number
-- label: part
-- value: sum_ns
-- empty: There are no steps whose work was recorded.
WITH parts AS MATERIALIZED (
  SELECT * FROM temp.step_breakdown
  WHERE (:profile_id IS NULL OR profile_id = :profile_id)
    AND is_warmup = 0
)
SELECT profile_id, number, part, sum_ns FROM (
  SELECT profile_id, number, 1 AS place, 'kernels' AS part, kernel_ns AS sum_ns FROM parts
  UNION ALL SELECT profile_id, number, 2, 'copies', copy_ns FROM parts
  UNION ALL SELECT profile_id, number, 3, 'communication', communication_ns FROM parts
  UNION ALL SELECT profile_id, number, 4, 'launching', launch_ns FROM parts
  UNION ALL SELECT profile_id, number, 5, 'data loader', data_loader_ns FROM parts
  UNION ALL SELECT profile_id, number, 6, 'host', host_ns FROM parts
  UNION ALL SELECT profile_id, number, 7, 'other', other_ns FROM parts
)
WHERE sum_ns IS NOT NULL
ORDER BY profile_id, number, place LIMIT 200000
