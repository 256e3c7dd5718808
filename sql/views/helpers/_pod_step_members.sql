-- Steps that hosts went through together: which steps of the hosts of a run belong to one another.
--
-- One row for each step that _step_parts has.  Among the hosts that were recorded together
-- (_process_windows.session_id) the one with the shortest span of steps leads.  The steps of each other profile are
-- shifted against those of the leading host, by one number for all of them, so that most of their time overlaps.  Times
-- of XPlane files are compared from the start of each profile, as XProf does, and those of others by their clocks.
-- Windows of one process are one host.
--   run_id      INTEGER  -  The run, as in runs.
--   profile_id  INTEGER  -  The profile: a process or rank.
--   step_id     INTEGER  -  The step, as in steps.
--   position    INTEGER  -  Place of the step among those of its host, from 0.
--   pod_step    INTEGER  -  Number of the steps that were taken together, from 0.  NULL where a host that was recorded
--                           at the time has no such step, and where no other host of several was recorded then.
-- xprof_pod_steps and _common_steps tell more of them.
-- Cost: a sort of the steps for each host.
-- Example: SELECT pod_step, count(*) FROM _pod_step_members GROUP BY pod_step;
WITH placed AS MATERIALIZED ( -- the steps of each host in their order, on a time that hosts share
  SELECT windows.session_id AS session_id, profiles.run_id AS run_id, steps.profile_id AS profile_id,
    windows.process_id AS member_id, steps.id AS step_id,
    steps.start_ns - iif(profiles.origin = 'xplane', profiles.clock_offset_ns, 0) AS from_ns,
    steps.end_ns - iif(profiles.origin = 'xplane', profiles.clock_offset_ns, 0) AS until_ns,
    row_number() OVER (PARTITION BY windows.process_id ORDER BY steps.start_ns, steps.id) - 1 AS position,
    row_number() OVER (PARTITION BY windows.session_id, windows.process_id ORDER BY steps.start_ns, steps.id) - 1
      AS session_place,
    row_number() OVER (PARTITION BY steps.profile_id ORDER BY steps.start_ns, steps.id) - 1 AS place
  FROM temp.steps AS steps JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
  JOIN temp._process_windows AS windows ON windows.profile_id = profiles.id
  WHERE +steps.id IN (SELECT step_id FROM temp.step_segment_totals) -- with +, or the set is made for each host
), spans AS (
  SELECT session_id, member_id, row_number() OVER (
      PARTITION BY session_id ORDER BY max(until_ns) - min(from_ns), member_id) AS by_span
  FROM placed GROUP BY session_id, member_id
), leading AS MATERIALIZED (
  SELECT session_id, member_id FROM spans WHERE by_span = 1
), led AS MATERIALIZED (
  SELECT DISTINCT session_id, profile_id FROM placed
), leaders AS MATERIALIZED ( -- the steps of leading hosts
  SELECT placed.session_id AS session_id, from_ns, until_ns
  FROM leading JOIN placed ON placed.session_id = leading.session_id AND placed.member_id = leading.member_id
), moments AS ( -- of each profile, at which a step of it or of the leading host begins or ends
  SELECT profile_id, from_ns AS at_ns, 1 AS own, 0 AS leader FROM placed
  UNION ALL
  SELECT profile_id, until_ns, -1, 0 FROM placed
  UNION ALL
  SELECT led.profile_id, leaders.from_ns, 0, 1 FROM leaders JOIN led ON led.session_id = leaders.session_id
  UNION ALL
  SELECT led.profile_id, leaders.until_ns, 0, -1 FROM leaders JOIN led ON led.session_id = leaders.session_id
), pieces AS ( -- from each such moment to the next: the steps that go on, by their places
  SELECT profile_id, lead(at_ns) OVER by_time - at_ns AS dur_ns,
    sum(own) OVER by_time AS in_own, sum(leader) OVER by_time AS in_leader,
    sum(max(leader, 0)) OVER by_time - sum(max(own, 0)) OVER by_time AS shift
  FROM moments
  WINDOW by_time AS (PARTITION BY profile_id ORDER BY at_ns, own + leader ROWS UNBOUNDED PRECEDING)
), overlaps AS (
  SELECT profile_id, shift, sum(1.0 * dur_ns) AS dur_ns
  FROM pieces WHERE in_own > 0 AND in_leader > 0 AND dur_ns > 0
  GROUP BY profile_id, shift
), shifts AS MATERIALIZED (
  SELECT profile_id, shift FROM (
    SELECT profile_id, shift,
      row_number() OVER (PARTITION BY profile_id ORDER BY dur_ns DESC, shift < 0, abs(shift)) AS choice
    FROM overlaps
  ) WHERE choice = 1
), known AS ( -- grouped by windows, since a join would look through all shifts for each step
  SELECT session_id, run_id, profile_id, step_id, from_ns, position, session_place,
    place + max(shift) OVER (PARTITION BY profile_id) AS leader_place
  FROM (
    SELECT session_id, run_id, profile_id, step_id, from_ns, position, session_place, place, NULL AS shift FROM placed
    UNION ALL
    SELECT NULL, NULL, profile_id, NULL, NULL, NULL, NULL, NULL, shift FROM shifts
  )
), shifted AS ( -- a place of the leading host at which every host has a step is a step of all
  SELECT run_id, profile_id, step_id, position, session_id, leader_place,
    min(from_ns) OVER (PARTITION BY session_id) AS session_ns,
    coalesce(count(leader_place) OVER (PARTITION BY session_id, leader_place)
        = sum(session_place = 0) OVER (PARTITION BY session_id)
      AND (sum(session_place = 0) OVER (PARTITION BY session_id) > 1
        OR sum(position = 0) OVER (PARTITION BY run_id) = 1), 0) AS is_matched
  FROM known WHERE step_id IS NOT NULL
), matched AS (
  SELECT shifted.*, iif(is_matched,
    dense_rank() OVER (PARTITION BY run_id, is_matched ORDER BY session_ns, session_id, leader_place) - 1, NULL)
      AS pod_step
  FROM shifted
)
SELECT
  matched.run_id AS run_id,
  matched.profile_id AS profile_id,
  matched.step_id AS step_id,
  matched.position AS position,
  matched.pod_step AS pod_step
FROM matched
ORDER BY run_id, profile_id, position
