#!/usr/bin/env python3
"""test_pods.py: steps of several hosts side by side, against the pod viewers of XProf and of TensorFlow's converter.

The recordings and the tools' outputs are among the shared traces; without these only the files that are made here are
looked at. Pieces of a step begin and end at whole nanoseconds here.  What is compiled is a part of its own here, and
compute of the host there, whose Compilation nothing fills.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, query, run_tests
from test_xprof import GOLDEN, recordings
from xplane_files import event, line, plane, space

PARTS = {"Device compute": "device_compute", "Device to device": "device_to_device",
         "Device collective communication": "device_collectives", "Host compute": "host_compute",
         "Kernel launch": "kernel_launch", "Input": "input", "Output": "output", "Compilation": "compile",
         "All others": "other"}


def golden_pods(name, tool):
    """(number of the pod's step, host, whole time, {part: time}, bottleneck) of each step; nanoseconds."""
    path = os.path.join(GOLDEN, "golden", name, tool + ".json")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    names = {str(one["id"]): PARTS[one["name"]] for one in content["stepBreakdownEvents"]}
    for step in content.get("podStatsSequence", {}).get("podStatsMap", []):
        for of_core in step["podStatsPerCore"].values():
            yield (step.get("stepNum", 0), of_core["hostName"], of_core["totalDurationUs"] * 1000,
                   {names[key]: us * 1000 for key, us in of_core["stepBreakdownUs"].items()},
                   PARTS[of_core["bottleneck"]])


def test_steps_of_pods(_folder):
    """Which steps belong together, their parts and their bottleneck: what the tools show is all that there is."""
    compared = 0
    slack = 20
    for name, path in recordings():
        if name == "gpu_edge_a":
            continue  # its times are less than what is lost by rounding
        rows = query(path, "SELECT * FROM xprof_pod_steps")
        has_device = "gpu" in name
        for tool in ("tf216.pod_viewer", "pod_viewer"):
            left = {(row["pod_step"], row["host"]): row for row in rows if row["pod_step"] is not None}
            expected = list(golden_pods(name, tool))
            for number, host, whole, parts, bottleneck in expected:
                row = left.pop((number, host))
                largest = "host_compute" if row["bottleneck"] == "compile" else row["bottleneck"]
                check(largest, bottleneck, (name, tool, number, host))
                if has_device and tool == "pod_viewer":
                    continue  # from the first to the last kernel of the step: nothing of the host counts there
                assert abs(row["dur_ns"] - whole) <= slack, (name, row, whole)
                copies = query(path, f"SELECT memcpy_ns FROM _step_parts WHERE step_id = {row['step_id']}")
                here = {part: row[part + "_ns"] for part in PARTS.values()}
                # Copies of GPUs are compute there.
                here["input"] -= copies[0]["memcpy_ns"] - here["output"] - here["device_to_device"]
                here["device_compute"] += copies[0]["memcpy_ns"]
                here["output"] = here["device_to_device"] = 0
                here["host_compute"] += here["compile"]
                here["compile"] = 0
                for part, value in here.items():
                    assert abs(value - parts[part]) <= slack, (name, tool, part, row, parts)
                compared += 1
            if expected:
                assert not left, (name, tool, left)
    assert compared > 60 or not os.path.isdir(GOLDEN), compared


def of_host(host, begin_us, steps):
    """A host's profile that began at begin_us; steps are (from its begin, length) in microseconds."""
    return space(
        plane("/host:CPU", [line(1, "main", [event("train", at * 1_000_000, dur * 1_000_000, _r=1, step_num=i)
                                             for i, (at, dur) in enumerate(steps)] +
                                 [event(f"mul_{i}:Mul", at * 1_000_000, dur * 900_000)
                                  for i, (at, dur) in enumerate(steps)])], names_base=2),
        plane("Task Environment", [], {"profile_start_time": 1_700_000_000_000_000_000 + begin_us * 1000,
                                       "profile_stop_time": 1_700_000_000_000_000_000 + (begin_us + 9000) * 1000}),
        host=host)


def write_run(folder, hosts):
    run = os.path.join(folder, "plugins", "profile", "one")
    os.makedirs(run)
    for host, begin_us, steps in hosts:
        with open(os.path.join(run, host + ".xplane.pb"), "wb") as file:
            file.write(of_host(host, begin_us, steps))
    return run


def test_shifted_steps(folder):
    """The host of the shortest span leads; another's steps are shifted as a whole, by the one that overlaps most, and
    what the others do not have belongs to none."""
    run = write_run(folder, [("b", 5_000_000, [(0, 90), (100, 90), (200, 90), (300, 80)]),
                             ("a", 0, [(110, 80), (210, 90), (310, 90)]),
                             ("c", 0, [(5, 90), (105, 90), (205, 90), (305, 90), (405, 90)])])
    rows = query(run, "SELECT pod_step, host, number, bottleneck, behind_ns, host_compute_ns FROM xprof_pod_steps")
    check([(row["pod_step"], row["host"], row["number"], row["behind_ns"]) for row in rows],
          [(0, "a", 0, 0), (0, "b", 1, 10_000), (0, "c", 1, 10_000), (1, "a", 1, 0), (1, "b", 2, 0), (1, "c", 2, 0),
           (2, "a", 2, 10_000), (2, "b", 3, 0), (2, "c", 3, 10_000),
           (None, "b", 0, None), (None, "c", 0, None), (None, "c", 4, None)], "steps")
    assert all(row["bottleneck"] == "host_compute" for row in rows), rows


def test_steps_of_nobody_else(folder):
    """Hosts that never went through a step together have none in common; one host alone has all its own."""
    run = write_run(folder, [("a", 0, [(0, 90), (100, 90)]), ("b", 0, [(300, 90), (400, 90), (500, 90)])])
    check([(row["pod_step"], row["host"]) for row in query(run, "SELECT * FROM xprof_pod_steps")],
          [(None, "a")] * 2 + [(None, "b")] * 3, "apart")
    check([(row["pod_step"], row["number"]) for row in query(
        os.path.join(run, "b.xplane.pb"), "SELECT * FROM xprof_pod_steps")], [(0, 0), (1, 1), (2, 2)], "alone")


def test_compiling(folder):
    """What XLA and JAX mark as compiling is a part of its own, on whichever thread, and counts once; of what runs
    meanwhile only copies, launches and waiting for input come before it."""
    def work(name, at_us, dur_us, **stats):
        return event(name, at_us * 1_000_000, dur_us * 1_000_000, **stats)

    run = os.path.join(folder, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(plane("/host:CPU", [
            line(1, "python", [work("train", 0, 100, _r=1, step_num=0), work("$pjit.py:3 call", 1, 80),
                               work("lower_sharding_computation", 2, 8), work("backend_compile_and_load", 10, 50),
                               work("PjRtCpuClient::Compile", 12, 40), work("CpuCompiler::RunBackend", 14, 30),
                               work("IteratorGetNext:IteratorGetNext", 55, 10),
                               work("train", 200, 100, _r=1, step_num=1), work("compile_loss/mul:Mul", 210, 20),
                               work("XlaCompile", 500, 10)])])))
    check([(row["number"], row["dur_ns"], row["cpu_ns"], row["host_compute_ns"], row["compile_ns"], row["input_ns"],
            row["other_ns"]) for row in query(run, "SELECT * FROM _step_parts")],
          [(0, 100_000, 70_000, 17_000, 53_000, 10_000, 20_000), (1, 100_000, 20_000, 20_000, 0, 0, 80_000)], "steps")
    check([(row["name"], row["kind"], row["number"]) for row in query(
        run, "SELECT compilations.name, kind, number FROM compilations LEFT JOIN (SELECT id AS key, number FROM steps) "
             "ON key = step_id ORDER BY start_ns")],
          [("lower_sharding_computation", "xla", 0), ("backend_compile_and_load", "xla", 0),
           ("PjRtCpuClient::Compile", "xla", 0), ("CpuCompiler::RunBackend", "xla", 0), ("XlaCompile", "xla", None)],
          "compilations")
    check([(row["number"], row["compile_ns"]) for row in query(run, "SELECT * FROM compilation_summary")],
          [(None, 10_000), (0, 58_000)], "compilation_summary")


def test_tracing(folder):
    """Making the graph of a tf.function is compiling: what else its call takes is not, nor what has a name like it."""
    def work(name, at_us, dur_us, **stats):
        return event(name, at_us * 1_000_000, dur_us * 1_000_000, **stats)

    run = os.path.join(folder, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(plane("/host:CPU", [
            line(1, "python", [work("train", 0, 100, _r=1, step_num=0), work("loss", 1, 80),
                               work("tf.function-graph_building", 5, 50), work("tf.function-graph_building", 10, 20),
                               work("EagerKernelExecute", 60, 10),
                               work("train", 200, 100, _r=1, step_num=1), work("loss", 210, 20),
                               work("tf.function-graph_building_2", 240, 20)])])))
    check([(row["number"], row["host_compute_ns"], row["compile_ns"], row["other_ns"])
           for row in query(run, "SELECT * FROM _step_parts")],
          [(0, 30_000, 50_000, 20_000), (1, 40_000, 0, 60_000)], "steps of functions")
    check([(row["number"], row["compile_ns"], row["count"], row["inductor_ns"])
           for row in query(run, "SELECT * FROM compilation_summary")], [(0, 50_000, 2, 0)], "compilation_summary")
    check(query(run, "SELECT DISTINCT name, kind FROM compilations"),
          [{"name": "tf.function-graph_building", "kind": "tf.function"}], "compilations")


if __name__ == "__main__":
    run_tests(globals())
