"""drive_memory.py PROGRAM,PROGRAM... MODE OUT: runs each of these programs, or PROGRAM.FUNCTION, once to warm up and
then once within the range "compared PROGRAM".

MODE capture: nothing else (the process runs under capture).  profiler: torch.profiler with profile_memory=True watches
the second run, and what it saw of memory is written to OUT.PROGRAM as JSON: one list for each thread with [innermost
op, bytes, total in use] in the order of time (a rank of a job appends its number).  both: one under the other.
"""

import gc
import importlib
import json
import os
import sys

import torch
import without_dynamo  # noqa: F401
from torch.profiler import ProfilerActivity, profile, record_function

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def events(profiler):
    """The profiler's own tree: allocations hang where it found them to belong."""
    seen = []
    todo = [(root, None) for root in profiler.profiler.kineto_results.experimental_event_tree()]
    while todo:
        event, op = todo.pop()
        kind = event.tag.name
        if kind == "TorchOp":
            op = event.name
        if kind == "Allocation":
            fields = event.extra_fields
            seen.append((event.start_time_ns, event.start_tid, op, fields.alloc_size, fields.total_allocated))
        todo += [(child, op) for child in event.children]
    threads = {}
    for _, thread, op, size, total in sorted(seen):
        threads.setdefault(thread, []).append([op, size, total])
    return list(threads.values())


def drive(program, mode, out):
    module, _, function = program.partition(".")
    run = getattr(importlib.import_module(module), function or "run")
    run()
    gc.collect()  # what other programs have left is not released within this one
    if mode == "capture":
        with record_function("compared " + program):
            run()
        return
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        with record_function("compared " + program):
            run()
    with open(out, "w") as file:
        json.dump(events(profiler), file)


def main():
    programs, mode, out = sys.argv[1:]
    for program in programs.split(","):
        drive(program, mode, out + "." + program + os.environ.get("RANK", ""))


main()
