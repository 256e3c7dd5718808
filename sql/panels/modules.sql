-- Modules
-- Time, calls, floating point operations and parameters of each module of the model.
-- page: model 10
-- chart: table
-- empty: No modules were recorded.
SELECT profile_id, rank, module, class, call_count, call_ns, count, self_ns, self_error_ns, self_ratio, sum_ns,
  backward_ns, device_self_ns, device_sum_ns, flops, sum_flops, backward_flops, param_count
FROM temp.module_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY self_ns DESC, module LIMIT 1000
