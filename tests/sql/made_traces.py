"""Traces of devices made by hand, and what all views answer of them.

    connection = opened(engine, [launch(1000, 5, correlation=1), kernel(1010, 40, correlation=1)])
    rows = answers(connection, "one kernel")        {view: rows}, every share looked at
    apart(engine, lambda engine: answers(opened(engine, events), "many"))   sooner where many are looked at

Times are nanoseconds from the first event on.
"""

import functools
import glob
import json
import os
import tempfile

from engines import Newest, asked_before, in_child, plans_do

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = sorted(glob.glob(os.path.join(HERE, "..", "fixtures", "kineto", "*.json")))
SHARED = os.environ.get("TFPROF_SHARED") or ""
BASE = 1_700_000_000_000_000_000


def span(category, name, start, dur, pid=1, tid=1, **args):
    """An event; times in nanoseconds."""
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start / 1000, "dur": dur / 1000,
            "args": args}


def kernel(start, dur, stream=7, correlation=0, name="gemm", **args):
    return span("kernel", name, start, dur, 0, stream, device=0, stream=stream, correlation=correlation, **args)


def copy(start, dur, stream=7, correlation=0, name="Memcpy HtoD (Pageable -> Device)", **args):
    return span("gpu_memcpy", name, start, dur, 0, stream, device=0, stream=stream, correlation=correlation, **args)


def launch(start, dur, correlation, name="cudaLaunchKernel", tid=1):
    return span("cuda_runtime", name, start, dur, 1, tid, correlation=correlation)


def write(path, events, **members):
    text = json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": BASE, **members, "traceEvents": list(events)})
    with open(path, "w") as file:
        file.write(text)  # json.dump() takes seven times as long


def opened(engine, events, **members):
    with tempfile.TemporaryDirectory(prefix="tfprof-views-") as directory:
        path = os.path.join(directory, "trace.json")
        write(path, events, **members)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        connection.values("SELECT count(attributes) FROM ops")  # needs the file
    return connection


COLUMNS = {}  # {view or check: its columns}, which no profile and no engine changes


def columns_of_views(connection):
    if not COLUMNS:  # what is no view of its kind is known when each has been prepared
        names = connection.values("SELECT name FROM tfprof_views WHERE kind IN ('view', 'check') ORDER BY name")
        COLUMNS.update({name: [column for column, in connection.values(
            f"SELECT name FROM pragma_table_info('{name}')")] for name, in names})
    return COLUMNS


def names_of_views(connection):
    return list(columns_of_views(connection))


def answers(connection, what, views=None):
    """The rows of all views; every share lies between 0 and 1, and no finding promises more than the run."""
    found = {}
    for name in views or names_of_views(connection):
        found[name] = connection.values(f"SELECT * FROM temp.{name}")
        for i, column in enumerate(columns_of_views(connection)[name]):
            if column.endswith("_ratio"):
                odd = [row[i] for row in found[name] if row[i] is not None and not -1e-9 <= row[i] <= 1 + 1e-9]
                assert not odd, (what, name, column, odd)
    check_busy(connection, what)
    advice = found["advise"] if "advise" in found else connection.values("SELECT * FROM temp.advise")
    (run_ns,), = connection.values("SELECT sum(end_ns - start_ns) FROM temp.profiles")
    at = columns_of_views(connection)["advise"].index("saves_ns")
    odd = [row for row in advice if row[at] is not None and (row[at] < 0 or run_ns is not None and row[at] > run_ns)]
    assert not odd, (what, odd)
    return found


@functools.lru_cache(None)
def asker():
    """A connection to the newest SQLite that answers() was asked of with nothing open."""
    connection = asked_before(())
    answers(connection, "nothing open")
    return connection


def apart(engine, work):
    """work(engine), where what engine() makes has prepared what answers() asks, if it can. Files have few rows, and the
    connection is left open."""
    if engine is not Newest:
        return work(engine)
    connection = asker()

    def checked():
        answer = work(lambda: connection)
        assert plans_do(connection), "too many rows to be asked apart"
        return answer
    return in_child(checked)


def check_busy(connection, what):
    """The advice works out by itself for how long devices were busy, and says the same."""
    told = connection.values("SELECT value FROM temp.accelerator_utilization ORDER BY 1")
    busy = connection.values("SELECT 1 - utilization_ratio FROM temp.device_utilization JOIN temp.devices "
                             "ON devices.id = device_id WHERE kind = 'gpu' AND span_ns > 0 ORDER BY 1")
    assert told == busy, (what, told, busy)
