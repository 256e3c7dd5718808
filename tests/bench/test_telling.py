#!/usr/bin/env python3
"""test_telling.py: every benchmark tells its figures as data, and what small runs of some tell is of the form.

A benchmark is a program of this folder that makes nothing and is no part of another. Their sentences are those of
tests/bench/results, as far as they do not depend on the size of the input.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build"))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402  (temporary files go where they are removed)
import figures  # noqa: E402

NO_BENCHMARKS = ("make_", "test_", "figures", "compare.", "collect.", "simdjson_dom", "run.sh")
PROGRAM = os.path.join(BUILD, "tests", "%s")
DUMP, TRACE = (os.path.join(scratch.DIRECTORY, name) for name in ("ops.tfprof", "repeat.json"))
RUNS = (
    # what, and how many figures there must be at least
    ([PROGRAM % "bench_dump_writer", "20000", os.path.join(scratch.DIRECTORY, "written.tfprof")], {}, 20),
    ([PROGRAM % "bench_store", DUMP], {}, 20),
    ([PROGRAM % "bench_sql_views", TRACE], {"KINDS": "joins", "RUNS": "1"}, 10),
    (["bench_advise.py", "--rows", "2000", "--repeat", "1", "--build", BUILD], {}, 6),
    (["refresh_runs.py", "--files", "15", "--rows", "40", "--repeat", "1", "--build", BUILD], {}, 15),
)


def test_all_of_them_tell():
    count = 0
    for name in sorted(os.listdir(HERE)):
        if not name.endswith((".c", ".py")) or name.startswith(NO_BENCHMARKS) or name.endswith("_program.py"):
            continue
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            text = file.read()
        assert "tell_figure(" in text or "figures.tell(" in text, f"tests/bench/{name} tells no figure as data"
        count += 1
    assert count >= 18, count


def make_inputs():
    subprocess.run([PROGRAM % "make_ops_dump", DUMP, "2000"], check=True, stdout=subprocess.DEVNULL)
    maker = os.path.join(HERE, "make_kineto_trace.py")
    subprocess.run([sys.executable, maker, "repeat", TRACE, "--megabytes", "2"], check=True, stdout=subprocess.DEVNULL)


def told(command, environment, results):
    if command[0].endswith(".py"):
        command = [sys.executable, "-B", os.path.join(HERE, command[0]), *command[1:]]
    environment = {**os.environ, "TFPROF_BENCH_RESULTS": results, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_small_runs():
    make_inputs()
    known = {(row["subject"], row["what"]) for row in figures.read(figures.RESULTS)[0]}
    names = set()
    for number, (command, environment, least) in enumerate(RUNS):
        results = os.path.join(scratch.DIRECTORY, f"{number}.jsonl")
        done = told(command, environment, results)
        assert done.returncode == 0, done.stderr
        rows, _ = figures.read(results)
        assert len(rows) >= least, (command, len(rows))
        names |= {(row["subject"], row["what"]) for row in rows}
    for name in known:
        if name[1].startswith(("A recorded op in the dump, with", "Time of the writer thread for an op")):
            assert name in names, f"bench_dump_writer tells nothing that is called {name}"
    assert ("opening", "Dump of 2,000 ops: every column, derived ones too") in names
    assert ("queries", "`tfprof RUN advise` of 2,000 ops, from a cold process") in names


def test_results_that_cannot_be_written():
    done = told([PROGRAM % "bench_store", DUMP], {}, scratch.DIRECTORY)
    assert done.returncode == 1 and scratch.DIRECTORY in done.stderr, (done.returncode, done.stderr)


def main():
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    print(len(tests), "tests of telling figures")


main()
