-- Collectives one by one: how long each rank took part, and how much of that it waited for the others.
--
-- One row for each collective.  All ranks leave a collective together.  So the rank that is in it for the shortest time
-- entered it last, and its time is what the exchange itself took.  The time that another rank was in it for longer is
-- waiting.  The same collective on two ranks is that of the same process group, name and place within the step of the
-- same number.  Where the host exchanges the data (Gloo, MPI, UCC) an operation begins when those queued before it end.
-- In steps without recorded kernels (_thinned_steps), collectives that kernels carry out have no rows.
--   profile_id     INTEGER  -      The profile: a process or rank.
--   rank           INTEGER  -      Rank of the process.  NULL where it is unknown.
--   collective_id  INTEGER  -      The collective, as in collectives.
--   step_id        INTEGER  -      The step, as in steps.  NULL outside of all steps.
--   name           TEXT     -      The operation, as in collectives.
--   dur_ns         INTEGER  ns     Time that this rank took part.
--   rank_count     INTEGER  count  Number of ranks that are open and took part.
--   transfer_ns    INTEGER  ns     Time that the exchange itself took.  NULL where no other rank is open, where what
--                                  carried it out was not recorded (collectives.carried_by), and for sends and
--                                  receives, in which not all ranks wait for each other.
--   waiting_ns     INTEGER  ns     Time that this rank waited for the others, which is the rest of dur_ns.  NULL where
--                                  transfer_ns is.
-- Cost: four sorts of collectives.
-- Example: SELECT rank, name, waiting_ns FROM collective_waits ORDER BY waiting_ns DESC LIMIT 5;
WITH begun AS (
  SELECT profile_id, id, step_id, name, process_group, end_ns,
    max(start_ns, CASE carried_by WHEN 'host' THEN coalesce(max(end_ns) OVER (PARTITION BY profile_id, carried_by
      ORDER BY start_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns) ELSE start_ns END) AS start_ns,
    carried_by IS NULL AS is_unknown
  FROM temp.collectives
), numbered AS (
  SELECT begun.profile_id AS profile_id, begun.id AS id, begun.step_id AS step_id, begun.name AS name,
    begun.process_group AS process_group, begun.is_unknown AS is_unknown, profiles.run_id AS run_id,
    profiles.rank AS rank, steps.number AS number,
    max(0, begun.end_ns - begun.start_ns) AS dur_ns,
    row_number() OVER (PARTITION BY begun.profile_id, begun.step_id, begun.process_group, begun.name
      ORDER BY begun.start_ns, begun.id) AS place
  FROM begun
  JOIN temp.profiles AS profiles ON profiles.id = begun.profile_id
  LEFT JOIN temp.steps AS steps ON steps.id = begun.step_id
), together AS (
  SELECT numbered.*, count(*) OVER same AS rank_count,
    CASE WHEN count(*) OVER same > 1 AND max(is_unknown) OVER same = 0 AND lower(name) NOT GLOB '*send*'
        AND lower(name) NOT GLOB '*recv*'
      THEN min(dur_ns) OVER same END AS transfer_ns
  FROM numbered WINDOW same AS (PARTITION BY run_id, number, process_group, name, place)
)
SELECT
  together.profile_id AS profile_id,
  together.rank AS rank,
  together.id AS collective_id,
  together.step_id AS step_id,
  together.name AS name,
  together.dur_ns AS dur_ns,
  together.rank_count AS rank_count,
  together.transfer_ns AS transfer_ns,
  together.dur_ns - together.transfer_ns AS waiting_ns
FROM together
ORDER BY profile_id, collective_id
