-- Steps of a range, by their numbers: _step_range('run', 10, 19).  An error where there are none.
--
-- The argument profile selects as the hidden argument of every table does (an id, a path or a pattern over paths), and
-- first and last are steps.number.  A bound that is NULL is none.  A condition on steps.number that no step meets gives
-- no rows, and what builds on it takes that for an answer.  This function says which steps there are.
--   id            INTEGER  -  The step, as in steps.
--   profile_id    INTEGER  -  The profile that the step is of.
--   number        INTEGER  -  Number of the step.
--   ops_recorded  INTEGER  -  1 where its ops were recorded, 0 where they were not.  NULL where the source does not
--                             tell.
-- parameters: profile, first, last
-- Cost: one pass over the steps.  Example: SELECT count(*) FROM _step_range('*', 0, 9);
SELECT id AS id, profile_id AS profile_id, number AS number, ops_recorded AS ops_recorded
FROM temp.steps(:profile) WHERE (:first IS NULL OR number >= :first) AND (:last IS NULL OR number <= :last)
UNION ALL
SELECT raise_error(
    CASE WHEN :first > :last THEN format('the range of steps is reversed: %s to %s', quote(:first), quote(:last))
      ELSE format('no step of %s has a number from %s to %s', quote(:profile), quote(:first), quote(:last)) END ||
    CASE WHEN max(number) IS NULL THEN '; it has no steps'
      ELSE format('; it has steps from %d to %d', min(number), max(number)) END),
  NULL, NULL, NULL
FROM temp.steps(:profile)
HAVING total((:first IS NULL OR number >= :first) AND (:last IS NULL OR number <= :last)) = 0
