-- Looks at Python: what python_samples say, and for how much each speaks.
--
-- One row for each sample of the thread that trains, taken while no op ran.  Samples in which PyTorch waited for
-- something else than Python are left out: for other ranks, devices, its own threads or workers of a loader.  That is
-- no time outside ops (step_op_time has it by itself).
--   profile_id   INTEGER  -   The profile: a process or rank.
--   step_id      INTEGER  -   The step in which the sample was taken, as in steps.  NULL outside all steps.
--   trace_id     INTEGER  -   Stack of the sample, as in code_traces.
--   range_id     INTEGER  -   The innermost range around it on its thread, as in ranges.  NULL outside of all.
--   weight       REAL     ns  The time that it stands for, weighed by steps.sample_weight.
--   is_measured  INTEGER  -   1 in a measured step (no warm-up, none that a hang made long: _hung_steps) with
--                             recorded ops, else 0.  NULL outside all steps.
--   waits_for    TEXT     -   What the thread waited for, as in python_samples.  NULL where it ran.
-- Cost: linear in python_samples.  Example: SELECT waits_for, sum(weight) FROM _python_looks GROUP BY 1;
SELECT
  samples.profile_id AS profile_id,
  samples.step_id AS step_id,
  samples.code_trace_id AS trace_id,
  samples.range_id AS range_id,
  samples.period_ns * coalesce(steps.sample_weight, 1.0) AS weight,
  steps.is_warmup = 0 AND steps.ops_recorded = 1 AND steps.id NOT IN (SELECT step_id FROM temp._hung_steps)
    AS is_measured,
  samples.waits_for AS waits_for
FROM temp.python_samples AS samples LEFT JOIN temp.steps AS steps ON steps.id = samples.step_id
WHERE samples.code_trace_id IS NOT NULL AND (samples.waits_for IS NULL OR samples.waits_for IN ('GIL', 'processor')
  OR NOT EXISTS (
    SELECT 1 FROM temp.code_traces AS traces JOIN temp.code_frames AS frames ON frames.id = traces.leaf_frame_id
    WHERE traces.id = samples.code_trace_id AND (frames.file GLOB '*/torch/autograd/*'
      OR frames.file GLOB '*/torch/distributed/*' OR frames.file GLOB '*/torch/utils/data/*'
      OR frames.file GLOB '*/torch/cuda/*' OR frames.file GLOB '*/torch/nn/parallel/*')))
ORDER BY profile_id, samples.id
