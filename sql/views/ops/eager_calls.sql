-- Ops that a program of TensorFlow or JAX calls one by one from Python, outside of any tf.function or jax.jit.
--
-- One row for each call in a measured step.  Of TensorFlow they are the calls of its eager runtime (EagerLocalExecute
-- of anything except a function), without those that read the input.  Of JAX they are the outermost calls of a compiled
-- function (PjitFunction) that the step calls again, where these are 16 or more.  Each op outside of jax.jit is such a
-- function, and a program itself has few of them.
--   profile_id   INTEGER  -   The profile: a process or rank.
--   op_id        INTEGER  -   The call, as in ops.
--   op           TEXT     -   What was called, such as MatMul.
--   dur_ns       INTEGER  ns  Duration of the call.
--   is_of_keras  INTEGER  -   1: Keras itself calls it around a step that it runs as a function (fit, evaluate,
--                             predict).  Keras so asks the iterator whether there is more, makes constants, logs and
--                             summaries, and reads metrics.
-- Cost: two passes over the names of ops of profiles of TensorFlow and JAX.
-- Example: SELECT op, count(*), sum(dur_ns) FROM eager_calls WHERE is_of_keras = 0 GROUP BY 1 ORDER BY 3 DESC;
WITH calls AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, ops.id AS op_id, ops.step_id AS step_id, substr(ops.name, 20) AS name,
    ops.dur_ns AS dur_ns
  FROM temp.profiles AS profiles CROSS JOIN temp.ops AS ops ON ops.profile_id = profiles.id
  WHERE has_framework(profiles.framework, 'tensorflow') AND ops.name GLOB 'EagerLocalExecute: *'
), of_jax AS MATERIALIZED (
  SELECT ops.profile_id AS profile_id, ops.id AS op_id, ops.step_id AS step_id,
    rtrim(substr(ops.name, 14), ')') AS name, ops.dur_ns AS dur_ns
  FROM temp.profiles AS profiles CROSS JOIN temp.ops AS ops ON ops.profile_id = profiles.id
  WHERE has_framework(profiles.framework, 'jax') AND ops.name GLOB 'PjitFunction(*' AND ops.outermost_id = ops.id
    AND ops.step_id IS NOT NULL
), again AS (
  SELECT step_id, name, sum(count(*)) OVER (PARTITION BY step_id) AS all_count FROM of_jax
  GROUP BY step_id, name HAVING count(*) >= 2
), of_keras AS (
  SELECT DISTINCT profile_id AS profile_id FROM calls
  WHERE name GLOB '__inference_*_on_iterator_*' OR name GLOB '__inference_*_on_data_*'
    OR name GLOB '__inference_train_function_*' OR name GLOB '__inference_test_function_*'
    OR name GLOB '__inference_predict_function_*'
), found AS (
  SELECT calls.profile_id AS profile_id, calls.op_id AS op_id, calls.name AS name, calls.dur_ns AS dur_ns,
    calls.profile_id IN of_keras AND calls.name IN ('OptionalHasValue', 'OptionalGetValue', 'OptionalNone',
      '_EagerConst', 'Identity', 'LogicalAnd', 'ReadVariableOp', 'AssignVariableOp', 'AssignAddVariableOp', 'AddV2',
      'DivNoNan', 'Cast', 'GreaterEqual', 'WriteSummary', 'WriteScalarSummary', 'FlushSummaryWriter', 'DeleteIterator',
      'AnonymousIteratorV3', 'MakeIterator') AS is_of_keras
  FROM calls JOIN temp.steps AS steps ON steps.id = calls.step_id
  WHERE steps.is_warmup = 0 AND calls.name NOT GLOB '__*' AND calls.name NOT GLOB '*IteratorGetNext*'
  UNION ALL
  SELECT of_jax.profile_id, of_jax.op_id, of_jax.name, of_jax.dur_ns, 0
  FROM of_jax JOIN temp.steps AS steps ON steps.id = of_jax.step_id
  WHERE steps.is_warmup = 0
    AND (of_jax.step_id, of_jax.name) IN (SELECT step_id, name FROM again WHERE all_count >= 16)
)
SELECT
  profile_id AS profile_id,
  op_id AS op_id,
  name AS op,
  dur_ns AS dur_ns,
  is_of_keras AS is_of_keras
FROM found
ORDER BY profile_id, op_id
