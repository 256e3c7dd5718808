#!/usr/bin/env python3
"""test_xplane.py: XSpaces (.xplane.pb): every event is a row where it belongs, with every stat; and bad ones.

tests/xplane_files.py makes files by hand and reads any in Python; the recordings among the shared traces are compared
with that, event by event.
"""

import collections
import glob
import gzip
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import engines
import mutations
import xplane_files as files
from asking import BUILD, query, run_tests
from xplane_files import Ref, Unsigned, event, line, plane, space

SHARED = os.environ.get("TFPROF_SHARED", "")
START = 1_700_000_000_000_000_000


def written(directory, data, name="host-a.xplane.pb"):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def check(found, expected, what):
    assert found == expected, f"{what}:\n{found}\nexpected:\n{expected}"


def column(run, sql):
    return [next(iter(row.values())) for row in query(run, sql)]


def test_example(directory):
    """All tables of a file that is known."""
    run = written(directory, files.example())
    ask = lambda sql: [tuple(row.values()) for row in query(run, sql)]
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
    check([tuple(row.values()) for row in query(run, "SELECT name, domain, op_name FROM api_calls")],
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


def test_directories(directory):
    """A run of several hosts, a log directory, what XProf leaves beside them."""
    for run, name in (("2024_01_01_00_00_00", "old"), ("2025_01_01_00_00_00", "a"), ("2025_01_01_00_00_00", "b")):
        path = written(directory, files.example(), f"plugins/profile/{run}/{name}.xplane.pb")
        if name == "old":
            os.utime(path, (1, 1))
    newest = os.path.join(directory, "plugins", "profile", "2025_01_01_00_00_00")
    for name in ("ALL_HOSTS.op_stats_v2.pb", "a.SSTABLE", "a.metadata.SSTABLE", "a.trie.SSTABLE"):
        written(newest, b"\x0a\x03abc" * 100, name)
    plugins = os.path.join(directory, "plugins")
    for path in (newest, directory, plugins, os.path.join(plugins, "profile")):
        check(sorted(os.path.basename(each) for each in column(path, "SELECT path FROM profiles")),
              ["a.xplane.pb", "b.xplane.pb"], path)
    # JAX writes a trace for Chrome's viewer beside each: the same events, without their stats.
    trace = gzip.compress(json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "name": "f"}]}).encode())
    copy = written(newest, trace, "a.trace.json.gz")
    alone = written(newest, trace, "c.trace.json.gz")
    check(sorted(os.path.basename(each) for each in column(directory, "SELECT path FROM profiles")),
          ["a.xplane.pb", "b.xplane.pb", "c.trace.json.gz"], "copies are left alone")
    check(column(directory, "SELECT tfprof_refresh()"), [0], "also by a refresh")
    check(column(copy, "SELECT format FROM profiles"), ["chrome"], "whoever names it wants it")
    os.remove(alone)
    shutil.rmtree(os.path.join(directory, "plugins"))
    written(directory, files.example(), "train/plugins/profile/2025_01_01_00_00_00/a.xplane.pb")
    check(column(directory, "SELECT count(*) FROM profiles"), [1], "below train")


def test_newest_run(directory):
    """Of a directory the newest run is opened, wherever it lies and whatever lies on top; what is left out is told."""
    def run(name, path, when, data=None):
        os.utime(written(os.path.join(directory, name), data or files.example(), path), (when, when))

    def opened(name):
        top = os.path.join(directory, name)
        told = {row["reason"]: row["message"] for row in query(top, "SELECT reason, message FROM diagnostics")}
        return sorted(os.path.relpath(each, top) for each in column(top, "SELECT path FROM profiles")), told

    stamp = "plugins/profile/2026_01_01_00_00_%02d/%s.xplane.pb"
    trace = json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "name": "f"}]}).encode()
    with open(os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus", "pprof", "example.pprof"), "rb") as file:
        heap = file.read()
    # At any depth, and by the time in the name, which copying does not change.
    run("deep", "a/b/c/d/" + stamp % (9, "vm"), 100)
    run("deep", stamp % (8, "vm"), 200)
    check(opened("deep")[0], ["a/b/c/d/" + stamp % (9, "vm")], "deep")
    assert "2 runs" in opened("deep")[1]["older_runs"], opened("deep")
    # What holds nothing that happened hides nothing; of runs the newer one counts, on top or below.
    run("heap", "memory.prof", 300, heap)
    run("heap", "train/" + stamp % (1, "vm"), 100)
    found, told = opened("heap")
    check(found, ["train/" + stamp % (1, "vm")], "below a memory profile")
    assert "memory.prof" in told["left_out"], told
    for when, expected in ((50, "train/" + stamp % (1, "vm")), (150, "old.json")):
        run("json", "old.json", when, trace)
        run("json", "train/" + stamp % (1, "vm"), 100)
        found, told = opened("json")
        check(found, [expected], "a trace on top")
        assert ("left_out" in told) == (when < 100) and ("older_runs" in told) == (when > 100), told
    # Each host in a directory of its own time, each rank in one of its own: one run.
    for host, second in (("a", 1), ("b", 3), ("c", 2)):
        run("hosts", stamp % (second, host), 100)
    run("hosts", stamp % (0, "a"), 100)
    found, told = opened("hosts")
    check(found, [stamp % (1, "a"), stamp % (2, "c"), stamp % (3, "b")], "hosts")
    assert "3 directories" in told["joined_directories"] and "older_runs" in told, told
    for step in (10, 20):
        for rank in range(2):
            run("ranks", f"iteration_{step}/rank{rank}/x.pt.trace.json", step, trace)
    check(opened("ranks")[0], [f"iteration_20/rank{rank}/x.pt.trace.json" for rank in range(2)], "ranks")


def test_hosts_that_are_packed(directory):
    """Files of hosts that are packed, under both names, are read; what is there twice counts once; a link to nowhere
    is told."""
    data = files.example()
    for name, expected in (("a.xplane.pb", 1), ("b.xplane.pb.gz", 2), ("c.xplane.pb", 3), ("b.xplane.pb", 3)):
        packed = data if name in ("a.xplane.pb", "b.xplane.pb") else gzip.compress(data)
        written(directory, packed, name)
        check(column(directory, "SELECT count(*) FROM profiles"), [expected], name)
    rows = [[tuple(row.values()) for row in query(os.path.join(directory, name), "SELECT name, category, start_ns, "
             "dur_ns, attributes FROM ops")] for name in ("a.xplane.pb", "b.xplane.pb.gz", "c.xplane.pb")]
    assert rows[0] and rows[0] == rows[1] == rows[2], "packed or not"
    check(column(os.path.join(directory, "b.xplane.pb.gz"), "SELECT complete FROM profiles"), [1], "complete")
    assert "b.xplane.pb.gz" in column(directory, "SELECT message FROM diagnostics WHERE reason = 'copies'")[0]
    written(directory, gzip.compress(data)[:-20], "cut.xplane.pb.gz")
    check(column(os.path.join(directory, "cut.xplane.pb.gz"), "SELECT complete FROM profiles"), [0], "cut")
    os.symlink("/nowhere/d.xplane.pb", os.path.join(directory, "d.xplane.pb"))
    assert "d.xplane.pb" in column(directory, "SELECT message FROM diagnostics WHERE reason = 'unopened_file'")[0]
    written(directory, gzip.compress(b'{"traceEvents": [{"ph": "X", "pid": 1, "ts": 1, "dur": 1, "name": "f"}]}'),
            "perfetto_trace.json.gz")
    check(column(directory, "SELECT count(*) FROM profiles WHERE format <> 'xplane'"), [0], "a copy for Perfetto")


def test_traces_for_viewers(directory):
    """What XProf and JAX write for viewers of traces, alone: steps, ops and marks as in the XSpace that it is of."""
    def span(name, ts, dur, tid=1, pid=7, **args):
        event = {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name}
        return {**event, "args": args} if args else event

    named = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
             for pid, name in ((1, "/device:GPU:0"), (7, "/host:CPU"))]
    spans = []
    for i in range(12):
        at = 1000.0 * i
        spans += [span("train", at, 900.0, step_num=str(20 + i), _r="1"), span("load_data", at, 500.0),
                  span("PjitFunction(step)", at + 600, 50.0), span("$a.py:3 f", at + 700, 10.0),
                  span("dense/MatMul:MatMul", at + 720, 10.0), span("k", at, 5.0, tid=3, pid=1),
                  span("run", at + 650, 20.0, tid=2, hlo_op="dot.1", hlo_module="jit_step", run_id=str(i))]
    for name, document in (("a.trace.json.gz", {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True},
                                                "traceEvents": named + spans}),
                           ("perfetto_trace.json.gz", {"displayTimeUnit": "ns", "traceEvents": named + spans})):
        run = written(directory, gzip.compress(json.dumps(document).encode()), name)
        check(column(run, "SELECT framework || format || origin FROM profiles"), ["tensorflowchromexplane"], name)
        check([tuple(row.values()) for row in query(run, "SELECT min(number), max(number), count(*), min(origin) "
                                                         "FROM steps")], [(20, 31, 12, "user")], name)
        check([tuple(row.values()) for row in query(run, "SELECT name, op_type, category, hlo_module, "
                "count(*), min(attributes) FROM ops GROUP BY name ORDER BY name")],
              [("$a.py:3 f", "$a.py:3 f", "python", None, 12, None),
               ("PjitFunction(step)", "PjitFunction(step)", "runtime", None, 12, None),
               ("dense/MatMul", "MatMul", "op", None, 12, None),
               ("dot.1", "dot.1", "op", "jit_step", 12, '{"run_id":"0"}'),
               ("k", "k", "runtime", None, 12, None), ("load_data", "load_data", "user", None, 12, None),
               ("train", "train", "user", None, 12, '{"_r":"1"}')], name)
        check(column(run, "SELECT DISTINCT devices.name FROM ops JOIN threads ON threads.id = thread_id "
                          "JOIN devices ON devices.id = threads.device_id WHERE ops.name = 'k'"),
              ["/device:GPU:0"], name)
        check(sorted(set(column(run, "SELECT name FROM ranges"))), ["load_data", "train"], name)
        found = column(run, "SELECT message FROM advise WHERE check_name = 'host_bound'")
        assert found and "in load_data" in found[0], found
    # The second is a copy of the first.
    check(column(directory, "SELECT count(*) FROM profiles"), [1], "both")
    recorded = os.path.join(SHARED, "traces/reports/tensorflow/jax")
    if os.path.isdir(recorded):
        asked = ("SELECT framework FROM profiles", "SELECT number FROM steps ORDER BY 1",
                 "SELECT category, name, hlo_module, count(*) FROM ops GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")
        for sql in asked:
            answers = [query(os.path.join(recorded, name), sql) for name in
                       ("vm.xplane.pb", "vm.trace.json.gz", "perfetto_trace.json.gz")]
            assert answers[0] == answers[1] == answers[2], sql


def test_own_timelines(directory):
    """What tfprof_timeline() wrote of an XSpace opens as what it was."""
    made = written(directory, files.example())
    recorded = os.path.join(SHARED, "traces/reports/tensorflow")
    runs = [made] + [os.path.join(recorded, name) for name in ("jax/vm.xplane.pb", "keras_fit/vm.xplane.pb")
                     if os.path.isdir(recorded)]
    for number, run in enumerate(runs):
        copy = os.path.join(directory, f"copy{number}.json.gz")
        query(run, f"SELECT tfprof_timeline('{copy}')")
        for sql in ("SELECT framework, framework_version, origin FROM profiles",
                    "SELECT number, name, dur_ns, is_warmup FROM steps ORDER BY start_ns",
                    "SELECT name, category, count(*) FROM ops WHERE start_ns IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
                    "SELECT name, count(*) FROM ranges GROUP BY 1 ORDER BY 1"):
            check(query(copy, sql), query(run, sql), (run, sql))


def ask_all(path):
    """(exit status, what it printed, errors) of reading everything that a file has."""
    tables = ("ops", "api_calls", "memory_events", "input_events", "kernels", "transfers", "counters", "steps",
              "devices", "threads", "allocations", "diagnostics")
    sql = "; ".join(f"SELECT * FROM {table}" for table in tables)
    command = ["timeout", "60", os.path.join(BUILD, "tfprof"), "--format", "csv", path, sql]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def test_damage(directory):
    """Cut at every 97th byte, changed in a hundred ways: an error that names the file, or rows with a diagnostic."""
    data = files.example()
    for length in range(0, len(data), 97):
        path = written(directory, data[:length], "cut.xplane.pb")
        status, out, error = ask_all(path)
        assert status in (0, 3), (length, status, error)
        assert "cut.xplane.pb" in error if status else "truncated" in out, (length, out[-300:], error)
    generator = random.Random(7)
    for number in range(100):
        path = written(directory, mutations.mutate(data, generator), "changed.xplane.pb")
        status, _, error = ask_all(path)
        assert status in (0, 3) and (status == 0 or "changed.xplane.pb" in error), (number, status, error)


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
    rows = connection.values("SELECT kernel_name, block, op_name, count, sum_ns FROM kernel_stats")
    taken = bytes_read() - before
    check(rows, [("gemm", "128,1,1", "model/MatMul", 100, 0)], "kernel_stats")
    assert taken < os.path.getsize(path) / 4, (taken, os.path.getsize(path))
    connection.values("SELECT max(dur_ns) FROM ops")
    assert bytes_read() - before > os.path.getsize(path) / 2, "reading ops is not seen: the test shows nothing"


def test_bad_files(directory):
    """What no profiler writes: an error or a diagnostic for each, and what is good beside it is served."""
    good = plane("/host:CPU", [line(1, "main", [event("good:Op", 0, 1000)])])
    host = lambda events, timestamp=0: plane("/host:CPU", [line(1, "main", events, timestamp)])
    cases = [
        ("empty", b"", None),
        ("zeros", bytes(1000), None),
        ("text", b"a text " * 100, None),
        ("late", space(host([event("good:Op", 2**62, 5)], 2**62)), "time_out_of_range"),
        ("negative", space(host([event("good:Op", 5000, -5)])), "negative_duration"),
        ("overflow", space(host([event("good:Op", 2**63 - 1, 2**63 - 1)])), "time_out_of_range"),
        ("unnamed", space(files.message(2, "/host:CPU") + files.message(3, files.message(4, files.number(1, 77)))),
         "unnamed_event"),
        ("number", space(host([event("good:Op", 0, 10, id=Unsigned(2**63))])), "value_out_of_range"),
        ("no-event", space(plane("/host:CPU", [line(1, "main", [])])), ""),
        ("unsorted", space(host([event("good:Op", 9000, 10), event("good:Op", 0, 10)])), ""),
        ("cycle", space(good + files.message(5, files.number(1, 1) + files.message(2, files.message(2, "x") +
                                                                                      files.number(7, 1)))), ""),
    ]
    for name, data, reason in cases:
        path = written(directory, data, name + ".xplane.pb")
        status, out, error = ask_all(path)
        if reason is None:
            assert status == 3 and name in error, (name, status, error)
            continue
        assert status == 0, (name, status, error)
        found = column(path, "SELECT reason FROM diagnostics")
        assert found == ([reason] if reason else []), (name, found)
        if name not in ("unnamed", "no-event"):
            assert "good" in out, (name, out)


def test_host_bound(directory):
    """XLA computes on threads of its own while the step's thread waits: that is no time lost in Python."""
    ms = 10**9
    main, pool = [], []
    for step in range(12):
        main.append(event("train", step * 100 * ms, 90 * ms, step_num=step, _r=1))
        main.append(event("TfOp:MatMul", step * 100 * ms + ms, 5 * ms))
        pool.append(event("dot.1", step * 100 * ms + 10 * ms, 75 * ms, hlo_op="dot.1", hlo_module="jit_step"))
    for name, lines, expected in (("waits", [line(1, "python", main), line(2, "tf_XLAEigen/1", pool)], []),
                                  ("python", [line(1, "python", main)], ["host_bound"])):
        path = written(directory, space(plane("/host:CPU", lines)), name + ".xplane.pb")
        assert column(path, "SELECT check_name FROM advise WHERE check_name = 'host_bound'") == expected, name


def test_marks(directory):
    """What the program marked is a range and no op: the time in it is outside ops, and the findings name it."""
    millisecond = 10**9
    def steps(name, mark, between, **stats):
        events = []
        for i in range(12):
            at = i * 20 * millisecond
            start = at + (9 * millisecond if between else 0)
            events += [event(name, start, (3 if between else 12) * millisecond, step_num=i, _r=1),
                       event(mark, at, 8 * millisecond, **stats),
                       event("PjitFunction(step)", at + 10 * millisecond, millisecond),
                       event("Handle inputs", at + 10 * millisecond, millisecond // 2),
                       event("traced", at + 11 * millisecond, 1000, tf_function_call="notTraced-nonXla"),
                       event("own", at + 11 * millisecond + 2000, 1000, _src="file.cc:3")]
        pool = line(2, "tf_Compute/17", [event("waits", 0, 5)])
        ops = line(3, "tf_XLAEigen/1", [event("dot", i * 20 * millisecond, 1000, hlo_op="dot", hlo_module="m")
                                        for i in range(12)])
        return written(directory, space(plane("/host:CPU", [line(1, "python", events), pool, ops])))
    for mark, stats in (("load_data", {}), ("Load Data", {"batch": 3}), ("train_input", {}),
                        ("data::load", {"k": "v"})):
        run = steps("train", mark, False, **stats)
        check(column(run, "SELECT DISTINCT name FROM ranges ORDER BY name"), sorted([mark, "train"]), "ranges")
        check(column(run, "SELECT DISTINCT category FROM ops WHERE name IN ('traced', 'own', 'waits', "
                          "'Handle inputs')"), ["runtime"], "what is a framework's")
        check(column(run, f"SELECT outside_ns FROM range_summary WHERE name = '{mark}'"), [12 * 8_000_000], "outside")
        found = column(run, "SELECT message FROM advise WHERE check_name = 'host_bound'")
        assert found and f"of 12.0 ms per step, 8.00 ms of it in {mark}" in found[0], found
    run = steps("train", "save", True)
    found = column(run, "SELECT message FROM advise WHERE check_name = 'between_steps'")
    assert found and " of it in save" in found[0], found


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


def test_without_steps(directory):
    """No mark of a step anywhere: ops and kernels are told all the same, and nothing is said of steps."""
    run = written(directory, space(
        plane("/host:CPU", [line(1, "main", [event("mul:Mul", 0, 9_000_000),
                                             event("cuLaunchKernel", 10, 1_000_000, correlation_id=4)])]),
        plane("/device:GPU:0", [line(3, "Stream #3", [event("sgemm", 5_000_000, 2_000_000, correlation_id=4,
                                                            tf_op=Ref("mul:Mul"))])])))
    check(column(run, "SELECT count(*) FROM steps"), [0], "steps")
    check([tuple(row.values()) for row in query(run, "SELECT side, name, count, self_ns FROM op_stats "
                                                     "WHERE is_idle = 0")],
          [("host", "mul", 1, 9000), ("device", "mul", 1, 2000)], "op_stats")
    check([tuple(row.values()) for row in query(run, "SELECT kernel_name, op_name, count, sum_ns FROM kernel_stats")],
          [("sgemm", "mul", 1, 2000)], "kernel_stats")
    check(column(run, "SELECT count(*) FROM step_breakdown"), [0], "step_breakdown")


def test_steps_by_repetition(directory):
    """Without marks the calls of the function in which most time passes are steps, and this is said."""
    call = "EagerLocalExecute: __inference_one_step_on_iterator_"
    train = [event(call + "7", 1_000_000 + 100_000 * i, 60_000) for i in range(10)]
    more = [event(call + "8", 3_000_000 + 100_000 * i, 60_000) for i in range(4)] # validates, having compiled that
    more.append(event(call + "8", 4_000_000, 9_000_000))
    more += [event("PjitFunction(add)", 1_000_000 + 100_000 * i + 70_000 + 5_000 * k, 4_000) # smaller, more often
             for i in range(10) for k in range(3)]
    more += [event("EagerExecute", 990_000 + 100_000 * i, 1_000) for i in range(10)]
    inner = [event(call + "7", 1_010_000 + 100_000 * i, 40_000) for i in range(10)]
    for name, main in (("plain", train + more), ("nested", train + inner + more)):
        run = written(directory, space(plane("/host:CPU", [line(1, "main", main)])), name + ".xplane.pb")
        found = query(run, "SELECT number, name, origin, start_ns - (SELECT min(start_ns) FROM ops) AS at, dur_ns "
                           "FROM steps ORDER BY number")
        check([tuple(row.values()) for row in found][1:],
              [(i, f"step {i}", "repetition", 70 + 100 * (i - 1), 100) for i in range(1, 10)], name)
        check(column(run, "SELECT reason FROM diagnostics"), ["steps_by_repetition"], "it is said")
    marks = [event("train", 1_000_000 + 100_000 * i, 90_000, _r=1, step_num=i) for i in range(10)]
    for name, main, steps in (("marked", train + marks, 10), ("twice", train[:2], 0)):
        run = written(directory, space(plane("/host:CPU", [line(1, "main", main)])), name + ".xplane.pb")
        check(column(run, "SELECT count(*) FROM steps WHERE origin <> 'repetition'"), [steps], name)
        check(column(run, "SELECT count(*) FROM steps"), [steps], name)
        check(column(run, "SELECT count(*) FROM diagnostics"), [0], name)


def test_functions_of_one_name(directory):
    """Two compiled functions of one Python name are no one series: the one that is called most often counts, also where
    calls are nested, as JAX writes them. Programs in no order are those of one function, compiled for each shape."""
    shapes = [10, 11, 11, 12, 10, 10, 12, 11, 12, 12, 10, 11]
    for name, programs, steps in (("gan", [10, 11] * 8, 8), ("critic", [10, 10, 10, 11] * 5, 15),
                                  ("one", [10] * 12, 12), ("shapes", shapes, 12)):
        calls, work = [], []
        for i, program in enumerate(programs):
            for _ in range(2):
                calls.append(event("PjitFunction(step)", 1_000_000 + 100_000 * i, 10_000 + 1_000 * (i % 3)))
            work += [event(op, 1_005_000 + 100_000 * i + 20_000 * k, 15_000, hlo_op=op, hlo_module="jit_step",
                           program_id=program, run_id=1000 + i) for k, op in enumerate(("dot.1", "fusion"))]
        run = written(directory, space(plane("/host:CPU", [line(1, "main", calls), line(2, "worker", work)])),
                      name + ".xplane.pb")
        check(column(run, "SELECT count(*) FROM steps WHERE origin = 'repetition'"), [steps], name)


def test_steps_of_dispatches(directory):
    """A call of jax.jit lasts until the next one: it returns before its work is done, which another thread does."""
    def made(calls, work):
        host = [line(1, "python", [event("PjitFunction(train)", at * 1000, dur * 1000) for at, dur in calls]),
                line(2, "tf_XLAEigen", [event("dot.1", at * 1000, dur * 1000, hlo_op="dot.1", hlo_module="jit_train")
                                        for at, dur in work])]
        return written(directory, space(plane("/host:CPU", host)), f"{len(calls)}.xplane.pb")
    run = made([(1000 + 100 * i, 10) for i in range(5)], [(1020 + 100 * i, 70) for i in range(5)])
    found = query(run, "SELECT steps.number AS number, steps.start_ns - (SELECT min(start_ns) FROM ops) AS at, "
                       "steps.dur_ns AS dur_ns, ops.start_ns - steps.start_ns AS work FROM steps "
                       "JOIN ops ON ops.step_id = steps.id AND ops.name = 'dot.1' ORDER BY 1")
    # The recording ends with the last piece of work, before the last step would be as long as the others.
    check([tuple(row.values()) for row in found], [(i, 100 * i, 90 if i == 4 else 100, 20) for i in range(5)], "work")
    run = made([(1000, 10), (1100, 10), (1200, 10), (1300, 900)], [(5000, 10)])
    check(column(run, "SELECT dur_ns FROM steps ORDER BY number"), [100, 100, 100, 900], "a long last call")


def test_execution_modes(directory):
    """By the nearest call around an op that tells it; stages of the input pipeline have none."""
    run = written(directory, space(plane("/host:CPU", [line(1, "main", [
        event("EagerExecute", 0, 9_000_000, is_func=0, eager_op="Mul"), event("mul:Mul", 1_000_000, 1_000_000),
        event("FunctionRun", 3_000_000, 2_000_000), event("add:Add", 3_100_000, 1_000_000),
        event("Iterator::Root", 6_000_000, 1_000_000),
        event("EagerExecute", 10_000_000, 9_000_000, is_func=1), event("sub:Sub", 11_000_000, 1_000_000),
        event("f", 20_000_000, 9_000_000, tf_function_call="eager"), event("div:Div", 21_000_000, 1_000_000),
        event("SessionRun", 30_000_000, 9_000_000), event("neg:Neg", 31_000_000, 1_000_000),
        event("alone:Abs", 40_000_000, 1_000_000)])])))
    check({row["op_type"]: row["execution_mode"] for row in query(
        run, "SELECT op_type, execution_mode FROM ops WHERE category IN ('op', 'input')")},
        {"Mul": "eager", "Add": "function", "Dataset": None, "Sub": "function", "Div": "eager", "Neg": "graph",
         "Abs": None}, "modes")
    check(column(run, "SELECT attributes ->> 'is_func' FROM ops WHERE name = 'EagerExecute' ORDER BY start_ns"), [0, 1],
          "still among the attributes")


def test_modes_of_names(directory):
    """What was going on when the recording began has the mode of the others of its name, where they have one."""
    run = written(directory, space(plane("/host:CPU", [line(1, "main", [
        event("a:Add", 100_000, 1_000_000), event("m:Mul", 2_000_000, 1_000_000), event("n:Neg", 4_000_000, 1_000_000),
        event("FunctionRun", 10_000_000, 9_000_000), event("a:Add", 11_000_000, 1_000_000),
        event("m:Mul", 13_000_000, 1_000_000), event("EagerExecute", 20_000_000, 9_000_000, is_func=0),
        event("m:Mul", 21_000_000, 1_000_000)])])))
    check([(row["name"], row["execution_mode"]) for row in query(
        run, "SELECT name, execution_mode FROM ops WHERE category = 'op' ORDER BY start_ns")],
        [("a", "function"), ("m", None), ("n", None), ("a", "function"), ("m", "function"), ("m", "eager")], "modes")


def test_modes_across_threads(directory):
    """What runs on another thread goes by the call around what handed it on; its own call comes first."""
    run = written(directory, space(plane("/host:CPU", [
        line(1, "main", [event("FunctionRun", 0, 9_000_000), event("first", 1_000_000, 1_000_000, _pt=2, _p=7),
                         event("EagerExecute", 10_000_000, 9_000_000, is_func=0),
                         event("second", 11_000_000, 1_000_000, _pt=2, _p=8),
                         event("alone", 30_000_000, 1_000_000, _pt=2, _p=10)]),
        line(2, "pool", [event("task", 3_000_000, 2_000_000, _ct=2, _c=7), event("a:Add", 3_100_000, 500_000),
                         event("hand on", 3_700_000, 500_000, _pt=2, _p=9),
                         event("task", 13_000_000, 2_000_000, _ct=2, _c=8), event("b:Mul", 13_100_000, 500_000),
                         event("FunctionRun", 13_700_000, 900_000), event("c:Sub", 13_800_000, 500_000),
                         event("task", 33_000_000, 2_000_000, _ct=2, _c=10), event("d:Neg", 33_100_000, 500_000)]),
        line(3, "collective", [event("e:Sum", 5_000_000, 1_000_000, _ct=2, _c=9)]),
        line(4, "circle", [event("x:Abs", 5_000_000, 1_000_000, _ct=2, _c=11, _pt=2, _p=12),
                           event("y:Abs", 7_000_000, 1_000_000, _ct=2, _c=12, _pt=2, _p=11)])])))
    check({row["op_type"]: row["execution_mode"] for row in query(
        run, "SELECT op_type, execution_mode FROM ops WHERE category = 'op'")},
        {"Add": "function", "Mul": "eager", "Sub": "function", "Sum": "function", "Neg": None, "Abs": None}, "modes")


def compiled(kept=bytes):
    """Two programs of one name; a stack of two frames, one that calls itself, and a file and line alone."""
    first = files.program("jit_step", [("dot.1", "", "jit(step)/jvp()/dot_general[a=b/c]", "", 0, 2),
                                       ("loop.1", "", "jit(step)/while", "", 0, 3),
                                       ("add.1", "AddV2", "model/add", "old.py", 70, 0),
                                       ("grad.1", "", "jit(step)/transpose(jvp(Encoder/Layer_0))/vmap(Dense_1)/while/"
                                        "body/jit(relu)/mul;jit(step)/jvp(Head)/sub", "", 0, 0),
                                       ("head.1", "", "jit(step)/jvp(Head)/Dense_0/exp", "", 0, 0),
                                       ("same.1", "", "jit(step)/mul", "", 0, 1)],
                          ["train.py", "model.py"], ["<module>", "mlp"], [(1, 1, 49), (2, 2, 12)],
                          [(1, 0), (2, 1), (2, 4), (2, 3), (99, 99)])
    second = files.program("jit_step", [("dot.1", "", "jit(step)/tanh", "", 0, 77),
                                        ("same.1", "", "jit(step)/mul", "", 0, 1)],
                           ["train.py"], ["<module>"], [(1, 1, 49)], [(1, 0)])
    ops = [("dot.1", 26), ("dot.1", 27), ("dot.1", None), ("same.1", None), ("loop.1", 26), ("a::add.1", 26),
           ("none", 26), ("grad.1", 26), ("head.1", 26)]
    events = [event(op, 1_000_000 * i, 900_000, hlo_op=Ref(op), hlo_module="jit_step",
                    **({} if number is None else {"program_id": number})) for i, (op, number) in enumerate(ops)]
    kernel = event("sgemm", 0, 5000, hlo_op="dot.1", hlo_module=Ref("jit_step"), program_id=Unsigned(26))
    return space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                 plane("/device:GPU:0", [line(3, "Stream #3", [kernel])]),
                 files.programs({"jit_step(26)": kept(first), "jit_step(27)": kept(second)}))


def test_programs(directory):
    """Ops that XLA compiled have the framework's name and the place in the program that they were made of."""
    run = written(directory, compiled())
    place = ("(SELECT group_concat(file || ':' || line || coalesce(' ' || function, '')) FROM code_frames WHERE id IN "
             "(SELECT leaf_frame_id FROM code_traces AS leaf WHERE leaf.id = ops.code_trace_id))")
    check([tuple(row.values()) for row in query(run, f"SELECT name, op_type, framework_name, {place} AS place FROM ops "
                                                     "WHERE module IS NULL ORDER BY start_ns")],
          [("dot.1", "dot_general", "jit(step)/jvp()/dot_general[a=b/c]", "model.py:12 mlp"),
           ("dot.1", "tanh", "jit(step)/tanh", None),
           ("dot.1", "dot.1", None, None), # either program's
           ("same.1", "mul", "jit(step)/mul", "train.py:49 <module>"),
           ("loop.1", "while", "jit(step)/while", "model.py:12 mlp"), ("none", "none", None, None)], "ops")
    check([tuple(row.values()) for row in query(run, "SELECT name, module, is_backward FROM ops ORDER BY start_ns")],
          [("dot.1", None, 0), ("dot.1", None, 0), ("dot.1", None, None), ("same.1", None, 0), ("loop.1", None, 0),
           ("a::add.1", "model", 0), ("none", None, None), ("grad.1", "Encoder.Layer_0.Dense_1", 1),
           ("head.1", "Head.Dense_0", 0)], "modules")
    check([tuple(row.values()) for row in query(run, "SELECT depth, line FROM code_traces JOIN (SELECT id AS key, line "
                                                     "FROM code_frames) ON key = leaf_frame_id ORDER BY 1, 2")],
          [(1, 12), (1, 49), (1, 70), (2, 12), (2, 12)], "traces")
    check([tuple(row.values()) for row in query(run, "SELECT op_name, op_type FROM kernels")],
          [("jit(step)/jvp()/dot_general[a=b/c]", "dot_general")], "kernels")
    ask = lambda run: [tuple(row.values()) for row in query(
        run, f"SELECT name, op_type, framework_name, module, {place} AS place FROM ops ORDER BY start_ns")]
    smaller = written(directory, compiled(files.Compressed), "smaller.xplane.pb")
    check(ask(smaller), ask(run), "programs that were compressed")
    check(column(smaller, "SELECT reason FROM diagnostics WHERE severity <> 'info'"), [], "nothing is wrong")
    data = compiled(files.Compressed)
    at = data.index(b"\x1f\x8b")
    for bad in (data[:at + 40] + b"\xff" + data[at + 41:], data[:at + 2] + b"\x09" + data[at + 3:]):
        broken = written(directory, bad, "broken.xplane.pb")
        check(column(broken, "SELECT reason FROM diagnostics WHERE severity <> 'info'"), ["damaged_program"], "damage")
        check(column(broken, "SELECT count(*) FROM ops"), [9], "the rest is there")
    check([tuple(row.values()) for row in query(run, "SELECT location, count, self_ns FROM code_summary "
                                                     "WHERE count > 0 ORDER BY 1")],
          [("model.py:12", 2, 1800), ("old.py:70", 1, 900), ("train.py:49", 1, 900)], "lines")
    check(column(run, "SELECT count(*) FROM diagnostics"), [0], "diagnostics")


def test_modules_of_jax(directory):
    """Forward and backward of a module, by the names that its ops have; a checkpoint's backward pass names all anew."""
    names = {"a": "jit(step)/jvp(Net)/Block_0/Dense_0/dot_general",
             "b": "jit(step)/transpose(jvp(Net))/Block_0/Dense_0/dot_general",
             "c": "jit(step)/transpose(jvp(Net))/Block_0/jvp(Net)/Block_0/checkpoint/Dense_0/mul",
             "d": "jit(step)/transpose(jvp(Net))/jvp(Net)/checkpoint/Head/mul",
             "e": "jit(step)/jvp(Net)/Netting/jvp(Other)/mul", "f": "jit(step)/transpose(jvp())/jvp()/checkpoint/mul"}
    program = files.program("jit_step", [(name, "", told, "", 0, 0) for name, told in names.items()])
    events = [event(name, 1_000_000 * i, (i + 1) * 100_000, hlo_op=Ref(name), hlo_module="jit_step", flops=10 + i)
              for i, name in enumerate(names)]
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   files.programs({"jit_step(1)": program})))
    check([tuple(row.values()) for row in query(run, "SELECT name, module, is_backward FROM ops ORDER BY start_ns")],
          [("a", "Net.Block_0.Dense_0", 0), ("b", "Net.Block_0.Dense_0", 1), ("c", "Net.Block_0.Dense_0", 1),
           ("d", "Net.Head", 1), ("e", "Net.Netting.Other", 0), ("f", None, 1)], "modules")
    check([tuple(row.values()) for row in query(run, "SELECT module, count, self_ns, sum_ns, backward_ns, flops, "
                                                     "backward_flops FROM module_summary WHERE count ORDER BY 1")],
          [("Net.Block_0.Dense_0", 3, 600, 600, 500, 33, 23), ("Net.Head", 1, 400, 400, 400, 13, 13),
           ("Net.Netting.Other", 1, 500, 500, None, 14, None)], "module_summary")


def test_modules_of_tensorflow(directory):
    """Keras' layers and other scopes, by the names of ops, of those that XLA compiled, too."""
    scopes = {"StatefulPartitionedCall/net_1/dense_1/MatMul:MatMul": ("net_1.dense_1", 0),
              "net_1/dense_1/MatMul/ReadVariableOp:ReadVariableOp": ("net_1.dense_1", 0),
              "StatefulPartitionedCall/gradient_tape/net_1/dense_1/MatMul/MatMul_1:MatMul": ("net_1.dense_1", 1),
              "gradient_tape/MatMul/MatMul:MatMul": (None, 1), "gradient_tape/ReluGrad:ReluGrad": (None, 1),
              "gradients/conv1/Conv2D_grad/Conv2DBackpropFilter:Conv2DBackpropFilter": ("conv1", 1),
              "net_1/norm/moments/mean:Mean": ("net_1.norm.moments", 0), "while/body/add:AddV2": (None, 0),
              "ArithmeticOptimizer/ReplaceMulWithSquare_mul:Square": (None, 0), "MapDataset/_2:Map": (None, 0),
              "PartitionedCall_1/adam/Sqrt_6:Sqrt": ("adam", 0), "Mul:Mul": (None, 0)}
    host = [event(name, 1_000_000 * i, 900_000) for i, name in enumerate(scopes)]
    program = files.program("f", [("a", "MatMul", "gradient_tape/net_1/dense_1/MatMul/MatMul", "", 0, 0)])
    compiled_op = event("a", 1_000_000, 500_000, hlo_op=Ref("a"), hlo_module="f")
    run = written(directory, space(plane("/host:CPU", [line(1, "main", host), line(2, "tf_XLAEigen", [compiled_op])]),
                                   files.programs({"f(1)": program})))
    found = query(run, "SELECT name, op_type, module, is_backward FROM ops WHERE hlo_module IS NULL")
    check({f"{row['name']}:{row['op_type']}": (row["module"], row["is_backward"]) for row in found}, scopes, "scopes")
    check([tuple(row.values()) for row in query(run, "SELECT module, count, self_ns, backward_ns FROM module_summary "
                                                     "WHERE module GLOB 'net_1.dense*'")],
          [("net_1.dense_1", 4, 900 * 3 + 500, 900 + 500)], "module_summary")


def test_dearest_ops(directory):
    """The check names ops of the framework and their kernels, not what runs them, by step; there is evidence."""
    host = [event("train", 1_000_000_000 * i, 900_000_000, _r=1, step_num=i) for i in range(2)]
    host += [event("ExecutorState::Process", 10_000_000, 800_000_000),
             event("a/conv:Conv2D", 20_000_000, 300_000_000), event("a/mul:Mul", 400_000_000, 200_000_000),
             event("cuLaunchKernel", 410_000_000, 1_000_000, correlation_id=1)]
    kernel = event("gemm", 420_000_000, 500_000_000, correlation_id=1, tf_op=Ref("a/mul:Mul"))
    run = written(directory, space(plane("/host:CPU", [line(1, "main", host)]),
                                   plane("/device:GPU:0", [line(1, "Stream #1(Compute)", [kernel])])))
    rows = query(run, "SELECT message, evidence, subject FROM advise WHERE check_name = 'expensive_operation'")
    check([row["message"].partition(", ")[0] for row in rows],
          ["top 1 graph node: a/mul", "top 1 operation type: Mul", "top 2 graph node: a/conv",
           "top 2 operation type: Conv2D"], "ops")
    check(rows[0]["message"], "top 1 graph node: a/mul, cpu: 100us, accelerator: 250us, total: 350us", "times")
    check({row["subject"] for row in rows}, {"host host-a"}, "subject")
    for row in rows:
        assert query(run, row["evidence"]), row


def test_lines_of_tensorflow(directory):
    """Its own line that makes all ops is none of the program."""
    maker = "/lib/site-packages/tensorflow/python/framework/ops.py"
    program = files.program("f", [("a", "Mul", "mul", maker, 1221, 0), ("b", "Add", "add", "", 0, 1),
                                  ("c", "Sub", "sub", "", 0, 2), ("d", "Neg", "neg", "train.py", 3, 1)],
                            [maker, "model.py"], ["make", "call"], [(1, 1, 1221), (2, 2, 7)], [(1, 0), (2, 1)])
    events = [event(name, 1000 * i, 900, hlo_op=Ref(name), hlo_module="f") for i, name in enumerate("abcd")]
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   files.programs({"f(1)": program})))
    check([tuple(row.values()) for row in query(run, "SELECT file, line FROM code_frames ORDER BY line")],
          [("train.py", 3), ("model.py", 7)], "frames")
    check(column(run, "SELECT code_trace_id IS NULL FROM ops ORDER BY start_ns"), [1, 1, 0, 0], "traces")


def test_damaged_programs(directory):
    """What is damaged in a program is told; its other instructions are there."""
    data = compiled()
    at = data.index(b"\x0a\x05dot.1")
    run = written(directory, data[:at] + b"\x0b" + data[at + 1:])
    check(column(run, "SELECT op_type FROM ops ORDER BY start_ns LIMIT 4"), ["dot.1", "tanh", "tanh", "mul"], "ops")
    check(column(run, "SELECT reason FROM diagnostics"), ["damaged_program"], "told")


def test_deep_stacks(directory):
    """A stack of a hundred thousand frames, in the order that is worst, and all of them of another instruction."""
    count = 100_000
    deep = files.program("f", [(f"op.{i}", "", "f/op", "", 0, i + 1) for i in range(0, count, 100)], ["a.py"], ["f"],
                         [(1, 1, i + 1) for i in range(1000)],
                         [(i % 1000 + 1, i + 2 if i + 1 < count else 0) for i in range(count)])
    run = written(directory, space(plane("/host:CPU", [line(1, "x", [event("op.0", 0, 9000, hlo_op="op.0",
                                                                           hlo_module="f")])]),
                                   files.programs({"f(1)": deep})))
    check([tuple(row.values()) for row in query(run, "SELECT max(depth), count(*) FROM code_traces")], [(count, count)],
          "depths")



def test_stages(directory):
    """Stages that other pipelines than tf.data mark: XProf 2.24.2 has 0.25 ms of input and 0.1 of host compute for each
    of these steps, 240 us of reading and 150 of enqueueing. The worker's stage, which no step caused, is in no step."""
    us, main, worker = 1_000_000, [], []
    for i in range(3):
        at = lambda begin, length, name, past=1000 * i, **stats: event(name, (past + begin) * us, length * us, **stats)
        stage = lambda name, category: {"_ipl_stage_id": len(name), "_ipl_stage_name": Ref(name),
                                        "_ipl_stage_cat": Ref(category)}
        main += [at(0, 900, "train", _r=1, step_num=i), at(10, 200, "loader.next", **stage("Next", "preprocessing")),
                 at(20, 80, "loader.read", **stage("Records", "READ")), at(300, 100, "mul:MatMul"),
                 at(500, 50, "put", **stage("Put", "Enqueue"))]
        worker += [at(30, 60, "work", **stage("Decode", "unknown"))]
    run = written(directory, space(plane("/host:CPU", [line(1, "main", main, 0), line(2, "worker", worker, 0)])))
    ask = lambda sql: [tuple(row.values()) for row in query(run, sql)]
    check(ask("SELECT name, long_name, stage, count(*), sum(dur_ns) FROM input_events GROUP BY 1, 2, 3 ORDER BY 5"),
          [("Put", "put", "enqueue", 3, 150_000), ("Decode", "work", "other", 3, 180_000),
           ("Records", "loader.read", "read_on_demand", 3, 240_000),
           ("Next", "loader.next", "preprocess", 3, 600_000)], "events")
    check(ask("SELECT name, count, self_ns, category FROM input_op_stats ORDER BY self_ns"),
          [("put", 3, 150_000, "enqueue"), ("work", 3, 180_000, "other"), ("loader.read", 3, 240_000, "read_on_demand"),
           ("loader.next", 3, 360_000, "preprocess")], "stages")
    check(ask("SELECT input_ns, host_compute_ns, other_ns FROM step_breakdown"), [(250_000, 100_000, 550_000)] * 3,
          "steps")
    check(ask("SELECT name, op_type FROM op_stats WHERE name LIKE 'loader%' ORDER BY 1"),
          [("loader.next", "preprocessing"), ("loader.read", "READ")], "ops")
    check(ask("SELECT attributes ->> '_ipl_stage_id' FROM input_events LIMIT 1"), [(4,)], "the rest")


def test_types_of_instructions(directory):
    """An op that XLA made of many or by itself is of XLA's kind; the names of many that it joins are no type."""
    joined = "jit(f)/(transpose(jvp(layer))/dot_general:transpose(jvp())/reduce_sum:jvp()/reduce_sum)"
    proto = files.program("jit_f", [("all-reduce.9", "", joined, "", 0, 0), ("copy.5", "copy"),
                                    ("some.1", "", "jit(f)/mul", "", 0, 0)])
    events = [event(name, 1_000_000 * i, 900_000, hlo_op=Ref(name), hlo_module="jit_f", program_id=3)
              for i, name in enumerate(("all-reduce.9", "copy.5", "some.1", "unknown.1"))]
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   files.programs({"jit_f(3)": proto})))
    asked = query(run, "SELECT name, op_type, framework_name FROM ops ORDER BY start_ns")
    check([tuple(row.values()) for row in asked],
          [("all-reduce.9", "fusion", joined), ("copy.5", "copy", None), ("some.1", "mul", "jit(f)/mul"),
           ("unknown.1", "unknown.1", None)], "ops")


def test_collectives_of_hosts(directory):
    """What XLA compiled of collectives for CPUs, whose devices are threads: told by the opcode, whatever JAX called it,
    with the data and the devices that the program names; they are communication of the step that they lie in."""
    shape, groups = files.hlo_shape, files.message(87, files.message(1, files.message(1, bytes(range(4)))))
    iota = files.message(87, files.message(2, files.number(1, 1) + files.number(2, 8)))
    old = files.message(49, files.message(1, bytes(range(2))))
    proto = files.hlo_module({1: ([
        files.hlo_instruction(1, "p", "parameter", shape(1024)),
        files.hlo_instruction(2, "psum_invariant.7", "all-reduce", shape(1024), [1], more=groups),
        files.hlo_instruction(3, "gather.3", "all-gather-start", shape(4096), [2], more=iota),
        files.hlo_instruction(4, "gather.4", "all-gather-done", shape(4096), [3]),
        files.hlo_instruction(5, "scatter", "reduce-scatter", shape(512), [2], more=old),
        files.hlo_instruction(6, "moved", "collective-permute", shape(512), [5]),
        files.hlo_instruction(7, "sine", "sine", shape(512), [6])], 7)}, "jit_f")
    ms, names = 1_000_000_000, ("psum_invariant.7", "gather.3", "gather.4", "scatter", "moved", "sine")
    lines = [line(1, "python", [event("train", 20 * ms * i, 15 * ms, _r=1, step_num=i) for i in range(2)])]
    for device in range(2):
        lines.append(line(2 + device, f"tf_XLAEigen/{device}", [
            event(name, 20 * ms * i + 2 * ms * place, ms, hlo_op=Ref(name), hlo_module="jit_f", program_id=3)
            for i in range(2) for place, name in enumerate(names)]))
    run = written(directory, space(plane("/host:CPU", lines), files.programs({"jit_f(3)": proto})))
    asked = query(run, "SELECT name, carried_by, count(*), sum(dur_ns), bytes, group_size, bus_bytes_per_second, "
                       "count(step_id) FROM collectives GROUP BY 1 ORDER BY bytes, 1")
    check([tuple(row.values()) for row in asked],
          [("collective_permute", "op", 4, 4_000_000, 2048, None, 2048000.0, 4),
           ("all_reduce", "op", 4, 4_000_000, 4096, 4, 6144000.0, 4),
           ("reduce_scatter", "op", 4, 4_000_000, 4096, 2, 2048000.0, 4),
           ("all_gather", "op", 4, 4_000_000, 16384, 8, 14336000.0, 4)], "collectives")
    check([tuple(row.values()) for row in query(run, "SELECT communication_ns FROM step_breakdown")],
          [(4_000_000,)] * 2, "steps")
    check([tuple(row.values()) for row in
           query(run, "SELECT communication_ns, computation_ns, collective_count FROM distributed_summary")],
          [(4_000_000, 2_000_000, 16)], "distributed_summary")


def test_names_of_steps(directory):
    """Whatever a step that has a number is called, also as ranges of NVTX are that are steps without one."""
    for name in ("train", "train_step", "step", "Iteration", "batch of mine"):
        marks = [event(name, 100_000 * i, 90_000, _r=1, step_num=100 + i) for i in range(3)]
        run = written(directory, space(plane("/host:CPU", [line(7, "python", marks)])))
        check([tuple(row.values()) for row in query(run, "SELECT number, name, origin FROM steps ORDER BY number")],
              [(100 + i, f"{name} {100 + i}", "user") for i in range(3)], name)


def test_recorded_programs(directory):
    """A recording of JAX: all ops whose instruction has metadata have a place, of the lines that the program has."""
    del directory
    run = os.path.join(SHARED, "traces/xplane/jax_a.xplane.pb")
    if not os.path.exists(run):
        return
    counts = query(run, "SELECT count(*), count(framework_name), count(code_trace_id) FROM ops "
                        "WHERE hlo_module IS NOT NULL")
    check([tuple(row.values()) for row in counts], [(240, 224, 224)], "ops")
    check(column(run, "SELECT location || ' ' || function FROM code_summary"),
          ["gen_jax.py:12 mlp", "gen_jax.py:14 mlp", "gen_jax.py:41 train_step", "gen_jax.py:35 loss",
           "gen_jax.py:36 loss", "gen_jax.py:49 <module>", "gen_jax.py:40 train_step"], "lines")


def test_marks_without_length(directory):
    """What has no length lasts until the next op of its step has ended, or the step; within an op it adds nothing."""
    mark, ns = "ThreadpoolListener::", 1000
    main = [event("train", 10_000 * ns, 90_000 * ns, _r=1, step_num=0),
            event(mark + "Record", 11_000 * ns, 0, _pt=15, _p=97),     # until dispatch has ended
            event("dispatch", 30_000 * ns, 10_000 * ns),
            event("train", 100_000 * ns, 100_000 * ns, _r=1, step_num=1),
            event("busy", 103_000 * ns, 7_000 * ns),
            event(mark + "Record", 105_000 * ns, 0, _pt=15, _p=99),    # in busy
            event("later", 150_000 * ns, 10_000 * ns), event("instant", 155_000 * ns, 0)]
    pool = [event(mark + "StartRegion", 50_000 * ns, 0, _ct=15, _c=97), # until the step ends: nothing comes after it
            event("of no step", 52_000 * ns, 3_000 * ns), event(mark + "StopRegion", 60_000 * ns, 0),
            event(mark + "StartRegion", 110_000 * ns, 0, _ct=15, _c=99), # when busy is over: until later has ended
            event(mark + "StartRegion", 205_000 * ns, 0, _ct=15, _c=97)] # after its step
    run = written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAPjRt/1", pool)])),
                  "marks.xplane.pb")
    found = [tuple(row.values()) for row in query(run, "SELECT number, host_compute_ns, other_ns FROM step_breakdown")]
    check(found, [(0, 79_000, 11_000), (1, 57_000, 43_000)], "steps")


def test_step_that_crosses(directory):
    """A step that begins before the call that began the recording ends has what it encloses; another has it once."""
    mark, ns = "ThreadpoolListener::", 1000
    main = [event("$script.py:1 <module>", 5_000 * ns, 300_000 * ns),
            event("$profiler.py:385 __init__", 6_000 * ns, 5_000 * ns),
            event("train", 10_000 * ns, 90_000 * ns, _r=1, step_num=0),
            event("$script.py:9 call", 20_000 * ns, 50_000 * ns),
            event(mark + "Record", 30_000 * ns, 0, _pt=15, _p=97),
            event("my range", 60_000 * ns, 20_000 * ns),                       # begins in the call, outlives it
            event(mark + "Record", 75_000 * ns, 0, _pt=15, _p=98),
            event("$script.py:11 late", 95_000 * ns, 15_000 * ns),             # begins in the step, outlives it
            event(mark + "Record", 96_000 * ns, 0, _pt=15, _p=99),             # in both: a frame gives way to a step
            event("train", 120_000 * ns, 80_000 * ns, _r=1, step_num=1),
            event(mark + "Record", 121_000 * ns, 0, _pt=15, _p=96)]
    pool = [event(f"work {context}", (211_000 + 25_000 * place) * ns, 2_000 * ns, _ct=15, _c=context)
            for place, context in enumerate((97, 98, 99, 96))]
    run = written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAPjRt/1", pool)])),
                  "crosses.xplane.pb")
    found = query(run, "SELECT name, number FROM ops LEFT JOIN (SELECT id AS step, number FROM steps) "
                       "ON step = step_id WHERE name LIKE 'work %' ORDER BY name")
    check([tuple(row.values()) for row in found],
          [("work 96", 1), ("work 97", 0), ("work 98", 0), ("work 99", 0)], "steps of ops")


def test_host_that_is_lost(directory):
    """Of a run one host's file is empty, and another's is cut off: the others are there, and both are told."""
    data = files.example()
    for name, part in (("a", data), ("b", b""), ("c", data[:len(data) - 40])):
        written(directory, part, f"plugins/profile/2025_01_01_00_00_00/{name}.xplane.pb")
    check([os.path.basename(path) for path in column(directory, "SELECT path FROM profiles ORDER BY path")],
          ["a.xplane.pb", "c.xplane.pb"], "profiles")
    told = [tuple(row.values()) for row in query(directory, "SELECT reason, file, message FROM diagnostics "
                                                            "WHERE severity = 'error' AND reason <> 'recorded'")]
    check(sorted(reason for reason, _, _ in told), ["truncated", "unopened_file"], "told")
    assert all(("c." if reason == "truncated" else "b.") + "xplane.pb" in file + message
               for reason, file, message in told), told


if __name__ == "__main__":
    run_tests(globals())
