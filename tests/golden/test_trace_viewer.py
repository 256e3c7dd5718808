#!/usr/bin/env python3
"""test_trace_viewer.py: tfprof_timeline of XPlane files against the JSON that XProf's trace viewer draws of them.

Every event of the one is an event of the other, by process, thread, name, start and duration, apart from the listed
differences. XProf's times are picoseconds, ours whole nanoseconds, and it makes inner scopes shorter by one each.
"""

import collections
import glob
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import query, run_tests
from exchange_formats import check_events
from xplane_files import Ref, Unsigned, event, line, plane, space

SHARED = os.path.join(os.environ.get("TFPROF_SHARED", ""), "traces", "xplane")


class Drawn:
    """Names of processes, {(process, thread): [(name, other name, start in ns, duration in ns)]}, order of both."""

    def __init__(self, events, origin_us=0):
        def labels(name, key):
            return {(each["pid"], each.get("tid", 0)): each["args"][key] for each in events if each.get("name") == name}

        names = {pid: name for (pid, _), name in labels("process_name", "name").items()}
        threads = labels("thread_name", "name")
        self.processes = names
        self.order = {lane: labels("thread_sort_index", "sort_index")[lane] for lane in threads
                      if lane in labels("thread_sort_index", "sort_index")}
        self.threads = threads
        self.events = collections.defaultdict(list)
        for each in events:
            if each.get("ph") in ("X", "i"):
                lane = names[each["pid"]], threads[each["pid"], each["tid"]]
                other = each.get("args", {}).get("long_name", each["name"])
                self.events[lane].append((each["name"], other, (each["ts"] - origin_us) * 1000,
                                          each.get("dur", 0) * 1000))

    def sorted_threads(self, process):
        """As the viewer lists them."""
        lanes = [lane for lane in self.order if self.processes[lane[0]] == process]
        return [self.threads[lane] for lane in sorted(lanes, key=lambda lane: self.order[lane])]


def timeline(path, directory):
    target = os.path.join(directory, "timeline.json")
    query(path, f"SELECT tfprof_timeline('{target}')")
    with open(target, encoding="utf-8") as file:
        content = json.load(file)
    check_events(content)
    (start,) = query(path, "SELECT min(clock_offset_ns) AS ns FROM profiles")
    return content["traceEvents"], (start["ns"] - content["baseTimeNanoseconds"]) / 1000


def compare(drawn, expected):
    """What is only in one of them, as (thread, name)."""
    missing, left = [], {lane: list(events) for lane, events in drawn.events.items()}
    for lane, events in expected.events.items():
        for name, long_name, start, duration in sorted(events, key=lambda each: each[2]):
            found = [each for each in left.get(lane, ())
                     if {each[0], each[1].removesuffix(":")} & {name, long_name, long_name.removesuffix(":")} and
                     abs(each[2] - start) <= 1.01 and abs(each[3] - duration) <= 5.01]
            if found:
                left[lane].remove(min(found, key=lambda each: abs(each[2] - start) + abs(each[3] - duration)))
            else:
                missing.append((lane[1], name))
    return missing, [(lane[1], each[0]) for lane, events in left.items() for each in events]


# What is only in XProf's, by recording ("": any), and what only in ours: (thread, name) begin with these.
ONLY_THERE = {
    "": [("tf_", "ThreadpoolListener::Region"),  # made of the two marks that begin and end it, which are here
         ("_counters_", "")],                    # curves here
    "gpu_edge_a": [("main thread", "aggregated:Op"),             # has no start, drawn at 0 there
                   ("Framework Ops - from #13", "Relu")],        # there without the kernel that has no details
    "gpu_derived_a": [("TensorFlow ", ""), ("Steps", "")],       # the file's own lines, of one stream for all
    "gpu_cupti_a": [("Framework Ops - from #16", "Collective")], # one op: there are no steps in a file of planes apart
}
ONLY_HERE = {
    "": [("", "PrefetchConsume"), ("", "PrefetchProduce")],      # hidden there
    "gpu_edge_a": [("Framework Ops - from #13", "Relu")],
    "gpu_derived_a": [("Framework ", ""), ("Steps", "")],
    "gpu_cupti_a": [("Framework Ops - from #16", "Collective"), ("tf_Compute/202", "cu"), ("Steps", "")],
    "gpu_unsorted_a": [("Steps", "")],                           # XProf groups nothing in lines out of order
}


def unexplained(name, found, reasons, has_device):
    known = reasons[""] + reasons.get(name, [])
    if not has_device:
        known = known + [("Steps", "")]  # no line of the host there
    return [each for each in found if not any(each[0].startswith(thread) and each[1].startswith(event)
                                              for thread, event in known)]


def test_equal_to_xprof(directory):
    seen = 0
    for path in sorted(glob.glob(os.path.join(SHARED, "*.xplane.pb"))):
        name = os.path.basename(path)[:-len(".xplane.pb")]
        golden = os.path.join(SHARED, "golden", name, "trace_viewer.json")
        if not os.path.exists(golden):
            continue
        with open(golden, encoding="utf-8") as file:
            expected = Drawn(json.load(file)["traceEvents"])
        drawn = Drawn(*timeline(path, directory))
        assert drawn.processes == expected.processes, (name, drawn.processes, expected.processes)
        has_device = len(expected.processes) > 1
        missing, more = compare(drawn, expected)
        assert not unexplained(name, missing, ONLY_THERE, has_device), (name, missing)
        assert not unexplained(name, more, ONLY_HERE, has_device), (name, more)
        if name != "gpu_derived_a":
            for process in expected.processes.values():
                if process.startswith("/device:"):
                    threads = [thread for thread in expected.sorted_threads(process) if thread != "_counters_"]
                    here = [thread for thread in drawn.sorted_threads(process) if thread in threads]
                    assert here == threads, (name, here, threads)
        seen += 1
    print(f"{seen} recordings")


# ---- made here ----


def write(directory, host, kernels):
    """Two steps, and on one stream of one GPU (stats, start, end) in µs."""
    calls = [event("cuLaunchKernel", 1_000_000 + i, 1000, correlation_id=i + 1) for i in range(len(kernels))]
    steps = [event("train", i * 500_000_000, 499_000_000, step_num=i, _r=1) for i in range(2)]
    device = [event("gemm", start * 1_000_000, (end - start) * 1_000_000, correlation_id=i + 1,
                    kernel_details=Ref("regs:32 grid:1,1,1 block:64,1,1"), **{key: Ref(value) if isinstance(value, str)
                                                                            else value for key, value in stats.items()})
              for i, (stats, start, end) in enumerate(kernels)]
    path = os.path.join(directory, host + ".xplane.pb")
    with open(path, "wb") as file:
        file.write(space(plane("/host:CPU", [line(7, "main", steps + [event("conv/Conv2D:Conv2D", 3_000_000, 1000)], 0),
                                             line(8, "launching", calls, 0)]),
                         plane("/device:GPU:0", [line(13, "Stream #13(Compute)", device, 0)]), host=host))
    return path


def spans(drawn, thread):
    (lane,) = [lane for lane in drawn.events if lane[1] == thread]
    return sorted((round(start / 1000), round((start + duration) / 1000), name, long_name)
                  for name, long_name, start, duration in drawn.events[lane])


def test_lines_below_a_stream(directory):
    path = write(directory, "host-a", [
        ({"tf_op": "a/b/x:MatMul"}, 10, 20), ({"tf_op": "a/b/x:MatMul"}, 20, 30), ({"tf_op": "c:Relu"}, 30, 40),
        ({"tf_op": "a/b/x:MatMul"}, 40, 50), ({"tf_op": "a/d/y:Add"}, 50, 60), ({"tf_op": "a/b/x:MatMul"}, 60, 70),
        ({"hlo_op": "fusion.1", "hlo_module": "jit_f", "program_id": 9}, 70, 80),
        ({"hlo_op": "outer::fusion.2", "hlo_module": "jit_f", "program_id": 9}, 80, 90),
        ({"hlo_op": "fusion.2", "hlo_module": "jit_g"}, 90, 95),
        ({"hlo_op": "fusion.2", "hlo_module": "jit_g", "program_id": Unsigned(2**64 - 1)}, 95, 99)])
    drawn = Drawn(*timeline(path, directory))
    assert drawn.processes == {701: "/host:CPU", 2: "/device:GPU:0"}, drawn.processes
    below = " - from #13"
    assert drawn.sorted_threads("/device:GPU:0") == [
        "Stream #13(Compute)", "Framework Name Scope" + below, "Framework Ops" + below, "XLA Modules" + below,
        "XLA Ops" + below, "Steps"], drawn.sorted_threads("/device:GPU:0")
    # c, of no scope, ends the op before it but not the scopes; another scope inside a ends b.
    scopes = spans(drawn, "Framework Name Scope" + below)
    assert [each[:3] for each in scopes] == [(10, 50, "b"), (10, 70, "a"), (50, 60, "d"), (60, 70, "b")], scopes
    assert spans(drawn, "Framework Ops" + below) == [
        (10, 30, "MatMul", "a/b/x:MatMul"), (30, 40, "Relu", "c:Relu"), (40, 50, "MatMul", "a/b/x:MatMul"),
        (50, 60, "Add", "a/d/y:Add"), (60, 70, "MatMul", "a/b/x:MatMul")]
    assert [each[:3] for each in spans(drawn, "XLA Modules" + below)] == [(70, 90, "jit_f(9)"), (90, 95, "jit_g"),
                                                                                 (95, 99, f"jit_g({2**64 - 1})")]
    assert spans(drawn, "XLA Ops" + below) == [(70, 80, "fusion.1", "9/fusion.1"), (80, 90, "fusion.2", "9/fusion.2"),
                                              (90, 95, "fusion.2", "/fusion.2"),
                                              (95, 99, "fusion.2", f"{2**64 - 1}/fusion.2")]
    main = spans(drawn, "main")
    assert [each[2] for each in main] == ["train 0", "conv/Conv2D:Conv2D", "train 1"], main


def test_hosts_of_a_run(directory):
    """Each host has its own processes, and says which it is."""
    for host in ("host-a", "host-b"):
        write(directory, host, [({"tf_op": "x:MatMul"}, 10, 20)])
    drawn = Drawn(*timeline(directory, tempfile.mkdtemp(dir=directory)))
    assert drawn.processes == {701: "host-a /host:CPU", 2: "host-a /device:GPU:0",
                               1701: "host-b /host:CPU", 1002: "host-b /device:GPU:0"}, drawn.processes
    for host in ("host-a", "host-b"):
        assert len(drawn.events[host + " /device:GPU:0", "Framework Ops - from #13"]) == 1, dict(drawn.events)


if __name__ == "__main__":
    run_tests(globals())
