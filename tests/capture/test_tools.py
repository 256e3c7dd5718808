"""Other tools that watch the program keep working while it is recorded: debuggers, tracers, samplers, coverage."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import capturing

PROGRAM = """import sys, time, torch, without_dynamo
def train(count):
    x = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([x], 0.1)
    for _ in range(count):
        x.sum().backward()
        optimizer.step()
if __name__ == "__main__":
    train(5)
"""


def steps(directory):
    return capturing.query(directory, "SELECT count(*) AS n FROM steps")[0]["n"]


class Folder(tempfile.TemporaryDirectory):
    """A folder with the program in it, and the run directory beside."""

    def __enter__(self):
        folder = super().__enter__()
        with open(os.path.join(folder, "train.py"), "w") as file:
            file.write(PROGRAM)
        return folder


def test_debugger():
    """pdb: breakpoints, stepping and values, and the program's own end."""
    commands = "break 5\ncontinue\nstep\np count\nclear 1\ncontinue\nquit\n"
    with Folder() as folder, tempfile.TemporaryFile("w+") as file:
        file.write(commands)
        file.seek(0)
        run = os.path.join(folder, "run")
        command = [capturing.PYTHON, "-m", "pdb", "train.py"]
        out, _ = capturing.launch(run, command, cwd=folder, stdin=file, status=None)
        assert "train(5)" not in out.split("Breakpoint 1 at")[0].replace("-> import", ""), out
        assert "(Pdb) 5" in out and "The program finished" in out and steps(run) == 5, out
    print("pdb")


def test_tracers():
    """sys.settrace, sys.setprofile, cProfile and faulthandler see the program's calls, and none of the recorder's."""
    program = PROGRAM + """
import cProfile, faulthandler, gc, pstats, threading
faulthandler.enable()
calls = []
def watch(frame, event, argument):
    calls.append((frame.f_code.co_filename, frame.f_code.co_name))
    return watch
sys.settrace(watch); train(1); gc.collect(); sys.settrace(None)
traced = len(calls)
sys.setprofile(watch); train(1); gc.collect(); sys.setprofile(None)
assert ("train" in {name for _, name in calls[:traced]}) and ("train" in {name for _, name in calls[traced:]})
assert not [file for file, _ in calls if "_tfprof" in file or "sitecustomize" in file], calls
profiler = cProfile.Profile()
profiler.runcall(train, 3)
stats = pstats.Stats(profiler).stats
assert [value[0] for key, value in stats.items() if key[2] == "train"] == [1], stats
assert not [key for key in stats if "_tfprof" in key[0] or "sitecustomize" in key[0]]
print(sys.gettrace(), sys.getprofile())
"""
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", "import os\n" + program])
        assert out == "None None\n" and not error and steps(directory) == 10, (out, error)
    print("settrace, setprofile, cProfile, faulthandler")


def test_user_profiler_window():
    """torch.profiler with a schedule of its own: its steps and files are whole."""
    program = """
import torch, sys
from torch.profiler import profile, schedule, ProfilerActivity
seen = []
def ready(p): seen.append((p.step_num, sum(e.count for e in p.key_averages() if e.key == "aten::add")))
plan = schedule(wait=1, warmup=1, active=2, repeat=2)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, profile_memory=True, with_stack=True,
             on_trace_ready=ready) as p:
    for _ in range(8):
        torch.ones(3).add(1).add(2)
        p.step()
print(seen)
"""
    with capturing.Directory() as directory:
        out, _ = capturing.run(directory, ["-c", program])
        assert out == "[(4, 4), (8, 4)]\n", out
        marked = capturing.query(directory, "SELECT number, origin FROM steps ORDER BY id")
        marks = [(step["number"], step["origin"]) for step in marked[:8]]
        assert marks == [(n, "profiler") for n in range(8)], marked
    print("torch.profiler with a schedule")


def test_coverage():
    if not importlib.util.find_spec("coverage"):
        print("coverage is not installed: left out")
        return
    with Folder() as folder:
        report = {}
        for name in ("plain", "recorded"):
            command = [capturing.PYTHON, "-m", "coverage", "run", "--data-file", name, "--branch", "train.py"]
            if name == "plain":
                subprocess.run(command, cwd=folder, check=True)
            else:
                capturing.launch(os.path.join(folder, "run"), command, cwd=folder)
            command = [capturing.PYTHON, "-m", "coverage", "report", "--data-file", name, "-m"]
            report[name] = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
        assert report["plain"] == report["recorded"] and "train.py" in report["plain"], report
        assert steps(os.path.join(folder, "run")) == 5
    print("coverage: the same report")


def test_py_spy():
    spy = shutil.which("py-spy", path=os.path.dirname(capturing.PYTHON) + os.pathsep + os.environ["PATH"])
    if not spy:
        print("py-spy is not installed: left out")
        return
    with capturing.Directory() as directory:
        program = PROGRAM + "    print('there', flush=True)\n    train(10**9)"
        with capturing.started(directory, ["-c", program]) as process:
            assert process.stdout.readline() == "there\n"
            time.sleep(0.5)
            result = subprocess.run([spy, "dump", "--pid", str(process.pid)], capture_output=True, text=True)
            process.kill()
            process.communicate()
        if "ermission" in result.stderr:
            print("py-spy may not look into other processes here: left out")
            return
        assert "train (<string>" in result.stdout, (result.stdout, result.stderr)
        # Of us nothing is on the program's stacks. (Its own path may well hold the word tfprof.)
        assert not re.search("_tfprof|sitecustomize", result.stdout), result.stdout
        assert steps(directory) > 5
    print("py-spy")


if __name__ == "__main__":
    capturing.main(globals())
