-- Is the input too slow?
-- How long steps wait for their input.
-- page: input 10
-- chart: facts
-- empty: No input pipeline was recorded.
SELECT * FROM temp.input_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY profile_id
