-- Distributed training at a glance: how the steps of each rank divide into computing, communicating and the rest.
--
-- One row for each profile that communicated, with means over its steps as _step_parts has them.  It is like the
-- distributed page of the PyTorch TensorBoard plugin.  Copies that carry out a collective communicate as kernels do.
-- Where the host exchanges the data (Gloo, MPI, UCC, programs that XLA compiled for CPUs) no device communicates.
-- There the operations on the host do.  In captures of these, steps with recorded ops stand for the others
-- (steps.sample_weight).  So they do where kernels were recorded only in some steps.  Without any kernels ops are
-- computation, except for those that ask for an exchange or wait for it (c10d::*).  Profiles without ranks, such as
-- those of profiler servers, are distinguished by _process_names.
--   profile_id              INTEGER  -      The profile: a process or rank.
--   host                    TEXT     -      Host that it ran on.
--   rank                    INTEGER  -      Rank of the process.  NULL where it is unknown.
--   step_count              INTEGER  count  Number of steps.
--   step_ns                 INTEGER  ns     Mean duration of a step.
--   computation_ns          INTEGER  ns     Mean time of a step in which a compute kernel (or an op on the host) ran.
--   overlap_ns              INTEGER  ns     Part of computation_ns in which a communication kernel ran (or an exchange
--                                           was marked), too.
--   communication_ns        INTEGER  ns     Mean time of a step in which a communication kernel ran (or an exchange was
--                                           marked) and no computation.
--   other_ns                INTEGER  ns     Mean rest of a step, without computation and communication.
--   computation_error_ns    INTEGER  ns     Error of computation_ns where only some steps stand for all
--                                           (sampling_summary).  0 where all count, NULL where too few were recorded.
--   communication_error_ns  INTEGER  ns     Error of communication_ns where only some steps stand for all
--                                           (sampling_summary).  0 where all count, NULL where too few were recorded.
--   transfer_ns             INTEGER  ns     Part of overlap_ns and communication_ns together in which data were
--                                           exchanged (collective_waits).  NULL where no other rank is open.
--   waiting_ns              INTEGER  ns     Rest of overlap_ns and communication_ns together, in which this rank waited
--                                           for others (collective_waits).  NULL where no other rank is open.
--   collective_count        INTEGER  count  Number of collectives in all steps.
--   bytes                   INTEGER  bytes  Size of the data of all these collectives.  NULL where it is not known of
--                                           any.
-- Cost: one pass over kernels, transfers, step_segment_totals and collectives, and collective_waits.  Where the host
-- exchanges the data over ops too.
-- Example: SELECT rank, overlap_ns FROM tb_distributed_summary;
WITH marked AS (
  SELECT profile_id, start_ns, end_ns, step_id, op_id
  FROM temp.collectives WHERE carried_by IN ('host', 'op')
), hosts AS ( -- expanded 18 times, so that each subquery here is 18 of the 1,000 that SQLite 3.54 allows
  SELECT profile_id, EXISTS (SELECT 1 FROM temp.kernels WHERE kernels.profile_id = exchanging.profile_id) AS has_kernels
  FROM (SELECT DISTINCT profile_id FROM temp.collectives WHERE carried_by IN ('host', 'op')) AS exchanging
  WHERE NOT EXISTS (
    SELECT 1 FROM temp.kernels WHERE kernels.profile_id = exchanging.profile_id AND kernels.kind = 'communication')
    AND profile_id NOT IN (SELECT profile_id FROM temp.transfers WHERE collective_id IS NOT NULL)
), communicating AS ( -- the others have no row here, and their steps and kernels need not be read
  SELECT profile_id, 0 AS on_host FROM temp.kernels WHERE kind = 'communication'
  UNION SELECT profile_id, 0 FROM temp.transfers WHERE collective_id IS NOT NULL
  UNION ALL SELECT profile_id, 1 FROM hosts
), sampled AS ( -- of which steps stand for others: of hosts, and of devices whose work was thinned (_thinned_steps)
  SELECT DISTINCT profile_id FROM temp.steps
  WHERE sample_weight > 1 AND (+profile_id IN (SELECT profile_id FROM hosts)
    OR +profile_id IN (SELECT profile_id FROM temp.diagnostics
      WHERE reason = 'capture_thinned' AND table_name = 'kernels'))
), cut_steps AS (
  SELECT steps.profile_id AS profile_id, steps.id AS id, min(segments.first_start_ns) AS start_ns,
    max(segments.last_end_ns) AS end_ns, sum(1.0 * segments.sum_ns) AS dur_ns,
    CASE WHEN communicating.on_host OR steps.sample_weight <> 1
        AND steps.profile_id IN (SELECT profile_id FROM temp.diagnostics
          WHERE reason = 'capture_thinned' AND table_name = 'kernels')
      THEN steps.sample_weight ELSE 1.0 END AS weight,
    max(steps.is_warmup) AS is_warmup
  FROM communicating
  CROSS JOIN temp.step_segment_totals AS segments ON segments.profile_id = communicating.profile_id
  CROSS JOIN temp.steps AS steps ON steps.id = segments.step_id
  WHERE iif(communicating.on_host, steps.ops_recorded = 1, -- not _calibration_steps
    coalesce(steps.is_warmup = 0 OR steps.sample_weight > 0, 1))
  GROUP BY steps.profile_id, steps.id
), spans AS (
  SELECT profile_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns, sum(weight) AS step_count,
    sum(dur_ns * weight) AS steps_ns
  FROM cut_steps GROUP BY profile_id
), clipped AS (
  SELECT kernels.profile_id AS profile_id, kernels.step_id AS step_id, kernels.kind AS kind,
    max(kernels.start_ns, spans.start_ns) AS start_ns, min(kernels.end_ns, spans.end_ns) AS end_ns
  FROM spans CROSS JOIN temp.kernels AS kernels
  WHERE kernels.profile_id = spans.profile_id AND kernels.start_ns < spans.end_ns AND kernels.end_ns > spans.start_ns
  UNION ALL
  SELECT copies.profile_id, copies.step_id, 'communication', max(copies.start_ns, spans.start_ns),
    min(copies.end_ns, spans.end_ns)
  FROM spans CROSS JOIN temp.transfers AS copies
  WHERE copies.profile_id = spans.profile_id AND copies.collective_id IS NOT NULL
    AND copies.start_ns < spans.end_ns AND copies.end_ns > spans.start_ns
  UNION ALL
  SELECT hosts.profile_id, marked.step_id, 'communication', max(marked.start_ns, cut_steps.start_ns),
    min(marked.end_ns, cut_steps.end_ns)
  FROM hosts CROSS JOIN marked ON marked.profile_id = hosts.profile_id
  CROSS JOIN cut_steps ON cut_steps.id = marked.step_id
  WHERE marked.start_ns < cut_steps.end_ns AND marked.end_ns > cut_steps.start_ns
  UNION ALL
  SELECT hosts.profile_id, ops.step_id, 'compute', max(ops.start_ns, cut_steps.start_ns),
    min(ops.end_ns, cut_steps.end_ns)
  FROM hosts CROSS JOIN temp.ops AS ops ON ops.profile_id = hosts.profile_id
  CROSS JOIN cut_steps ON cut_steps.id = ops.step_id
  WHERE hosts.has_kernels = 0 AND ops.category = 'op' AND ops.name NOT GLOB '*c10d*::*'
    AND ops.id NOT IN (SELECT op_id FROM marked WHERE op_id IS NOT NULL)
    AND ops.start_ns < cut_steps.end_ns AND ops.end_ns > cut_steps.start_ns
), covered_together AS ( -- of a sample step by step, since they weigh differently
  SELECT profile_id, CASE WHEN profile_id IN (SELECT profile_id FROM sampled) THEN coalesce(step_id, 0) END AS step_id,
    union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('compute', 'communication')) AS both_ns,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'compute') AS compute_ns,
    union_ns(start_ns, end_ns) FILTER (WHERE kind = 'communication') AS communication_ns
  FROM clipped GROUP BY 1, 2
), covered AS (
  SELECT together.profile_id AS profile_id, total(coalesce(cut_steps.weight, 1) * together.both_ns) AS both_ns,
    total(coalesce(cut_steps.weight, 1) * together.compute_ns) AS compute_ns,
    total(coalesce(cut_steps.weight, 1) * together.communication_ns) AS communication_ns
  FROM covered_together AS together LEFT JOIN cut_steps ON cut_steps.id = together.step_id
  WHERE together.step_id IS NULL OR cut_steps.id IS NOT NULL
  GROUP BY together.profile_id
), errors AS ( -- a warm-up step speaks for itself alone, and adds no error
  SELECT together.profile_id AS profile_id,
    sample_error(compute_ns, drawn.step_id) AS compute_ns,
    sample_error(alone_ns, drawn.step_id) AS alone_ns
  FROM (SELECT profile_id, step_id, coalesce(1.0 * compute_ns, 0) AS compute_ns,
      coalesce(1.0 * both_ns, 0) - coalesce(compute_ns, 0) AS alone_ns
    FROM covered_together WHERE step_id IS NOT NULL) AS together
  JOIN cut_steps ON cut_steps.id = together.step_id
  JOIN temp._sampled_steps AS drawn ON drawn.step_id = together.step_id
  WHERE cut_steps.is_warmup = 0
  GROUP BY together.profile_id
), transfers AS ( -- the end of each collective: before it not all ranks were there
  SELECT cut_steps.profile_id AS profile_id, cut_steps.weight AS weight,
    union_ns(max(collectives.end_ns - waits.transfer_ns, cut_steps.start_ns), min(collectives.end_ns, cut_steps.end_ns))
      AS transfer_ns
  FROM ( -- grouped, though each is there once: SQLite 3.40 takes rows of two windows for one, and uses no index for it
    SELECT collective_id, min(transfer_ns) AS transfer_ns FROM temp.collective_waits
    WHERE transfer_ns IS NOT NULL GROUP BY collective_id
  ) AS waits
  CROSS JOIN temp.collectives AS collectives ON collectives.id = waits.collective_id
  CROSS JOIN cut_steps ON cut_steps.id = collectives.step_id
  WHERE collectives.end_ns > cut_steps.start_ns
    AND collectives.end_ns - waits.transfer_ns < cut_steps.end_ns
  GROUP BY cut_steps.id
), transferred AS (
  SELECT profile_id, sum(weight * transfer_ns) AS transfer_ns FROM transfers GROUP BY profile_id
), exchanged AS (
  SELECT collectives.profile_id AS profile_id, sum(coalesce(steps.sample_weight, 1.0)) AS collective_count,
    sum(bytes * coalesce(steps.sample_weight, 1.0)) AS bytes
  FROM temp.collectives AS collectives -- the marks of the host are there in every step
  LEFT JOIN temp.steps AS steps ON steps.id = collectives.step_id AND collectives.carried_by IN ('kernel', 'copies')
    AND steps.sample_weight <> 1 AND +steps.profile_id IN (SELECT profile_id FROM temp.diagnostics
      WHERE reason = 'capture_thinned' AND table_name = 'kernels')
  GROUP BY collectives.profile_id
)
SELECT
  spans.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  CAST(round(spans.step_count) AS INTEGER) AS step_count,
  CAST(spans.steps_ns / spans.step_count AS INTEGER) AS step_ns,
  CAST(covered.compute_ns / spans.step_count AS INTEGER) AS computation_ns,
  CAST((covered.compute_ns + covered.communication_ns - covered.both_ns) / spans.step_count AS INTEGER) AS overlap_ns,
  CAST((covered.both_ns - covered.compute_ns) / spans.step_count AS INTEGER) AS communication_ns,
  CAST((spans.steps_ns - covered.both_ns) / spans.step_count AS INTEGER) AS other_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.compute_ns / spans.step_count AS INTEGER) ELSE 0 END
    AS computation_error_ns,
  CASE WHEN errors.profile_id IS NOT NULL THEN CAST(errors.alone_ns / spans.step_count AS INTEGER) ELSE 0 END
    AS communication_error_ns,
  CAST(transferred.transfer_ns / spans.step_count AS INTEGER) AS transfer_ns,
  CAST(max(0, covered.communication_ns - transferred.transfer_ns) / spans.step_count AS INTEGER) AS waiting_ns,
  CAST(round(coalesce(exchanged.collective_count, 0)) AS INTEGER) AS collective_count,
  CAST(exchanged.bytes AS INTEGER) AS bytes
FROM spans
JOIN covered ON covered.profile_id = spans.profile_id
JOIN temp.profiles AS profiles ON profiles.id = spans.profile_id
LEFT JOIN errors ON errors.profile_id = spans.profile_id
LEFT JOIN transferred ON transferred.profile_id = spans.profile_id
LEFT JOIN exchanged ON exchanged.profile_id = spans.profile_id
WHERE covered.communication_ns > 0
ORDER BY profile_id
