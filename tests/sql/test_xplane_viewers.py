#!/usr/bin/env python3
"""test_xplane_viewers.py: traces for viewers, as XProf, JAX and tfprof_timeline() write them: as their XSpace."""

import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xplane_files as files
from asking import check, column, query, rows, run_tests
from xplane_files import written

SHARED = os.environ.get("TFPROF_SHARED", "")


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
                  span("dense/MatMul:MatMul", at + 720, 10.0), span("k", at, 5.0, tid=3, pid=1, step_num="4"),
                  span("run", at + 650, 20.0, tid=2, hlo_op="dot.1", hlo_module="jit_step", run_id=str(i))]
    for name, document in (("a.trace.json.gz", {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True},
                                                "traceEvents": named + spans}),
                           ("perfetto_trace.json.gz", {"displayTimeUnit": "ns", "traceEvents": named + spans})):
        run = written(directory, gzip.compress(json.dumps(document).encode()), name)
        check(column(run, "SELECT framework || format || origin FROM profiles"), ["tensorflowchromexplane"], name)
        check(rows(run, "SELECT min(number), max(number), count(*), min(origin) "
                        "FROM steps"), [(20, 31, 12, "user")], name)
        check(rows(run, "SELECT name, op_type, category, hlo_module, "
                        "count(*), min(attributes) FROM ops GROUP BY name ORDER BY name"),
              [("$a.py:3 f", "$a.py:3 f", "python", None, 12, None),
               ("PjitFunction(step)", "PjitFunction(step)", "runtime", None, 12, None),
               ("dense/MatMul", "MatMul", "op", None, 12, None),
               ("dot.1", "dot.1", "op", "jit_step", 12, '{"run_id":"0"}'),
               ("k", "k", "runtime", None, 12, '{"step_num":"4"}'),
               ("load_data", "load_data", "user", None, 12, None),
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
        for sql in ("SELECT host, framework, framework_version, origin FROM profiles",
                    "SELECT number, name, dur_ns, is_warmup FROM steps ORDER BY start_ns",
                    "SELECT name, category, count(*) FROM ops WHERE start_ns IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
                    "SELECT name, count(*) FROM ranges GROUP BY 1 ORDER BY 1"):
            check(query(copy, sql), query(run, sql), (run, sql))


if __name__ == "__main__":
    run_tests(globals())
