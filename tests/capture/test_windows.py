"""On a PyTorch that the library cannot listen to, torch.profiler watches some steps, and that is said.

No release of PyTorch that could be had is such a one: a sitecustomize of the test's own makes the library say so.
"""

import os
import tempfile

import capturing

REFUSING = """
import sys
hooks = sys.modules["_tfprof_hooks"]
load_beside = hooks.load_beside
def load(name):
    module = load_beside(name)
    if name == "_tfprof_recording":
        original = module.Recording.begin
        class Deaf:
            def __init__(self, library): self.library = library
            def __getattr__(self, name): return getattr(self.library, name)
            def tfprof_capture_begin(self, version): return 0
        def begin(self):
            self.library = Deaf(self.library)
            return original(self)
        module.Recording.begin = begin
    return module
hooks.load_beside = load
"""

PROGRAM = """
import os, sys, torch, without_dynamo
x = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([x], 0.1)
def step(count):
    for _ in range(count):
        x.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def record(program, status=0):
    """Runs it; returns (path of the only dump, stdout, stderr)."""
    with tempfile.TemporaryDirectory() as mine, capturing.Directory() as directory:
        with open(os.path.join(mine, "sitecustomize.py"), "w") as file:
            file.write(REFUSING)
        environment = dict(os.environ, PYTHONPATH=mine + os.pathsep + capturing.WITHIN)
        command = [capturing.PYTHON, "-c", PROGRAM + program]
        out, error = capturing.launch(directory, command, environment=environment, status=status)
        sql = "SELECT name, count(*) AS n, count(sequence_number) AS s FROM ops GROUP BY 1"
        names = {row["name"]: row for row in capturing.query(directory, sql)}
        steps = capturing.query(directory, "SELECT number, ops_recorded, dur_ns FROM steps ORDER BY id")
        links = capturing.query(directory, "SELECT count(forward_op_id) AS n FROM ops")[0]["n"]
        parts = [capturing.parts(path) for path in capturing.dumps(directory)]
        return names, steps, links, parts, out, error


def test_windows():
    names, steps, links, parts, out, error = record("step(120)")
    assert parts[0]["ops"][0] == "degraded" and "three steps in fifty" in parts[0]["ops"][1], parts
    assert "torch.profiler records three steps in fifty" in error, error
    assert len(steps) == 120, len(steps)
    # Steps 2 to 4, 52 to 54 and 102 to 104.
    assert names["aten::sum"]["n"] >= 9 and names["SumBackward0"]["n"] == 9, names
    assert names["SumBackward0"]["s"] == 9 and links >= 9, (names, links)
    print("%d steps, ops of nine of them" % len(steps))


def test_own_profiler_comes_first():
    names, steps, links, parts, out, error = record("""
step(2)
with torch.profiler.profile() as p:
    step(60)
print(sum(e.count for e in p.key_averages() if e.key == "SumBackward0"))
step(60)
""")
    assert out == "60\n" and len(steps) == 122, (out, len(steps), error)
    assert 1 <= names["SumBackward0"]["n"] <= 4, names
    print("a profiler of the program's own")


def test_forks_and_ends():
    names, steps, links, parts, out, error = record("""
step(3)
pid = os.fork()
if not pid:
    os._exit(0)
os.waitpid(pid, 0)
raise SystemExit(7)
""", 7)
    assert len(steps) == 3 and names["SumBackward0"]["n"] == 2, (steps, names)
    print("a fork and an end within a window")


capturing.main(globals())
