-- Advice: how much of the time accelerators compute.
--
-- One row for each GPU that nodes of a graph ran on: the time that its nodes spent on it (node_steps.accelerator_ns),
-- over the time from the first start to the last end of these nodes, in the last step in which any of them ran; at most
-- 1, since nodes may overlap on several streams.  GPUs of runs without such nodes: the time in which any kernel ran,
-- over the time from the first kernel's start to the last one's end.
-- With tfprof_set('compat', 1) each node counts in the last step in which it ran itself, as in TensorFlow's profiler,
-- where the ratio falls to 0 when these are several steps.
-- Setting: low_ratio (0.5), below which it is a warning: then more than half of the device's time is lost.
-- Columns: those of every check, see sql/README.md; value is the idle share.  Cost: one pass over node_steps and
-- kernels.
-- Example: SELECT message FROM advise WHERE check_name = 'accelerator_utilization';
WITH of_gpu AS MATERIALIZED (
  SELECT nodes.profile_id AS profile_id, nodes.canonical_device AS device, node_id, step_id, accelerator_ns,
    start_ns, end_ns
  FROM temp.node_steps AS node_steps JOIN temp.nodes AS nodes ON nodes.id = node_id
  WHERE nodes.canonical_device LIKE '%gpu:%' AND start_ns IS NOT NULL
), last_step AS MATERIALIZED (
  SELECT profile_id, device, max(step_id) AS step_id FROM of_gpu GROUP BY 1, 2
), own_last_step AS MATERIALIZED (
  SELECT node_id, max(step_id) AS step_id FROM of_gpu WHERE tfprof_setting('compat', 0) GROUP BY 1
), measured AS (
  SELECT of_gpu.profile_id AS profile_id, of_gpu.device AS device, sum(1.0 * accelerator_ns) AS busy_ns,
    1.0 * max(end_ns) - min(start_ns) AS span_ns, 'SELECT node_id, accelerator_ns FROM temp.node_steps' AS evidence
  FROM of_gpu
  JOIN last_step ON last_step.profile_id = of_gpu.profile_id AND last_step.device = of_gpu.device
  LEFT JOIN own_last_step ON own_last_step.node_id = of_gpu.node_id
  WHERE of_gpu.step_id = coalesce(own_last_step.step_id, last_step.step_id)
  GROUP BY 1, 2
  UNION ALL
  SELECT kernels.profile_id, coalesce(devices.name, devices.model, devices.kind || ':' || devices.ordinal),
    1.0 * union_ns(kernels.start_ns, kernels.end_ns), 1.0 * max(kernels.end_ns) - min(kernels.start_ns),
    'SELECT name, dur_ns FROM temp.kernels'
  FROM temp.kernels AS kernels JOIN temp.devices AS devices ON devices.id = kernels.device_id
  WHERE kernels.profile_id NOT IN (SELECT profile_id FROM of_gpu) AND devices.kind = 'gpu'
  GROUP BY kernels.profile_id, devices.id
), ratios AS (
  SELECT profile_id, device, evidence,
    CASE WHEN tfprof_setting('compat', 0) THEN busy_ns / span_ns ELSE min(1.0, busy_ns / span_ns) END AS ratio,
    tfprof_setting('accelerator_utilization.low_ratio', 0.5) AS low_ratio
  FROM measured WHERE span_ns > 0
)
SELECT
  'accelerator_utilization' AS check_name,
  CASE WHEN ratio < low_ratio THEN 'warning' ELSE 'info' END AS severity,
  coalesce('rank ' || profiles.rank, 'process ' || profiles.pid, profiles.path) AS subject,
  format(CASE WHEN ratio < low_ratio THEN 'device: %s low utilization: %.2f' ELSE 'device: %s utilization: %.2f' END,
    device, ratio) AS message,
  1 - ratio AS value,
  CASE WHEN ratio < low_ratio THEN 1 - low_ratio ELSE 1 - ratio END AS threshold,
  NULL AS saves_ns,
  CASE WHEN ratio < low_ratio THEN
    'See what the device waits for: input, small kernels, copies, or synchronisation (gpu_gaps, step_breakdown).'
  ELSE 'Nothing to do; device_utilization says how well the kernels fill the device.' END AS suggestion,
  ratios.evidence || ' WHERE profile_id = ' || ratios.profile_id || ' ORDER BY 2 DESC' AS evidence
FROM ratios JOIN temp.profiles AS profiles ON profiles.id = ratios.profile_id
ORDER BY ratios.profile_id, device
