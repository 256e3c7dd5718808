-- Who holds memory
-- A shape for each of the largest allocations, from when it was made to when it was given back; what is grey is all
-- others together.
-- page: memory 12
-- chart: blocks
-- empty: No allocations with their releases were recorded: traces of PyTorch before 2022 have no addresses.
WITH pieces AS MATERIALIZED (
  SELECT id, profile_id, device_id, bytes,
    row_number() OVER (PARTITION BY profile_id ORDER BY bytes DESC, id) AS place
  FROM temp.allocations
  WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND allocated_ns IS NOT NULL AND bytes > 0
    AND (address IS NOT NULL OR released_ns IS NOT NULL)
)
SELECT allocations.profile_id, coalesce(_memory_names.name, '?') AS device, allocations.id AS id,
  allocated_ns - coalesce(:origin_ns, 0) AS at_ns, released_ns - coalesce(:origin_ns, 0) AS released_at_ns,
  released_ns - allocated_ns AS held_ns,
  allocations.bytes AS bytes, address, region AS category, dtype, shape, ops.name AS op_name, allocations.module,
  location
FROM pieces JOIN temp.allocations ON allocations.id = pieces.id
LEFT JOIN temp._memory_names ON _memory_names.profile_id = allocations.profile_id
  AND _memory_names.device_id IS allocations.device_id AND _memory_names.allocator IS allocations.allocator
LEFT JOIN temp.ops ON ops.id = allocations.op_id
LEFT JOIN temp._code_trace_lines
  ON _code_trace_lines.code_trace_id = coalesce(allocations.code_trace_id, ops.code_trace_id)
WHERE place <= 1000
ORDER BY allocations.profile_id, at_ns, allocations.id
