-- Parts of instructions of XLA: what is in a fusion, and which line of the program each part comes from.
--
-- One row for each instruction that runs as a part of another one (hlo_instructions.part_of_id), whether that one ran
-- or not.  Parameters, which only name what goes in, are left out.
--   profile_id          INTEGER  -      The profile: a process or rank.
--   rank                INTEGER  -      Rank of the process.  NULL where it is unknown.
--   hlo_module          TEXT     -      The module that both belong to, such as jit_train_step.
--   program             INTEGER  -      Number by which runs name the compiled module.  NULL in a file of a module
--                                       alone.
--   whole_id            INTEGER  -      The instruction that runs, as a rule a fusion, as in hlo_instructions.
--   whole               TEXT     -      Name of the instruction that runs.
--   whole_opcode        TEXT     -      What the instruction that runs is to XLA, such as fusion.
--   hlo_instruction_id  INTEGER  -      The part, as in hlo_instructions.
--   name                TEXT     -      Name of the part.
--   opcode              TEXT     -      What the part is to XLA, such as dot.
--   result              TEXT     -      What the part makes, with number type and sizes, as HLO writes it.
--   framework_name      TEXT     -      Name that the framework gave the op that the part was made of.  NULL where XLA
--                                       made it by itself.
--   depth               INTEGER  -      Number of computations between both, from 1 for a part that stands in the
--                                       fusion itself.
--   is_root             INTEGER  -      1: its result is that of the computation that it stands in.
--   location            TEXT     -      Line of the program at which the op that the part was made of was called, as in
--                                       hlo_summary.  NULL where the module does not tell.
--   text                TEXT     -      Source text of that line.  NULL where it could not be read.
--   flops               INTEGER  flops  Floating point operations of one run of the part.  NULL where they are not
--                                       known.
--   bytes_accessed      INTEGER  bytes  Memory that the part would read and write if it ran by itself.  NULL where it
--                                       is not known.
--   flops_ratio         REAL     ratio  Share of flops in those of the whole.  NULL where the whole has none, or the
--                                       part stands deeper than 1.
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
LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = parts.code_trace_id
ORDER BY whole_id, hlo_instruction_id
