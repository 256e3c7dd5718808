-- Where the time of steps goes, before and after
-- Each moment of a step counts once; by step.
-- page: compare 15
-- chart: compare
-- x: number
-- label: part
-- value: sum_ns
-- empty: There are no steps whose work was recorded.
WITH parts AS MATERIALIZED (
  SELECT step_breakdown.*, run_id FROM temp.step_breakdown
  JOIN temp.profiles ON profiles.id = step_breakdown.profile_id
  WHERE :profile_id IS NULL OR step_breakdown.profile_id = :profile_id
)
SELECT profile_id, run_id, number, is_warmup, part, sum_ns FROM (
  SELECT profile_id, run_id, number, is_warmup, 1 AS place, 'kernels' AS part, kernel_ns AS sum_ns FROM parts
  UNION ALL SELECT profile_id, run_id, number, is_warmup, 2, 'copies', copy_ns FROM parts
  UNION ALL SELECT profile_id, run_id, number, is_warmup, 3, 'communication', communication_ns FROM parts
  UNION ALL SELECT profile_id, run_id, number, is_warmup, 4, 'launching', launch_ns FROM parts
  UNION ALL SELECT profile_id, run_id, number, is_warmup, 5, 'data loader', data_loader_ns FROM parts
  UNION ALL SELECT profile_id, run_id, number, is_warmup, 6, 'host', host_ns FROM parts
  UNION ALL SELECT profile_id, run_id, number, is_warmup, 7, 'other', other_ns FROM parts
)
WHERE sum_ns IS NOT NULL
ORDER BY run_id, profile_id, number, place LIMIT 200000
