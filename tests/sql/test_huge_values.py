#!/usr/bin/env python3
"""test_huge_values.py: durations and sizes whose sums go beyond 64 bits abort no view and no check."""

import json
import os
import sys
import tempfile

from engines import run_tests

HUGE_US = 4 * 10**15  # three of them are more nanoseconds than 64 bits hold
HUGE_BYTES = 6 * 10**18


def trace():
    events = []
    for i in range(6):
        events.append(
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 10 + i, "ts": i, "dur": HUGE_US}
        )
        events.append(
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7 + i, "ts": i, "dur": HUGE_US,
             "args": {"device": 0, "stream": 7 + i, "correlation": i + 1}}
        )
        events.append(
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 70 + i, "ts": i, "dur": HUGE_US,
             "args": {"device": 0, "stream": 70 + i, "correlation": i + 51, "bytes": HUGE_BYTES}}
        )
        events.append(
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 10 + i, "ts": i,
             "dur": HUGE_US, "args": {"correlation": i + 1}}
        )
        events.append(
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 10 + i, "ts": i, "s": "t",
             "args": {"Bytes": HUGE_BYTES, "Addr": i + 1, "Device Type": 0, "Device Id": -1}}
        )
    return {"schemaVersion": 1, "traceEvents": events}


def test_views(engine):
    connection = engine()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "huge.json")
        with open(path, "w") as file:
            json.dump(trace(), file)
        connection.values(f"SELECT tfprof_open('{path}')")
    broken = connection.query("SELECT sum(dur_ns) FROM ops")[1]
    assert "overflow" in broken, broken  # else nothing is tested
    assert "overflow" in connection.query("SELECT sum(bytes) FROM allocations")[1]
    names = connection.values("SELECT name FROM tfprof_views WHERE kind IN ('view', 'check')")
    assert len(names) > 20
    errors = [(name, connection.query(f"SELECT * FROM temp.{name}")[1]) for (name,) in names]
    assert not any(error for name, error in errors), [pair for pair in errors if pair[1]]


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
