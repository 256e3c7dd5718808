-- Instructions of XLA: what each one that ran cost, at which line of the program it was called, and what is in it.
--
-- One row for each instruction that ops or kernels of the profile ran by themselves.  In a file of a module alone,
-- where nothing ran, there is one for each instruction that costs anything.  Ops and kernels of warm-up steps are left
-- out.  Both are weighed by the steps that they stand for (ops.sample_weight, kernels.sample_weight).
--   profile_id          INTEGER  -      The profile: a process or rank.
--   rank                INTEGER  -      Rank of the process.  NULL where it is unknown.
--   hlo_instruction_id  INTEGER  -      The instruction, as in hlo_instructions.
--   hlo_module          TEXT     -      The module that it belongs to, such as jit_train_step.
--   program             INTEGER  -      Number by which runs name the compiled module.  NULL in a file of a module
--                                       alone.
--   name                TEXT     -      Name of the instruction.
--   opcode              TEXT     -      What it is to XLA, such as dot, fusion or while.
--   framework_name      TEXT     -      Name that the framework gave the op that it was made of.  NULL where XLA made
--                                       it by itself.
--   location            TEXT     -      Line of the program that called the op it was made of, as file:line without
--                                       directories.  It is the innermost one of the program itself.  NULL where the
--                                       module does not tell.
--   text                TEXT     -      Source text of that line.  NULL where it could not be read.
--   count               INTEGER  count  Number of runs on threads of the host.  NULL where there are none.
--   self_ns             INTEGER  ns     Time of these runs without what they ran, in all.  NULL where there are none.
--   self_error_ns       INTEGER  ns     Error of self_ns where only some steps were recorded (sampling_summary).  0
--                                       where all were, NULL where too few were and without runs on the host.
--   kernel_count        INTEGER  count  Number of kernels that ran it.  NULL where there are none.
--   kernel_ns           INTEGER  ns     Time of these kernels on devices, in all.  NULL where there are none.
--   self_ratio          REAL     ratio  Share of self_ns and kernel_ns together in those of all rows of the profile.
--   flops               INTEGER  flops  Floating point operations of one run.  NULL where they are not known.
--   bytes_accessed      INTEGER  bytes  Memory that one run reads and writes.  NULL where it is not known.
--   part_count          INTEGER  count  Number of instructions that run as a part of it, as those in a fusion.  0 for
--                                       most others.
--   locations           TEXT     -      Lines of the program that the parts of a fusion come from, in alphabetical
--                                       order with commas between them.  hlo_parts has each part.  NULL where no line
--                                       is known.
-- Cost: one pass over ops, kernels and hlo_instructions.
-- Example: SELECT name, location, count, self_ns, locations FROM hlo_summary LIMIT 10;
WITH op_runs AS (
  SELECT hlo_instruction_id, CAST(round(total(sample_weight)) AS INTEGER) AS count,
    total(1.0 * self_ns * sample_weight) AS self_ns
  FROM temp.ops WHERE hlo_instruction_id IS NOT NULL AND is_measured = 1 GROUP BY hlo_instruction_id
), errors AS (
  SELECT hlo_instruction_id, sample_error(self_ns, step_id) AS self_ns
  FROM temp.ops
  WHERE hlo_instruction_id IS NOT NULL AND is_measured = 1
    AND profile_id IN (SELECT profile_id FROM temp.steps WHERE sample_weight > 1)
  GROUP BY hlo_instruction_id
), kernel_runs AS (
  SELECT hlo_instruction_id, CAST(round(sum(sample_weight)) AS INTEGER) AS count,
    total(dur_ns * sample_weight) AS dur_ns
  FROM temp.kernels WHERE hlo_instruction_id IS NOT NULL AND is_measured = 1 GROUP BY hlo_instruction_id
), runs AS MATERIALIZED (
  SELECT hlo_instruction_id, max(count) AS count, max(self_ns) AS self_ns, max(self_error_ns) AS self_error_ns,
    max(kernel_count) AS kernel_count, max(kernel_ns) AS kernel_ns
  FROM (
    SELECT hlo_instruction_id, count, self_ns, NULL AS self_error_ns, NULL AS kernel_count, NULL AS kernel_ns
    FROM op_runs
    UNION ALL
    SELECT hlo_instruction_id, NULL, NULL, self_ns, NULL, NULL FROM errors
    UNION ALL
    SELECT hlo_instruction_id, NULL, NULL, NULL, count, dur_ns FROM kernel_runs
  ) GROUP BY hlo_instruction_id
), still AS MATERIALIZED ( -- files in which nothing ran
  SELECT id AS profile_id FROM temp.profiles WHERE origin IN ('hlo', 'hlo_text')
), listed AS MATERIALIZED (
  SELECT runs.*, 0 AS is_still FROM runs
  UNION ALL
  SELECT id, NULL, NULL, NULL, NULL, NULL, 1 FROM temp.hlo_instructions
  WHERE profile_id IN (SELECT profile_id FROM still) AND part_of_id IS NULL AND (flops > 0 OR bytes_accessed > 0)
), inside AS (
  SELECT hlo_instruction_id, sum(count) AS part_count, group_concat(location, ', ') AS locations
  FROM (
    SELECT parts.part_of_id AS hlo_instruction_id, lines.location AS location, count(*) AS count
    FROM temp.hlo_instructions AS parts
    LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = parts.code_trace_id
    WHERE parts.part_of_id IN (SELECT hlo_instruction_id FROM listed)
    GROUP BY parts.part_of_id, lines.location ORDER BY parts.part_of_id, lines.location
  ) GROUP BY hlo_instruction_id
), sampled AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp.steps WHERE sample_weight > 1
)
SELECT
  instructions.profile_id AS profile_id,
  profiles.rank AS rank,
  instructions.id AS hlo_instruction_id,
  instructions.hlo_module AS hlo_module,
  instructions.program AS program,
  instructions.name AS name,
  instructions.opcode AS opcode,
  instructions.framework_name AS framework_name,
  lines.location AS location,
  lines.text AS text,
  listed.count AS count,
  CAST(listed.self_ns AS INTEGER) AS self_ns,
  CASE WHEN listed.count IS NULL THEN NULL
    WHEN instructions.profile_id IN (SELECT profile_id FROM sampled) THEN CAST(listed.self_error_ns AS INTEGER)
    ELSE 0 END AS self_error_ns,
  listed.kernel_count AS kernel_count,
  CAST(listed.kernel_ns AS INTEGER) AS kernel_ns,
  (coalesce(listed.self_ns, 0) + coalesce(listed.kernel_ns, 0)) / nullif(total(coalesce(listed.self_ns, 0)
    + coalesce(listed.kernel_ns, 0)) OVER (PARTITION BY instructions.profile_id), 0) AS self_ratio,
  instructions.flops AS flops,
  instructions.bytes_accessed AS bytes_accessed,
  coalesce(inside.part_count, 0) AS part_count,
  inside.locations AS locations
FROM listed
JOIN temp.hlo_instructions AS instructions ON instructions.id = listed.hlo_instruction_id
JOIN temp.profiles AS profiles ON profiles.id = instructions.profile_id
LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = instructions.code_trace_id
LEFT JOIN inside ON inside.hlo_instruction_id = listed.hlo_instruction_id
ORDER BY coalesce(listed.kernel_ns, 0) + coalesce(listed.self_ns, 0) DESC, flops DESC, hlo_instruction_id
