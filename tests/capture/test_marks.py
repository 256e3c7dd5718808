"""The module tfprof: marks in a recorded program, and nothing at all outside."""

import os
import shutil
import subprocess
import tempfile

import capturing

PROGRAM = """
import tfprof, torch
x = torch.ones(3)
assert tfprof.is_recording()
for number in range(5, 8):
    tfprof.step(number)
    with tfprof.range("with"):
        x.add(1)
    @tfprof.range("decorated")
    def function(a, b): return x.add(a).add(b)
    function(1, b=2)
tfprof.end_step()
with tfprof.step() as s:
    x.mul(2)
x.mul(3)
tfprof.stop()
x.sub(1)
with tfprof.range("while stopped"):
    x.sub(1)
with tfprof.Profile("window"):
    x.div(2)
    with tfprof.Profile():
        x.div(2)
    x.div(2)
@tfprof.Profile()
def profiled(): return x.div(2)
profiled(); profiled()
x.sub(2)
tfprof.start()
x.exp()
try:
    tfprof.step(-1)
except ValueError as e:
    print(e)
tfprof.step()
x.exp()
"""


def test_marks():
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", PROGRAM.replace("tfprof, torch", "torch, tfprof")])
        (path,) = capturing.dumps(directory)
        counts = {}
        for op in capturing.ops(path):
            counts[op.name] = counts.get(op.name, 0) + 1
        expected = {"aten::add": 9, "aten::mul": 2, "aten::div": 5, "aten::exp": 2, "with": 3, "decorated": 3}
        expected.update({"while stopped": 1, "window": 1, "tfprof.Profile": 1, "profiled": 2})
        assert {name: counts.get(name) for name in expected} == expected, counts
        assert "aten::sub" not in counts, counts
        steps = capturing.query(directory, "SELECT number, name, origin FROM steps ORDER BY id")
        assert [step["number"] for step in steps] == [5, 6, 7, 8, 9], steps
        assert {step["origin"] for step in steps} == {"user"} and steps[0]["name"] == "tfprof.step#5", steps
        inside = "SELECT steps.number, count(*) AS n FROM ops JOIN steps ON ops.step_id = steps.id"
        inside = capturing.query(directory, inside + " WHERE ops.name = 'aten::add' GROUP BY 1 ORDER BY 1")
        assert inside == [{"number": n, "n": 3} for n in (5, 6, 7)], inside
        assert out.startswith("tfprof.step: the number of a step must not be negative") and not error, (out, error)
    print("steps, ranges, windows")


def test_marks_win_over_optimizers():
    program = """
import torch, tfprof, without_dynamo
x = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([x], 0.1)
for number in range(4):
    tfprof.step()
    for _ in range(10):
        x.sum().backward()
        optimizer.step()
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program])
        assert len(capturing.query(directory, "SELECT * FROM steps")) == 4


def test_threads():
    program = """
import torch, tfprof, threading
def work(first):
    for number in range(first, first + 3 + (first == 20)):
        tfprof.step(number)
        torch.ones(2)
    tfprof.end_step()
threads = [threading.Thread(target=work, args=(n,)) for n in (10, 20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program])
        numbers = [step["number"] for step in capturing.query(directory, "SELECT number FROM steps ORDER BY id")]
        assert numbers == [20, 21, 22, 23], numbers
    print("steps of the thread with most of them")


def test_one_object_many_times():
    """Entered again while it is open, on several threads, left by an exception, around a coroutine."""
    program = """
import asyncio, threading, time, torch, tfprof
x = torch.ones(3)
again, shared = tfprof.range("again"), tfprof.Profile("shared")
with tfprof.range("outer"), again:
    with again, tfprof.range("inner"):
        x.add(1)
    time.sleep(0.02)
together = threading.Barrier(2)
def work(is_first):
    with shared:
        together.wait()
        with tfprof.range("first" if is_first else "second"):
            x.neg()
            if not is_first: time.sleep(0.02)
threads = [threading.Thread(target=work, args=(n,)) for n in (0, 1)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for mark in again, shared, tfprof.step():
    try:
        with mark: raise KeyError
    except KeyError:
        pass
@tfprof.Profile()
async def evaluate():
    await asyncio.sleep(0.01)
    return x.mul(2)
assert asyncio.run(evaluate()).sum() == 6
x.exp()
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program], ops="none")
        names = "SELECT name, count(*) AS n FROM ops WHERE name GLOB 'aten::[nme]*[glp]' GROUP BY 1 ORDER BY 1"
        found = {row["name"]: row["n"] for row in capturing.query(directory, names)}
        assert found == {"aten::mul": 1, "aten::neg": 2}, found
        parents = """SELECT r.name, p.name AS parent, p.end_ns >= r.end_ns AS fits FROM ranges AS r
            LEFT JOIN ranges AS p ON p.id = r.parent_id ORDER BY r.start_ns"""
        found = [tuple(row.values()) for row in capturing.query(directory, parents)]
        assert found[:4] == [("outer", None, None), ("again", "outer", 1), ("again", "again", 1), ("inner", "again", 1)]
        assert {("first", "shared", 1), ("second", "shared", 1)} <= set(found), found
        assert [row[0] for row in found].count("shared") == 3 and ("evaluate", None, None) in found, found
        assert [row[0] for row in found].count("tfprof.step#0") == 1, found
    print("one mark many times")


def test_outside():
    """A copy of the module beside the program: nothing happens, and the same program can be recorded."""
    with tempfile.TemporaryDirectory() as mine:
        shutil.copy(os.path.join(capturing.HOOKS, "tfprof.py"), mine)
        program = "import sys; sys.path.insert(0, %r)\n" % mine + PROGRAM
        result = subprocess.run(
            [capturing.PYTHON, "-c", program.replace("assert", "assert not")], capture_output=True, text=True
        )
        assert result.returncode == 0 and "negative" in result.stdout and not result.stderr, result.stderr
        bare = "import sys; sys.path.insert(0, %r)\nimport tfprof\nwith tfprof.range('a'): tfprof.step()\n" % mine
        bare += "print('torch' in sys.modules, 'ctypes' in sys.modules, tfprof.is_recording())"
        result = subprocess.run([capturing.PYTHON, "-c", bare], capture_output=True, text=True)
        assert result.stdout == "False False False\n", result
        with capturing.Directory() as directory:
            capturing.run(directory, ["-c", program.replace("tfprof, torch", "torch, tfprof")])
            assert len(capturing.query(directory, "SELECT * FROM steps")) == 5
        # Before PyTorch is there: nothing is recorded, nothing fails.
        with capturing.Directory() as directory:
            out, error = capturing.run(directory, ["-c", bare])
            assert (out, error, os.listdir(directory)) == (result.stdout, "", []), (out, error)
        # A package of that name of the program's own comes first.
        with open(os.path.join(mine, "tfprof.py"), "w") as file:
            file.write("mine = 1")
        with capturing.Directory() as directory:
            own = "import sys; sys.path.append(%r); import tfprof, torch; print(tfprof.mine)" % mine
            assert capturing.run(directory, ["-c", own])[0] == "1\n"
    print("outside of a recording")


capturing.main(globals())
