-- Ops that cost most
-- Own time on the host.
-- page: overview 60
-- chart: bars
-- label: op
-- value: host_self_ns
-- width: half
-- empty: No ops were recorded.
SELECT profile_id, rank, op, count, host_self_ns, device_self_ns FROM temp.tb_operator_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY host_self_ns DESC, op LIMIT 10
