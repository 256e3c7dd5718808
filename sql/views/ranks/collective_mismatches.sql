-- Collectives that do not fit together, so that a job hangs or will hang, by open dumps of PyTorch Flight Recorder.
--
-- Collectives of one process group carry the same numbers on all of its ranks.  One row for each rank that does not do
-- under a number what most of the others do.  Where as many ranks do one thing as another, the lowest rank tells what
-- is expected.  Numbers that are no longer in all dumps of the group are left out.  Behind the first mismatch of a
-- group others may follow from it.
--   run_id             INTEGER  -   The run, as in runs.
--   process_group      TEXT     -   Name of the process group, as in flight_records.
--   description        TEXT     -   Description of the process group, as in flight_records.
--   collective_number  INTEGER  -   Number of the collective in its group, as in flight_records.
--   place              INTEGER  -   Place among the ops that were coalesced under one number, from 1.
--   mismatch           TEXT     -   What does not fit.  missing: the rank has not called it.  no dump: the rank has no
--                                   dump, so that it is not known whether it called it.  operation, size, dtype or
--                                   state: this one differs.  no partner: a send or receive is pending, and its other
--                                   side is not pending on the rank that it names.
--   is_first           INTEGER  -   1: it has the first number of its group with a mismatch other than state and no
--                                   partner, or is a no partner itself.  It is 0 of state.
--   profile_id         INTEGER  -   The profile of the dump of the rank.  NULL where it has none.
--   rank               INTEGER  -   The rank that does not fit.
--   name               TEXT     -   What the rank called.  NULL where it called nothing.
--   expected           TEXT     -   What should be there: what most others called, or what fits the rest of the
--                                   collective. Of missing it is the operation.
--   found              TEXT     -   What is there in its place.  Of missing it is the last number of the rank.  NULL of
--                                   no partner and of no dump, and where a rank has called none.
--   location           TEXT     -   Line that called it.  Of missing and no dump it is the line at which the first of
--                                   the others called it.
--   created_ns         INTEGER  ns  When the rank called it.  NULL where it did not.
--   message            TEXT     -   All of that in a sentence.
-- Cost: some sorts of flight_records.
-- Example: SELECT message FROM collective_mismatches WHERE is_first = 1;
WITH all_records AS MATERIALIZED (
  SELECT profiles.run_id AS run_id, profiles.rank AS rank, records.*,
    iif(instr(name, ':') > 0, substr(name, instr(name, ':') + 1), name) AS operation,
    process_group || coalesce(' ' || group_ranks, '') AS group_key,
    iif(json_valid(group_ranks), group_ranks, NULL) AS member_list
  FROM temp.flight_records AS records JOIN temp.profiles AS profiles ON profiles.id = records.profile_id
  WHERE rank IS NOT NULL AND process_group IS NOT NULL
), of_ranks AS MATERIALIZED (
  SELECT run_id, group_key, rank, profile_id, description, member_list, min(number) AS first_number,
    max(number) AS last_number
  FROM all_records WHERE is_point_to_point = 0 GROUP BY run_id, group_key, rank, profile_id
), group_members AS MATERIALIZED (
  SELECT DISTINCT listed.run_id AS run_id, group_key, ranks.value AS rank
  FROM (SELECT DISTINCT run_id, group_key, member_list FROM of_ranks WHERE member_list IS NOT NULL) AS listed
  JOIN json_each(member_list) AS ranks
  UNION
  SELECT run_id, group_key, rank FROM of_ranks
  UNION
  SELECT worlds.run_id, group_key, profiles.rank
  FROM (SELECT DISTINCT run_id, group_key FROM of_ranks WHERE description = 'default_pg') AS worlds
  JOIN temp.profiles AS profiles ON profiles.run_id = worlds.run_id
  WHERE rank IS NOT NULL AND origin IS 'flight_recorder'
), spans AS MATERIALIZED ( -- of the numbers that all have, and of the ranks
  SELECT run_id, group_key, max(first_number) AS from_number, max(member_count) AS member_count
  FROM (SELECT run_id, group_key, first_number, NULL AS member_count FROM of_ranks
    UNION ALL SELECT run_id, group_key, NULL, count(*) FROM group_members GROUP BY run_id, group_key) AS each_kind
  GROUP BY run_id, group_key
), suspects AS MATERIALIZED ( -- numbers under which not all is the same on all ranks
  SELECT all_records.run_id AS run_id, all_records.group_key AS group_key, number
  FROM all_records JOIN spans ON spans.run_id = all_records.run_id AND spans.group_key = all_records.group_key
  WHERE is_point_to_point = 0 AND number >= from_number
  GROUP BY all_records.run_id, all_records.group_key, number
  HAVING count(*) <> member_count OR min(operation) <> max(operation) OR min(input_shapes) <> max(input_shapes)
    OR min(output_shapes) <> max(output_shapes) OR min(input_dtypes) <> max(input_dtypes)
    OR min(output_dtypes) <> max(output_dtypes) OR min(state) <> max(state)
    OR max(operation GLOB 'all*' AND input_shapes <> output_shapes) OR max(operation GLOB '*reduce_scatter*')
), records AS MATERIALIZED (
  SELECT all_records.*, row_number() OVER (PARTITION BY profile_id, all_records.group_key, all_records.number
    ORDER BY record_number, id) AS place
  FROM all_records JOIN suspects ON suspects.run_id = all_records.run_id
    AND suspects.group_key = all_records.group_key AND suspects.number = all_records.number
  WHERE is_point_to_point = 0
), heads AS MATERIALIZED ( -- one record of each collective
  SELECT run_id, group_key, number, place, process_group, description, operation, code_trace_id,
    max(is_pending) OVER same AS is_pending, row_number() OVER (PARTITION BY run_id, group_key, number, place
      ORDER BY rank) AS nth
  FROM records WINDOW same AS (PARTITION BY run_id, group_key, number, place)
), dumps AS MATERIALIZED (
  SELECT run_id, rank, max(id) AS profile_id FROM temp.profiles
  WHERE origin IS 'flight_recorder' AND rank IS NOT NULL GROUP BY run_id, rank
), missing AS (
  SELECT heads.*, group_members.rank AS missing_rank, dumps.profile_id AS profile_id, last_number
  FROM heads JOIN group_members ON group_members.run_id = heads.run_id AND group_members.group_key = heads.group_key
  LEFT JOIN dumps ON dumps.run_id = heads.run_id AND dumps.rank = group_members.rank
  LEFT JOIN of_ranks ON of_ranks.run_id = heads.run_id AND of_ranks.group_key = heads.group_key
    AND of_ranks.rank = group_members.rank
  LEFT JOIN records ON records.run_id = heads.run_id AND records.group_key = heads.group_key
    AND records.number = heads.number AND records.place = heads.place AND records.rank = group_members.rank
  WHERE nth = 1 AND (dumps.profile_id IS NOT NULL OR heads.is_pending = 1) AND records.id IS NULL
), kinds(kind) AS (
  VALUES (1), (2), (3), (4), (5), (6)
), properties AS ( -- what must be the same
  SELECT id, kind, CASE kind
      WHEN 1 THEN operation
      WHEN 2 THEN iif(operation IN ('all_to_all', 'scatter'), NULL, 'input ' || input_shapes)
      WHEN 3 THEN iif(operation IN ('all_to_all', 'gather'), NULL, 'output ' || output_shapes)
      WHEN 4 THEN iif(operation IN ('scatter', 'broadcast') OR in_elements = 0, NULL, 'input ' || input_dtypes)
      WHEN 5 THEN iif(operation = 'gather' OR out_elements = 0, NULL, 'output ' || output_dtypes)
      ELSE state END AS value
  FROM records CROSS JOIN kinds
), counted AS (
  SELECT records.run_id, records.group_key, records.number, records.place, records.rank, properties.*,
    count(*) OVER (PARTITION BY records.run_id, records.group_key, records.number, records.place, kind, value) AS count
  FROM properties JOIN records ON records.id = properties.id WHERE value IS NOT NULL
), expected AS (
  SELECT *, first_value(value) OVER (PARTITION BY run_id, group_key, number, place, kind ORDER BY count DESC, rank)
    AS expected
  FROM counted
), differing AS ( -- what else differs of another operation says nothing
  SELECT id, min(kind) AS kind FROM expected WHERE value <> expected GROUP BY id
), within AS ( -- sizes that do not fit each other on a rank
  SELECT id, CASE
      WHEN operation IN ('all_reduce', 'allreduce_coalesced') AND input_shapes <> output_shapes
        THEN 'output ' || input_shapes
      WHEN operation IN ('all_gather', '_all_gather_base', 'all_gather_into_tensor_coalesced')
        AND out_elements <> in_elements * json_array_length(member_list)
        THEN format('output of %d elements', in_elements * json_array_length(member_list))
      WHEN operation IN ('reduce_scatter', '_reduce_scatter_base', 'reduce_scatter_tensor_coalesced')
        AND in_elements <> out_elements * json_array_length(member_list)
        THEN format('input of %d elements', out_elements * json_array_length(member_list)) END AS expected
  FROM records
), exchanged AS ( -- what all put into an all_to_all comes out of it
  SELECT min(id) AS id, sum(out_elements) AS expected, sum(in_elements) AS found FROM records
  WHERE operation = 'all_to_all' AND input_dtypes IS NOT NULL
  GROUP BY run_id, group_key, number, place
  HAVING found <> expected AND count(*) = max(json_array_length(member_list))
), faults AS (
  SELECT records.id AS id, CASE differing.kind WHEN 1 THEN 'operation' WHEN 2 THEN 'size' WHEN 3 THEN 'size'
      WHEN 6 THEN 'state' ELSE 'dtype' END AS mismatch, expected.expected AS expected, expected.value AS found
  FROM differing JOIN expected ON expected.id = differing.id AND expected.kind = differing.kind
  JOIN records ON records.id = differing.id
  UNION ALL
  SELECT records.id, 'size', within.expected,
    iif(within.expected GLOB 'output*', 'output ' || output_shapes, 'input ' || input_shapes)
  FROM within JOIN records ON records.id = within.id
  WHERE within.expected IS NOT NULL AND within.id NOT IN (SELECT id FROM differing WHERE kind < 4)
  UNION ALL
  SELECT id, 'size', 'input of ' || expected || ' elements on all ranks', 'input of ' || found || ' elements'
  FROM exchanged
), sides AS MATERIALIZED ( -- pending sends and receives, with the ranks that they name
  SELECT all_records.*, CAST(substr(operation, 6) AS INTEGER) AS own_place,
    CAST(substr(operation, instr(operation, '-') + iif(operation GLOB 'send*', 2, 1)) AS INTEGER) AS other_place
  FROM all_records WHERE is_point_to_point = 1 AND is_pending = 1
    AND (operation GLOB 'send [0-9]*->[0-9]*' OR operation GLOB 'recv [0-9]*<-[0-9]*')
), places AS MATERIALIZED ( -- of the ranks in their group
  SELECT group_key, CAST(ranks.value AS INTEGER) AS rank,
    row_number() OVER (PARTITION BY group_key ORDER BY CAST(ranks.value AS INTEGER)) - 1 AS place
  FROM (SELECT DISTINCT group_key, member_list FROM sides WHERE member_list IS NOT NULL) AS groups
  JOIN json_each(member_list) AS ranks
), alone AS (
  SELECT sides.*, coalesce(places.rank, iif(member_list IS NULL, other_place, NULL)) AS other_rank
  FROM sides LEFT JOIN places ON places.group_key = sides.group_key AND places.place = other_place
  WHERE NOT EXISTS (SELECT 1 FROM sides AS others WHERE others.run_id = sides.run_id
    AND others.group_key = sides.group_key AND others.own_place = sides.other_place
    AND others.other_place = sides.own_place AND substr(others.operation, 1, 4) <> substr(sides.operation, 1, 4))
), told AS (
  SELECT records.run_id AS run_id, records.group_key AS group_key, records.process_group AS process_group,
    records.description AS description, records.number AS number, records.place AS place, mismatch, profile_id, rank,
    name, expected, found, code_trace_id, created_ns
  FROM faults JOIN records ON records.id = faults.id
  UNION ALL
  SELECT run_id, group_key, process_group, description, number, place, iif(profile_id IS NULL, 'no dump', 'missing'),
    profile_id, missing_rank, NULL, operation, CAST(last_number AS TEXT), code_trace_id, NULL
  FROM missing
  UNION ALL
  SELECT run_id, group_key, process_group, description, number, 1, 'no partner', profile_id, rank, name,
    iif(operation GLOB 'send*', 'recv', 'send') || ' on rank ' || other_rank, NULL, code_trace_id, created_ns
  FROM alone
), numbered AS (
  SELECT *, coalesce(number = min(CASE WHEN mismatch NOT IN ('state', 'no partner') THEN number END)
      OVER (PARTITION BY run_id, group_key), 0) OR mismatch = 'no partner' AS is_first
  FROM told
)
SELECT
  run_id AS run_id,
  process_group AS process_group,
  description AS description,
  number AS collective_number,
  place AS place,
  mismatch AS mismatch,
  is_first AND mismatch <> 'state' AS is_first,
  numbered.profile_id AS profile_id,
  rank AS rank,
  name AS name,
  expected AS expected,
  found AS found,
  location AS location,
  created_ns AS created_ns,
  format('%s %d of group %s: rank %d ', iif(mismatch = 'no partner', 'send or receive', 'collective'), number,
      process_group || coalesce(' (' || nullif(description, 'undefined') || ')', ''), rank)
    || CASE mismatch
    WHEN 'missing' THEN 'has not called ' || expected || coalesce(', its last one was ' || found, '')
      || coalesce('; others did at ' || location, '')
    WHEN 'no dump' THEN 'has no dump; others called ' || expected || coalesce(' at ' || location, '')
    WHEN 'no partner' THEN 'waits in ' || name || coalesce(' at ' || location, '') || ', but there is no '
      || coalesce(expected, 'other side')
    ELSE 'called ' || name || coalesce(' at ' || location, '') || ', ' || mismatch || ' ' || found
      || ', where ' || expected || ' is expected' END AS message
FROM numbered LEFT JOIN temp._code_trace_lines AS lines ON lines.code_trace_id = numbered.code_trace_id
ORDER BY run_id, process_group, number, place, rank, mismatch
