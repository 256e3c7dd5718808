#!/usr/bin/env python3
"""Clocks that jump: the processor's counter, as where a machine sleeps or a process is restored on another one, and
CLOCK_REALTIME, as where it is set.
"""

import json
import os
import subprocess

import capturing
from capturing import Directory, dumps, main, ops, run, skip, summary, table

COUNTER = os.path.join(capturing.PROGRAMS, "moving_counter.c")
FAR = 1_000_000_000  # nothing in the program takes so long


def built(directory):
    library = os.path.join(directory, "moving_counter.so")
    compiler = os.environ.get("CC", "cc")
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", library, COUNTER], check=True)
    return library


def messages(path, reason):
    return [row["message"] for row in table(path, "diagnostics") if row["reason"] == reason]


def test_counter():
    """All that ran has a row, with times and durations that can be."""
    with Directory() as directory, Directory() as built_in:
        library = built(built_in)
        os.environ["LD_PRELOAD"] = library
        try:
            stdout, _ = run(directory, [os.path.join(capturing.PROGRAMS, "jumps.py"), library], ops="all")
        finally:
            del os.environ["LD_PRELOAD"]
        told = json.loads(stdout)
        (path,) = dumps(directory)
        if not told["watches"] or "tsc" not in capturing.parts(path)["clock"][1]:
            skip("the processor's counter is not read here, or cannot be made to jump")
        assert summary(path)["closed"] and not [p for p in summary(path)["problems"] if p[1] == "capture_dropped"]
        assert len(messages(path, "clock_jump")) == told["jumps"], messages(path, "clock_jump")
        recorded = ops(path)
        names = [op.name for op in recorded]
        assert names.count("aten::sin") == told["sin"], (names.count("aten::sin"), told)
        assert names.count("whole step") == told["steps"], (names.count("whole step"), told)
        for op in recorded:
            assert told["began"] - FAR < op.start <= op.end < told["ended"] + FAR and op.dur < 5 * FAR, (op, vars(op))
        for name, column in (("memory_events", "time_ns"), ("module_calls", "end_ns"), ("counters", "time_ns")):
            for row in table(path, name):
                assert told["began"] - 60 * FAR < int(row[column]) < told["ended"] + FAR, (name, row)
        for row in table(path, "module_calls"):
            assert 0 <= int(row["dur_ns"]) < 5 * FAR, row
        # A step, of which several lie across a jump, holds what ran in it: but for jumps that are shorter than the
        # time between two looks at the clocks.
        steps = [op for op in recorded if op.name == "whole step"]
        assert max(op.dur for op in steps) > 2_000_000
        inner = [op for op in recorded if op.name == "aten::linear"]
        outside = [op for op in inner if not any(step.start <= op.start and op.end <= step.end for step in steps)]
        assert len(outside) <= told["jumps"], outside


if __name__ == "__main__":
    main(globals())
