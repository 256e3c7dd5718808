"""Programs that were started without tfprof-capture: --attach makes them listen by sys.remote_exec of CPython 3.14.

An older Python plays one: its program file has the name of a 3.14, and its sys.remote_exec has the program run the
script between two instructions of its main thread, by a signal.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time

import capturing
from capturing import query

bounded = capturing.bounded

CAPTURE = os.path.join(capturing.BUILD, "tfprof-capture")
IS_REAL = hasattr(sys, "remote_exec")
PLAYED = """
import os, signal, sys

TOLD = %r

def run_script(*_):
    with open(TOLD) as file:
        path = file.read()
    with open(path) as file:
        source = file.read()
    exec(compile(source, path, "exec"), {"__builtins__": __builtins__})

def remote_exec(process, path):
    problem = os.path.join(os.path.dirname(TOLD), "problem")
    if os.path.exists(problem):
        exec(open(problem).read())
    with open(TOLD, "w") as file:
        file.write(path)
    os.kill(process, signal.SIGUSR1)

sys.remote_exec = remote_exec
signal.signal(signal.SIGUSR1, run_script)
"""
PROGRAM = """
import json, os, sys, threading, time

def look():
    return [sorted(os.environ), sys.path, [thread.name for thread in threading.enumerate()], sorted(globals())]

if sys.argv[1] == "torch":
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# Modes of PyTorch that are on here are none of the recorder's affair.
ops = []
def work():
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
steps = 0
before = None
before = look()
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    if sys.argv[1] == "torch":
        work()
        steps += 1
    time.sleep(0.002)
print(json.dumps([before == look(), steps]))
"""


def python_of(folder):
    """A Python that can be asked by sys.remote_exec."""
    if IS_REAL:
        return capturing.PYTHON
    home = os.path.join(folder, "played")
    library = os.path.join(home, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    os.makedirs(os.path.join(home, "bin"))
    os.makedirs(library)
    python = os.path.join(home, "bin", "python3.14")
    shutil.copy2(os.path.realpath(sys.executable), python)
    with open(os.path.join(home, "pyvenv.cfg"), "w") as file:
        file.write("home = %s\n" % os.path.join(sys.base_exec_prefix, "bin"))
    places = [sysconfig.get_path("purelib"), os.path.join(sys.base_prefix, "lib", os.path.basename(
        os.path.dirname(library)), "site-packages")]
    with open(os.path.join(library, "more.pth"), "w") as file:
        file.write("".join(place + "\n" for place in places))
    with open(os.path.join(library, "sitecustomize.py"), "w") as file:
        file.write(PLAYED % os.path.join(folder, "told"))
    return python


@contextlib.contextmanager
def running(folder, what):
    """A program that nobody records: (its process, what it says at its end)."""
    program, stop = os.path.join(folder, "program.py"), os.path.join(folder, "stop-" + what)
    with open(program, "w") as file:
        file.write(PROGRAM)
    time.sleep(0.1)  # of a file that changes as the process begins, known to a hundredth of a second, no text is read
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("TFPROF_") and name != "PYTHONPATH"}
    said = []
    command = [python_of.chosen, program, what, stop]
    with bounded.started(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True) as process:
        assert process.stdout.readline() == "ready\n"
        try:
            yield process.pid, said
        finally:
            open(stop, "w").close()
        out, error = process.communicate(timeout=capturing.SECONDS)
        assert process.returncode == 0 and error == "", (process.returncode, error)
        said += json.loads(out)


def attach(process, *options, status=0, cwd=None):
    command = [CAPTURE, "--attach", str(process), *options]
    result = bounded.run(command, capturing.SECONDS, stdin=subprocess.DEVNULL, cwd=cwd)
    assert result.returncode == status, (command, result.returncode, result.stderr)
    return result.stderr


def test_torch(folder):
    run = os.path.join(folder, "run")
    with running(folder, "torch") as (process, said):
        error = attach(process, "--steps", "5", "-o", run)
        assert "in 5 optimizer steps into" in error, error
        assert "in 3 optimizer steps into" in attach(process, "--steps", "3")  # into the same run, which is its own
    is_same, steps = said
    assert is_same and steps >= 8, said
    counts = query(run, "SELECT count(*) AS steps, sum(ops_recorded) AS recorded FROM steps GROUP BY profile_id")
    assert sorted(row["steps"] for row in counts) == sorted(row["recorded"] for row in counts) == [3, 5], counts
    lines = query(run, "SELECT text FROM code_frames WHERE file GLOB '*program.py' AND text IS NOT NULL")
    assert "model(torch.ones(4, 8)).sum().backward()" in {row["text"] for row in lines}, lines
    notes = [row["message"] for row in query(run, "SELECT message FROM diagnostics WHERE reason = 'capture_degraded'")]
    assert any("memory" in note and "started with tfprof-capture" in note for note in notes), notes
    print("a program that was started without the recorder: %d and %d steps" % (5, 3))


def test_refusals(folder):
    """Where it cannot be, it is said why, and nothing is left behind."""
    place = os.path.join(os.environ["XDG_RUNTIME_DIR"], "tfprof")
    with running(folder, "nothing") as (process, said):
        assert "it has imported none of PyTorch" in attach(process, "-o", os.path.join(folder, "none"), status=125)
    assert said[0], said
    if IS_REAL:
        return
    problem = os.path.join(folder, "problem")
    for text, meaning in (
        ("raise PermissionError(1, 'Operation not permitted')", "does not let one process look into another"),
        ("raise RuntimeError('Remote debugging is not enabled in the remote process.')", "switched off"),
        ("raise RuntimeError('something else')", "RuntimeError: something else"),
    ):
        with open(problem, "w") as file:
            file.write(text)
        with running(folder, "nothing" + str(len(text))) as (process, said):
            error = attach(process, cwd=folder, status=125)
            assert meaning in error and "start it with\n  tfprof-capture --dormant -o run -- " in error, error
        assert said[0] and os.listdir(place) == [], (said, os.listdir(place))
    os.unlink(problem)
    # A program with another name is never started, whatever it is.
    with bounded.started(["sleep", "60"]) as process:
        assert "it was not started to be asked; start it" in attach(process.pid, status=125)
        process.kill()


def main():
    capturing.need_torch()
    with capturing.Directory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(folder, "runtime")
        os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)
        python_of.chosen = python_of(folder)
        test_torch(folder)
        test_refusals(folder)


main()
