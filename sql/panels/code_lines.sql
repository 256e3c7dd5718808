-- Lines of the program
-- Time in the ops that each line called, then lines by what ran below them; backward_ns is what ran in the backward
-- pass for it.
-- page: code 10
-- chart: table
-- empty: No stacks were recorded: capture with stacks, or with_stack=True in torch.profiler.
SELECT profile_id, rank, location, text, count, self_ns, self_error_ns, self_ratio, backward_ns, sum_ns, function
FROM temp.code_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY self_ns DESC, sum_ns DESC, location LIMIT 500
