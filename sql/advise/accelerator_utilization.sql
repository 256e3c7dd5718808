-- Advice: how much of the time accelerators compute.
--
-- One row for each GPU that nodes of a graph ran on: the time that its nodes spent on it (node_steps.accelerator_ns),
-- over the time from the first start to the last end of these nodes, in the last step in which any of them ran; at most
-- 1, since nodes may overlap on several streams.  GPUs of runs without such nodes: the time in which any kernel ran,
-- over that of all steps, or of the kernels where there are no steps, as in device_utilization.  The suggestion
-- says which step was looked at.
-- With tfprof_set('compat', 1) each node counts in the last step that has it itself, timed or not, as in TensorFlow's
-- profiler, where the ratio falls to 0 when these are several steps; and a GPU of a graph counts only with such nodes.
-- Setting: low_ratio (0.5), below which it is a warning: then more than half of the device's time is lost.
-- Columns: those of every check, see docs/checks.md; value is the idle share.  Cost: one pass over the
-- node_steps of one step, or over kernels, and one look at step_segment_totals.
-- Example: SELECT message FROM advise WHERE check_name = 'accelerator_utilization';
WITH settings AS MATERIALIZED (
  SELECT tfprof_setting('compat', 0) AS is_compat
), used AS MATERIALIZED (
  SELECT DISTINCT profile_id, canonical_device AS device FROM temp.nodes WHERE canonical_device LIKE '%gpu:%'
), last_step AS MATERIALIZED (
  SELECT used.profile_id AS profile_id, used.device AS device, (
    SELECT steps.id FROM temp.steps AS steps
    WHERE steps.profile_id = used.profile_id AND EXISTS (
      SELECT 1 FROM temp.node_steps AS node_steps CROSS JOIN temp.nodes AS nodes ON nodes.id = node_steps.node_id
      WHERE node_steps.step_id = steps.id AND node_steps.start_ns IS NOT NULL
        AND nodes.canonical_device = used.device)
    ORDER BY steps.id DESC LIMIT 1) AS step_id
  FROM used
), own_last_step AS MATERIALIZED (
  SELECT node_id, max(step_id) AS step_id FROM settings CROSS JOIN temp.node_steps
  WHERE is_compat GROUP BY 1
), other_devices AS MATERIALIZED ( -- of profiles without such a step
  SELECT profile_id, id, coalesce(name, model, kind || ':' || ordinal) AS name FROM temp.devices
  WHERE kind = 'gpu'
    AND (NOT (SELECT is_compat FROM settings)
      OR profile_id NOT IN (SELECT id FROM temp.profiles WHERE has_framework(framework, 'tensorflow')))
    AND profile_id NOT IN (SELECT profile_id FROM last_step WHERE step_id IS NOT NULL)
), thinned AS MATERIALIZED (
  SELECT DISTINCT profile_id FROM temp._thinned_steps
), windows AS MATERIALIZED ( -- the same as in device_utilization, which works out more than is asked for here
  SELECT id AS profile_id,
    coalesce((SELECT min(first_start_ns) FROM temp.step_segment_totals AS cut WHERE cut.profile_id = profiles.id),
      (SELECT min(start_ns) FROM temp.kernels AS kernels WHERE kernels.profile_id = profiles.id)) AS start_ns,
    coalesce((SELECT max(last_end_ns) FROM temp.step_segment_totals AS cut WHERE cut.profile_id = profiles.id),
      (SELECT max(end_ns) FROM temp.kernels AS kernels WHERE kernels.profile_id = profiles.id)) AS end_ns
  FROM temp.profiles AS profiles WHERE id IN (SELECT profile_id FROM other_devices)
), in_last_step AS MATERIALIZED ( -- of each device by itself, [busy_ns, span_ns]: to group all rows takes longer
  SELECT last_step.profile_id AS profile_id, last_step.device AS device, last_step.step_id AS step_id, (
      SELECT json_array(sum(1.0 * accelerator_ns), 1.0 * max(end_ns) - min(start_ns))
      FROM temp.node_steps AS node_steps CROSS JOIN temp.nodes AS nodes ON nodes.id = node_steps.node_id
      WHERE node_steps.step_id = last_step.step_id AND start_ns IS NOT NULL
        AND nodes.canonical_device = last_step.device) AS times
  FROM settings CROSS JOIN last_step WHERE NOT is_compat
), measured AS MATERIALIZED (
  SELECT profile_id, device, json_extract(times, '$[0]') AS busy_ns, json_extract(times, '$[1]') AS span_ns,
    'SELECT node_id, accelerator_ns FROM temp.node_steps WHERE step_id = ' || step_id || ' ORDER BY 2 DESC LIMIT 20'
      AS evidence, coalesce((SELECT ' This is from the first to the last node of step ' || number
        || '; device_utilization has the share of all steps.' FROM temp.steps AS steps WHERE steps.id = step_id), '')
      AS looked_at
  FROM in_last_step
  UNION ALL
  SELECT nodes.profile_id, nodes.canonical_device, sum(1.0 * accelerator_ns), 1.0 * max(end_ns) - min(start_ns),
    'SELECT node_id, accelerator_ns FROM temp.node_steps WHERE profile_id = ' || nodes.profile_id
      || ' ORDER BY 2 DESC LIMIT 20', ''
  FROM own_last_step
  CROSS JOIN temp.nodes AS nodes ON nodes.id = own_last_step.node_id
  CROSS JOIN temp.node_steps AS node_steps
    ON node_steps.node_id = own_last_step.node_id AND node_steps.step_id = own_last_step.step_id
  WHERE nodes.canonical_device LIKE '%gpu:%'
  GROUP BY 1, 2
  UNION ALL
  SELECT other_devices.profile_id, other_devices.name, (
      SELECT CASE WHEN count(*) > 0
        THEN 1.0 * union_ns(max(start_ns, windows.start_ns), min(end_ns, windows.end_ns)) END
      FROM temp.kernels AS kernels
      WHERE kernels.device_id = other_devices.id AND start_ns < windows.end_ns AND end_ns > windows.start_ns),
    1.0 * (windows.end_ns - windows.start_ns),
    'SELECT name, count(*), sum(dur_ns) FROM temp.kernels WHERE device_id = ' || other_devices.id
      || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20', ''
  FROM other_devices JOIN windows ON windows.profile_id = other_devices.profile_id
  WHERE other_devices.profile_id NOT IN (SELECT profile_id FROM thinned)
  UNION ALL -- kernels were recorded only in some steps, which stand for the others
  SELECT profile_id, name, (
      SELECT sum(busy_ns * weight) FROM (
        SELECT 1.0 * union_ns(start_ns, end_ns) AS busy_ns, max(sample_weight) AS weight
        FROM temp.kernels AS kernels
        WHERE kernels.device_id = other_devices.id AND kernels.step_id IS NOT NULL GROUP BY kernels.step_id)), (
      SELECT sum(dur_ns * coalesce(sample_weight, 1.0)) FROM temp.steps AS steps
      WHERE steps.profile_id = other_devices.profile_id
        AND (sample_weight IS NOT NULL OR id IN (SELECT step_id FROM temp.device_steps))),
    'SELECT name, count(*), sum(dur_ns) FROM temp.kernels WHERE device_id = ' || id
      || ' GROUP BY 1 ORDER BY 3 DESC LIMIT 20', ''
  FROM other_devices WHERE profile_id IN (SELECT profile_id FROM thinned)
), ratios AS (
  SELECT profile_id, device, evidence, looked_at,
    CASE WHEN tfprof_setting('compat', 0) THEN busy_ns / span_ns ELSE min(1.0, busy_ns / span_ns) END AS ratio,
    tfprof_setting('accelerator_utilization.low_ratio', 0.5) AS low_ratio
  FROM measured WHERE span_ns > 0 AND busy_ns IS NOT NULL
)
SELECT
  'accelerator_utilization' AS check_name,
  CASE WHEN ratio < low_ratio THEN 'warning' ELSE 'info' END AS severity,
  processes.name AS subject,
  processes.prefix || format(CASE WHEN ratio < low_ratio THEN 'device: %s low utilization: %.2f'
    ELSE 'device: %s utilization: %.2f' END, device, ratio) AS message,
  1 - ratio AS value,
  CASE WHEN ratio < low_ratio THEN 1 - low_ratio ELSE 1 - ratio END AS threshold,
  NULL AS saves_ns,
  CASE WHEN ratio < low_ratio THEN
    'See what the device waits for: input, small kernels, copies, or synchronisation (gpu_gaps, step_breakdown).'
  ELSE 'Nothing to do; device_utilization says how well the kernels fill the device.' END || looked_at AS suggestion,
  ratios.evidence AS evidence
FROM ratios JOIN temp._process_names AS processes ON processes.profile_id = ratios.profile_id
ORDER BY ratios.profile_id, device
