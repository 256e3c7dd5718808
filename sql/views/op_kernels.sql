-- Kernels of ops: which kernels an op launches itself, in order, and how long it takes until they run.
--
-- One row for each profile, op name and sequence of kernels, as HTA's table of ATen ops and kernels.  An op counts with
-- the kernels that it launched directly; copies and fills are not counted.  HTA has a row for each sequence of full
-- names, with the types of template arguments, of which one row here holds all, and leaves out ops other than aten::*.
-- Left out besides is what HTA leaves out: see temporal_breakdown.
--   profile_id, rank, op_name
--   kernel_sequence       short names of the kernels in the order of their launches, with -> between them
--   count, kernel_count   how often the op ran so; how many kernels that are each time
--   launch_delay_ns       mean time from the start of the op to its first launch
--   kernel_delay_ns       mean time from the start of the first launch to the start of the first kernel
--   kernel_ns             time of all the kernels
-- Cost: one pass over kernels, one look-up of a call for each and of an op for each group.
-- Example: SELECT op_name, count, kernel_sequence FROM op_kernels ORDER BY count DESC LIMIT 10;
WITH last_steps AS (
  SELECT profile_id, max(start_ns) AS start_ns FROM temp.steps
  WHERE origin = 'profiler' GROUP BY profile_id HAVING count(DISTINCT name) >= 2
), calls AS (
  SELECT ops.profile_id AS profile_id, ops.name AS op_name, ops.start_ns AS op_ns,
    ordered_concat(kernels.short_name, ' -> ', launches.start_ns) AS kernel_sequence, count(*) AS kernel_count,
    min(launches.start_ns) AS launch_ns, min(kernels.start_ns) AS start_ns, CAST(sum(1.0 * kernels.dur_ns) AS INTEGER)
      AS kernel_ns
  FROM temp.kernels AS kernels -- they come in the order of their ops
  CROSS JOIN temp.ops AS ops ON ops.id = kernels.op_id
  CROSS JOIN temp.api_calls AS launches ON launches.id = kernels.api_call_id
  LEFT JOIN last_steps ON last_steps.profile_id = kernels.profile_id
  WHERE last_steps.start_ns IS NULL OR launches.start_ns < last_steps.start_ns
  GROUP BY kernels.op_id
)
SELECT
  calls.profile_id AS profile_id,
  (SELECT rank FROM temp.profiles WHERE id = calls.profile_id) AS rank,
  calls.op_name AS op_name,
  calls.kernel_sequence AS kernel_sequence,
  count(*) AS count,
  max(calls.kernel_count) AS kernel_count,
  CAST(round(avg(calls.launch_ns - calls.op_ns)) AS INTEGER) AS launch_delay_ns,
  CAST(round(avg(calls.start_ns - calls.launch_ns)) AS INTEGER) AS kernel_delay_ns,
  CAST(sum(1.0 * calls.kernel_ns) AS INTEGER) AS kernel_ns
FROM calls
GROUP BY calls.profile_id, calls.op_name, calls.kernel_sequence
ORDER BY count DESC, profile_id, op_name, kernel_sequence
