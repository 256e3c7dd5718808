-- Launches one by one: the time of the call against the time of the kernel, and how long the kernel had to wait.
--
-- One row for each kernel, copy or fill with a recorded launching call.  A call that launches a whole device graph
-- has no row.  HTA knows cudaLaunchKernel, cudaLaunchKernelExC, cudaMemcpyAsync and cudaMemsetAsync only.  Here every
-- call that launches counts.  Left out is also what HTA leaves out: see hta_temporal_breakdown.  Rows come in the order
-- of device_activities: by stream, then time.  Steps without recorded launches (_thinned_steps) have no rows.
--   profile_id       INTEGER  -   The profile: a process or rank.
--   rank             INTEGER  -   Rank of the process.  NULL where it is unknown.
--   correlation      INTEGER  -   Number that the call and what it launched share.
--   api_name         TEXT     -   Name of the call.
--   kernel           TEXT     -   Name of the kernel, copy or fill that it launched.
--   cpu_ns           INTEGER  ns  Duration of the call.
--   gpu_ns           INTEGER  ns  Duration of the kernel, copy or fill.
--   launch_delay_ns  INTEGER  ns  Time from the end of the call to the start on the device.  0 where it started before.
--   is_short_kernel  INTEGER  -   1: what was launched is shorter than its call.
--   is_slow_launch   INTEGER  -   1: the call took more than 50 µs.
--   is_long_delay    INTEGER  -   1: the delay is more than 100 µs.
--   op_id            INTEGER  -   The op that launched it, as in ops.  NULL where none was recorded.
--   step_id          INTEGER  -   The step that launched it, as in steps.  NULL outside of all steps.
-- Cost: one pass over device_activities, one look-up of a call for each.
-- Example: SELECT kernel, count(*), sum(is_short_kernel) FROM hta_kernel_launch_stats GROUP BY 1;
SELECT
  activities.profile_id AS profile_id,
  profiles.rank AS rank,
  launches.correlation AS correlation,
  launches.name AS api_name,
  activities.name AS kernel,
  launches.dur_ns AS cpu_ns,
  activities.dur_ns AS gpu_ns,
  max(0, activities.start_ns - launches.end_ns) AS launch_delay_ns,
  activities.dur_ns < launches.dur_ns AS is_short_kernel,
  launches.dur_ns > 50000 AS is_slow_launch,
  activities.start_ns - launches.end_ns > 100000 AS is_long_delay,
  activities.op_id AS op_id,
  activities.step_id AS step_id
FROM temp.device_activities AS activities
CROSS JOIN temp.api_calls AS launches ON launches.id = activities.api_call_id -- activities first: they are in order
CROSS JOIN temp.profiles AS profiles ON profiles.id = activities.profile_id
WHERE activities.kind <> 'sync'
  AND activities.api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
  AND activities.is_before_last_step = 1
ORDER BY activities.id
