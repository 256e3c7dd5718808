#!/usr/bin/env python3
"""What tests/gpu/run.sh compares: a trace is like its saved copy, and each thing that is spoilt in it is told; nsys'
export counts alike; and the program whose steps are compared has the same ones, whoever looks. test_visit.py runs all.
"""

import json
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "capture"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import capturing  # noqa: E402
import compare  # noqa: E402
import compare_nsys  # noqa: E402
from asking import query  # noqa: E402
from visit_first import value  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def span(category, name, start, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": dur, "args": args}


def events(steps=4):
    """Each step: two ops with a kernel each, a copy and a fill."""
    made = []
    for step in range(steps):
        begin, number = 1000 * step, 10 * step + 1  # no correlation is 0
        made.append(span("user_annotation", f"ProfilerStep#{step}", begin, 1000))
        for place, (op, kernel) in enumerate((("aten::mm", "gemm"), ("aten::add", "add<float>"))):
            made += [span("cpu_op", op, begin + 100 * place, 90, **{"External id": number + place}),
                     span("cuda_runtime", "cudaLaunchKernel", begin + 100 * place + 10, 20, correlation=number + place,
                          **{"External id": number + place}),
                     span("kernel", kernel, begin + 300 + 100 * place, 50, 7, 0, device=0, stream=7,
                          correlation=number + place, **{"External id": number + place})]
        for place, (category, name, call) in enumerate((
                ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "cudaMemcpyAsync"),
                ("gpu_memset", "Memset (Device)", "cudaMemsetAsync"))):
            made += [span("cuda_runtime", call, begin + 200 + 10 * place, 5, correlation=number + 5 + place),
                     span(category, name, begin + 600 + 100 * place, 10, 7, 0, device=0, stream=7, bytes=4096,
                          correlation=number + 5 + place)]
    return made


def written(directory, name, made):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": made}, file)
    return path


def found(directory, spoil, *steps):
    here, there = events(), events()
    spoil(here)
    return compare.differences(*(compare.Work(written(directory, name, made), *steps)
                                 for name, made in (("here.json", here), ("there.json", there))))


def change(category, **to):
    def spoil(made):
        event = [event for event in made if event["cat"] == category][-1]
        for name, value in to.items():
            (event["args"] if name == "bytes" else event)[name] = value
    return spoil


def test_like():
    with capturing.Directory() as directory:
        assert found(directory, lambda made: None) == []
        trace, saved = written(directory, "trace.json", events()), os.path.join(directory, "saved")
        query(trace, f"SELECT tfprof_save('{saved}')")
        here, there = compare.Work(saved), compare.Work(trace)
        assert compare.differences(here, there) == [], compare.differences(here, there)
        assert compare.figures(here, there) == {
            "steps": 4, "kernels": 8, "linked_ratio": 1, "copies": 8, "bytes": 32768, "differences": [],
            "kernel_time_ratio": 1, "step_time_ratio": 1}, compare.figures(here, there)
        assert sum(compare.Work(trace, 1, 2).kernels.values()) == 4


def test_unlike():
    """What is spoilt lies in the last step: outside the range that is compared it does not count."""
    cases = [(lambda made: made.remove([event for event in made if event["cat"] == "kernel"][-1]),
              "'add<float>': 3 against 4"),
             (change("kernel", name="other"), "kernel 'other': 1 against 0"),
             (change("gpu_memcpy", bytes=8192), "copy or fill ('memcpy', 'HtoD', 8192): 1 against 0"),
             (change("cpu_op", name="aten::sub"), "op of kernel ('add<float>', 'aten::sub'): 1 against 0"),
             (lambda made: made.clear(), "kernel 'add<float>': 0 against 4")]
    with capturing.Directory() as directory:
        for spoil, wanted in cases:
            told = found(directory, spoil)
            assert any(wanted in line for line in told), (wanted, told)
        for spoil, _ in cases[:-1]:
            assert found(directory, spoil, 0, 2) == []
        assert found(directory, change("kernel", dur=60)) == []  # a GPU's clocks move
        assert compare.Work(written(directory, "cut.json", events(3))).steps == 3
        assert "4 steps against 3" in compare.differences(compare.Work(written(directory, "all.json", events(4))),
                                                          compare.Work(os.path.join(directory, "cut.json")))[0]
        assert compare.differences(compare.Work(written(directory, "none.json", [])),
                                   compare.Work(written(directory, "none.json", []))) == ["neither has kernels"]


def exported(path, count, copies=0):
    """As nsys exports it: so many kernels, of two names in turn, and so many copies and fills of 4096 bytes each."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
    connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, demangledName INTEGER)")
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "gemm"), (2, "add<float>")])
    connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?)",
                           [(i, 1 + i % 2) for i in range(count)])
    if copies:
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, bytes INTEGER, copyKind INTEGER)")
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, bytes INTEGER)")
        places = [(i,) for i in range(copies)]
        connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, 4096, 1)", places)
        connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, 4096)", places)
    connection.commit()
    return connection


def test_nsys():
    """Each thing that is spoilt in the export is told; a table that nsys left out counts nothing."""
    with capturing.Directory() as directory:
        trace, path = written(directory, "trace.json", events()), os.path.join(directory, "nsys.sqlite")
        connection, here = exported(path, 8, 4), compare.Work(trace)
        told = compare_nsys.differences(here, path)
        assert told == [], told
        for spoil, wanted in (
                ("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 0", "kernel (nsys) 'gemm': 4 against 3"),
                ("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 8192 WHERE start = 0",
                 "copy or fill (nsys) ('memcpy', 'HtoD', 4096): 4 against 3"),
                ("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 2 WHERE start = 1",
                 "copy or fill (nsys) ('memcpy', 'DtoH', 4096): 0 against 1"),
                ("DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET", "copy or fill (nsys) ('memset', None, 4096): 4 against 0")):
            connection.execute(spoil)
            connection.commit()
            told = compare_nsys.differences(here, path)
            assert wanted in told, (wanted, told)


WORK = """SELECT steps.number, count(*) FILTER (WHERE ops.name = 'aten::mm') AS products, count(*) AS ops
FROM steps JOIN ops ON ops.step_id = steps.id AND ops.category = 'op'
WHERE steps.number BETWEEN %d AND %d GROUP BY 1 ORDER BY 1"""


def test_workload():
    """The same steps are recorded by us and by torch.profiler, of real PyTorch, on a processor; and they are timed."""
    with capturing.Directory() as directory:
        program, trace = os.path.join(HERE, "workload.py"), os.path.join(directory, "trace.json")
        recording, inside = os.path.join(directory, "run"), os.path.join(directory, "inside.json")
        phases = ["steps=5", f"profile=4:{inside}", "seconds=0.1"]
        output, _ = capturing.launch(recording, [capturing.PYTHON, program, "small", *phases], ["-q", "--ops=all"])
        timed = json.loads(output)["seconds"]
        assert timed["steps"] >= 1 and timed["mean_ms"] > 0 and timed["median_ms"] > 0, timed
        output = subprocess.run([capturing.PYTHON, program, "small", "steps=5", f"profile=4:{trace}", "profiled=0.1"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        assert json.loads(output)["profiled"]["steps"] >= 1, output
        here, there = query(recording, WORK % (6, 9)), query(trace, WORK % (1, 4))
        assert len(here) == len(there) == 4 and here[0]["products"] > 10, (here, there)
        assert [row["products"] for row in here] == [row["products"] for row in there], (here, there)
        # A trace of torch.profiler within our recording has our steps, which are the same ones.
        assert compare.Work(inside).steps == compare.Work(trace).steps == 4
        counted = value(recording, "SELECT count(*) FROM steps")
        assert counted == 10 + timed["steps"], (counted, timed)


capturing.main(globals())
