-- Steps of a range, by their numbers: step_range('run', 10, 19).  An error where there are none.
--
-- profile selects as the hidden argument of every table does (an id, a path or a pattern over paths), first and last
-- are steps.number.  A condition on steps.number that no step meets gives no rows, which what builds on it takes for an
-- answer; this says which steps there are.
--   id            INTEGER  -  Of the step.
--   profile_id    INTEGER  -  Its profile.
--   number        INTEGER  -  Its number.
--   ops_recorded  INTEGER  -  1 when its ops were recorded, 0 when not, NULL when the source does not tell.
-- parameters: profile, first, last
-- Cost: one pass over the steps.  Example: SELECT count(*) FROM step_range('*', 0, 9);
SELECT id AS id, profile_id AS profile_id, number AS number, ops_recorded AS ops_recorded
FROM temp.steps(:profile) WHERE number BETWEEN :first AND :last
UNION ALL
SELECT raise_error(
    CASE WHEN :first > :last THEN format('the range of steps is reversed: %s to %s', quote(:first), quote(:last))
      ELSE format('no step of %s has a number from %s to %s', quote(:profile), quote(:first), quote(:last)) END ||
    CASE WHEN max(number) IS NULL THEN '; it has no steps'
      ELSE format('; it has steps from %d to %d', min(number), max(number)) END),
  NULL, NULL, NULL
FROM temp.steps(:profile)
HAVING total(number BETWEEN :first AND :last) = 0
