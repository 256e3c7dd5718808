#!/usr/bin/env python3
"""test_trace_views.py: the views over traces of devices: order, shares, and files that hold little or odd things.

What devices did is compared with a count by hand over random kernels that overlap; files with graph launches only,
copies only and so on must give what is there and no error.
"""

import glob
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import Newest, asked_before, in_child, plans_do, run_tests
from made_traces import (FIXTURES, SHARED, answers, apart, asker, check_busy, copy, kernel, launch, opened, span)

NEEDS_CLASSIC = {"test_modules_beside_events", "test_names_of_nodes"}  # tests/parts.py


def test_order_once(_engine):
    """The rows come in the same order whichever way SQLite goes through the tables; by
    the newest one, which is fast."""
    traces = FIXTURES + [path for name in ("nccl_a100", "sampled_rank-0", "amd_mi250", "critical_path_simple_add",
                                           "triton")
                         for path in glob.glob(os.path.join(SHARED, "traces", "pytorch", name + ".*"))]
    try:
        connection = Newest()
    except ImportError:
        return
    # As it stands in its file: a view's own ORDER BY may be dropped when it is selected from.
    sql = dict(connection.values("SELECT name, sql FROM tfprof_views WHERE kind IN ('view', 'check') "
                                 "AND name <> 'advise'"))
    backwards = "PRAGMA reverse_unordered_selects = ON"
    before = asker(), asked_before(sql.values(), backwards)

    def compare(path):
        plain, reverse = before
        plain.values(f"SELECT tfprof_open('{path}')")
        if not plans_do(plain):
            plain, reverse = Newest(), Newest()
            plain.values(f"SELECT tfprof_open('{path}')")
            reverse.values(backwards)
        reverse.values(f"SELECT tfprof_open('{path}')")
        answered = answers(plain, path)
        for name in sql:
            rows, reversed_rows = answered[name], reverse.values(sql[name])
            assert repr(reversed_rows) == repr(rows), (path, name, next(
                pair for pair in zip(reversed_rows, rows) if repr(pair[0]) != repr(pair[1])))

    for path in traces:
        in_child(lambda: compare(path))
    connection.close()


def union(spans):
    covered, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            covered, until = covered + end - start, end
        elif end > until:
            covered, until = covered + end - until, end
    return covered


def test_overlaps(engine):
    """Kernels that overlap on one stream, last longer than until the next event, lie in each other, have no length: so
    many of them that the stream is no queue, which runs one thing after the other."""
    for seed in range(6):
        chance = random.Random(seed)
        events, spans = [], {7: [], 9: []}
        for i in range(120):
            stream = chance.choice((7, 9))
            start = chance.randrange(0, 2_000_000, 1000)
            dur = 400_000 if i % 8 == 0 else chance.choice((0, 1000, 20_000, 3000))
            events.append(kernel(start, dur, stream, i + 1))
            events.append(launch(max(0, start - chance.randrange(0, 50_000, 1000)), 2000, i + 1))
            spans[stream].append((start, start + dur))
        connection = opened(engine, events)
        every = spans[7] + spans[9]
        first, last = min(start for start, _ in every), max(end for _, end in every)
        rows = connection.values("SELECT idle_ns, compute_ns, non_compute_ns, kernel_ns FROM hta_temporal_breakdown")
        assert rows == [(last - first - union(every), union(every), 0, last - first)], (seed, rows)
        rows = connection.values("SELECT span_ns, busy_ns, kernel_ns, utilization_ratio <= 1 FROM device_utilization")
        # Kernels without a length are in no stretch of time.
        assert rows == [(last - first, union(every), sum(end - start for start, end in every), 1)], (seed, rows)
        gaps, until = [], first
        for start, end in sorted(every):
            if start - until >= 10_000:
                gaps.append(start - until)
            until = max(until, end)
        assert [row[0] for row in connection.values("SELECT gap_ns FROM gpu_gaps")] == sorted(gaps, reverse=True), seed
        by_stream = dict(connection.values("SELECT stream, sum(idle_ns) FROM hta_idle_breakdown GROUP BY 1"))
        assert all(0 <= by_stream.get(stream, 0) <= last - first - union(spans[stream])
                   for stream in spans), (seed, by_stream)
        # A kernel that runs when the next one starts is no queue of negative length.
        assert connection.values("SELECT min(min) >= 0 FROM hta_queue_length") == [(1,)], seed
        answers(connection, f"overlaps {seed}")
        connection.close()


def test_duration_overruns(engine):
    """An op whose duration reaches beyond the next one on its thread, and a step that ends in the middle of an op."""
    connection = opened(engine, [
        span("user_annotation", "ProfilerStep#1", 0, 100_000),
        span("cpu_op", "aten::first", 10_000, 50_000, **{"External id": 1}),
        span("cpu_op", "aten::second", 40_000, 40_000, **{"External id": 2}),
        span("cpu_op", "aten::late", 90_000, 60_000, **{"External id": 3}),
        kernel(95_000, 100_000, correlation=5), launch(91_000, 1000, 5)])
    rows = connection.values("SELECT name, parent_id IS NOT NULL, self_ns FROM ops WHERE category = 'op' ORDER BY id")
    assert all(0 <= self_ns <= 60_000 for _, _, self_ns in rows), rows
    assert sum(row[2] for row in rows if row[0] in ("aten::first", "aten::second")) <= 90_000, rows
    parts = connection.values("SELECT dur_ns, kernel_ns + copy_ns + communication_ns + launch_ns + "
                              "data_loader_ns + host_ns + other_ns FROM step_breakdown")
    assert len(parts) == 1 and parts[0][0] == parts[0][1], parts
    answers(connection, "overruns")
    connection.close()


CASES = {
    "nothing": [],
    "graph launches only": [launch(1000 * i, 500, i, "cudaGraphLaunch") for i in range(1, 5)],
    "a graph of kernels": [launch(1000, 500, 1, "cudaGraphLaunch")] + [
        kernel(5000 + 1000 * i, 800, correlation=1, **{"graph id": 3, "graph node id": i}) for i in range(1, 4)],
    "copies only": [copy(1000 * i, 500, correlation=i, bytes=4096) for i in range(1, 4)],
    "fills only": [span("gpu_memset", "Memset (Device)", 1000, 500, 0, 7, device=0, stream=7, correlation=1, bytes=64)],
    "kernels only": [kernel(1000 * i, 400, correlation=i) for i in range(1, 4)],
    "kernels without numbers": [span("kernel", "gemm", 1000, 400, "x", "y")],
    "calls only": [launch(1000, 500, 1), span("cuda_driver", "cuLaunchKernel", 3000, 10, 1, 1, correlation=2)],
    "ops only": [span("cpu_op", "aten::mm", 1000, 500, **{"External id": 1})],
    "steps only": [span("user_annotation", f"ProfilerStep#{i}", 1000 * i, 900) for i in range(1, 4)],
    "waits only": [span("cuda_sync", "Stream Sync", 1000, 500, 0, 7, cuda_sync_kind="Stream Sync", stream=7, device=0,
                        correlation=1, wait_on_stream=7)],
    "memory only": [{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": i,
                     "args": {"Addr": 7, "Bytes": 64 if i % 2 else -64, "Device Type": 1, "Device Id": 0}}
                    for i in range(4)],
    "counters only": [{"ph": "C", "name": "power", "pid": 0, "ts": 1, "args": {"value": 3.5}}],
    "instants only": [{"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "x",
                       "ts": 1}],
    "overheads only": [span("overhead", "Buffer Flush", 1000, 500, -1, 0)],
    "python only": [span("python_function", "train.py(3): main", 0, 9000,
                         **{"Python id": 1, "Python parent id": None})],
    "collectives only": [span("cpu_op", "record_param_comms", 0, 900,
                              **{"Collective name": "allreduce", "dtype": "Float",
                               "In msg nelems": 4, "Out msg nelems": 4, "Group size": 2})],
    "annotations of the device only": [span("gpu_user_annotation", "ProfilerStep#1", 0, 900, 0, 7)],
    "tensorflow only": [{"ph": "X", "cat": "Op", "name": "MatMul", "pid": 1, "tid": 0, "ts": 1, "dur": 4,
                         "args": {"name": "dense/MatMul", "op": "MatMul"}}],
}


def test_ranks_of_names(engine):
    """The names that trainers and servers give the traces of ranks, where these do not tell them themselves."""
    for names in ({"rank-0.json": 0, "rank3.pt.trace.json": 3, "rank12_trace.json": 12, "crank.json": None},
                  {"primus-exp-rank[3].1700.pt.trace.json": 3, "run_rank=7.json": 7},
                  {"r0-2026-11-28_01-42-29.17.pt.trace.json": 0, "r15-2026-11-28_01-42-29.17.pt.trace.json": 15,
                   "r2-d2.json": None},
                  {"rank0/host_17.pt.trace.json": 0, "rank1/host_18.pt.trace.json": 1},
                  {"17.5-TP-3.trace.json": 3, "17.5-TP-11.trace.json": 11},
                  {f"17.5-TP-{tp}-DP-{dp}.trace.json": 2 * dp + tp for tp in (0, 1) for dp in (0, 1)},
                  {f"17.5-TP-{tp}-DP-{tp // 2}-EP-{tp}.trace.json": tp for tp in range(4)},
                  {f"17.5-TP-{tp}-PP-{pp}.trace.json": 2 * pp + tp for tp in (0, 1) for pp in (0, 1)}):
        with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
            for name in names:
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"traceEvents": [span("cpu_op", "a", 0, 1)]}, file)
            connection = engine()
            connection.values("SELECT tfprof_open('%s')" % folder)
            found = {os.path.relpath(path, folder): rank
                     for path, rank in connection.values("SELECT path, rank FROM profiles")}
            assert found == names, (found, names)


def test_log_directory(engine):
    """Of a log directory of TensorBoard the newest run is opened, with a profile for each rank."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as logs:
        for run, when in (("first", 1000), ("third [1]", 3000), ("second", 2000)):
            os.mkdir(os.path.join(logs, run))
            for rank in range(2):
                path = os.path.join(logs, run, f"host_{rank}.170000{rank}.pt.trace.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"traceEvents": [span("cpu_op", run, 0, 1)], "distributedInfo": {"rank": rank}}, file)
                os.utime(path, (when, when))
        with open(os.path.join(logs, "events.out.tfevents"), "wb") as file:
            file.write(bytes(100))
        connection = engine()
        assert connection.values("SELECT tfprof_open('%s')" % logs) == [(1,)]
        names = connection.values("SELECT rank, format, (SELECT name FROM ops WHERE profile_id = profiles.id) "
                                  "FROM profiles ORDER BY rank")
        assert names == [(0, "kineto", "third [1]"), (1, "kineto", "third [1]")], names
        assert connection.values("SELECT reason, message LIKE 'the newest of 3 runs%' FROM diagnostics "
                                 "WHERE reason = 'older_runs'") == [("older_runs", 1)]
        assert connection.values("SELECT tfprof_open('%s')" % logs) == [(1,)]
        assert connection.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 2)]
        assert connection.values("SELECT tfprof_open('%s')" % os.path.join(logs, "second")) == [(2,)]
        # What the directory has itself counts by its time; opened again it is what is the newest run then.
        own = os.path.join(logs, "own.json")
        os.rename(os.path.join(logs, "first", "host_0.1700000.pt.trace.json"), own)
        connection = engine()
        assert connection.values("SELECT tfprof_open('%s')" % logs) == [(1,)]
        assert connection.values("SELECT DISTINCT name FROM ops") == [("third [1]",)]
        newer = os.path.join(logs, "second", "host_0.1700000.pt.trace.json")
        os.utime(newer, (4000, 4000))
        assert connection.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 2)]
        assert connection.values("SELECT tfprof_open('%s')" % logs) == [(2,)]
        assert connection.values("SELECT DISTINCT name FROM ops WHERE profile_id > 2") == [("second",)]
        assert connection.values("SELECT tfprof_open('%s')" % logs) == [(2,)]
        os.utime(own, (5000, 5000))
        connection = engine()
        connection.values("SELECT tfprof_open('%s')" % logs)
        assert connection.values("SELECT name FROM ops") == [("first",)]


def test_columns_for_views(engine):
    """What views count by: columns of ops and device_activities against the SQL that they stand for, with several
    profiles open, one of which has no steps."""
    events = []
    for number in range(6):
        begin = number * 1000
        events.append(span("user_annotation", f"ProfilerStep#{number}", begin, 900))
        events.append(span("cpu_op", "aten::mm" if number % 2 else "aten::add", begin + 10, 300,
                           **{"External id": number}))
        events.append(launch(begin + 20, 50, number + 1))
        events.append(kernel(begin + 100, 400, correlation=number + 1, **{"External id": number}))
    events.append(span("cpu_op", "aten::add", 9000, 300, **{"External id": 9}))
    connection = opened(engine, events)
    with tempfile.TemporaryDirectory(prefix="tfprof-views-") as directory:
        path = os.path.join(directory, "without_steps.json")
        with open(path, "w") as file:
            json.dump({"traceEvents": [event for event in events if event["cat"] != "user_annotation"]}, file)
        connection.values(f"SELECT tfprof_open('{path}')")
        measured = "SELECT {} FROM steps WHERE is_warmup = 0 AND ops_recorded = 1"
        wrong = connection.values(
            "SELECT id FROM ops WHERE is_measured IS NOT (coalesce(step_id IN (" + measured.format("id")
            + "), 0) OR profile_id NOT IN (" + measured.format("profile_id") + "))")
        assert not wrong, wrong
        sums = connection.values(
            "SELECT profile_id, sum(is_measured), count(*) FROM ops WHERE category = 'op' GROUP BY 1 ORDER BY 1")
        assert sums == [(1, 6, 7), (2, 7, 7)], sums
        before = connection.values(
            "SELECT profile_id, sum(is_before_last_step), count(*) FROM device_activities GROUP BY 1 ORDER BY 1")
        assert before == [(1, 5, 6), (2, 6, 6)], before
        wrong = connection.values(
            "SELECT a.id FROM device_activities AS a LEFT JOIN kernels ON kernels.id = kernel_id "
            "LEFT JOIN ops ON ops.id = a.op_id WHERE a.short_name IS NOT coalesce(kernels.short_name, a.name) "
            "OR outermost_op_id IS NOT outermost_id")
        assert not wrong, wrong
        for table in ("kernels", "api_calls"):
            names = connection.values(f"SELECT op_name, count(*) FROM {table} GROUP BY 1 ORDER BY 1")
            assert names == [("aten::add", 6), ("aten::mm", 6)], names
            wrong = connection.values(
                f"SELECT id FROM {table} AS t WHERE op_name IS NOT (SELECT name FROM ops WHERE ops.id = t.op_id)")
            assert not wrong, wrong


def test_ops_beside_steps(engine):
    """Steps marked on a thread that runs no ops: how long that thread waits for something else is not known."""
    events = [span("user_annotation", "ProfilerStep#1", 0, 1_000_000),
              span("cpu_op", "aten::mm", 100_000, 200_000, tid=2, **{"External id": 1})]
    events += [span("user_annotation", "Optimizer.step#SGD.step", start, dur)
               for start, dur in ((10_000, 40_000), (60_000, 5_000))]
    events += [span("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 70_000, 9_000)]
    connection = opened(engine, events)
    assert connection.values("SELECT op_ns, op_count, optimizer_ns FROM step_op_time") == [(0, 1, 54_000)]
    assert connection.values("SELECT in_optimizer_ratio FROM step_summary") == [(0.054,)]
    assert connection.values("SELECT ops_per_step FROM step_summary") == [(1,)]
    assert not connection.values("SELECT self_ns FROM xprof_op_stats WHERE is_idle")
    assert not connection.values("SELECT value FROM advise WHERE check_name = 'host_bound'")
    connection.close()


def test_backward_and_modules(engine):
    """A trace as of a GPU with stacks: the backward pass runs on a thread of its own while the step's thread waits;
    calls of modules and Python functions are rows, but no ops."""
    python = {"Python id": 1, "Python parent id": None}
    def module(number, name, start, dur, parent):
        return span("python_function", f"nn.Module: {name}", start, dur,
                    **{"Python id": number, "Python parent id": parent, "Python module id": 0})

    events = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 0, "args": {"name": "thread 1 (python)"}},
        span("python_function", "train.py(3): main", 0, 1_000_000, **python),
        span("user_annotation", "ProfilerStep#1", 0, 1_000_000),
        module(2, "Net_0", 10_000, 300_000, 1),
        module(3, "Linear_1", 20_000, 100_000, 2),
        span("cpu_op", "aten::addmm", 30_000, 80_000, **{"External id": 1, "Sequence number": 5, "Fwd thread id": 0}),
        module(4, "Linear_1", 150_000, 100_000, 2),
        span("cpu_op", "aten::addmm", 160_000, 50_000, **{"External id": 2}),
        span("cpu_op", "aten::sum", 270_000, 20_000, **{"External id": 3}),
        span("cpu_op", "aten::item", 900_000, 50_000, **{"External id": 4}),
        span("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 400_000, 300_000, tid=2,
             **{"External id": 5, "Sequence number": 5, "Fwd thread id": 1}),
        span("cpu_op", "aten::mm", 450_000, 100_000, tid=2, **{"External id": 6}),
        span("cpu_op", "aten::randn", 0, 1_000_000, tid=3, **{"External id": 7}),  # what else runs meanwhile
    ]
    connection = opened(engine, events)
    modules = connection.values("SELECT name, module, count(*) FROM ops WHERE module IS NOT NULL GROUP BY 1, 2 "
                                "ORDER BY 1, 2")
    assert modules == [
        ("aten::addmm", "Net_0.Linear_1", 2), ("aten::mm", "Net_0.Linear_1", 1), ("aten::sum", "Net_0", 1),
        ("autograd::engine::evaluate_function: AddmmBackward0", "Net_0.Linear_1", 1),
        ("nn.Module: Linear_1", "Net_0.Linear_1", 2),
        ("nn.Module: Net_0", "Net_0", 1)], modules
    rows = connection.values("SELECT module, class, depth, count, self_ns, sum_ns, call_count, call_ns "
                             "FROM module_summary")
    assert rows == [("Net_0.Linear_1", "Linear", 1, 4, 430_000, 430_000, 2, 200_000),
                    ("Net_0", "Net", 0, 1, 20_000, 450_000, 1, 300_000)], rows
    # 80 + 50 + 20 + 50 on the step's thread and 300 of the backward pass, of 1000 microseconds.
    assert connection.values("SELECT in_ops_ratio, ops_per_step FROM step_summary") == [(0.5, 7)]
    (times,) = connection.values("SELECT dur_ns, op_ns, optimizer_ns, op_count FROM step_op_time")
    assert times == (1_000_000, 500_000, 0, 7), times
    assert connection.values("SELECT step_time_in_ops_ratio FROM coverage") == [(0.5,)]
    assert connection.values("SELECT self_ns FROM xprof_op_stats WHERE is_idle") == [(500_000,)]
    assert connection.values("SELECT value FROM advise WHERE check_name = 'host_bound'") == [(0.5,)]
    rows = connection.values("SELECT thread, op_count, op_ns FROM thread_summary ORDER BY thread_id")
    assert sorted(rows) == [("2", 2, 300_000), ("3", 1, 1_000_000), ("thread 1 (python)", 4, 200_000)], rows
    # What autograd's thread runs, where there are no frames, counts for the function that called the forward op.
    rows = connection.values("SELECT location, count, self_ns, backward_ns FROM code_summary")
    assert rows == [("train.py:3", 6, 500_000, 300_000)], rows
    for event in events:
        event["tid"] = 1 if event["tid"] == 2 else event["tid"]  # as on a CPU
    connection = opened(engine, events)
    assert connection.values("SELECT in_ops_ratio FROM step_summary") == [(0.5,)]
    rows = connection.values("SELECT location, count, self_ns, backward_ns FROM code_summary")
    assert rows == [("train.py:3", 6, 500_000, 300_000)], rows


def test_collectives_of_kernels(engine):
    """NCCL as traces of older releases have it: kernels, and a mark around what launched them."""
    def exchange(number, mark, kernels, **args):
        begin = number * 10_000
        events = [span("user_annotation", mark, begin, 5000, **{"External id": number, **args})] if mark else []
        for i, name in enumerate(kernels):
            events += [launch(begin + 1000 + 100 * i, 50, 10 * number + i),
                       kernel(begin + 6000 + 1000 * i, 1000, 21, 10 * number + i, name)]
        return events

    floats = {"Input Dims": [[4, 25]], "Input type": ["float"]}
    events = exchange(1, "nccl:all_reduce", ["ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"], **floats)
    events += exchange(2, "nccl:broadcast",
                       ["ncclDevKernel_Broadcast_RING_LL(x)", "ncclDevKernel_Broadcast_RING_LL(x)"], **floats)
    events += exchange(3, None, ["ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                 "gemm", "nccl"])
    found = ("SELECT c.name, c.dtype, group_size, c.bytes, c.dur_ns, o.name, k.name GLOB 'nccl*' FROM collectives AS c "
             "JOIN kernels AS k ON k.id = kernel_id LEFT JOIN ops AS o ON o.id = c.op_id ORDER BY c.id")
    marked = ("broadcast", "Float", None, None, 1000, "nccl:broadcast", 1)
    wanted = [("all_reduce", "Float", None, 400, 1000, "nccl:all_reduce", 1), marked, marked,
              ("reduce_scatter", None, None, None, 1000, None, 1), ("nccl", None, None, None, 1000, None, 1)]
    assert opened(engine, events).values(found) == wanted
    one_group = {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1,
                 "pg_config": [{"pg_name": "0", "pg_size": 2}]}
    connection = opened(engine, events, distributedInfo=one_group)
    assert connection.values(found) == [row[:2] + (2,) + row[3:] for row in wanted]
    assert connection.values("SELECT sum(bus_bytes_per_second) FROM collectives") == [(4e8,)]
    connection = opened(engine, events, distributedInfo={**one_group, "pg_count": 12})
    assert connection.values(found) == wanted
    # One that has its arguments is a row beside them; a wait or the setting up of a group is none.
    for name in ("allreduce", "wait", "init"):
        events.append(span("cpu_op", "record_param_comms", 90_000, 900,
                           **{"Collective name": name, "dtype": "Float", "Group size": 2}))
    connection = opened(engine, events)
    names = [name for name, in connection.values("SELECT name FROM collectives ORDER BY 1")]
    assert names == sorted([row[0] for row in wanted] + ["allreduce"]), names
    # A kernel without arguments whose op has them is carried out by it: one row.
    asking = span("cpu_op", "record_param_comms", 29_000, 3000, **{
        "Collective name": "_reduce_scatter_base", "dtype": "Float", "Group size": 2, "External id": 33})
    asked = [{**event, "args": {**event["args"], "External id": 33}} if "ReduceScatter" in event["name"] else event
             for event in [*events, asking]]
    rows = opened(engine, asked).values(
        "SELECT name, carried_by, group_size, dur_ns FROM collectives WHERE name GLOB '*reduce*scatter*'")
    assert rows == [("_reduce_scatter_base", "kernel", 2, 1000)], rows
    kept = connection.values("SELECT attributes ->> 'Collective name' FROM ops WHERE name = 'record_param_comms' "
                             "ORDER BY id")
    assert kept == [(None,), ("wait",), ("init",)], kept


def test_calls_that_wait(engine):
    """Where waits are not recorded as such, the calls that wait stand for them; where
    they are, nothing counts twice."""
    events = [
        span("cpu_op", "aten::item", 0, 9000, **{"External id": 1}),
        launch(1000, 5000, 1, "cudaStreamSynchronize"), launch(7000, 1000, 2, "hipStreamSynchronize"),
        launch(20_000, 300, 3, "cudaDeviceSynchronize"), launch(21_000, 200, 4, "cudaEventSynchronize"),
        launch(22_000, 100, 5, "cuCtxSynchronize"), launch(23_000, 50, 6, "cudaStreamWaitEvent"),
        launch(24_000, 50, 7, "cudaEventQuery"),
    ]
    rows = opened(engine, events).values("SELECT kind, op, count, sum_ns FROM sync_summary")
    assert rows == [("stream", "aten::item", 2, 6000), ("device", None, 1, 300), ("event", None, 1, 200),
                    ("context", None, 1, 100)], rows
    events.append(span("cuda_sync", "Stream Sync", 1500, 4000, 0, 7, cuda_sync_kind="Stream Sync", stream=7, device=0,
                       correlation=1, wait_on_stream=7))
    rows = opened(engine, events).values("SELECT kind, op, count, sum_ns FROM sync_summary")
    assert rows == [("stream", "aten::item", 1, 4000)], rows
    # A copy to the host that was over when its call returned was waited for; one that was
    # not, and one to the device, not.
    events = [span("cpu_op", "aten::item", 0, 9000, **{"External id": 1})]
    for number, (name, done) in enumerate([("Memcpy DtoH (Device -> Pageable)", 6000),
                                           ("Memcpy DtoH (Device -> Pinned)", 6001),
                                           ("Memcpy HtoD (Pageable -> Device)", 5000)]):
        events += [launch(1000, 5000, number + 1, "cudaMemcpyAsync"),
                   copy(done - 100, 100, 7 + number, number + 1, name)]
    rows = opened(engine, events).values("SELECT kind, op, count, sum_ns FROM sync_summary")
    assert rows == [("copy", "aten::item", 1, 5000)], rows
    # What the device runs dry for meanwhile: from the end of the copy to the next kernel.
    events = events[:3] + [span("user_annotation", "ProfilerStep#1", 0, 20_000), launch(7000, 1000, 9),
                           kernel(9000, 1000, correlation=9)]
    rows = opened(engine, events).values("SELECT value, saves_ns FROM advise WHERE check_name = 'device_waits'")
    assert rows == [(0.15, 3000)], rows


def test_modules_beside_events(engine):
    """What ProfileContext writes of models: rows of nodes, which change nothing of what
    the events tell; all or none."""
    events = [span("python_function", "nn.Module: Linear_0", 0, 100_000, **{"Python id": 1, "Python parent id": None}),
              span("cpu_op", "aten::addmm", 10_000, 50_000, **{"External id": 1})]
    model = {"name": "Linear", "op_type": "Linear", "is_scope": 1, "depth": 0}
    weight = {"name": "weight", "op_type": "Parameter", "is_scope": 0, "depth": 1, "parent_id": 0, "shape": "2x3",
              "dtype": "float32", "canonical_device": "cpu", "param_count": 6, "param_bytes": 24, "trainable": 1,
              "attributes": '{"same_as":"x"}'}
    columns = ("SELECT name, op_type, (SELECT name FROM nodes AS around WHERE around.id = nodes.parent_id), depth, "
               "is_scope, shape, dtype, canonical_device, param_count, param_bytes, trainable, attributes FROM nodes")
    answers_of_views = "SELECT (SELECT group_concat(module || count) FROM module_summary), total_params FROM scope_view"
    connection = opened(engine, events, tfprofModules=[model, weight])
    assert connection.values(columns) == [
        ("Linear", "Linear", None, 0, 1, None, None, None, None, None, None, None),
        ("weight", "Parameter", "Linear", 1, 0, "2x3", "float32", "cpu", 6, 24, 1, '{"same_as":"x"}')]
    assert connection.values(answers_of_views)[0] == ("Linear_01", 6)
    # Before any step.
    connection = opened(engine, [], tfprofModules=[model, weight])
    assert connection.values("SELECT name, total_params FROM scope_view WHERE depth < 4") == [
        ("_TFProfRoot", 6), ("Linear", 6), ("Linear/weight", 6)]
    odd = dict(weight, shape=7, depth=-3, param_count=1e30, dtype=None, trainable="yes", parent_id=10 ** 30)
    connection = opened(engine, events, tfprofModules=[model, odd, {"name": "only"}])
    assert connection.values(columns)[1][2:] == (None, None, 0, None, None, "cpu", None, 24, None, '{"same_as":"x"}')
    for wrong in ([weight], [model, dict(weight, parent_id=1)], [{"op_type": "Linear"}], [model, 5], {"a": model}, "x"):
        connection = opened(engine, events, tfprofModules=wrong)
        assert connection.values("SELECT count(*) FROM nodes") == [(0,)], wrong
        assert connection.values("SELECT 1 FROM diagnostics WHERE reason = 'malformed_modules'") == [(1,)], wrong
        assert connection.values(answers_of_views)[0] == ("Linear_01", 0), wrong


def test_deep_modules(engine):
    """Calls of modules nested without end: paths begin anew, and take no memory by the square."""
    events = [span("python_function", f"nn.Module: Block_{i}", i, 40_000 - 2 * i,
                   **{"Python id": i, "Python parent id": i - 1})
              for i in range(5000)]
    connection = opened(engine, events)
    longest, count = connection.values("SELECT max(length(module)), count(DISTINCT module) FROM ops")[0]
    assert 900 < longest <= 1001 and count == 5000, (longest, count)


def test_names_of_nodes(engine):
    """Ops of one name with inputs of other shapes are nodes of their own, whose names differ, however many there are.
    With so many others in front, two of the names are found where their number is counted."""
    events = [span("cpu_op", "other %d" % i, i, 1) for i in range(28)]
    events += [span("cpu_op", "op %d" % (i // 2), 10_000 + 100 * i, 50,
                    **{"Input Dims": [[i % 2 + 5]], "Input type": ["float"]}) for i in range(6000)]
    connection = opened(engine, events)
    names = [row[0] for row in connection.values("SELECT name FROM scope_view WHERE max_depth = 10 AND depth = 2")]
    expected = ["op %d%s" % (i, ending) for i in range(3000) for ending in ("", "_1")]
    assert sorted(names) == sorted(expected + ["other %d" % i for i in range(28)]), set(names) ^ set(expected)


def test_kernels_of_ops(engine):
    """op_kernels, which counts by like_op_id, against the texts put together op by op: launches at the same time and of
    several kernels, copies between them, kernels that start out of order, ops after the last
    step, kernels without an op."""
    for seed in range(8):
        randomly = random.Random(seed)
        events = [span("user_annotation", f"ProfilerStep#{i}", 1_000_000 * i, 1_000_000) for i in range(seed % 4)]
        for number in range(1, 60):
            begin, thread = randomly.randrange(3000) * 1000, randomly.choice((1, 2))
            if number % 10:
                events.append(span("cpu_op", randomly.choice(("aten::mm", "aten::add")), begin, 90_000, 1, thread))
            for call in range(number * 10, number * 10 + randomly.randrange(4)):
                at = begin + randomly.choice((1000, 1000, 2000, 7000))
                events.append(launch(at, 500, call, tid=thread))
                for _ in range(randomly.choice((0, 1, 1, 1, 2))):
                    what, name = randomly.choice(((kernel, "b"), (kernel, "void a<int>(x)"), (kernel, "C"),
                                                  (copy, "copy")))
                    events.append(what(at + randomly.randrange(9) * 1000, 700, randomly.choice((7, 8)), call, name))
        connection = opened(engine, events)
        wanted = connection.values(
            """WITH last AS (SELECT max(start_ns) AS start_ns FROM steps WHERE origin = 'profiler'
              GROUP BY profile_id HAVING count(*) >= 2),
            calls AS (
              SELECT ops.name AS name, ops.start_ns AS op_ns,
                ordered_concat(short_name, ' -> ', c.start_ns) AS sequence, count(*) AS kernels,
                min(c.start_ns) AS launch_ns,
                min(k.start_ns) FILTER (WHERE c.start_ns = first.start_ns) AS start_ns, sum(k.dur_ns) AS sum_ns
              FROM kernels AS k JOIN ops ON ops.id = k.op_id JOIN api_calls AS c ON c.id = k.api_call_id
              JOIN (SELECT k.op_id, min(c.start_ns) AS start_ns FROM kernels AS k
                JOIN api_calls AS c ON c.id = k.api_call_id
                GROUP BY k.op_id) AS first ON first.op_id = k.op_id
              LEFT JOIN last
              WHERE last.start_ns IS NULL OR c.start_ns < last.start_ns GROUP BY k.op_id)
            SELECT name, sequence, count(*) AS count, max(kernels), CAST(round(avg(launch_ns - op_ns)) AS INTEGER),
              CAST(round(avg(start_ns - launch_ns)) AS INTEGER), sum(sum_ns)
            FROM calls GROUP BY name, sequence ORDER BY count DESC, name, sequence""")
        found = connection.values("SELECT op, kernel_sequence, count, kernel_count, launch_delay_ns, "
                                  "kernel_delay_ns, kernel_ns FROM hta_op_kernels")
        assert len(found) > 5 and found == wanted, (seed, found, wanted)
        alike = connection.values("SELECT count(*) FROM device_activities AS a "
                                  "JOIN ops AS first ON first.id = like_op_id JOIN ops ON ops.id = a.op_id "
                                  "WHERE first.name <> ops.name OR first.id > ops.id")
        assert alike == [(0,)], (seed, alike)
        connection.close()


def test_without_calls(engine):
    """A trace whose launching calls other tools took out: what needs none is the same as with them, the last step
    included, and coverage says so; where neither calls nor ops are, kernels count by their own start."""
    events = [span("user_annotation", f"ProfilerStep#{i}", 100_000 * i, 100_000) for i in range(1, 4)]
    for number in range(1, 30):
        begin = 100_000 + number * 10_000
        events.append(span("cpu_op", ("aten::mm", "aten::add")[number % 2], begin, 8000, **{"External id": number}))
        for i in range(3):
            call, ids = 10 * number + i, {"External id": number}
            events.append(launch(begin + 1000 * i, 500, call))
            name = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)" if number % 5 == 0
                    else ("a", "b", "c")[(number + i) % 3])
            events.append(kernel(begin + 5000 + 3000 * i, 2500, 7 + number % 2, call, name, **ids))
        events.append(copy(begin + 500, 4000, 9, 10 * number + 9, bytes=4096, **ids))
        events.append(launch(begin + 100, 50, 10 * number + 9, "cudaMemcpyAsync"))
    views = ("hta_temporal_breakdown", "hta_communication_overlap", "hta_kernel_type_breakdown", "hta_kernel_breakdown",
             "hta_memory_bandwidth", "hta_frequent_sequences")
    calls = ("SELECT op, kernel_sequence, count, kernel_count, kernel_ns, launch_delay_ns IS NULL "
             "FROM hta_op_kernels")
    whole, stripped, kernels = (
        opened(engine, [event for event in events if event["cat"] not in left_out])
        for left_out in ((), ("cuda_runtime",), ("cuda_runtime", "cpu_op")))
    for view in views:
        rows = whole.values(f"SELECT * FROM {view}")
        assert rows and stripped.values(f"SELECT * FROM {view}") == rows, (view, rows,
                                                                           stripped.values(f"SELECT * FROM {view}"))
    rows = whole.values(calls)
    assert len(rows) > 3 and stripped.values(calls) == [row[:5] + (1,) for row in rows], (rows, stripped.values(calls))
    before, of_last_step = kernels.values(
        """SELECT sum(is_before_last_step = (start_ns < s.last_ns)), sum(start_ns >= s.last_ns)
        FROM device_activities, (SELECT max(start_ns) AS last_ns FROM steps) AS s""")[0]
    assert before == 116 and of_last_step > 30, (before, of_last_step)
    assert kernels.values("SELECT sum(idle_ns) > 0, sum(iif(idle_category = 'host_wait', count, 0)) "
                          "FROM hta_idle_breakdown") == [(1, 0)]
    ratios = "SELECT kernels_with_op_ratio, kernels_with_call_ratio FROM coverage"
    assert [one.values(ratios) for one in (whole, stripped, kernels)] == [[(1, 1)], [(1, 0)], [(0, 0)]]


def test_queues(engine):
    """queue_events against a window over launches and starts: several streams, starts before their launch, launches
    that are at the same time, graphs and copies without a call."""
    randomly = random.Random(5)
    events, number = [], 0
    for stream in (7, 20, 13):
        for _ in range(60):
            number += 1
            begin = randomly.randrange(50) * 1000
            if number % 9:
                events.append(launch(begin, 50, number, "cudaGraphLaunch" if number % 7 == 0 else "cudaLaunchKernel"))
            events.append(kernel(begin + randomly.randrange(-2, 20) * 1000, 400, stream, number))
    connection = opened(engine, events)
    launched = """FROM device_activities AS a JOIN api_calls ON api_calls.id = api_call_id
        WHERE a.kind <> 'sync' AND api_calls.name <> 'cudaGraphLaunch'"""
    wanted = connection.values(
        f"""SELECT a.device_id, a.thread_id, time_ns, sum(change) OVER (PARTITION BY a.thread_id
              ORDER BY time_ns, change DESC ROWS UNBOUNDED PRECEDING) AS queue_length
            FROM (SELECT a.device_id, a.thread_id, launch_ns AS time_ns, 1 AS change {launched}
                  UNION ALL SELECT a.device_id, a.thread_id, a.start_ns, -1 {launched}) AS a
            ORDER BY a.device_id, a.thread_id, time_ns, change DESC""")
    found = connection.values("SELECT device_id, thread_id, time_ns, queue_length FROM queue_events ORDER BY id")
    assert len(found) > 200 and found == wanted, (len(found), len(wanted))
    assert min(row[3] for row in found) < 0 < max(row[3] for row in found)
    shown = connection.values("SELECT device_id, thread_id, queue_length FROM hta_queue_length_series")
    assert shown == [(row[0], row[1], row[3]) for row in found]


def test_window(engine):
    """Of kernels that reach out of the time of the steps only what lies inside counts, and nothing of the others."""
    full = {"blocks per SM": 0.5, "est. achieved occupancy %": 100}
    half = {"blocks per SM": 0.25, "est. achieved occupancy %": 50}
    events = [span("user_annotation", f"ProfilerStep#{i}", 10_000 + 10_000 * i, 10_000) for i in range(2)]
    events += [kernel(1000, 4000, 7, 1, **full),
               kernel(9000, 1000, 8, 2, "h884gemm", **full)]  # before, one up to the start
    events += [kernel(8000, 4000, 7, 3, "h884gemm", **half), kernel(14_000, 2000, 7, 4, **full)]  # 2000 inside; inside
    events += [kernel(28_000, 6000, 7, 5, "h884gemm", **full),
               kernel(29_000, 4000, 8, 6, **full)]  # 2000 and 1000 inside
    events += [kernel(30_000, 3000, 9, 7, **full), kernel(40_000, 0, 9, 8, **full)]  # after
    events += [kernel(40_000, 1000, 7, 9, **full) | {"args": {"device": 1, "stream": 7}}]  # all that device 1 ran
    connection = opened(engine, events)
    rows = connection.values("SELECT device_id & 15, span_ns, busy_ns, sm_efficiency_ratio, occupancy_ratio, "
                             "tensor_core_ratio, kernel_count, kernel_ns FROM device_utilization")
    filled = 2000 * 0.25 + 2000 * 0.5 + 1000 * 0.5 + 1000 * 1.0  # two run together at the end
    assert rows == [(1, 20_000, 6000, filled / 20_000, (1000 + 2000 + 2000 + 1000) / 7000, 4000 / 7000, 4, 7000)], rows
    check_busy(connection, "kernels outside of all steps")
    connection.close()


def test_little(engine):
    """Whatever is missing, every view answers; with each kind of row alone all tables but a few are empty."""
    for what, events in CASES.items():
        apart(engine, lambda engine: answers(opened(engine, events), what))


def test_what_there_is(engine):
    connection = opened(engine, CASES["graph launches only"])
    assert connection.values("SELECT count(*), count(kernel_count), count(graph) FROM graph_launches") == [(4, 0, 0)]
    assert connection.values("SELECT name, count FROM api_summary") == [("cudaGraphLaunch", 4)]
    assert connection.values("SELECT count(*) FROM hta_kernel_launch_stats") == [(0,)]
    connection = opened(engine, CASES["a graph of kernels"])
    assert connection.values("SELECT kernel_count, graph FROM graph_launches") == [(3, 3)]
    assert connection.values("SELECT count(*), count(DISTINCT api_call_id) FROM kernels "
                             "WHERE graph_launch_id IS NOT NULL") == [(3, 1)]
    connection = opened(engine, CASES["copies only"])
    (times,) = connection.values("SELECT idle_ns, compute_ns, non_compute_ns, kernel_ns FROM hta_temporal_breakdown")
    assert times == (1000, 0, 1500, 2500), times
    assert connection.values("SELECT direction, count, bytes FROM transfer_summary") == [("HtoD", 3, 12288)]
    assert connection.values("SELECT count(*) FROM device_utilization") == [(0,)]  # of devices that ran kernels
    connection = opened(engine, CASES["kernels only"])
    assert connection.values("SELECT busy_ns, span_ns FROM device_utilization") == [(1200, 2400)]
    assert connection.values("SELECT count(*), count(op_id), count(step_id) FROM kernels") == [(3, 0, 0)]


def test_recursion(engine):
    """A line that is on the stack several times counts once, the innermost one of the program gets the time, and a
    stack that lies in libraries alone gives it to its own innermost line."""
    def frames(numbers, places, start, dur):
        parent = None
        for number, place in zip(numbers, places):
            yield span("python_function", place, start, dur, **{"Python id": number, "Python parent id": parent})
            parent, start, dur = number, start + 10, dur - 20

    library = "/usr/lib/python3.11/site-packages/torch/nn/functional.py"
    events = [*frames(range(1, 6), ["a.py(1): main", "a.py(5): f", "a.py(7): g", "a.py(5): f", f"{library}(9): gelu"],
                      0, 50_000),
              *frames(range(11, 13), [f"{library}(1): worker", f"{library}(2): run"], 60_000, 50_000),
              span("cpu_op", "aten::gelu", 1000, 20_000, **{"External id": 1}),
              span("cpu_op", "aten::add", 61_000, 3000, **{"External id": 2})]
    connection = opened(engine, events)
    rows = connection.values("SELECT location, count, self_ns, sum_ns, self_ratio, is_library FROM code_summary")
    assert rows == [("a.py:5", 1, 20_000, 20_000, 20 / 23, 0), ("functional.py:2", 1, 3000, 3000, 3 / 23, 1),
                    ("a.py:1", 0, 0, 20_000, 0.0, 0), ("a.py:7", 0, 0, 20_000, 0.0, 0)], rows
    connection.close()


def test_main_scripts(engine):
    """What lies in the folder of a main script is the program's wherever that lies; frameworks, packages and Python
    that lie below it are not, and a module of theirs that something imports makes no program of its folder."""
    linear = "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py(134): forward"
    spawned = ["<string>(1): <module>", "/usr/lib/python3.11/multiprocessing/spawn.py(122): spawn_main",
               "/usr/lib/python3.11/multiprocessing/process.py(108): run"]
    kinds = {}
    for root, inner in (
        (["/work/torch/optim/train.py(3): <module>"], "/work/torch/optim/net.py"),
        (["/work/keras/src/train.py(3): <module>"], "/work/keras/src/train.py"),
        (["/x/lib/python3.11/mine/train.py(3): <module>"], "/x/lib/python3.11/mine/net.py"),
        (["<frozen runpy>(88): _run_code", "/work/tensorflow/python/train.py(3): <module>"],
         "/work/tensorflow/python/parts/net.py"),
        (["C:\\work\\torch\\amp\\train.py(3): <module>"], "C:\\work\\torch\\amp\\net.py"),
        (["torch/distributed/train.py(3): <module>"], "torch/distributed/train.py"),
        ([*spawned, "/work/torch/optim/train.py(3): run"], "/work/torch/optim/net.py"),
        ([*spawned, "/v/lib/python3.11/site-packages/torch/multiprocessing/spawn.py(90): _wrap",
          "/work/torch/optim/train.py(3): run"], "/work/torch/optim/train.py"),
        (["<string>(1): <module>", "C:\\Python\\Lib\\multiprocessing\\spawn.py(122): spawn_main",
          "C:\\Python\\Lib\\multiprocessing\\process.py(108): run", "C:\\work\\torch\\amp\\train.py(3): run"],
         "C:\\work\\torch\\amp\\net.py"),
        ([*spawned, "/src/pytorch/torch/utils/data/_utils/worker.py(300): _worker_loop"],
         "/src/pytorch/torch/utils/data/_utils/fetch.py"),
        ([*spawned, "lightning/fabric/strategies/launchers/multiprocessing.py(100): _wrapping_function"],
         "lightning/pytorch/loops/fit_loop.py"),
        (["/src/train.py(3): <module>"], "/src/pytorch/torch/nn/modules/linear.py"),
        (["/src/train.py(3): <module>"], "/src/.venv/lib/python3.11/site-packages/six.py"),
        (["/src/train.py(3): <module>"], "/src/.pyenv/lib/python3.11/json/encoder.py"),
        (["/work/torch/optim/train.py(3): main"], "/work/torch/optim/net.py"),
        (["<frozen runpy>(88): _run_code", "/usr/lib/python3.11/cProfile.py(3): <module>"],
         "/usr/lib/python3.11/ast.py"),
        (["/v/lib/python3.11/site-packages/torch/distributed/run.py(3): <module>"],
         "/v/lib/python3.11/site-packages/torch/distributed/run.py"),
    ):
        events, places, parent = [], [*root, f"{inner}(5): forward", linear], None
        for number, place in enumerate(places, 1):
            events.append(span("python_function", place, 10 * number, 50_000 - 20 * number,
                               **{"Python id": number, "Python parent id": parent}))
            parent = number
        connection = opened(engine, [*events, span("cpu_op", "aten::addmm", 1000, 20_000, **{"External id": 1})])
        ((kind,),) = connection.values("SELECT DISTINCT source_kind FROM code_frames WHERE line = 5")
        kinds[root[-1], inner] = kind
        (line,) = connection.values("SELECT file, line, is_library FROM code_summary WHERE self_ns > 0 LIMIT 1")
        assert kind != "program" or line == (inner, 5, 0), (inner, line)
        assert "launchers" not in line[0] and line[0] != "<string>", (inner, line)
        connection.close()
    assert list(kinds.values()) == ["program"] * 9 + ["framework", "library", "framework", "library", "python",
                                                      "framework", "python", "framework"], kinds


def test_cycles(engine):
    """Parents that lead in a circle, or to themselves, end no query and hang none."""
    def frame(i, parent, start):
        return span("python_function", f"a.py({i}): f{i}", start, 1000, **{"Python id": i, "Python parent id": parent})

    events = [frame(i, (i + 1) % 50, i * 10) for i in range(50)] + [frame(100, 100, 600), frame(101, 100, 700)]
    events += [frame(1000 + i, 1000 + i - 1, 2000 + i) for i in range(300)]  # and a deep one
    connection = opened(engine, events)
    assert connection.values("SELECT count(*) FROM ops") == [(352,)]
    assert connection.values("SELECT max(depth) FROM code_traces") == [(300,)]
    answers(connection, "cycles", ["code_summary", "op_summary", "_code_trace_lines"])


def test_alike_optimizers(engine):
    """A trace that does not tell one optimizer from two that take turns says so, and offers the steps of two."""
    def trace(is_from_start):
        events = []
        for i in range(24):
            at = 1_000_000 + 100_000 * i
            events += [span("cpu_op", "aten::addmm", at, 20_000, **{"Sequence number": i, "Fwd thread id": 0}),
                       span("user_annotation", "Optimizer.step#Adam.step", at + 60_000, 30_000),
                       span("cpu_op", "aten::zeros_like" if is_from_start and i < 2 else "aten::add_", at + 65_000,
                            9_000)]
        return opened(engine, events)

    for is_from_start, steps, reason in ((False, 24, "optimizers_not_told"), (True, 12, "steps_by_optimizer")):
        connection = trace(is_from_start)
        assert connection.values("SELECT count(*), min(origin) FROM steps") == [(steps, "optimizer")], is_from_start
        told = connection.values("SELECT reason, message FROM diagnostics WHERE reason GLOB '*optimizer*'")
        assert [row[0] for row in told] == [reason], told
        assert told[0][1].startswith(f"{steps} steps"), told
        offered = connection.values(
            "SELECT origin, optimizer, count(*), min(dur_ns) > 0 FROM candidate_steps GROUP BY 1, 2 ORDER BY 1, 2")
        assert offered == ([("optimizer", 1, 12, 1), ("optimizer", 2, 12, 1)] if is_from_start else
                           [("turns", None, 12, 1)]), offered
        connection.close()


def test_batches_of_inference(engine):
    """Steps are the batches of two epochs: no calls of the loader that only say that there are no more."""
    events = []
    for i in range(18):
        at, is_end = 1_000_000 + 100_000 * i, i % 9 == 8
        events += [span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 20_000),
                   span("cpu_op", "aten::stack", at + 5_000, 9_000),
                   span("cpu_op", "aten::mean" if is_end else "aten::linear", at + 30_000, 40_000)]
    connection = opened(engine, events)
    assert connection.values("SELECT count(*), min(origin), sum(dur_ns > 100000) FROM steps") == [
        (16, "batch", 1)]  # what runs between the epochs belongs to the step that waits for it
    assert connection.values("SELECT reason FROM diagnostics WHERE reason GLOB 'steps*'") == [("steps_by_batches",)]
    assert connection.values("SELECT evaluation_ratio FROM step_summary") == [(0,)]
    connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
