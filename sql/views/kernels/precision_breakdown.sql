-- Precision: how much of the computing on each device is done in numbers of 16 bits, of 32, and of others.
--
-- One row for each profile, device and precision of compute kernels (no communication).  Those that a warm-up step
-- launched are left out.  Where kernels were recorded only in some steps, count and times are weighed (sample_weight).
--   profile_id      INTEGER  -      The profile: a process or rank.
--   host            TEXT     -      Host that it ran on.
--   rank            INTEGER  -      Rank of the process.  NULL where it is unknown.
--   device_id       INTEGER  -      The device, as in devices.
--   device          TEXT     -      Name of the device.  NULL where it is unknown.
--   precision       TEXT     -      Precision of the numbers that a kernel reads: 8 bit, 16 bit, 32 bit, 64 bit or
--                                   unknown.  The types that its name tells count first (half, bf16, s8, sgemm, f32
--                                   ...), the smallest of several.  Without them the inputs of the op that launched it
--                                   count.
--   count           INTEGER  count  Kernels of that precision.
--   sum_ns          INTEGER  ns     Time of these kernels.
--   sum_error_ns    INTEGER  ns     Error of sum_ns where only some steps were recorded (sampling_summary).  0 where
--                                   all were, NULL where too few were.
--   sum_ratio       REAL     ratio  Share of sum_ns in the time of all compute kernels of the device.
--   tensor_core_ns  INTEGER  ns     The part of sum_ns in kernels on tensor cores.
-- XProf knows half and fp16 in names only.  It counts bfloat16 as 32 bit, and everything that it does not know, too.
-- Cost: one pass over kernel_totals, a look-up of an op for each kernel name and op name.
-- Example: SELECT device, precision, sum_ratio FROM precision_breakdown;
WITH sums AS ( -- of each step where these are told apart, for the error
  SELECT profile_id, device_id, name, op_name, sampled_step_id, max(last_op_id) AS last_op_id,
    sum(count * sample_weight) AS count, sum(1.0 * sum_ns) AS own_ns, sum(1.0 * sum_ns * sample_weight) AS sum_ns,
    total(sum_ns * sample_weight) FILTER (WHERE uses_tensor_core = 1) AS tensor_core_ns
  FROM temp.kernel_totals WHERE kind = 'compute' AND is_measured = 1
  GROUP BY profile_id, device_id, name, op_name, sampled_step_id
), judged AS (
  SELECT sums.*, max(last_op_id) OVER (PARTITION BY profile_id, device_id, name, op_name) AS op_id,
    CASE
      WHEN name GLOB '*e4m3*' OR name GLOB '*e5m2*' OR name GLOB '*[Ff][Pp]8*' OR name GLOB '*loat8*'
        OR name GLOB '*_[su]8[su]8*' OR name GLOB '*_[iu]8i8*' OR name GLOB '*[^a-z]int8*' OR name GLOB '*i8816*'
        OR name GLOB '*i16832*' OR name GLOB 'nvjet_*qq[a-z]*' OR name GLOB 'Cijk_A???_B???_[FBI]8*' THEN '8 bit'
      WHEN name GLOB '*[Hh]alf*' OR name GLOB '*fp16*' OR name GLOB '*f16*' OR name GLOB '*[Bb][Ff]loat16*'
        OR name GLOB '*float16*' OR name GLOB '*hgemm*' OR name GLOB '*h884*' OR name GLOB '*h1688*'
        OR name GLOB '*16816*' OR name GLOB 'nvjet_*[ht]s[hst]_*' OR name GLOB 'Cijk_A???_B???_[HB][HBS]*' THEN '16 bit'
      WHEN name GLOB '*double*' OR name GLOB '*dgemm*' OR name GLOB '*f64*' OR name GLOB '*d884*'
        OR name GLOB 'Cijk_A???_B???_D*' THEN '64 bit'
      WHEN name GLOB '*float*' OR name GLOB '*sgemm*' OR name GLOB '*f32*' OR name GLOB '*s1688*'
        OR name GLOB 'nvjet_*sss_*' OR name GLOB 'Cijk_A???_B???_S*' THEN '32 bit'
    END AS by_name
  FROM sums
), known AS (
  SELECT judged.*,
    coalesce(judged.by_name, CASE
      WHEN ops.input_types GLOB '*Float8*' THEN '8 bit'
      WHEN ops.input_types GLOB '*Half*' OR ops.input_types GLOB '*BFloat16*' THEN '16 bit'
      WHEN ops.input_types GLOB '*double*' THEN '64 bit'
      WHEN ops.input_types GLOB '*float*' THEN '32 bit'
      ELSE 'unknown' END) AS precision
  FROM judged LEFT JOIN temp.ops AS ops ON ops.id = judged.op_id
), parts AS (
  SELECT profile_id, device_id, precision, sum(count) AS count, sum(sum_ns) AS sum_ns,
    sum(tensor_core_ns) AS tensor_core_ns, sample_error(own_ns, sampled_step_id) AS sum_error_ns
  FROM known GROUP BY profile_id, device_id, precision
)
SELECT
  parts.profile_id AS profile_id,
  profiles.host AS host,
  profiles.rank AS rank,
  parts.device_id AS device_id,
  devices.name AS device,
  parts.precision AS precision,
  CAST(round(parts.count) AS INTEGER) AS count,
  CAST(parts.sum_ns AS INTEGER) AS sum_ns,
  CAST(parts.sum_error_ns AS INTEGER) AS sum_error_ns,
  parts.sum_ns / nullif(total(parts.sum_ns) OVER (PARTITION BY parts.profile_id, parts.device_id), 0) AS sum_ratio,
  CAST(parts.tensor_core_ns AS INTEGER) AS tensor_core_ns
FROM parts
JOIN temp.profiles AS profiles ON profiles.id = parts.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = parts.device_id
ORDER BY profile_id, device_id, parts.sum_ns DESC, precision
