-- Ops of lines
-- Of each line the longest ops that it called, each with its place in the timeline.
-- page: code 15
-- chart: table
-- empty: No stacks were recorded.
WITH placed AS MATERIALIZED ( -- in two parts, each in an order that the table has itself: there may be millions
  SELECT id, trace_id FROM (
    SELECT id, code_trace_id AS trace_id,
      row_number() OVER (PARTITION BY code_trace_id ORDER BY self_ns DESC, id) AS place
    FROM temp.ops
    WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND origin_code_trace_id IS NULL
      AND code_trace_id IS NOT NULL AND +category <> 'user' AND start_ns IS NOT NULL
    UNION ALL
    SELECT id, origin_code_trace_id,
      row_number() OVER (PARTITION BY origin_code_trace_id ORDER BY self_ns DESC, id)
    FROM temp.ops
    WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND origin_code_trace_id IS NOT NULL
      AND +category <> 'user' AND start_ns IS NOT NULL
  ) WHERE place <= 5
), of_lines AS (
  SELECT location, text, ops.profile_id AS profile_id, ops.id AS id, name, start_ns, dur_ns, self_ns, step_id,
    is_backward,
    row_number() OVER (PARTITION BY ops.profile_id, location ORDER BY self_ns DESC, ops.id) AS line_place,
    sum(self_ns) OVER (PARTITION BY ops.profile_id, location) AS line_ns
  FROM placed JOIN temp._code_trace_lines ON _code_trace_lines.code_trace_id = trace_id
  JOIN temp.ops ON ops.id = placed.id
  WHERE location IS NOT NULL
)
SELECT of_lines.profile_id, location, of_lines.name, of_lines.id AS op_id,
  of_lines.start_ns - coalesce(:origin_ns, 0) AS at_ns,
  of_lines.dur_ns, self_ns, number, is_backward
FROM of_lines LEFT JOIN temp.steps ON steps.id = step_id
WHERE line_place <= 5
ORDER BY line_ns DESC, of_lines.profile_id, location, self_ns DESC, of_lines.id LIMIT 1000
