#!/usr/bin/env python3
"""test_xplane_damage.py: XSpaces that are damaged or hold what no profiler writes: told, and the rest is there."""

import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import mutations
import xplane_files as files
from asking import BUILD, column, run_tests
from xplane_files import Unsigned, event, line, plane, space, written


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
    # Of what is one part to its end it is known how much is missing there.
    whole = space(plane("/host:CPU", [line(1, "main", [event("good:Op", 1000 * i, 1000) for i in range(50)])]))
    run = written(directory, whole[:-len(space()) - 123], "part.xplane.pb") # which has more behind its planes
    (message,) = column(run, "SELECT message FROM diagnostics WHERE reason = 'truncated' ORDER BY offset LIMIT 1")
    assert message.endswith("; 123 bytes of it are missing"), message
    generator = random.Random(7)
    for number in range(100):
        path = written(directory, mutations.mutate(data, generator), "changed.xplane.pb")
        status, _, error = ask_all(path)
        assert status in (0, 3) and (status == 0 or "changed.xplane.pb" in error), (number, status, error)


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


if __name__ == "__main__":
    run_tests(globals())
