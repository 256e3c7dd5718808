"""--python=calls: every call of a Python function is an op of category python, with the line that it began at, and ops
lie inside of the calls that made them.
"""

import os
import subprocess

import capturing

PROGRAM = """
import sys, threading, torch
def leaf(n): return torch.ones(n).add(1)
def generator():
    for i in range(3):
        yield leaf(i)
class A:
    def method(self):
        try:
            self.fail()
        except ValueError:
            return sum(1 for x in generator())
    def fail(self):
        leaf(2)
        raise ValueError
def recurse(n): return leaf(1) if n == 0 else recurse(n - 1)
def work():
    with torch.profiler.record_function("around"):
        A().method()
        recurse(20)
for _ in range(2): work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
stopped = []
def after_another_profiler(): return leaf(1)
def outer():
    sys.setprofile(lambda *a: None)
    after_another_profiler()
    sys.setprofile(None)
    leaf(1)
outer()
import tfprof
tfprof.stop(); leaf(1); tfprof.start()
"""


def pythons():
    """This one, and those that TFPROF_TEST_TORCH_PYTHONS names (with PyTorch, between colons)."""
    return [capturing.PYTHON] + list(filter(None, os.environ.get("TFPROF_TEST_TORCH_PYTHONS", "").split(":")))


def check(python):
    with capturing.Directory() as directory:
        _, error = capturing.launch(directory, [python, "-c", PROGRAM], ["--python=calls"])
        assert "capture_degraded: stacks" not in error, error
        sql = """SELECT o.name, p.name AS parent, f.line, f.function, f.first_line FROM ops AS o
            LEFT JOIN ops AS p ON p.id = o.parent_id LEFT JOIN code_traces AS t ON t.id = o.code_trace_id
            LEFT JOIN code_frames AS f ON f.id = t.leaf_frame_id WHERE o.category = 'python'"""
        calls = {}
        for row in capturing.query(directory, sql):
            calls.setdefault(row["name"].rpartition(".")[2], []).append(row)
        counts = {name: len(calls.get(name, ())) for name in ("work", "method", "fail", "generator", "recurse")}
        assert counts == {"work": 3, "method": 3, "fail": 3, "generator": 12, "recurse": 63}, counts
        # With sys.monitoring another profiler does not take our place; before 3.12 it does.
        kept = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 12))"], capture_output=True)
        leaves = 3 * 5 + (2 if kept.stdout == b"True\n" else 0)
        assert len(calls["leaf"]) == leaves, (len(calls["leaf"]), leaves)
        parents = {(row["parent"] or "").rpartition(".")[2] for row in calls["leaf"][:15]}
        assert parents == {"generator", "fail", "recurse"}, parents
        assert {(row["function"].rpartition(".")[2], row["first_line"]) for row in calls["leaf"]} == {("leaf", 3)}
        assert {row["parent"] for row in calls["work"]} <= {None, "Thread.run", "run"}, calls["work"]
        inside = "SELECT p.name, p.category, count(*) AS n FROM ops AS o LEFT JOIN ops AS p ON p.id = o.parent_id"
        inside = capturing.query(directory, inside + " WHERE o.name = 'aten::add' GROUP BY 1, 2 ORDER BY 3 DESC")
        assert inside[0] == {"name": "leaf", "category": "python", "n": leaves}, inside
        assert sum(row["n"] for row in inside) == 17, inside  # the one while stopped is not recorded
        ours = [name for name in calls for row in calls[name] if row["function"] and "tfprof" in row["function"]]
        assert not ours, ours
        print("%s: %d calls" % (python, sum(map(len, calls.values()))))


def test_calls():
    for python in pythons():
        check(python)


def test_calls_without_stacks():
    """Where frames cannot be read there are no calls, and that is said; the program runs."""
    with capturing.Directory() as directory:
        program = "import sys\nsys.getobjects = None\n" + PROGRAM
        capturing.launch(directory, [capturing.PYTHON, "-c", program], ["--python=calls"])
        (path,) = capturing.dumps(directory)
        assert capturing.parts(path)["stacks"][0] == "off", capturing.parts(path)
        assert not [op for op in capturing.ops(path) if op.category == "python"]


def test_more_stacks_than_are_kept():
    """A tree of calls, each with a stack of its own: memory is bounded, and each call keeps its line."""
    program = """
import torch
def a(n):
    if n: a(n - 1); b(n - 1)
def b(n):
    if n: a(n - 1); b(n - 1)
a(17)
"""
    with capturing.Directory() as directory:
        _, error = capturing.launch(directory, [capturing.PYTHON, "-c", program], ["--python=calls"])
        assert "capture_stacks_full: there are more different stacks" in error, error
        lines = """SELECT o.name, f.function, f.line, count(*) AS n FROM ops AS o
            LEFT JOIN code_traces AS t ON t.id = o.code_trace_id LEFT JOIN code_frames AS f ON f.id = t.leaf_frame_id
            WHERE o.name IN ('a', 'b') GROUP BY 1, 2, 3 ORDER BY 1"""
        rows = [tuple(row.values()) for row in capturing.query(directory, lines)]
        assert rows == [("a", "a", 3, 1 << 17), ("b", "b", 5, (1 << 17) - 1)], rows
        shape = "SELECT count(*) AS n, max(depth) AS deepest FROM code_traces"
        (row,) = capturing.query(directory, shape)
        assert 1 << 18 <= row["n"] < (1 << 18) + 50 and row["deepest"] == 19, row
        told = "SELECT severity, table_name FROM diagnostics WHERE reason = 'capture_stacks_full'"
        assert capturing.query(directory, told) == [{"severity": "warning", "table_name": "code_traces"}]


capturing.main(globals())
