-- Device time: how much of it was idle, computing, or busy with something else.
--
-- One row for each profile and device, as HolisticTraceAnalysis (HTA) breaks it down.  Overlaps count once.  Like HTA
-- it leaves out what was launched after the start of the last of two or more marked steps, which is incomplete as a
-- rule, and warm-up counts.  In a trace without any launching call HTA would then leave out everything.  There steps of
-- ops, or else the starts of kernels, tell what is left out (device_activities.is_before_last_step).
--
-- Where work was recorded only in some steps, these stand for the others (_thinned_steps).  kernel_ns is the time of
-- all steps then, and the rest is added up step by step, with what each of them launched.  The time of
-- _calibration_steps does not count.
--   profile_id         INTEGER  -      The profile: a process or rank.
--   rank               INTEGER  -      Rank of the process.  NULL where it is unknown.
--   idle_ns            INTEGER  ns     The part of kernel_ns in which nothing ran on the device.
--   compute_ns         INTEGER  ns     Time in which a compute kernel ran.
--   non_compute_ns     INTEGER  ns     Time in which only something else ran: communication, copies, fills, and waits
--                                      that lie on a stream.
--   kernel_ns          INTEGER  ns     Time from the first start to the last end on the device.
--   idle_ratio         REAL     ratio  Share of idle_ns in kernel_ns.
--   compute_ratio      REAL     ratio  Share of compute_ns in kernel_ns.
--   non_compute_ratio  REAL     ratio  Share of non_compute_ns in kernel_ns.
--   idle_error_ratio   REAL     ratio  Error of idle_ratio where only some steps were recorded (sampling_summary).  0
--                                      where all were, NULL where too few were.
--   device_id          INTEGER  -      The device, as in devices.
--   device             TEXT     -      Name of the device.  NULL where it is unknown.
-- Not weighed: idle_ns, kernel_ns.  They are of the time of all steps where work was recorded only in some, else from
-- the first work to the last.
-- Cost: that of device_times.  Example: SELECT rank, idle_ratio FROM hta_temporal_breakdown;
WITH times AS MATERIALIZED (
  SELECT profile_id, device_id, sum(busy_ns * sample_weight) AS busy_ns, sum(compute_ns * sample_weight) AS compute_ns,
    max(last_end_ns) - min(first_start_ns) AS reach_ns, max(sampled_step_id) AS sampled_step_id
  FROM temp.device_times GROUP BY profile_id, device_id
), spans AS MATERIALIZED ( -- where some steps were recorded, the time of all of them, of which those tell
  SELECT profile_id, sum(coalesce(pace_ns, dur_ns) * coalesce(sample_weight, 1.0)) AS span_ns
  FROM temp.steps
  WHERE profile_id IN (SELECT profile_id FROM times WHERE sampled_step_id IS NOT NULL)
    AND (sample_weight IS NOT NULL OR id IN (SELECT step_id FROM temp.device_steps))
  GROUP BY profile_id
), errors AS ( -- of a share of the time: how much steps differ from it
  SELECT times.profile_id AS profile_id, times.device_id AS device_id, max(times.busy_ns) / max(spans.span_ns) AS share,
    sample_error(coalesce(in_step.busy_ns, 0) - times.busy_ns / spans.span_ns * coalesce(steps.pace_ns, steps.dur_ns),
      drawn.step_id) / max(spans.span_ns) AS spread, max(drawn.unseen_ratio) AS unseen_ratio
  FROM spans JOIN times ON times.profile_id = spans.profile_id
  JOIN temp._sampled_steps AS drawn ON drawn.profile_id = times.profile_id
  JOIN temp.steps AS steps ON steps.id = drawn.step_id
  LEFT JOIN temp.device_times AS in_step ON in_step.sampled_step_id = drawn.step_id
    AND in_step.device_id IS times.device_id
  GROUP BY times.profile_id, times.device_id
), busy AS (
  SELECT times.profile_id AS profile_id, times.device_id AS device_id, CAST(max(times.busy_ns, coalesce(spans.span_ns,
      times.reach_ns - (SELECT total(dur_ns) FROM temp._calibration_steps AS cut
        WHERE cut.profile_id = times.profile_id))) AS INTEGER) AS kernel_ns,
    CAST(times.busy_ns AS INTEGER) AS busy_ns, CAST(times.compute_ns AS INTEGER) AS compute_ns
  FROM times LEFT JOIN spans ON spans.profile_id = times.profile_id
)
SELECT
  busy.profile_id AS profile_id,
  profiles.rank AS rank,
  busy.kernel_ns - busy.busy_ns AS idle_ns,
  busy.compute_ns AS compute_ns,
  busy.busy_ns - busy.compute_ns AS non_compute_ns,
  busy.kernel_ns AS kernel_ns,
  1.0 * (busy.kernel_ns - busy.busy_ns) / nullif(busy.kernel_ns, 0) AS idle_ratio,
  1.0 * busy.compute_ns / nullif(busy.kernel_ns, 0) AS compute_ratio,
  1.0 * (busy.busy_ns - busy.compute_ns) / nullif(busy.kernel_ns, 0) AS non_compute_ratio,
  CASE WHEN errors.profile_id IS NOT NULL
    THEN sqrt(pow(errors.spread, 2) + pow(errors.unseen_ratio * errors.share, 2)) ELSE 0 END AS idle_error_ratio,
  busy.device_id AS device_id,
  devices.name AS device
FROM busy
JOIN temp.profiles AS profiles ON profiles.id = busy.profile_id
LEFT JOIN temp.devices AS devices ON devices.id = busy.device_id
LEFT JOIN errors ON errors.profile_id = busy.profile_id AND errors.device_id IS busy.device_id
ORDER BY profile_id, device_id
