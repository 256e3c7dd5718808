-- Memory of operators, as the memory page of the PyTorch TensorBoard plugin has it.
--
-- One row for each profile and name of an op in which memory was allocated or released, the memory of all devices
-- together.  memory_by_op has devices apart.  What counts as an op, and as the same call of one, is as in
-- tb_operator_summary.  All steps count, warm-up too.  Where a capture recorded ops only in some steps, everything is
-- weighed by ops.sample_weight.
--   profile_id             INTEGER  -      The profile: a process or rank.
--   rank                   INTEGER  -      Rank of the process.  NULL where it is unknown.
--   op                     TEXT     -      Name of the op.
--   count                  INTEGER  count  Calls (weighed).
--   increase_bytes         INTEGER  bytes  Memory allocated less memory released in it, with the ops inside it.
--   increase_self_bytes    INTEGER  bytes  Memory allocated less memory released in it, without the ops inside it.
--   allocation_count       INTEGER  count  Pieces allocated in it, with the ops inside it.
--   allocation_self_count  INTEGER  count  Pieces allocated in it, without the ops inside it.
--   allocated_bytes        INTEGER  bytes  Size of the pieces of allocation_count.
--   allocated_self_bytes   INTEGER  bytes  Size of the pieces of allocation_self_count.
--   allocated_error_bytes  INTEGER  bytes  Error of allocated_bytes where only some steps were recorded
--                                          (sampling_summary).  0 where all were, NULL where too few were.
-- Cost: linear in op_totals and memory_event_totals, once these are made, and one look-up of names of ops and their
-- callers.  Where only some steps were recorded one pass over ops.
-- Example: SELECT op, allocation_count, increase_bytes FROM tb_operator_memory LIMIT 10;
WITH own_sums AS MATERIALIZED (
  SELECT profile_id, op_name AS name, sum(bytes * op_weight) AS increase_bytes,
    sum(iif(kind = 'allocate', count, 0) * op_weight) AS allocation_count
  FROM temp.memory_event_totals
  WHERE op_category IN ('op', 'autograd') AND kind IN ('allocate', 'release')
  GROUP BY profile_id, op_name
), callers AS MATERIALIZED ( -- few pairs of names, so that not every op has to be compared with its caller
  SELECT DISTINCT name, parent_name FROM temp.ops
), same_name AS MATERIALIZED (
  SELECT parent_id, profile_id, name, sample_weight, allocation_count, allocated_bytes, released_bytes
  FROM temp.ops
  WHERE parent_name IN (SELECT name FROM callers WHERE parent_name = name) AND parent_name = name
    AND +category IN ('op', 'autograd')
), with_others AS (
  SELECT parent_id FROM temp.ops WHERE parent_id IN (SELECT parent_id FROM same_name)
  GROUP BY parent_id HAVING count(*) > 1
), repeated AS (
  SELECT profile_id, name, sum(sample_weight) AS count, sum(allocation_count * sample_weight) AS allocation_count,
    sum(allocated_bytes * sample_weight) AS allocated_bytes, sum(released_bytes * sample_weight) AS released_bytes
  FROM same_name WHERE parent_id NOT IN (SELECT parent_id FROM with_others)
  GROUP BY profile_id, name
), sums AS (
  SELECT profile_id, name, sum(count) AS count, sum(allocation_count) AS allocation_count,
    sum(allocated_bytes) AS allocated_bytes, sum(released_bytes) AS released_bytes,
    sum(allocated_self_bytes) AS allocated_self_bytes
  FROM temp.op_totals WHERE category IN ('op', 'autograd') GROUP BY profile_id, name
), errors AS ( -- outermost of its name, so that nothing counts twice
  SELECT profile_id, name, sample_error(allocated_bytes, step_id) AS bytes
  FROM temp.ops
  WHERE +category IN ('op', 'autograd') AND parent_name IS NOT name AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY profile_id, name
)
SELECT
  sums.profile_id AS profile_id,
  profiles.rank AS rank,
  sums.name AS op,
  CAST(round(sums.count - coalesce(repeated.count, 0)) AS INTEGER) AS count,
  CAST(round(sums.allocated_bytes - coalesce(repeated.allocated_bytes, 0)
    - (sums.released_bytes - coalesce(repeated.released_bytes, 0))) AS INTEGER) AS increase_bytes,
  CAST(round(coalesce(own_sums.increase_bytes, 0)) AS INTEGER) AS increase_self_bytes,
  CAST(round(sums.allocation_count - coalesce(repeated.allocation_count, 0)) AS INTEGER) AS allocation_count,
  CAST(round(coalesce(own_sums.allocation_count, 0)) AS INTEGER) AS allocation_self_count,
  CAST(round(sums.allocated_bytes - coalesce(repeated.allocated_bytes, 0)) AS INTEGER) AS allocated_bytes,
  CAST(round(sums.allocated_self_bytes) AS INTEGER) AS allocated_self_bytes,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(round(errors.bytes) AS INTEGER) ELSE 0 END AS allocated_error_bytes
FROM sums
JOIN temp.profiles AS profiles ON profiles.id = sums.profile_id
LEFT JOIN own_sums ON own_sums.profile_id = sums.profile_id AND own_sums.name = sums.name
LEFT JOIN repeated ON repeated.profile_id = sums.profile_id AND repeated.name = sums.name
LEFT JOIN errors ON errors.profile_id = sums.profile_id AND errors.name = sums.name
WHERE sums.allocated_bytes > 0 OR sums.released_bytes > 0
ORDER BY increase_bytes DESC, allocated_bytes DESC, profile_id, op
