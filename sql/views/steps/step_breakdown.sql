-- Steps in parts: what the time of each step went to, one thing at a time.
--
-- One row for each step.  A step reaches to the end of its work on devices.  At each moment only the first of what goes
-- on counts: kernels, copies and fills, communication, launching, loading data, other work of the host.  The parts from
-- kernel_ns to other_ns add up to dur_ns.  What recording took is in none of them.  What the words mean: docs/words.md.
-- run_summary, overview and the page show sums of these parts.  XProf and the PyTorch TensorBoard plugin draw the lines
-- elsewhere: xprof_step_breakdown and tb_step_breakdown equal theirs.
-- Steps at the end without recorded work to its end are left out.  A part is NULL where a capture did not record
-- it in that step.
--   profile_id        INTEGER  -   The profile: a process or rank.
--   host              TEXT     -   Host that it ran on.
--   rank              INTEGER  -   Rank of the process.  NULL where it is unknown.
--   step_id           INTEGER  -   The step, as in steps.
--   number            INTEGER  -   Number of the step.
--   name              TEXT     -   Name of the step.
--   is_warmup         INTEGER  -   1 for warm-up, which summaries leave out.
--   dur_ns            INTEGER  ns  Duration of the step to the end of its work on devices, without what recording its
--                                  ops took.
--   kernel_ns         INTEGER  ns  Time in which a kernel ran that is no communication.
--   copy_ns           INTEGER  ns  Time in which copies and fills ran, and no kernel.
--   communication_ns  INTEGER  ns  Time of communication, with none of the parts before.
--   launch_ns         INTEGER  ns  Time of calls that launch work, with none of the parts before.
--   data_loader_ns    INTEGER  ns  Time of loading data, with none of the parts before.  It is the part of the input
--                                  (input_steps.input_ns) that nothing hides.
--   host_ns           INTEGER  ns  Time of ops and of compiling on the host, with none of the parts before.
--   other_ns          INTEGER  ns  The rest of the step: outside of ops, with none of the parts before.
--   compile_ns        INTEGER  ns  The part of host_ns in which the host compiled.
--   host_weight       REAL     -   Number of steps that it stands for in host_ns and other_ns (_weighed_steps).
--   device_weight     REAL     -   Number of steps that it stands for in the other parts but data_loader_ns.
-- Cost: that of _weighed_steps.
-- Example: SELECT number, kernel_ns, data_loader_ns, other_ns FROM step_breakdown;
SELECT
  steps.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  steps.id AS step_id,
  steps.number AS number,
  steps.name AS name,
  steps.is_warmup AS is_warmup,
  parts.dur_ns AS dur_ns,
  parts.kernel_ns AS kernel_ns,
  parts.memcpy_ns + parts.memset_ns AS copy_ns,
  parts.device_collectives_ns AS communication_ns,
  parts.kernel_launch_ns AS launch_ns,
  parts.data_loader_ns AS data_loader_ns,
  parts.host_compute_ns + parts.compile_ns + parts.other_ns - parts.outside_ns AS host_ns,
  parts.outside_ns AS other_ns,
  parts.compile_ns AS compile_ns,
  parts.host_weight AS host_weight,
  parts.device_weight AS device_weight
FROM temp._weighed_steps AS parts
JOIN temp.steps AS steps ON steps.id = parts.step_id
JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
ORDER BY profile_id, steps.start_ns, step_id
