#!/usr/bin/env python3
"""tests/gpu/run.sh without a GPU: a trace is like its saved copy, and each thing that is spoilt in it is told; nsys'
export counts alike; run.sh itself makes its table of traces that stand for recordings.
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
        assert compare.row(here, there) == "8 | 100.0 % | 8 | 32768 | +0.00 %", compare.row(here, there)
        assert sum(compare.Work(trace, 1, 2).kernels.values()) == 4


def test_unlike():
    """What is spoilt lies in the last step: outside the range that is compared it does not count."""
    cases = [(lambda made: made.remove([event for event in made if event["cat"] == "kernel"][-1]),
              "'add<float>': 3 against 4"),
             (change("kernel", name="other"), "kernel 'other': 1 against 0"),
             (change("kernel", dur=60), "the kernels take 410000 ns against 400000: +2.5 %"),
             (change("gpu_memcpy", bytes=8192), "copy or fill ('memcpy', 'HtoD', 8192): 1 against 0"),
             (change("cpu_op", name="aten::sub"), "op of kernel ('add<float>', 'aten::sub'): 1 against 0"),
             (lambda made: made.clear(), "kernel 'add<float>': 0 against 4")]
    with capturing.Directory() as directory:
        for spoil, wanted in cases:
            told = found(directory, spoil)
            assert any(wanted in line for line in told), (wanted, told)
        for spoil, _ in cases[:-1]:
            assert found(directory, spoil, 0, 2) == []
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


PYTHON = """#!/bin/sh
case $1 in
  -c) exit 0 ;; # whether PyTorch sees a GPU
  *workload.py) shift ;;
  *) exec "$REAL_PYTHON" "$@" ;;
esac
case $3 in
  record) cp "$WORK/here.json" "$TFPROF_RUN_DIRECTORY/rank0.pt.trace.json" ;;
  profile) cp "$WORK/there.json" "$5" ;;
  time)
    if [ "${4:-}" = profile ]; then echo 13
    elif [ -n "${UNDER_NSYS:-}" ]; then echo 14
    else echo ${TFPROF_RUN_DIRECTORY:+10.2} ${TFPROF_RUN_DIRECTORY:-10}
    fi ;;
esac
"""
NSYS = """#!/bin/sh
what=$1
while [ "$1" != -o ]; do shift; done
if [ "$what" = export ]; then cp "$WORK/nsys.sqlite" "$2"; exit; fi
shift 2
UNDER_NSYS=1 "$@" && echo "Generated: a report"
"""


def program(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o700)
    return path


def run(*options, **settings):
    return subprocess.run([os.path.join(HERE, "run.sh"), *options], capture_output=True, text=True,
                          env=dict(os.environ, **settings))


def test_run():
    """All of run.sh, where traces stand for what a GPU would do: the table, and its status; with nsys and without."""
    for spoil, nsys_counts, status, same, nsys in ((lambda made: None, None, 0, "yes", "-"),
                                                   (change("kernel", name="other"), None, 1, "no", "-"),
                                                   (lambda made: None, 80, 0, "yes", "+40.0 %"),
                                                   (lambda made: None, 79, 1, "yes", "+40.0 %")):
        with capturing.Directory() as directory:
            here, there, python = events(40), events(40), program(directory, "python", PYTHON)
            spoil(here)
            written(directory, "here.json", here)
            written(directory, "there.json", there)
            if nsys_counts:
                program(directory, "nsys", NSYS)
                exported(os.path.join(directory, "nsys.sqlite"), nsys_counts, 40).close()
            out = os.path.join(directory, "out")
            result = run("--build", capturing.BUILD, "--out", out, "--python", python, "--rounds", "3",
                         TFPROF_GPU_MODES="small graph", WORK=directory, REAL_PYTHON=sys.executable,
                         PATH=(directory + ":" if nsys_counts else "") + "/usr/bin:/bin")
            assert result.returncode == status, (result.stdout, result.stderr)
            with open(os.path.join(out, "table.md")) as file:
                table = file.read().splitlines()
            assert len(table) == 6 and table[0].count("|") == table[1].count("|") == table[2].count("|"), table
            assert table[5].startswith("overlap_copies: not run, since there is neither an nvcc"), table
            assert table[2] == (f"| small | {same} | 40 | 100.0 % | 40 | 163840 | +0.00 % | 10.000 | +2.0 % | +30.0 % |"
                                f" {nsys} |"), table


WORK = """SELECT steps.number, count(*) FILTER (WHERE ops.name = 'aten::mm') AS products, count(*) AS ops
FROM steps JOIN ops ON ops.step_id = steps.id AND ops.category = 'op'
WHERE steps.number BETWEEN 6 AND 9 GROUP BY 1 ORDER BY 1"""


def test_workload():
    """The steps of these numbers are the same ones whoever records them: of real PyTorch, on a processor."""
    with capturing.Directory() as directory:
        program, trace = os.path.join(HERE, "workload.py"), os.path.join(directory, "trace.json")
        recording = os.path.join(directory, "run")
        capturing.launch(recording, [capturing.PYTHON, program, "small", "10", "record"], ["-q", "--ops=all"])
        subprocess.run([capturing.PYTHON, program, "small", "10", "profile", "6", trace], check=True)
        here, there = query(recording, WORK), query(trace, WORK)
        assert len(here) == 4 and here[0]["products"] > 10, here
        assert [(row["number"], row["products"]) for row in here] == \
            [(row["number"], row["products"]) for row in there], (here, there)


def test_usage():
    """What is wrong or missing is named."""
    for options, status, told in ((["--help"], 0, "--build DIR"), (["--steps"], 2, "--steps needs a value"),
                                  (["--what", "1"], 2, "--build DIR"), (["--build", "/none"], 2, "no directory"),
                                  (["--build", "/"], 2, "has no tfprof-capture"),
                                  (["--build", capturing.BUILD, "--python", "/none"], 2, "there is no /none"),
                                  (["--build", capturing.BUILD, "--python", "/bin/false"], 77, "has no PyTorch")):
        result = run(*options)
        assert result.returncode == status and told in result.stdout + result.stderr, (options, result)
        assert (result.stdout == "") == (status == 2), (options, result)


capturing.main(globals())
