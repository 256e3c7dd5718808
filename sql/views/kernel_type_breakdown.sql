-- Device time by type of work, over all ranks: computation, communication, memory, and what overlaps what.
--
-- One row for each combination that occurs, with the labels of HTA.  The time in which only kernels of one type ran
-- counts for that type.  The time in which several types ran counts for their combination.  Left out is what HTA leaves
-- out: see temporal_breakdown.  Where work was recorded only in some steps, it is weighed step by step as there.
--   kernel_type  TEXT     -      COMPUTATION, COMMUNICATION or MEMORY, or several of them with the word overlapping
--                                between them.
--   sum_ns       INTEGER  ns     Time of the combination, added up over profiles and devices.
--   sum_ratio    REAL     ratio  Share of sum_ns in that of all rows.
-- Cost: that of device_times.  Example: SELECT * FROM kernel_type_breakdown;
WITH thinned AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp.thinned_steps
), whole AS (
  SELECT id AS profile_id FROM temp.profiles WHERE id NOT IN (SELECT profile_id FROM thinned)
), covered_in_step AS (
  SELECT max(sample_weight) AS weight,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'compute') AS a,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'communication') AS b,
    union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('memcpy', 'memset')) AS c,
    union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('compute', 'communication')) AS ab,
    union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('compute', 'memcpy', 'memset')) AS ac,
    union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('communication', 'memcpy', 'memset')) AS bc,
    union_ns(start_ns, end_ns) AS abc
  FROM temp.device_activities AS activities
  WHERE kind <> 'sync' AND activities.profile_id IN (SELECT profile_id FROM thinned) AND activities.step_id IS NOT NULL
  GROUP BY activities.profile_id, device_id, activities.step_id
), covered AS (
  SELECT 1.0 * compute_ns AS a, 1.0 * communication_ns AS b, 1.0 * copy_ns AS c, 1.0 * compute_communication_ns AS ab,
    1.0 * compute_copy_ns AS ac, 1.0 * communication_copy_ns AS bc, 1.0 * work_ns AS abc
  FROM temp.device_times WHERE profile_id IN (SELECT profile_id FROM whole)
  UNION ALL
  SELECT weight * a, weight * b, weight * c, weight * ab, weight * ac, weight * bc, weight * abc
  FROM covered_in_step
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
  CAST(sum_ns AS INTEGER) AS sum_ns,
  sum_ns / nullif(total(sum_ns) OVER (), 0) AS sum_ratio
FROM sums
WHERE sum_ns > 0
ORDER BY sums.sum_ns DESC, mask
