"""A captured program is killed at random moments or ends badly: every step older than a second is in the recording.

TFPROF_CRASH_ROUNDS says how many random kills are tried (3).
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "shell"))
from terminal import asking, bounded, program, run_tests

CAPTURE = program("tfprof-capture")
PYTHON = os.environ.get("TFPROF_PYTHON", sys.executable)
ROUNDS = int(os.environ.get("TFPROF_CRASH_ROUNDS", "3"))
SECOND = 10**9


@contextlib.contextmanager
def started(ending, seconds=0, pause=0.002):
    """The directory and the launcher of a program; when the test fails, neither of the two outlives it."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    with bounded.started(
        [CAPTURE, "--ops=all", "-o", "run", "--", PYTHON, os.path.join(HERE, "stepping.py")]
        + ["log", ending, str(seconds), str(pause)],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        encoding="utf-8",
    ) as process:
        yield directory, process


def logged_steps(directory):
    try:
        with open(os.path.join(directory, "log")) as file:
            return [int(line.split()[1]) for line in file.read().split("\n") if line.count(" ") == 1]
    except FileNotFoundError:
        return []


def wait_for_steps(directory, process, count=20, seconds=120):
    end = time.monotonic() + seconds
    while len(logged_steps(directory)) < count:
        assert process.poll() is None and time.monotonic() < end, "the program did not begin to train"
        time.sleep(0.05)


def program_of(process):
    """The pid of the program under the launcher."""
    children = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout
    return next(int(line.split()[0]) for line in children.splitlines() if "stepping.py" in line)


def query(directory, sql):
    return asking.query(os.path.join(directory, "run"), sql)


def check(directory, until_ns):
    """Every logged step that ended before `until_ns` is a row of steps, with all of its ops."""
    logged = logged_steps(directory)
    old = sum(1 for time_ns in logged if time_ns <= until_ns)
    steps = query(
        directory,
        "SELECT number, end_ns, (SELECT count(*) FROM ops WHERE step_id = steps.id) AS ops FROM steps ORDER BY id",
    )
    assert len(steps) >= old, f"{old} steps ended in time, {len(steps)} were recorded"
    for i in range(1, old):
        # The optimizer's step ends before the program logs it, and after the step before was logged.
        assert logged[i - 1] - SECOND // 1000 < steps[i]["end_ns"] < logged[i] + SECOND // 1000, (
            i,
            logged[i - 1 : i + 1],
            steps[i],
        )
    usual = sorted(step["ops"] for step in steps)[len(steps) // 2]
    assert usual > 20, usual
    for step in steps[3:old]:
        assert step["ops"] == usual, (step, usual)
    return old, len(steps), len(logged)


def wait_for_more(directory, table, seconds=60):
    """Until the run has more rows than now."""
    count = f"SELECT count(*) AS n FROM {table}"
    end, first = time.monotonic() + seconds, query(directory, count)[0]["n"]
    assert first > 0
    while query(directory, count)[0]["n"] == first:
        assert time.monotonic() < end, f"{table} does not grow"
        time.sleep(0.2)


def test_kill_at_random_moments():
    for i in range(ROUNDS):
        # A busy program fills frames with rows, one that mostly waits has them written by the clock.
        with started("never", pause=[0.002, 0.1][i % 2]) as (directory, process):
            wait_for_steps(directory, process)
            time.sleep(random.uniform(0.9, 3.0))
            number = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM][i % 3]
            program = program_of(process)
            killed = time.time_ns()
            os.kill(program, number)
            out, error = process.communicate(timeout=60)
            assert process.returncode == -number and out == "", (process.returncode, out)
            assert f"ended by signal {number.value}" in error and "what was recorded is complete" in error, error
            print("        old, recorded and logged steps: %d %d %d" % check(directory, killed - SECOND))
            assert query(directory, "SELECT complete FROM profiles")[0]["complete"] == 0


def test_kill_of_the_whole_group():
    with started("never") as (directory, process):
        wait_for_steps(directory, process)
        time.sleep(random.uniform(1.2, 2.0))
        killed = time.time_ns()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        check(directory, killed - SECOND)


def test_ends_of_all_kinds():
    for ending, status, is_complete in (
        ("exit", 0, True),
        ("status", 3, True),
        ("exception", 1, True),
        ("os_exit", 4, False),
        ("abort", -signal.SIGABRT, False),
        ("segv", -signal.SIGSEGV, False),
    ):
        with started(ending, 1.5) as (directory, process):
            out, error = process.communicate(timeout=120)
            ended = time.time_ns()
            assert process.returncode == status, (ending, process.returncode, error)
            logged = logged_steps(directory)
            assert out == f"trained {len(logged)} steps\n", out
            check(directory, ended if is_complete else logged[-1] - SECOND)
            if is_complete:
                assert query(directory, "SELECT complete FROM profiles")[0]["complete"] == 1, ending
            if status:
                assert "what was recorded is complete" in error, error
            assert "recorded" in error and "look at it with" in error and "tfprof report " in error, error


def test_a_growing_run_can_be_opened():
    with started("never") as (directory, process):
        wait_for_steps(directory, process)
        time.sleep(1.5)
        now = time.time_ns()
        for _ in range(3):
            wait_for_more(directory, "steps")
        check(directory, now - SECOND)
        os.kill(program_of(process), signal.SIGKILL)
        process.communicate(timeout=60)


# Leaves a process behind that goes on training.
LEAVER = """
import glob, os, subprocess, sys, time
quiet = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
left = subprocess.Popen([sys.executable, sys.argv[1], "log", "never", "0"], start_new_session=True, **quiet)
while not os.path.exists("log") or os.path.getsize("log") < 1000:
    time.sleep(0.1)
time.sleep(1.5)
print(left.pid)
"""


def test_a_process_that_outlives_the_program_is_told():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    command = [CAPTURE, "-o", "run", "--", PYTHON, "-c", LEAVER, os.path.join(HERE, "stepping.py")]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with bounded.started(command, cwd=directory, encoding="utf-8", **streams) as process:
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
        assert "processes that the program left behind still record" in error, error
        wait_for_more(directory, "ops")
        os.kill(int(out), signal.SIGKILL)


if __name__ == "__main__":
    look = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"
    if subprocess.run([PYTHON, "-c", look]).returncode != 0:
        print("PyTorch is missing")
        sys.exit(77)
    run_tests(globals())
