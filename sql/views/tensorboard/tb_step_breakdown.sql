-- Step time as the PyTorch TensorBoard plugin divides it: what each step went to, by the parts of its overview.
--
-- One row for each step of _step_parts, warm-up too.  The parts from kernel_ns to other_ns add up to dur_ns.  The
-- plugin leaves out steps at the end without recorded work to its end, and so does this.  What recording took is
-- in the parts.
--   profile_id        INTEGER  -   The profile: a process or rank.
--   rank              INTEGER  -   Rank of the process.  NULL where it is unknown.
--   step_id           INTEGER  -   The step, as in steps.
--   number            INTEGER  -   Number of the step.
--   name              TEXT     -   Name of the step.
--   dur_ns            INTEGER  ns  Duration of the step to the end of its work on devices.
--   kernel_ns         INTEGER  ns  Kernel: time in which a kernel ran that is no communication.
--   memcpy_ns         INTEGER  ns  Memcpy: time in which copies ran and no kernel did.
--   memset_ns         INTEGER  ns  Memset: time in which fills ran, and none of the parts before.
--   communication_ns  INTEGER  ns  Communication: with none of the parts before.
--   runtime_ns        INTEGER  ns  Runtime: calls that launch work, with none of the parts before.
--   data_loader_ns    INTEGER  ns  DataLoader: loading data, with none of the parts before.
--   cpu_ns            INTEGER  ns  CPU Exec: all else on the host, with none of the parts before, compiling and what
--                                  the program marked included.
--   other_ns          INTEGER  ns  Other, as the plugin counts it: the rest of the step.
-- Cost: that of _step_parts.
-- Example: SELECT number, kernel_ns, data_loader_ns, cpu_ns FROM tb_step_breakdown;
SELECT
  profile_id AS profile_id,
  rank AS rank,
  step_id AS step_id,
  number AS number,
  name AS name,
  dur_ns AS dur_ns,
  kernel_ns AS kernel_ns,
  memcpy_ns AS memcpy_ns,
  memset_ns AS memset_ns,
  communication_ns AS communication_ns,
  runtime_ns AS runtime_ns,
  data_loader_ns AS data_loader_ns,
  cpu_ns AS cpu_ns,
  rest_ns AS other_ns
FROM temp._step_parts
ORDER BY profile_id, number, step_id
