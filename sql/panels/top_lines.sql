-- Lines that cost most
-- Time in ops by the line of the program that called them, what runs backward for it included.
-- page: overview 50
-- chart: bars
-- label: location
-- value: self_ns
-- note: text
-- width: half
-- empty: No stacks were recorded.
SELECT profile_id, rank, location, text, count, self_ns, backward_ns FROM temp.code_summary
WHERE (:profile_id IS NULL OR profile_id = :profile_id) AND self_ns > 0
ORDER BY self_ns DESC, location LIMIT 10
