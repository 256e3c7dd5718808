#!/usr/bin/env python3
"""test_forward_links.py: ops.forward_op_id are the arrows that Kineto draws between forward and backward ops.

Programs of tests/capture (a network, a transformer, custom functions with checkpointing and double backward) run under
tfprof-capture and torch.profiler at once; the pairs of names that the profiler's flow events join must be those that
forward_op_id joins, as many times each.
"""
import collections
import json
import os
import subprocess
import sys

from stored import BUILD, PYTHON, ROOT, Shell, check, finish, temporary

PROGRAM = """
import importlib, sys
from torch.profiler import ProfilerActivity, profile, record_function
sys.path.insert(0, sys.argv[1])
run = importlib.import_module(sys.argv[2]).run
run()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    with record_function("compared"):
        run()
profiler.export_chrome_trace(sys.argv[3])
"""
TASK = "autograd::engine::evaluate_function: "


def pairs_of_trace(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    ops, flows = collections.defaultdict(list), collections.defaultdict(dict)
    for event in events:
        if event.get("cat") in ("cpu_op", "user_annotation"):
            ops[event["tid"], str(event["ts"])].append(event)
        elif event.get("cat") == "fwdbwd":
            flows[event["id"]][event["ph"]] = event
    pairs = collections.Counter()
    for flow in flows.values():
        backward = [op for op in ops[flow["f"]["tid"], str(flow["f"]["ts"])] if op["args"].get("Fwd thread id")][-1]
        number = backward["args"]["Sequence number"]
        forward = [op for op in ops[flow["s"]["tid"], str(flow["s"]["ts"])]
                   if op["args"].get("Sequence number") == number]
        pairs[forward[-1]["name"], backward["name"].replace(TASK, "")] += 1
    return pairs


def main():
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        print("torch is not installed in " + PYTHON)
        sys.exit(77)
    with temporary() as directory:
        for program in ("cnn", "transformer", "autograd_threads"):
            run, trace = os.path.join(directory, program), os.path.join(directory, program + ".json")
            subprocess.run([os.path.join(BUILD, "tfprof-capture"), "-o", run, "--", PYTHON, "-c", PROGRAM,
                            os.path.join(ROOT, "tests", "capture", "programs"), program, trace],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600,
                           env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tests", "capture", "within")))
            engine = Shell()
            engine.query(f"SELECT tfprof_open('{run}')")
            rows = engine.query("""
                WITH compared AS (SELECT start_ns, end_ns FROM ranges WHERE name = 'compared')
                SELECT forward.name AS forward_name, backward.name AS backward_name
                FROM ops AS backward JOIN ops AS forward ON forward.id = backward.forward_op_id
                WHERE backward.category = 'autograd' AND backward.start_ns >= (SELECT start_ns FROM compared)
                  AND backward.end_ns <= (SELECT end_ns FROM compared)""")[1]
            ours, kineto = collections.Counter(rows), pairs_of_trace(trace)
            check(kineto and ours == kineto,
                  f"{program}: only Kineto has {dict(kineto - ours)}, only forward_op_id has {dict(ours - kineto)}")
    finish()


if __name__ == "__main__":
    main()
