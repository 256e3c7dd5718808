"""What a run answers: SQL through the program tfprof of the build that is tested; and tests that each need a folder."""

import json
import os
import subprocess
import tempfile

from parts import is_of_build

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "build")


def query(run, sql):
    """Rows as dictionaries."""
    command = [os.path.join(BUILD, "tfprof"), "--format", "json", run, sql]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout or "[]")


def rows(run, sql):
    """Rows as tuples."""
    return [tuple(row.values()) for row in query(run, sql)]


def column(run, sql):
    """The values of the first column."""
    return [row[0] for row in rows(run, sql)]


def check(found, expected, what):
    assert found == expected, f"{what}:\n{found}\nexpected:\n{expected}"


def run_tests(names):
    """Every test_*(folder) of a module's globals(), each with a folder of its own; the first that fails ends it."""
    for name, test in list(names.items()):
        if name.startswith("test_") and is_of_build(name, names):
            with tempfile.TemporaryDirectory() as folder:
                test(folder)
            print("ok", name)
