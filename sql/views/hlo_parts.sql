-- Parts of instructions of XLA: what is in a fusion, and which line of the program each part comes from.
--
-- One row for each instruction that runs as a part of another one (hlo_instructions.part_of_id), be it that this ran
-- or not; parameters, which only name what goes in, are left out.
--   profile_id          INTEGER  -      Profile id.
--   rank                INTEGER  -      Rank.
--   hlo_module          TEXT     -      Hlo module.
--   program             INTEGER  -      Program.
--   whole_id            INTEGER  -      The instruction that runs, as a rule a fusion.
--   whole               TEXT     -      The instruction that runs, as a rule a fusion.
--   whole_opcode        TEXT     -      The instruction that runs, as a rule a fusion.
--   hlo_instruction_id  INTEGER  -      The part.
--   name                TEXT     -      The part.
--   opcode              TEXT     -      The part.
--   result              TEXT     -      The part.
--   framework_name      TEXT     -      The part.
--   depth               INTEGER  -      How many computations lie between both: 1 for what stands in the fusion itself.
--   is_root             INTEGER  -      1 for the one whose result is that of the computation that it stands in.
--   location            TEXT     -      Of the part, as in hlo_summary.
--   text                TEXT     -      Of the part, as in hlo_summary.
--   flops               INTEGER  flops  What it computes, and what it would move if it ran by itself.
--   bytes_accessed      INTEGER  bytes  What it computes, and what it would move if it ran by itself.
--   flops_ratio         REAL     ratio  Its share of flops of the whole; NULL where that has none, or it stands deeper.
-- Cost: one pass over hlo_instructions.
-- Example: SELECT name, opcode, location, flops FROM hlo_parts WHERE whole = 'fusion.3';
WITH RECURSIVE above(id, whole_id, caller_id, depth) AS (
  SELECT id, part_of_id, caller_id, 1 FROM temp.hlo_instructions WHERE part_of_id IS NOT NULL AND opcode <> 'parameter'
  UNION ALL
  SELECT above.id, whole_id, callers.caller_id, depth + 1
  FROM above JOIN temp.hlo_instructions AS callers ON callers.id = above.caller_id
  WHERE above.caller_id <> whole_id AND depth < 64
), depths AS MATERIALIZED (
  SELECT id, max(depth) AS depth FROM above GROUP BY id
)
SELECT
  parts.profile_id AS profile_id,
  profiles.rank AS rank,
  parts.hlo_module AS hlo_module,
  parts.program AS program,
  parts.part_of_id AS whole_id,
  wholes.name AS whole,
  wholes.opcode AS whole_opcode,
  parts.id AS hlo_instruction_id,
  parts.name AS name,
  parts.opcode AS opcode,
  parts.result AS result,
  parts.framework_name AS framework_name,
  depths.depth AS depth,
  parts.is_root AS is_root,
  lines.location AS location,
  lines.text AS text,
  parts.flops AS flops,
  parts.bytes_accessed AS bytes_accessed,
  iif(depths.depth = 1, 1.0 * parts.flops / nullif(wholes.flops, 0), NULL) AS flops_ratio
FROM depths
JOIN temp.hlo_instructions AS parts ON parts.id = depths.id
JOIN temp.hlo_instructions AS wholes ON wholes.id = parts.part_of_id
JOIN temp.profiles AS profiles ON profiles.id = parts.profile_id
LEFT JOIN temp.code_trace_line AS lines ON lines.code_trace_id = parts.code_trace_id
ORDER BY whole_id, hlo_instruction_id
