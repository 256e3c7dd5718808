#!/usr/bin/env python3
"""test_xplane.py: XSpaces (.xplane.pb): every event is a row where it belongs, with every stat.

tests/xplane_files.py makes files by hand and reads any in Python; the recordings among the shared traces are compared
with that, event by event. What else there is to say of XSpaces is in the files test_xplane_*.py beside this one.
"""

import collections
import glob
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import engines
import xplane_files as files
from asking import check, column, query, rows, run_tests
from xplane_files import Ref, Unsigned, event, line, plane, space, written

SHARED = os.environ.get("TFPROF_SHARED", "")
START = 1_700_000_000_000_000_000
HOUR_US = 3_600_000_000


def test_example(directory):
    """All tables of a file that is known."""
    run = written(directory, files.example())
    ask = lambda sql: rows(run, sql)
    check(ask("SELECT format, host, framework, complete, clock_offset_ns, start_ns, dur_ns FROM profiles"),
          [("xplane", "host-a", "tensorflow", 1, START, START, 100_000_000)], "profile")
    check(ask("SELECT kind, ordinal, model, compute_capability, multiprocessor_count, clock_hz, memory_bytes, "
              "memory_bytes_per_second, attributes ->> 'device_vendor' FROM devices"),
          [("cpu", 0, None, None, None, None, None, None, None),
           ("gpu", 0, "NVIDIA H100", "9.0", 132, 1_980_000_000, 85520809984, 3352320000000, "Nvidia")], "devices")
    check(ask("SELECT kind, name, tid, stream FROM threads"),
          [("host", "main", 7, None), ("host", "python", None, None), ("stream", "Stream #3(Compute)", None, 3),
           ("stream", "_counters_", None, None)], "threads")
    check(ask(f"SELECT number, name, origin, start_ns - {START}, dur_ns FROM steps"),
          [(10, "train 10", "user", 1000, 40_000), (11, "train 11", "user", 51_000, 40_000)], "steps")
    check(ask("SELECT name, op_type, category, occurrence_count, dur_ns, flops, start_ns IS NULL, step.number "
              "FROM ops LEFT JOIN (SELECT id AS key, number FROM steps) AS step ON key = step_id ORDER BY ops.id"),
          [("train", "train", "user", 1, 40_000, None, 0, 10), ("mul_1", "Mul", "op", 1, 9_000, 64, 0, 10),
           ("Iterator::Root::Prefetch", "Dataset", "input", 1, 3_000, None, 0, 10),
           ("train", "train", "user", 1, 40_000, None, 0, 11), ("mul_1", "Mul", "op", 1, 9_000, 64, 0, 11),
           ("Iterator::Root::Prefetch", "Dataset", "input", 1, 3_000, None, 0, 11),
           ("summed", "Sum", "op", 9, 5_000, None, 1, None),
           ("$a.py:3 f", "$a.py:3 f", "python", 1, 1, None, 0, 10)], "ops")
    check(ask("SELECT kernels.name, kernels.op_name, kernels.op_type, grid_x, grid_y, block_x, registers_per_thread, "
              "static_shared_bytes, dynamic_shared_bytes, theoretical_occupancy_ratio, "
              "kernels.dur_ns, api_calls.name, ops.name "
              "FROM kernels JOIN api_calls ON api_calls.id = api_call_id JOIN ops ON ops.id = kernels.op_id"),
          [("sgemm", "mul_1", "Mul", 3, 2, 64, 32, 16, 64, 0.5, 2_000, "cuLaunchKernel", "mul_1")] * 2, "kernels")
    check(ask("SELECT direction, source_memory, target_memory, bytes, is_async, bytes_per_second FROM transfers"),
          [("HtoD", "pinned", "device", 2048, 1, 2.048e9)] * 2, "transfers")
    check(ask("SELECT memory_events.kind, bytes, requested_bytes, in_use_bytes, memory_events.peak_bytes, "
              "fragmentation_ratio, region, dtype, shape, op_name, ordinal FROM memory_events "
              "JOIN devices ON devices.id = device_id LIMIT 2"),
          [("allocate", 4096, 4000, 4096, 4096, 0.0, "temporary", "float32", "[10,100]", "mul_1", 0),
           ("release", -4096, None, 0, None, None, None, None, None, None, 0)], "memory events")
    check(ask("SELECT address, bytes, requested_bytes, region, dtype, shape, released_ns - allocated_ns "
              "FROM allocations"),
          [(-(2**63) + 64 * i, 4096, 4000, "temporary", "float32", "[10,100]", 8_000) for i in (1, 2)], "allocations")
    check(ask("SELECT name, long_name, stage, iterator, parent_iterator, buffer_size FROM input_events"),
          [("Iterator::Prefetch", "Iterator::Root::Prefetch", "preprocess", -7, 3, 4)] * 2, "input events")
    check(json.loads(ask("SELECT attributes FROM input_events")[0][0]),
          {"odd": [{"1": 150}], "text": "a \"quoted\" text", "real": None}, "attributes")
    check(ask(f"SELECT name, value, time_ns - {START} FROM counters"), [("power_mw", 250000.0, 4)], "counters")
    check(sorted(column(run, "SELECT reason FROM diagnostics")), ["derived_events", "recorded"], "diagnostics")


def test_order_of_rounded_times(directory):
    """Rounding to nanoseconds inverts no order: what lay within something still does."""
    events = []
    for i in range(400):
        outer = 10_000_000 * i + i * 7
        events += [event("outer:Op", outer, 5_000_000 + i * 13), event("inner:Op", outer + i, 5_000_000 + i * 12),
                   event("tail:Op", outer + 5_000_000 + i * 13, 1000)]
    run = written(directory, space(plane("/host:CPU", [line(1, "main", events)])))
    check(column(run, "SELECT count(*) FROM ops AS inner JOIN ops AS outer ON outer.id = inner.parent_id "
                      "WHERE inner.name = 'inner' AND outer.name = 'outer'"), [400], "nested")
    check(column(run, "SELECT count(*) FROM ops WHERE name = 'tail' AND parent_id IS NOT NULL"), [0], "tails")


def test_lines(directory):
    """Lines of one number are one thread, in any plane of the host, CUPTI's by the number in their names."""
    host = plane("/host:CPU", [line(5, "worker", [event("a:Op", 0, 9_000_000)]),
                               line(5, "worker", [event("b:Op", 10_000_000, 9_000_000)]),
                               line(2**40, "Host Threads/5", [event("cuMemsetD32Async", 1_000_000, 5,
                                                                    correlation_id=1)])])
    run = written(directory, space(host, plane("/host:CUPTI", [line(5, "Host Threads/5", [
        event("cudaLaunchKernel", 11_000_000, 5, correlation_id=2)])]), host=None))
    check(column(run, "SELECT count(*) FROM threads"), [1], "threads")
    check(rows(run, "SELECT name, domain, op_name FROM api_calls"),
          [("cuMemsetD32Async", "driver", "a"), ("cudaLaunchKernel", "runtime", "b")], "calls")
    check(column(run, "SELECT host FROM profiles"), ["host-a"], "host by the file's name")


def test_values(directory):
    """Stats of every type under a name that a column takes: numbers as they are, others in attributes."""
    values = [5, Unsigned(2**63 + 5), 2.5, "five", Ref("six"), b"\xff\x00"]
    events = [event("a:Op", 1000 * i, 1, step_num=value) for i, value in enumerate(values)]
    run = written(directory, space(plane("/host:CPU", [line(1, "main", events)])))
    check(column(run, "SELECT attributes ->> 'step_num' FROM ops"), [None, None, 2.5, "five", "six", "ff00"], "stats")


def rows_of(decoded):
    """How many rows of each table the events of a file are, and how long they take, by the rules of the tables."""
    counts, lengths = collections.Counter(), collections.Counter()
    for one in decoded["planes"]:
        is_device = one["name"].startswith("/device:")
        for each in one["lines"]:
            if is_device and each["id"] >= 0xdeadbeef and each["id"] < 0xdeadbeef + 64:
                continue
            for found in each["events"]:
                stats, name, start = found["stats"], found["name"], found["offset_ps"]
                rounded = (start + found["duration_ps"]) // 1000 - start // 1000
                if is_device:
                    is_copy = name.lower().startswith("memcpy") or name.startswith("Memset")
                    table = "counters" if each["name"] == "_counters_" else "transfers" if is_copy else "kernels"
                    rounded = found["duration_ps"] // 1000
                elif name in ("MemoryAllocation", "MemoryDeallocation"):
                    table = "memory_events"
                else:
                    table = "api_calls" if "correlation_id" in stats else "ops"
                    if table == "ops" and name.startswith("Iterator::"):
                        counts["input_events"] += 1
                        lengths["input_events"] += rounded
                counts[table] += 1
                lengths[table] += rounded if found["occurrences"] is None else found["duration_ps"] // 1000
    return counts, lengths


def test_recordings(_directory):
    """Real recordings: as many rows as events, all their time, every stat in a column or in attributes."""
    paths = sorted(glob.glob(os.path.join(SHARED, "traces", "xplane", "**", "*.xplane.pb"), recursive=True))
    if not paths:
        print("the shared traces are not there")
    for path in paths:
        with open(path, "rb") as file:
            decoded = files.decode(file.read())
        counts, lengths = rows_of(decoded)
        for table in ("ops", "api_calls", "memory_events", "input_events", "kernels", "transfers", "counters"):
            length = "0" if table in ("memory_events", "counters") else "coalesce(sum(dur_ns), 0)"
            found = query(path, f"SELECT count(*) AS n, {length} AS ns FROM {table}")[0]
            wanted = 0 if length == "0" else lengths[table]
            check((found["n"], found["ns"]), (counts[table], wanted), f"{path}: {table}")
        # Stats that no column takes, event by event.
        for one in (each for each in decoded["planes"] if each["name"] == "/host:CPU"):
            taken = {"_r", "_pt", "_p", "_ct", "_c", "step_num", "iter_num", "id", "parent_id", "element_id",
                     "hlo_op", "hlo_module", "flops", "bytes_accessed"}
            wanted = []
            for each in one["lines"]:
                for found in each["events"]:
                    if found["name"].startswith("Memory") or "correlation_id" in found["stats"]:
                        continue
                    wanted.append({key: value for key, value in found["stats"].items()
                                   if key not in taken and value is not None})
            rows = column(path, "SELECT attributes FROM ops ORDER BY id")[:len(wanted)]
            for row, expected in zip(rows, wanted):
                found = json.loads(row) if row else {}
                found.pop("display_name", None)
                check(found, expected, path)


def test_order_of_events(directory):
    """Lines whose events are in any order, and lines in any order, give the rows that sorted ones give."""
    ask = ("SELECT name, start_ns, dur_ns, self_ns, op_self_ns, parent_name, depth FROM ops "
           "ORDER BY start_ns, depth, name",
           "SELECT number, start_ns, dur_ns FROM steps ORDER BY 2",
           "SELECT name, start_ns, api.name_of_call FROM kernels LEFT JOIN (SELECT id AS key, name AS name_of_call "
           "FROM api_calls) AS api ON api.key = kernels.api_call_id ORDER BY start_ns")
    outer = [event(f"outer_{i}:Op", 100_000 * i, 90_000) for i in range(20)]
    inner = [event(f"inner_{i}:Op", 100_000 * i + 20_000, 30_000) for i in range(20)]
    marks = [event("train", 500_000 * i, 490_000, _r=1, step_num=i) for i in range(4)]
    calls = [event("cuLaunchKernel", 100_000 * i + 25_000, 1_000, correlation_id=i + 1) for i in range(20)]
    kernels = [event("sgemm", 100_000 * i + 60_000, 5_000, correlation_id=i + 1) for i in range(20)]
    answers = []
    for seed in (None, 1, 2):
        main, device = [*marks, *outer, *inner, *calls], [*kernels]
        if seed is None:
            main.sort(key=lambda each: (each[1], -each[2]))
        else:
            random.Random(seed).shuffle(main)
            random.Random(seed).shuffle(device)
        lines = [line(7, "main", main[:50]), line(7, "main", main[50:]), line(9, "idle", [])]
        planes = [plane("/host:CPU", lines[::-1] if seed else lines),
                  plane("/device:GPU:0", [line(3, "Stream #3", device)])]
        run = written(directory, space(*(planes[::-1] if seed else planes)), f"order-{seed}.xplane.pb")
        answers.append([query(run, sql) for sql in ask])
    check(answers[1], answers[0], "shuffled")
    check(answers[2], answers[0], "shuffled otherwise")


def test_kernels_out_of_order(directory):
    """A kernel that begins long after ones of its stream that were launched later has no time, whichever side of the
    file is asked for first; streams that keep no order stay as they are."""
    told = "SELECT reason, message FROM diagnostics WHERE reason = 'impossible_time'"
    busy = "SELECT count(start_ns), max(end_ns) - min(start_ns) FROM kernels"
    for late, is_late in (([20], True), (range(0, 40, 2), False), ([], False)):
        calls, kernels = [], []
        for i in range(40):
            at = 100_000_000 * i
            calls.append(event("cuLaunchKernel", at, 10_000_000, correlation_id=100 + i, device_id=0))
            kernels.append((at + 20_000_000 + (3 * 10**12 if i in late else 0),
                            event("gemm", at + 20_000_000 + (3 * 10**12 if i in late else 0), 60_000_000,
                                  correlation_id=100 + i)))
        kernels = [each for _, each in sorted(kernels, key=lambda pair: pair[0])]
        run = written(directory, space(plane("/host:CPU", [line(7, "main", calls)]),
                                       plane("/device:GPU:0", [line(3, "Stream #3(Compute)", kernels, 1000)])))
        for first in ("SELECT count(*) FROM api_calls", busy):
            answer = query(run, f"SELECT * FROM ({first}) CROSS JOIN ({busy})")
            found = tuple(answer[0].values())[-2:]
            assert (found == (39, 3_960_000)) if is_late else found[0] == 40, (late, found)
        found = rows(run, f"SELECT * FROM ({busy}) CROSS JOIN ({told})")
        assert len(found) == is_late and all("gemm on stream 3" in row[3] and "3 s" in row[3] for row in found), found


def test_long_kernels(directory):
    """A kernel that lasts for seconds in a recording of milliseconds, or an op of hours, has no duration; a kernel
    of seconds among as long ones has."""
    told = "SELECT reason, message FROM diagnostics WHERE reason LIKE 'impossible%'"
    for kernel_us, alone_us, op_us in ((60, 3_000_000, 5), (60, 60, 4 * HOUR_US), (60, 60, 5),
                                       (3_000_000, 9_000_000, 5)):
        every = (kernel_us + 40) * 1_000_000
        kernels = [event("gemm", every * i, kernel_us * 1_000_000) for i in range(40)]
        alone = [event("reduce", every * 20, alone_us * 1_000_000)]
        ops = [event("MatMul:MatMul", every * i, (op_us if i == 30 else 5) * 1_000_000) for i in range(40)]
        run = written(directory, space(plane("/host:CPU", [line(7, "main", ops)]),
                                       plane("/device:GPU:0", [line(3, "Stream #3(Compute)", kernels, 1000),
                                                               line(4, "Stream #4(Compute)", alone, 1000)])))
        longest = query(run, "SELECT (SELECT max(dur_ns) FROM kernels) AS kernel, (SELECT max(dur_ns) FROM ops) AS op, "
                             "(SELECT count(start_ns) FROM kernels) AS count")[0]
        is_wrong = kernel_us == 60 and alone_us + op_us > 1000
        kernel_ns = 1000 * (kernel_us if is_wrong else max(kernel_us, alone_us))
        check(tuple(longest.values()), (kernel_ns, 5000, 41), (alone_us, op_us))
        found = rows(run, "SELECT * FROM (SELECT count(*) FROM kernels) CROSS JOIN (SELECT count(*) FROM ops), "
                          f"({told})")
        check([row[2] for row in found], ["impossible_duration"] * is_wrong, found)


def test_planes_that_are_needed(directory):
    """Kernels that name their ops are told of without reading what hosts did."""
    ops = [event("MatMul:MatMul", k * 1000, 900, correlation_id=k) for k in range(40000)]
    kernels = [event("gemm", k * 1000, 500, correlation_id=k, tf_op=Ref("model/MatMul:MatMul"),
                     kernel_details=Ref("regs:32 static_shared:0 dynamic_shared:0 grid:4,1,1 block:128,1,1 occ_pct:50"))
               for k in range(100)]
    path = written(directory, space(plane("/host:CPU", [line(1, "main", ops)]),
                                    plane("/device:GPU:0", [line(3, "Stream #3(Compute)", kernels)])))

    def bytes_read():
        with open("/proc/self/io", encoding="ascii") as file:
            return int(file.readline().split()[1])

    connection = engines.Newest()
    connection.values(f"SELECT tfprof_open('{path}')")
    before = bytes_read()
    rows = connection.values("SELECT kernel, block, op, count, sum_ns FROM xprof_kernel_stats")
    taken = bytes_read() - before
    check(rows, [("gemm", "128,1,1", "model/MatMul", 100, 0)], "xprof_kernel_stats")
    assert taken < os.path.getsize(path) / 4, (taken, os.path.getsize(path))
    connection.values("SELECT max(dur_ns) FROM ops")
    assert bytes_read() - before > os.path.getsize(path) / 2, "reading ops is not seen: the test shows nothing"


if __name__ == "__main__":
    run_tests(globals())
