-- Advice: one line of the program that most of the op time comes from.
--
-- For each profile the line of code_summary with the largest self time, when that is more than a quarter of the time of
-- all ops with a stack and the line is the program's own.  A line loss.backward() is left out when it is the first: it
-- stands for all lines of the forward pass; then the line whose forward and backward time together is largest is named.
-- Where processes of a run have steps, those that have none (workers of a DataLoader) are left out: nobody waits for
-- them.
-- It saves nothing by itself (saves_ns is NULL): it says where to look first.
-- Columns: those of every check, see sql/README.md.  Cost: that of code_summary.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'slowest_source_line';
WITH with_steps AS (
  SELECT DISTINCT profiles.id AS profile_id, profiles.run_id AS run_id
  FROM temp.steps AS steps JOIN temp.profiles AS profiles ON profiles.id = steps.profile_id
), looked_at AS (
  SELECT id AS profile_id FROM temp.profiles
  WHERE id IN (SELECT profile_id FROM with_steps) OR run_id NOT IN (SELECT run_id FROM with_steps)
), summary AS MATERIALIZED (
  SELECT * FROM temp.code_summary
), program_lines AS (
  SELECT profile_id, location, text, self_ns + coalesce(backward_ns, 0) AS cost_ns, self_ns, backward_ns, file, line
  FROM summary
  WHERE is_library = 0 AND NOT coalesce(text GLOB '*.backward(*', 0)
    AND profile_id IN (SELECT profile_id FROM looked_at)
), all_time AS (
  SELECT profile_id, total(self_ns) AS all_ns FROM summary GROUP BY profile_id
), ranked AS (
  SELECT program_lines.*, row_number() OVER (PARTITION BY profile_id ORDER BY cost_ns DESC, file, line) AS position
  FROM program_lines
)
SELECT
  'slowest_source_line' AS check_name,
  'info' AS severity,
  ranked.location AS subject,
  format('%.0f %% of the op time comes from %s (%s forward, %s backward)%s', 100.0 * cost_ns / all_ns,
    ranked.location, format_ns(self_ns), format_ns(coalesce(backward_ns, 0)), coalesce(': ' || trim(text), ''))
    AS message,
  1.0 * cost_ns / all_ns AS value,
  0.25 AS threshold,
  NULL AS saves_ns,
  'Look at the ops that it calls before anything else; code_summary has the other lines.' AS suggestion,
  'SELECT * FROM temp.code_summary WHERE profile_id = ' || ranked.profile_id || ' AND location = '
    || quote(ranked.location) AS evidence
FROM ranked
JOIN all_time ON all_time.profile_id = ranked.profile_id
WHERE position = 1 AND cost_ns >= 0.25 * all_ns
ORDER BY value DESC, ranked.profile_id
