"""drive.py PROGRAM,PROGRAM... MODE OUT: runs each of these programs once to warm up and then once within the range
"compared PROGRAM".

MODE capture: nothing else (the process runs under capture).  profiler: torch.profiler watches the second run and its
events are written to OUT.PROGRAM as JSON.  both: one under the other.
"""

import importlib
import json
import os
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def drive(program, mode, out):
    run = importlib.import_module(program).run
    run()
    if mode == "capture":
        with record_function("compared " + program):
            run()
        return
    try:
        config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except TypeError:  # older versions watch only the thread that starts the profiler and those of autograd
        config = None
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, experimental_config=config) as profiler:
        with record_function("compared " + program):
            run()
    profiler.export_chrome_trace(out + ".trace")
    with open(out + ".trace") as trace:
        events = json.load(trace)["traceEvents"]
    os.unlink(out + ".trace")
    ops = []
    for event in events:
        if event.get("cat") in ("cpu_op", "user_annotation"):
            arguments = event["args"]
            ops.append(
                {
                    "name": event["name"],
                    "tid": event["tid"],
                    "start": event["ts"],
                    "dur": event["dur"],
                    "shapes": arguments.get("Input Dims"),
                    "types": arguments.get("Input type"),
                    "sequence": arguments.get("Sequence number"),
                    "forward_thread": arguments.get("Fwd thread id"),
                    "user": event["cat"] == "user_annotation",
                }
            )
    with open(out, "w") as file:
        json.dump(ops, file)


def main():
    programs, mode, out = sys.argv[1:]
    for program in programs.split(","):
        # Each rank of a distributed job has a file of its own.
        drive(program, mode, out + "." + program + os.environ.get("RANK", ""))


main()
