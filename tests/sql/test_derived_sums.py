"""Sums that the extension makes once are those that SQL makes of the rows: of ops by the place that they come from, by
the range that calls them, by step and name; of work of devices by name, by step and by stream; of queues, calls,
allocations, memory events, modules and input; of launches that steps repeat; of conversions by step; and the most
memory of a device.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import BUILD, make_dump, run_tests
from test_thinned_views import alike, both

directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")
LAUNCHES = (("gemm", "kernel", "cudaLaunchKernel"), ("elementwise_kernel", "kernel", "cudaLaunchKernel"),
            ("Memcpy HtoD", "gpu_memcpy", "cudaMemcpyAsync"))


def make_trace(path):
    """Steps with conversions within each other and within other ops, kernels, copies and memory, at random."""
    draw = random.Random(7)
    names = ["aten::to", "aten::_to_copy", "aten::contiguous", "aten::clone", "aten::mm", "aten::linear"]
    events = [{"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "python"}}]

    def event(name, category, start, end, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 5, "tid": 5, "ts": start, "dur": end - start,
                       "args": arguments})

    def nest(start, end, depth):
        at = start + draw.random()
        while at < end - 1 and draw.random() < 0.8:
            until = min(end, at + draw.uniform(0.5, end - start))
            event(draw.choice(names), "cpu_op", at, until)
            if depth < 4:
                nest(at, until, depth + 1)
            at = until + draw.random()

    for step in range(8):
        event("ProfilerStep#%d" % step, "user_annotation", 100 * step, 100 * step + 100)
        nest(100 * step, 100 * step + 70, 0)
        event("Optimizer.step#SGD.step", "user_annotation", 100 * step + 75, 100 * step + 95)
        nest(100 * step + 75, 100 * step + 95, 0)
        for launch in range(draw.randint(2, 9)):
            name, category, call = LAUNCHES[0] if launch < 2 else draw.choice(LAUNCHES)
            start, correlation = 100 * step + 7 * launch, 10 * step + launch + 1
            event(call, "cuda_runtime", start, start + 1, correlation=correlation)
            events.append({"ph": "X", "cat": category, "name": name, "pid": launch % 2, "tid": 7, "ts": start + 2,
                           "dur": draw.randint(1, 5), "args": {"device": launch % 2, "stream": 7,
                                                               "correlation": correlation}})
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 5, "tid": 5,
                       "ts": 100 * step + 50, "args": {"Device Type": 0, "Device Id": -1, "Addr": step + 1,
                                                       "Bytes": draw.randint(1, 999),
                                                       "Total Allocated": draw.randint(1, 9999)}})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return path


def make_rows(name, rows):
    path = os.path.join(directory.name, name + ".tfprof")
    subprocess.run([os.path.join(BUILD, "tests", "make_dump_of_rows"), path], encoding="utf-8", check=True,
                   input="\n".join(row.replace(" ", "\t") for row in rows) + "\n")
    return path


SOURCES = {
    "ops": make_dump(os.path.join(directory.name, "ops.tfprof"), 30000, 2, "make_ops_dump"),
    "golden": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "dump-1", "ops.tfprof"),
    "trace": make_trace(os.path.join(directory.name, "trace.json")),
    "input": make_rows("input", [
        "= steps number start_ns dur_ns", "0 0 100", "1 100 100",
        "= input_events name stage start_ns dur_ns self_ns step_id", "map preprocess 5 20 10 0",
        "map preprocess 9 30  0", "map preprocess 110 40 5 1", "read read_on_demand 110 40 5 1",
        "read read_on_demand 300 4 5 "]),
}
SOURCES["whole"], SOURCES["thinned"] = both(directory.name, alike, count=80)
CONVERSIONS = "('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone')"
PAIRS = {  # what is derived, and what SQL makes
    "costs of traces": (
        "SELECT id, round(op_count, 6), self_ns, backward_ns FROM code_traces WHERE op_count IS NOT NULL ORDER BY 1",
        """SELECT origin_code_trace_id, round(sum(sample_weight), 6),
        CAST(round(sum(self_ns * sample_weight)) AS INTEGER),
        CAST(round(sum(self_ns * sample_weight) FILTER (WHERE is_backward = 1)) AS INTEGER) FROM ops
        WHERE origin_code_trace_id IS NOT NULL AND category NOT IN ('user', 'python', 'module') AND is_measured = 1
        GROUP BY 1 HAVING sum(sample_weight) IS NOT NULL ORDER BY 1""",
    ),
    "ops of ranges": (
        "SELECT op_count FROM ranges WHERE op_count IS NOT NULL ORDER BY id",
        """SELECT (SELECT count(*) FROM ops AS called WHERE called.parent_id = ops.id AND called.sequence_number IS NULL
        AND called.category NOT IN ('user', 'autograd')) FROM ops WHERE category IN ('user', 'input')
        AND profile_id IN (SELECT profile_id FROM ranges WHERE op_count IS NOT NULL) ORDER BY id""",
    ),
    "ops by step": (
        """SELECT work.step_id, name, category, thread_id, is_measured, op_type, execution_mode, sample_weight,
        work.count, work.sum_ns, work.self_ns FROM step_op_totals AS work JOIN op_totals ON op_totals.id = op_total_id
        ORDER BY 1, 2, 3, 4, 5, 6, 7, 8""",
        """SELECT step_id, name, category, thread_id, is_measured, op_type, execution_mode, sample_weight, count(*),
        sum(dur_ns), sum(self_ns) FROM ops GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8""",
    ),
    "ops by place": (
        """SELECT step_id, origin_code_trace_id, code_trace_id, category, sample_weight, count, self_ns
        FROM step_trace_totals ORDER BY 1, 2, 3, 4, 5""",
        """SELECT step_id, origin_code_trace_id, code_trace_id, category, sample_weight, count(*), sum(self_ns)
        FROM ops GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5""",
    ),
    "durations of ops": (
        """SELECT op_total_id, sum(count), sum(sum_ns) FROM op_durations GROUP BY 1
        HAVING min(sum_ns >= from_ns * count AND sum_ns <= max(1000, from_ns * 1.25) * count) ORDER BY 1""",
        """SELECT totals.id, count(*), sum(ops.self_ns)
        FROM op_totals AS totals JOIN ops ON ops.profile_id = totals.profile_id AND ops.name IS totals.name
        AND ops.category IS totals.category AND ops.thread_id IS totals.thread_id
        AND ops.is_measured IS totals.is_measured AND ops.op_type IS totals.op_type
        AND ops.execution_mode IS totals.execution_mode GROUP BY 1 ORDER BY 1""",
    ),
    "work of devices": (
        "SELECT device_id, kind, name, count, sum_ns FROM activity_totals ORDER BY 1, 2, 3",
        """SELECT device_id, kind, name, count(*), sum(dur_ns) FROM device_activities GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3""",
    ),
    "work of devices by step": (
        """SELECT work.step_id, device_id, kind, name, work.count, work.sum_ns FROM step_activity_totals AS work
        JOIN activity_totals AS totals ON totals.id = activity_total_id ORDER BY 1, 2, 3, 4""",
        """SELECT step_id, device_id, kind, name, count(*), sum(dur_ns) FROM device_activities GROUP BY 1, 2, 3, 4
        ORDER BY 1, 2, 3, 4""",
    ),
    "work of streams": (
        """SELECT device_id, thread_id, kind, name, is_before_last_step, is_kernel, sample_weight, sampled_step_id,
        count, known_count, sum_ns, min_ns, max_ns, round(stddev_ns, 6), first_start_ns, last_end_ns
        FROM stream_totals ORDER BY 1, 2, 3, 4, 5, 8""",
        """SELECT device_id, thread_id, kind, name, is_before_last_step, kernel_id IS NOT NULL, sample_weight,
        sampled_step_id, count(*), count(dur_ns), sum(dur_ns), min(dur_ns), max(dur_ns), round(stddev(dur_ns), 6),
        min(start_ns), max(end_ns) FROM device_activities GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 8""",
    ),
    "kernels": (
        """SELECT launch_group, op_name, device_id, is_measured, sample_weight, sampled_step_id, ops_recorded,
        sum(count), sum(sum_ns), min(min_ns), max(max_ns) FROM kernel_totals GROUP BY 1, 2, 3, 4, 5, 6, 7
        ORDER BY 1, 2, 3, 4, 5, 6, 7""",
        """SELECT launch_group, op_name, device_id, is_measured, kernels.sample_weight, sampled_step_id, ops_recorded,
        count(*), sum(kernels.dur_ns), min(kernels.dur_ns), max(kernels.dur_ns)
        FROM kernels LEFT JOIN steps ON steps.id = kernels.step_id GROUP BY 1, 2, 3, 4, 5, 6, 7
        ORDER BY 1, 2, 3, 4, 5, 6, 7""",
    ),
    "launches": (
        "SELECT is_graph, sample_weight, count, sum_ns FROM launch_totals ORDER BY 1, 2",
        """SELECT api_call_id IN (SELECT id FROM api_calls WHERE name GLOB '*GraphLaunch*'), sample_weight, count(*),
        sum(dur_ns) FROM device_activities WHERE kind <> 'sync' AND api_call_id IS NOT NULL
        AND is_before_last_step = 1 GROUP BY 1, 2 ORDER BY 1, 2""",
    ),
    "queues": (
        """SELECT device_id, thread_id, count, round(mean, 9), round(stddev, 9), min, p25, median, p75, max, full_ns
        FROM queue_totals ORDER BY 1, 2""",
        """SELECT device_id, thread_id, lengths ->> 'count', round(lengths ->> 'mean', 9),
        round(lengths ->> 'stddev', 9), lengths ->> 'min', lengths ->> 'p25', lengths ->> 'p50', lengths ->> 'p75',
        lengths ->> 'max', full_ns
        FROM (SELECT device_id, thread_id, depth_summary(launch_ns, start_ns) AS lengths,
            depth_ns(launch_ns, start_ns, 1024) AS full_ns
          FROM device_activities WHERE launch_ns IS NOT NULL AND is_before_last_step = 1 GROUP BY 1, 2)
        ORDER BY 1, 2""",
    ),
    "kernels of ops": (
        """SELECT like_op_id, is_first, sample_weight, count, sum_ns, launch_delay_ns, kernel_delay_ns
        FROM op_kernel_totals ORDER BY 1, 2, 3""",
        """SELECT like_op_id, op_kernels_start_ns IS NOT NULL, steps.sample_weight, count(*), sum(work.dur_ns),
        sum(work.launch_ns - ops.start_ns), sum(work.op_kernels_start_ns - work.launch_ns)
        FROM device_activities AS work LEFT JOIN ops ON ops.id = work.op_id LEFT JOIN steps ON steps.id = work.step_id
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3""",
    ),
    "work of outermost ops": (
        "SELECT outermost_op_id, is_before_last_step, count, sum_ns FROM outermost_totals ORDER BY 1, 2",
        """SELECT outermost_op_id, is_before_last_step, count(*), sum(dur_ns) FROM device_activities GROUP BY 1, 2
        ORDER BY 1, 2""",
    ),
    "links of kernels": (
        "SELECT sum(op_count), sum(call_count) FROM kernel_totals HAVING count(*)",
        "SELECT count(op_id), count(api_call_id) FROM kernels HAVING count(*)",
    ),
    "calls": (
        """SELECT domain, name, result, is_measured, sample_weight, sampled_step_id, count, sum_ns, min_ns, max_ns
        FROM api_call_totals ORDER BY 1, 2, 3, 4, 5, 6""",
        """SELECT domain, name, result, is_measured, sample_weight, sampled_step_id, count(*), sum(dur_ns), min(dur_ns),
        max(dur_ns) FROM api_calls GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6""",
    ),
    "allocations": (
        """SELECT device_id, op_name, sample_weight, occurrence_count, has_address, is_released, has_start, count,
        bytes, max_bytes, held_ns FROM allocation_totals ORDER BY 1, 2, 3, 4, 5, 6, 7""",
        """SELECT allocations.device_id, ops.name, steps.sample_weight, allocations.occurrence_count,
        address IS NOT NULL, released_ns IS NOT NULL, allocated_ns IS NOT NULL, count(*), sum(1.0 * bytes), max(bytes),
        sum(released_ns - allocated_ns)
        FROM allocations LEFT JOIN ops ON ops.id = op_id LEFT JOIN steps ON steps.id = allocations.step_id
        GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7""",
    ),
    "memory events": (
        "SELECT kind, op_name, op_category, op_weight, count, bytes FROM memory_event_totals ORDER BY 1, 2, 3, 4",
        """SELECT kind, ops.name, ops.category, sample_weight, count(*), sum(1.0 * bytes)
        FROM memory_events LEFT JOIN ops ON ops.id = memory_events.op_id GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4""",
    ),
    "memory of ops": (
        """SELECT name, category, thread_id, is_measured, allocation_count, allocated_bytes, allocated_self_bytes,
        released_bytes FROM op_totals ORDER BY 1, 2, 3, 4""",
        """SELECT name, category, thread_id, is_measured, sum(allocation_count * sample_weight),
        sum(allocated_bytes * sample_weight), sum(allocated_self_bytes * sample_weight),
        sum(released_bytes * sample_weight) FROM ops GROUP BY 1, 2, 3, 4, op_type, execution_mode
        ORDER BY 1, 2, 3, 4""",
    ),
    "modules": (
        """SELECT node_id, module, code_trace_id, category, is_measured, is_backward, sample_weight, count, self_ns,
        device_self_ns, flops FROM module_totals ORDER BY 1, 2, 3, 4, 5, 6, 7""",
        """SELECT node_id, module, code_trace_id, category, is_measured, is_backward, sample_weight, count(*),
        sum(self_ns), sum(device_self_ns), sum(1.0 * flops) FROM ops GROUP BY 1, 2, 3, 4, 5, 6, 7
        ORDER BY 1, 2, 3, 4, 5, 6, 7""",
    ),
    "input by step": (
        "SELECT step_id, name, stage, count, sum_ns, self_ns FROM step_input_totals ORDER BY 1, 2, 3",
        """SELECT step_id, name, stage, count(*), sum(dur_ns), sum(self_ns) FROM input_events GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3""",
    ),
    "times of devices": (
        """SELECT device_id, sampled_step_id, sample_weight, busy_ns, work_ns, compute_ns, copy_ns, compute_copy_ns,
        last_end_ns - first_start_ns FROM device_times ORDER BY 1, 2""",
        """SELECT device_id, sampled_step_id, sample_weight, union_ns(start_ns, end_ns),
        union_ns(start_ns, end_ns) FILTER (WHERE kind <> 'sync'),
        union_ns(start_ns, end_ns) FILTER (WHERE kind = 'compute'),
        union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('memcpy', 'memset')),
        union_ns(start_ns, end_ns) FILTER (WHERE kind IN ('compute', 'memcpy', 'memset')),
        max(end_ns) - min(start_ns) FROM device_activities WHERE is_before_last_step = 1 GROUP BY 1, 2, 3
        ORDER BY 1, 2""",
    ),
    "launches that repeat": (
        "SELECT device_id, launched_count, launched_ns, repeated_count FROM device_kernel_totals "
        "WHERE repeated_count > 0 ORDER BY 1",
        """WITH in_step AS (
          SELECT profile_id, device_id, step_id, launch_group, count(*) AS count, sum(dur_ns) AS sum_ns FROM kernels
          WHERE graph_launch_id IS NULL AND step_id IN (SELECT step_id FROM _measured_steps) GROUP BY 1, 2, 3, 4
        ), alike AS (
          SELECT device_id, launch_group, sum(count) AS count, sum(sum_ns) AS sum_ns, min(count) * count(*) AS again,
            count(*) = (SELECT count(*) FROM _measured_steps WHERE profile_id = in_step.profile_id) AS is_in_all
          FROM in_step GROUP BY 1, 2
        )
        SELECT device_id, sum(count), sum(sum_ns), sum(again * is_in_all) FROM alike GROUP BY 1
        HAVING sum(again * is_in_all) > 0 ORDER BY 1""",
    ),
    "kernels that could be one": (
        "SELECT step_id, device_id, unfused_count, unfused_ns FROM step_kernel_totals WHERE unfused_count > 0 "
        "ORDER BY 1, 2",
        """SELECT kernels.step_id, kernels.device_id, count(*), sum(kernels.dur_ns)
        FROM device_activities AS activities JOIN kernels ON kernels.id = kernel_id
        JOIN kernels AS before ON before.thread_id = kernels.thread_id AND before.end_ns = previous_end_ns
        WHERE kernels.name GLOB '*elementwise*' AND before.name GLOB '*elementwise*' GROUP BY 1, 2 ORDER BY 1, 2""",
    ),
    "conversions": (
        "SELECT step_id, conversion_count, conversion_ns FROM host_steps WHERE conversion_count > 0 ORDER BY 1",
        f"""SELECT ops.step_id, count(*), sum(ops.dur_ns)
        FROM ops LEFT JOIN ops AS enclosing ON enclosing.id = ops.parent_id
        WHERE ops.name IN {CONVERSIONS} AND (ops.parent_id IS NULL OR enclosing.name NOT IN {CONVERSIONS})
        AND ops.step_id IN (SELECT id FROM steps WHERE ops_recorded = 1) GROUP BY 1 ORDER BY 1""",
    ),
    "memory of devices": (
        "SELECT id, peak_bytes FROM devices WHERE peak_bytes IS NOT NULL ORDER BY 1",
        """SELECT device_id, max(coalesce(reserved_bytes, in_use_bytes)) FROM memory_events WHERE device_id IS NOT NULL
        GROUP BY 1 HAVING max(coalesce(reserved_bytes, in_use_bytes)) IS NOT NULL ORDER BY 1""",
    ),
}
PAIRS["known gaps"] = (
    """SELECT id, is_device_gap_known, is_stream_gap_known FROM device_activities WHERE step_id IS NOT NULL
    AND kind <> 'sync' ORDER BY 1""",
    """SELECT work.id, NOT EXISTS (SELECT 1 FROM _thinned_starts AS starts WHERE starts.step_id = work.step_id
        AND starts.device_id IS work.device_id AND starts.start_ns >= work.start_ns),
      NOT EXISTS (SELECT 1 FROM _thinned_starts AS starts WHERE starts.step_id = work.step_id
        AND starts.device_id IS work.device_id AND starts.start_ns > work.previous_end_ns)
    FROM device_activities AS work WHERE step_id IS NOT NULL AND kind <> 'sync' ORDER BY 1""")
# What stands for how many steps, in whichever table, follows from the view _thinned_steps.
THINNED = "SELECT profile_id FROM _thinned_steps"
for table in ("kernels", "transfers", "api_calls", "syncs", "device_activities", "collectives", "step_activity_totals"):
    is_work = "carried_by IN ('kernel', 'copies')" if table == "collectives" else "1"
    PAIRS["weights of " + table] = (
        f"SELECT id, is_measured, sample_weight, sampled_step_id FROM {table} ORDER BY 1",
        f"""SELECT work.id, steps.is_warmup IS NOT 1 AND coalesce(weight, 1) <> 0, coalesce(weight, 1.0),
        CASE WHEN {is_work} AND work.profile_id IN ({THINNED}) THEN work.step_id END
        FROM {table} AS work LEFT JOIN _thinned_steps AS thinned ON thinned.step_id = work.step_id AND {is_work}
        LEFT JOIN steps ON steps.id = work.step_id ORDER BY 1""")


def test_sums(engine):
    seen = set()
    for source, path in SOURCES.items():
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        for what, (derived, made) in PAIRS.items():
            got, wanted = connection.values(derived), connection.values(made)
            assert got == wanted, (source, what, [pair for pair in zip(got, wanted) if pair[0] != pair[1]][:3])
            if got:
                seen.add(what)
    assert seen == set(PAIRS), seen


def test_totals_that_a_file_claims(engine):
    """Totals are made of rows, whatever a file says of them: passes agree about which of them is which."""
    rows = ["= threads kind name", "host main", "= ops name category thread_id start_ns dur_ns", "mm op 0 1000 50",
            "mm op 0 2000 70", "= op_totals name count", *("wrong 9" for _ in range(50)),
            "= step_op_totals op_total_id count", "40 7", "= kernel_totals name count", "wrong 9"]
    connection = engine()
    connection.values(f"SELECT tfprof_open('{make_rows('claims', rows)}')")
    totals = connection.values("SELECT name, count, sum_ns, min_ns, in_step_count, device_count FROM op_totals")
    assert totals == [("mm", 2.0, 120, 50, None, None)], totals
    assert connection.values("SELECT count, sum_ns FROM step_op_totals") == [(2, 120)]
    assert connection.values("SELECT count(*), count(launch_delay_ns) FROM kernel_totals") == [(0, 0)]


def test_weights_of_nothing(engine):
    """-0 is 0 where rows are alike by it, and known."""
    rows = ["= ops name category start_ns dur_ns sample_weight", "mm op 1000 50 -0.0", "mm op 2000 70 0.0",
            "mm op 3000 70 "]
    connection = engine()
    connection.values(f"SELECT tfprof_open('{make_rows('nothing', rows)}')")
    totals = connection.values("SELECT sample_weight, count FROM op_shape_totals ORDER BY 1")
    assert totals == [(None, 1), (0.0, 2)], totals


def test_launches_without_a_start(engine):
    """What is not known to have started is in no queue."""
    rows = ["= devices ordinal", "0", "= threads kind name", "host main", "stream a",
            "= api_calls name thread_id start_ns dur_ns correlation", "cudaLaunchKernel 0 100 10 1",
            "cudaLaunchKernel 0 200 10 2", "cudaLaunchKernel 0 300 10 3",
            "= kernels name kind device_id thread_id start_ns dur_ns correlation", "gemm compute 0 1 150 10 1",
            "gemm compute 0 1  10 2", "gemm compute 0 1 350 10 3"]
    connection = engine()
    connection.values(f"SELECT tfprof_open('{make_rows('unstarted', rows)}')")
    rows = connection.values("SELECT count, mean, min, p50, max, full_ns FROM hta_queue_length")
    assert rows == [(4, 0.5, 0, 0.5, 1, 0)], rows
    assert connection.values("SELECT count(*), min(time_ns) FROM queue_events") == [(4, 100)]


def test_kernels_without_a_duration(engine):
    """They are counted, and are no part of means and deviations, which are those of all streams together."""
    rows = ["= devices ordinal", "0", "= threads kind name", "stream a", "stream b",
            "= kernels name kind device_id thread_id start_ns dur_ns", "gemm compute 0 0 1000 10",
            "gemm compute 0 0 2000 30", "gemm compute 0 1 3000 50", "gemm compute 0 1 4000 "]
    connection = engine()
    connection.values(f"SELECT tfprof_open('{make_rows('unended', rows)}')")
    rows = connection.values("SELECT count, sum_ns, min_ns, max_ns, mean_ns, stddev_ns FROM hta_kernel_breakdown")
    assert rows == [(4, 90, 10, 50, 30.0, 20.0)], rows


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
