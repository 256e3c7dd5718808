-- Parameters by device: how evenly those of a model are spread over parameter servers or accelerators.
--
-- One row for each profile and device that holds parameters (nodes with param_count).  Those on no known device are one
-- row together.  Parameters that several modules share count once.
--   profile_id       INTEGER  -      The profile: a process or rank.
--   rank             INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device           TEXT     -      The device as nodes.canonical_device has it, else the processor that schedules the
--                                    nodes.  NULL where neither is known.
--   variable_count   INTEGER  count  Tensors of parameters.
--   param_count      INTEGER  count  Parameters in these tensors.
--   param_bytes      INTEGER  bytes  Size of these parameters.  NULL where it is not known.
--   trainable_count  INTEGER  count  Parameters in these tensors that training changes.  NULL where that is not known.
--   param_ratio      REAL     ratio  Share of param_bytes in the bytes of all devices of the profile.  Where sizes are
--                                    not known, it is the share of parameters.
--   balance_ratio    REAL     ratio  Ratio of param_ratio to the share of an even spread.  1 is even, and 2 is twice as
--                                    much as its part.
-- Cost: one pass over nodes.  Example: SELECT device, param_bytes, balance_ratio FROM parameter_balance;
WITH held AS (
  SELECT profile_id, coalesce(canonical_device, host_device) AS device, count(*) AS variable_count,
    CAST(sum(1.0 * param_count) AS INTEGER) AS param_count, CAST(sum(1.0 * param_bytes) AS INTEGER) AS param_bytes,
    CAST(sum(1.0 * CASE WHEN trainable THEN param_count WHEN trainable = 0 THEN 0 END) AS INTEGER) AS trainable_count
  FROM temp.nodes WHERE param_count > 0
  GROUP BY profile_id, coalesce(canonical_device, host_device)
), shares AS (
  SELECT held.*,
    coalesce(param_bytes, param_count) * 1.0
      / nullif(sum(1.0 * coalesce(param_bytes, param_count)) OVER (PARTITION BY profile_id), 0) AS param_ratio,
    count(*) OVER (PARTITION BY profile_id) AS device_count
  FROM held
)
SELECT
  shares.profile_id AS profile_id,
  profiles.rank AS rank,
  shares.device AS device,
  shares.variable_count AS variable_count,
  shares.param_count AS param_count,
  shares.param_bytes AS param_bytes,
  shares.trainable_count AS trainable_count,
  shares.param_ratio AS param_ratio,
  shares.param_ratio * shares.device_count AS balance_ratio
FROM shares
JOIN temp.profiles AS profiles ON profiles.id = shares.profile_id
ORDER BY profile_id, param_bytes DESC, param_count DESC, device
