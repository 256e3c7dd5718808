-- Computing and communicating
-- By rank, or process where no rank is known; overlap is both at once.
-- page: ranks 10
-- chart: hstack
-- label: rank
-- y: computation_ns overlap_ns communication_ns other_ns
-- empty: No rank of a distributed job was recorded.
SELECT profile_id, coalesce(rank, (SELECT name FROM temp._process_names AS names
    WHERE names.profile_id = tb_distributed_summary.profile_id)) AS rank, step_count, step_ns,
  computation_ns, overlap_ns, communication_ns, other_ns, transfer_ns, waiting_ns, collective_count, bytes
FROM temp.tb_distributed_summary
WHERE :profile_id IS NULL OR profile_id = :profile_id
ORDER BY rank, profile_id
