-- Advice: one compilation that takes most of the run.
--
-- For each profile the longest compilation (of its phases the outermost one), in whichever step or before all.
-- Thresholds: half of the time that was recorded, and a second.
-- What it would save: all of it, where a run that follows finds what was compiled.
-- Columns: those of every check, see docs/checks.md.  Cost: linear in compilations.
-- Needs: compilations.
-- Example: SELECT message FROM advise WHERE check_name = 'long_compilation';
WITH longest AS (
  SELECT profile_id, name, kind, max(dur_ns) AS dur_ns FROM temp.compilations GROUP BY profile_id
)
SELECT
  'long_compilation' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('One compilation takes %.0f %% of the run, %s of %s%s%s',
    100.0 * longest.dur_ns / profiles.dur_ns, format_ns(longest.dur_ns), format_ns(profiles.dur_ns),
    coalesce(': ' || longest.name, ''), coalesce(' (' || longest.kind || ')', '')) AS message,
  1.0 * longest.dur_ns / profiles.dur_ns AS value,
  0.5 AS threshold,
  longest.dur_ns AS saves_ns,
  advice_words('long_compilation', processes.framework) AS suggestion,
  'SELECT name, kind, dur_ns, step_id FROM temp.compilations WHERE profile_id = ' || longest.profile_id
    || ' ORDER BY dur_ns DESC LIMIT 20' AS evidence
FROM longest
JOIN temp.profiles AS profiles ON profiles.id = longest.profile_id
JOIN temp._process_names AS processes ON processes.profile_id = longest.profile_id
WHERE longest.dur_ns >= 1000000000 AND profiles.dur_ns > 0 AND longest.dur_ns >= 0.5 * profiles.dur_ns
  AND longest.dur_ns <= profiles.dur_ns
ORDER BY saves_ns DESC, longest.profile_id
