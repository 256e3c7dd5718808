"""Programs that a test runs: none takes longer than it may, and none outlives a test that fails.

One that takes too long is a failure whose cause is gone once it is killed: so the stacks of all its processes are
printed before, as far as there is a program to read them (py-spy, gdb). Its processes are those that have inherited a
mark in the environment, whoever is their parent by then.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid

MARK = "TFPROF_TEST_MARK"


def processes(mark):
    """The pids of all living processes with the mark."""
    wanted, found = ("%s=%s" % (MARK, mark)).encode(), []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            with open("/proc/%s/environ" % name, "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
    return sorted(found)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError as problem:
        return str(problem)


def print_stacks(pid):
    print("---- process %d: %s" % (pid, read("/proc/%d/cmdline" % pid)[:200]))
    with contextlib.suppress(OSError):
        for thread in sorted(os.listdir("/proc/%d/task" % pid), key=int):
            folder = "/proc/%d/task/%s/" % (pid, thread)
            state = read(folder + "stat").rpartition(") ")[2][:1]
            print("thread %s %s, state %s in %s" % (thread, read(folder + "comm"), state, read(folder + "wchan")))
    tools = {
        "py-spy": ["dump", "--nonblocking", "--pid", str(pid)],
        "gdb": ["-p", str(pid), "-batch", "-nx", "-ex", "thread apply all backtrace 30"],
    }
    for tool, arguments in tools.items():
        beside = os.path.join(os.path.dirname(os.environ.get("TFPROF_PYTHON") or sys.executable), tool)
        path = shutil.which(tool) or (beside if os.path.exists(beside) else None)
        if path is None:
            continue
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run([path] + arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60)
            print(done.stdout or done.stderr)


def kill(mark):
    """Ends all processes with the mark, and those that they start meanwhile."""
    for _ in range(20):
        pids = processes(mark)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


@contextlib.contextmanager
def started(command, env=None, **more):
    """A subprocess.Popen. When the body fails, it and all that it has started are killed; with
    subprocess.TimeoutExpired, after their stacks have been printed."""
    mark = uuid.uuid4().hex
    environment = dict(os.environ if env is None else env, **{MARK: mark})
    process = subprocess.Popen(command, env=environment, **more)
    try:
        yield process
    except BaseException as problem:
        if isinstance(problem, subprocess.TimeoutExpired):
            print("it takes too long: %s" % command)
            for pid in processes(mark):
                print_stacks(pid)
            sys.stdout.flush()
        kill(mark)
        out, error = process.communicate()
        for text in filter(None, (out, error)):
            print(text[-4000:])
        raise


def run(command, seconds, **more):
    """As subprocess.run; what its processes wrote is kept as text."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with started(command, **{**streams, **more}) as process:
        out, error = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(command, process.returncode, out, error)
