-- Device time by type of work, over all ranks: computation, communication, memory, and what overlaps what.
--
-- One row for each combination that occurs, with HTA's labels.  The time in which only kernels of one type ran counts
-- for that type, time in which several did for their combination.  Left out is what HTA leaves out: see
-- temporal_breakdown.
--   kernel_type          COMPUTATION, COMMUNICATION, MEMORY, or several joined by " overlapping "
--   sum_ns, sum_ratio    the time, added up over profiles and devices; its share of all rows
-- Cost: one pass over device_activities.  Example: SELECT * FROM kernel_type_breakdown;
WITH covered AS (
  SELECT
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind = 'compute') AS a,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind = 'communication') AS b,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind IN ('memcpy', 'memset')) AS c,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind IN ('compute', 'communication'))
      AS ab,
    union_ns(activities.start_ns, activities.end_ns) FILTER (WHERE activities.kind IN ('compute', 'memcpy', 'memset'))
      AS ac,
    union_ns(activities.start_ns, activities.end_ns)
      FILTER (WHERE activities.kind IN ('communication', 'memcpy', 'memset')) AS bc,
    union_ns(activities.start_ns, activities.end_ns) AS abc
  FROM temp.device_activities AS activities
  WHERE activities.kind <> 'sync' AND activities.is_before_last_step = 1
  GROUP BY activities.profile_id, activities.device_id
), sums AS ( -- parts of three sets from the sizes of their unions
  SELECT 1 AS mask, 'COMPUTATION' AS kernel_type, sum(abc - bc) AS sum_ns FROM covered
  UNION ALL SELECT 2, 'COMMUNICATION', sum(abc - ac) FROM covered
  UNION ALL SELECT 4, 'MEMORY', sum(abc - ab) FROM covered
  UNION ALL SELECT 3, 'COMPUTATION overlapping COMMUNICATION', sum(ac + bc - c - abc) FROM covered
  UNION ALL SELECT 5, 'COMPUTATION overlapping MEMORY', sum(ab + bc - b - abc) FROM covered
  UNION ALL SELECT 6, 'COMMUNICATION overlapping MEMORY', sum(ab + ac - a - abc) FROM covered
  UNION ALL SELECT 7, 'COMPUTATION overlapping COMMUNICATION overlapping MEMORY', sum(a + b + c - ab - ac - bc + abc)
    FROM covered
)
SELECT
  kernel_type AS kernel_type,
  sum_ns AS sum_ns,
  1.0 * sum_ns / nullif(total(sum_ns) OVER (), 0) AS sum_ratio
FROM sums
WHERE sum_ns > 0
ORDER BY sum_ns DESC, mask
