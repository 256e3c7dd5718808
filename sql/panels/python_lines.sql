-- Lines in which no op runs
-- Where Python itself takes the time, by looking now and then.
-- page: code 30
-- chart: table
-- empty: Python was not looked at, or ops ran all the time.
SELECT profile_id, rank, location, text, sample_count, self_ns, self_error_ns, self_ratio, function
FROM temp.python_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY self_ns DESC, location LIMIT 500
