-- What the answers rest on
-- Shares of rows that have a step, a stack, shapes and links; what is missing here is missing elsewhere.
-- page: overview 90
-- chart: facts
SELECT * FROM temp.coverage
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
