-- Device time by type of work, over all ranks: computation, communication, memory, and what overlaps what.
--
-- One row for each combination that occurs, with the labels of HTA.  The time in which only kernels of one type ran
-- counts for that type.  The time in which several types ran counts for their combination.  Left out is what HTA leaves
-- out: see hta_temporal_breakdown.  Where work was recorded only in some steps, it is weighed step by step as there.
--   kernel_type  TEXT     -      COMPUTATION, COMMUNICATION or MEMORY, or several of them with the word overlapping
--                                between them.
--   sum_ns       INTEGER  ns     Time of the combination, added up over profiles and devices.
--   sum_ratio    REAL     ratio  Share of sum_ns in that of all rows.
-- Cost: that of device_times.  Example: SELECT * FROM hta_kernel_type_breakdown;
WITH covered AS (
  SELECT compute_ns * sample_weight AS a, communication_ns * sample_weight AS b, copy_ns * sample_weight AS c,
    compute_communication_ns * sample_weight AS ab, compute_copy_ns * sample_weight AS ac,
    communication_copy_ns * sample_weight AS bc, work_ns * sample_weight AS abc
  FROM temp.device_times
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
