-- One query a line; ops.tfprof was written by make_ops_dump with 10000 rows and seed 7.
SELECT format, host, pid, framework, framework_version, clock_domain, complete, event_count FROM profiles
SELECT kind, name, pid, tid FROM threads ORDER BY id
SELECT number, name, origin, start_ns, dur_ns, is_warmup, ops_recorded FROM steps ORDER BY id
SELECT category, count(*), sum(dur_ns), sum(self_ns), sum(depth), count(parent_id), count(step_id), count(forward_op_id), count(code_trace_id), count(sequence_number) FROM ops GROUP BY category ORDER BY category
SELECT depth, count(*), sum(self_ns) FROM ops GROUP BY depth ORDER BY depth
SELECT id, name, thread_id, start_ns, end_ns, dur_ns, self_ns, depth, parent_id, step_id, input_shapes, input_types FROM ops WHERE id % 500 = 7 ORDER BY id
SELECT op, count, self_ns FROM op_summary LIMIT 10
SELECT location, function, count, self_ns, sum_ns FROM code_summary LIMIT 10
SELECT name, domain, category, start_ns, dur_ns FROM ranges ORDER BY id
SELECT severity, reason, message, count FROM diagnostics ORDER BY id
