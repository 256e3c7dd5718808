"""The last seconds are kept, and written when something happens (tfprof-capture --keep).

Most programs here use a stand-in of JAX, which is imported in no time; those whose ops matter use PyTorch.
"""

import concurrent.futures
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import capturing

bounded = capturing.bounded

CAPTURE = os.path.join(capturing.BUILD, "tfprof-capture")
PLACE = "/dev/shm/tfprof-%d" % os.geteuid()
PATIENCE = 120  # seconds; a test that waits for so long has failed

# steps(COUNT) ends as many; what happens then is the case's.
STEPS = """
import ctypes, os, signal, sys, threading, time
sys.path.insert(0, %r)
%s
import jax, tfprof
def steps(count, seconds=0.002):
    for _ in range(count):
        tfprof.step()
        time.sleep(seconds)
steps(5)
%s
"""
HANDLER = "signal.signal(%s, lambda number, frame: print('handled', number, flush=True))"
KILL = "os.kill(os.getpid(), signal.%s)"

# name: (what comes before the import, what happens, kind of the trigger, message; None: nothing is written)
CASES = {
    "end": ("", "print('done')", None, None),
    "exit": ("", "sys.exit(4)", None, None),
    "_exit": ("", "os._exit(4)", None, None),
    "_exit_0_of_c": ("", "ctypes.CDLL(None)._exit(0)", None, None),
    "_exit_of_c": ("", "time.sleep(1); ctypes.CDLL(None)._exit(5)", "killed", "ended with status 5"),
    "segv": ("", "ctypes.string_at(0)", "crash", "SIGSEGV"),
    "segv_sent": ("", KILL % "SIGSEGV", "crash", "SIGSEGV"),
    "overflow": ("", "sys.setrecursionlimit(10**9)\nclass A:\n  def __getattr__(self, name): return "
                 "getattr(self, name + '')\nA().x" if sys.version_info < (3, 12) else KILL % "SIGSEGV",
                 "crash", "SIGSEGV"),
    "abort": ("", "os.abort()", "crash", "SIGABRT"),
    "bus": ("", KILL % "SIGBUS", "crash", "SIGBUS"),
    "fpe": ("", KILL % "SIGFPE", "crash", "SIGFPE"),
    "ill": ("", KILL % "SIGILL", "crash", "SIGILL"),
    "term": ("", KILL % "SIGTERM" + "; time.sleep(60)", "crash", "SIGTERM"),
    "on_thread": ("", "t = threading.Thread(target=ctypes.string_at, args=(0,)); t.start(); t.join()", "crash",
                  "SIGSEGV"),
    "kill": ("", "time.sleep(1); " + KILL % "SIGKILL", "killed", "signal 9"),
    "raises": ("", "raise ValueError('as it is')", "exception", "ValueError: as it is"),
    "interrupt": ("", KILL % "SIGINT" + "; time.sleep(60)", "exception", "KeyboardInterrupt"),
    "own_hook": ("", "sys.excepthook = lambda *about: print('hooked', about[0].__name__)\nraise KeyError('k')",
                 "exception", "KeyError: k"),
    "thread_raises": ("", "t = threading.Thread(target=lambda: 1 // 0); t.start(); t.join(); print('on')",
                      "thread_exception", "ZeroDivisionError"),
    "thread_exits": ("", "t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()", None, None),
    "asked": ("", KILL % "SIGUSR2" + "; steps(100)", "signal", "signal 12"),
    "own_usr2_after": ("", (HANDLER % "signal.SIGUSR2") + "\n" + KILL % "SIGUSR2", None, None),
    "own_usr2_before": (HANDLER % "signal.SIGUSR2", KILL % "SIGUSR2" + "; steps(100)", "signal", "signal 12"),
    "own_term": (HANDLER % "signal.SIGTERM", KILL % "SIGTERM", None, None),
    "ignored_term": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", KILL % "SIGTERM", None, None),
    "faulthandler_before": ("import faulthandler; faulthandler.enable()", "ctypes.string_at(0)", "crash", "SIGSEGV"),
    "faulthandler_after": ("", "import faulthandler; faulthandler.enable()\nctypes.string_at(0)", "crash", "SIGSEGV"),
    "slow": ("", "steps(30); steps(2, 0.5); steps(5)", "slow_step", "times the median"),
}
FRAMEWORK = {"jax/__init__.py": "__version__ = '9.8'"}


def make_stand_in(folder):
    packages = os.path.join(folder, "packages")
    for name, text in FRAMEWORK.items():
        os.makedirs(os.path.dirname(os.path.join(packages, name)), exist_ok=True)
        with open(os.path.join(packages, name), "w") as file:
            file.write(text)
    return packages


def run_program(words, run=None, options=("--keep", "2s", "--signal", "USR2")):
    command = [CAPTURE, *options, "-o", run, "--", *words] if run else words
    return bounded.run(command, capturing.SECONDS, stdin=subprocess.DEVNULL)


def triggers(path):
    return capturing.query(path, "SELECT kind, message, time_ns, kept_from_ns, keep_ns, step_number, step_ns, "
                                 "usual_ns FROM triggers")


def without_ours(error):
    lines = [line for line in error.split("\n") if not line.startswith(("tfprof", "  "))]
    return re.sub(r"0x[0-9a-f]+|Extension modules.*", "", "\n".join(lines))


def check_case(name, folder, packages):
    """The program does what it does alone; what is to be written is, once."""
    before, what, kind, message = CASES[name]
    words = [capturing.PYTHON, "-c", STEPS % (packages, before, what)]
    run = os.path.join(folder, name)
    kept = run_program(words, run)
    if kind != "signal":  # which would end the program
        alone = bounded.run(words, capturing.SECONDS, env=dict(os.environ, PYTHONPATH=capturing.HOOKS),
                            stdin=subprocess.DEVNULL)
        assert (kept.returncode, kept.stdout) == (alone.returncode, alone.stdout), (name, kept, alone)
        if "faulthandler" in name or kind == "exception":
            assert without_ours(kept.stderr) == without_ours(alone.stderr), (name, kept.stderr, alone.stderr)
    files = capturing.dumps(run)
    found = [triggers(path)[0] for path in files]
    ours = [row for row in found if row["kind"] != "slow_step" or kind == "slow_step"]
    if kind is None:
        assert not ours, (name, ours, kept.stderr)
        assert found or "nothing was written into" in kept.stderr, (name, kept.stderr)
        return
    if kind == "slow_step":
        ours = ours[-1:]
    assert len(ours) == 1 and ours[0]["kind"] == kind and message in ours[0]["message"], (name, found, kept.stderr)
    path = files[found.index(ours[0])]
    assert "tfprof: wrote %s (" % path in kept.stderr and kind + ": " in kept.stderr, (name, kept.stderr)
    facts = capturing.summary(path)
    assert facts["closed"] and not facts["problems"], (name, facts)
    (row,) = capturing.query(path, "SELECT count(*) AS steps, max(number) AS last FROM steps")
    assert row["steps"] >= 4, (name, row)
    if kind != "killed":
        assert 0 < ours[0]["time_ns"] - ours[0]["kept_from_ns"] < 120e9 and ours[0]["keep_ns"] == 2000000000, ours


def test_what_happens(folder):
    packages = make_stand_in(folder)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for case in [pool.submit(check_case, name, folder, packages) for name in CASES]:
            case.result()


def wait_for(look, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain for " + what)


UNTIL = """
import os, sys, time
sys.path.insert(0, %r)
import jax, tfprof
number = 0
while not os.path.exists(%r):
    tfprof.step(number)
    number += 1
    time.sleep(0.005)
"""


@contextlib.contextmanager
def stepping(folder, name, *options, keep="1s", **more):
    """A program that ends steps: (its process, its run, its tfprof-capture)."""
    packages, stop, run = make_stand_in(folder), os.path.join(folder, name + "-stop"), os.path.join(folder, name)
    command = [CAPTURE, "--keep", keep, *options, "-o", run, "--", capturing.PYTHON, "-c", UNTIL % (packages, stop)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with bounded.started(command, env=dict(os.environ, **more), **streams) as program:
        try:

            def listed():
                with open("/proc/%d/task/%d/children" % (program.pid, program.pid)) as file:
                    children = file.read().split()
                rows = [row.split() for row in ask("--list").stdout.splitlines()[1:]]
                return [int(row[0]) for row in rows if row[0] in children and "keeping" in row and int(row[2]) > 5]

            yield wait_for(listed, "steps")[0], run, program
        finally:
            open(stop, "w").close()


def ask(*options):
    return bounded.run([CAPTURE, *options], capturing.SECONDS, stdin=subprocess.DEVNULL)


def steps_of(path):
    return capturing.query(path, "SELECT number, start_ns, end_ns FROM steps ORDER BY number")


def test_window(folder):
    """By --attach --write, again and again: what is older goes, memory and the file stay bounded; and all that is asked
    for in vain.
    """
    with stepping(folder, "window", "--keep-after", "0") as (process, run, program):
        time.sleep(2.5)
        sizes, spans = [], []
        for number in range(1, 4):
            answer = ask("--attach", str(process), "--write")
            assert answer.returncode == 0 and "asked: " in answer.stderr, answer
            path = sorted(capturing.dumps(run), key=os.path.getmtime)[-1]
            (trigger,) = triggers(path)
            steps = steps_of(path)
            assert trigger["kind"] == "asked"
            numbers = [row["number"] for row in steps]
            assert numbers == list(range(numbers[0], numbers[-1] + 1)) and numbers[0] > 0, numbers
            spans.append((trigger["time_ns"] - steps[0]["start_ns"]) / 1e9)
            (kept,) = glob.glob(PLACE + "/%d-*.kept" % process)
            assert os.stat(kept).st_mode & 0o777 == 0o600 and os.stat(PLACE).st_mode & 0o777 == 0o700
            sizes.append(os.stat(kept).st_blocks)
            time.sleep(1)
        # A second is kept, whole slots of half a second: no more than the machine lets the writer thread be late.
        assert all(1 <= span < 20 for span in spans), spans
        assert sizes[-1] < 2 * sizes[0] + 64, sizes
        for options, said in ((("--steps", "3"), "it keeps its last seconds"),
                              (("--write", "--for", "2s"), "It goes with no")):
            answer = ask("--attach", str(process), *options)
            assert answer.returncode and said in answer.stderr, answer
    program.communicate(timeout=PATIENCE)
    assert program.returncode == 0 and not glob.glob(PLACE + "/%d-*" % process)
    for options in (("--signal", "USR2"), ("--keep", "1s", "--dormant"), ("--keep", "soon"), ("--write",),
                    ("--keep", "1s", "--signal", "KILL"), ("--keep", "1s", "--keep-after", "-1s"),
                    ("--keep", "1s", "--slow-step", "1"), ("--keep", "1s", "--slow-step", "2x")):
        assert ask(*options, "--", "true").returncode == 2, options


SAME = """
import os, signal, sys, time, torch
torch.manual_seed(1)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 16)
began = time.monotonic()
for number in range(300):
    optimizer.zero_grad()
    y = model(x)
    if number % 3 == 0:
        y = y * 2
    if number % 7 == 0:
        y = y.exp()
    y.square().mean().backward()
    optimizer.step()
    time.sleep(0.015)
    if number == 50:
        if os.environ.get("TFPROF_KEEP"):
            os.kill(os.getpid(), signal.SIGUSR2)
        print(time.monotonic() - began < 1.5)
        time.sleep(0.5)
try:
    torch.empty(1 << 50)
except RuntimeError:
    raise ValueError("as asked") from None
"""
OPS = """
SELECT number, group_concat(name || ' ' || coalesce(input_shapes, '') || ' ' || coalesce(line, ''), ', ') AS ops
FROM (SELECT steps.number AS number, ops.name AS name, ops.input_shapes AS input_shapes, code_frames.line AS line
FROM ops JOIN steps ON steps.id = ops.step_id LEFT JOIN code_traces ON code_traces.id = ops.code_trace_id
LEFT JOIN code_frames ON code_frames.id = code_traces.leaf_frame_id ORDER BY ops.start_ns) GROUP BY number"""


def test_same(folder):
    """What is kept has the steps that a whole recording of the same program has, with all of their ops."""
    whole, run = os.path.join(folder, "whole"), os.path.join(folder, "run")
    words = [capturing.PYTHON, "-c", SAME]
    run_program(words, whole, ("--ops=all",))
    (path,) = capturing.dumps(whole)
    wanted = {row["number"]: row["ops"] for row in capturing.query(path, OPS)}
    assert sorted(wanted) == list(range(300))
    result = run_program(words, run, ("--ops=all", "--keep", "2s", "--signal", "USR2"))
    kinds = {}
    for path in capturing.dumps(run):
        found = {row["number"]: row["ops"] for row in capturing.query(path, OPS)}
        numbers = sorted(found)
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), numbers
        assert all(found[number] == wanted[number] for number in numbers[:-1]), path
        for row in triggers(path):  # the failed allocation is told in the file of the exception that follows at once
            kinds[row["kind"]] = numbers
    assert {"signal", "exception", "out_of_memory"} <= set(kinds), (kinds, result.stderr)
    # The first step may have been going on when what is kept began.
    assert kinds["signal"][0] <= 1 or "True" not in result.stdout, (kinds["signal"], result)
    assert kinds["signal"][-1] >= 49 and kinds["exception"][0] > 0 and kinds["exception"][-1] == 299, kinds


def test_left_behind(folder):
    """The launcher is killed with the program: the next one writes what was kept, and says so."""
    with stepping(folder, "left") as (process, run, program):
        time.sleep(1)  # what is not half a second old may not be kept yet
        os.kill(program.pid, signal.SIGKILL)
        os.kill(process, signal.SIGKILL)
        wait_for(lambda: not os.path.exists("/proc/%d" % process) or
                 "Z" in open("/proc/%d/stat" % process).read().split(")")[1][:3], "the end")
        own = [path for path in capturing.dumps(run) if triggers(path)[0]["kind"] == "killed"]
        assert not own
        # Another test may have started one meanwhile.
        ask("-o", os.path.join(folder, "next"), "--", "true")
        own = [path for path in capturing.dumps(run) if triggers(path)[0]["kind"] == "killed"]
        assert len(own) == 1 and not glob.glob(PLACE + "/%d-*" % process), capturing.dumps(run)
        assert len(steps_of(own[0])) > 3


IN_NAMESPACE = """
mount -t tmpfs -o size=%s none /dev/shm && %s exec "$@"
"""


def test_memory(folder):
    """No /dev/shm, and a full one: something is kept all the same, and it is said what not."""
    unshare = shutil.which("unshare")
    if os.geteuid() or not unshare or subprocess.run([unshare, "-m", "true"], capture_output=True).returncode:
        capturing.left_out.append("/dev/shm cannot be replaced here")
        return
    packages = make_stand_in(folder)
    noise = "for i in range(12000):\n  for j in range(8):\n    with tfprof.range('r%d' % (i % 7)): pass\n" \
            "  if i % 40 == 0: steps(1, 0.005)\n"
    cases = {
        "none": ("4k", "chmod 0 /dev/shm; umount /dev/shm; mount -t tmpfs -o ro none /dev/shm;", "raise ValueError",
                 "exception", "is lost where it is killed by SIGKILL"),
        "full": ("112k", "", noise + "raise ValueError", "exception", ""),
    }
    for name, (size, more, what, kind, said) in cases.items():
        run = os.path.join(folder, name)
        command = [CAPTURE, "--keep", "4s", "-o", run, "--", capturing.PYTHON, "-c", STEPS % (packages, "", what)]
        result = bounded.run([unshare, "-m", "sh", "-c", IN_NAMESPACE % (size, more), "sh", *command],
                             capturing.SECONDS, stdin=subprocess.DEVNULL)
        assert result.returncode == 1 and said in result.stderr, (name, result)
        files = [path for path in capturing.dumps(run) if triggers(path)[0]["kind"] == kind]
        assert len(files) == 1 and capturing.query(files[0], "SELECT count(*) AS n FROM steps")[0]["n"] > 3, result
        cut = capturing.query(files[0], "SELECT message FROM diagnostics WHERE reason = 'capture_kept_less'")
        assert len(cut) == (name == "full") and all("no more memory" in row["message"] for row in cut), (name, cut)


def main():
    capturing.need_torch()
    with capturing.Directory() as directory:
        os.environ["XDG_RUNTIME_DIR"] = os.path.abspath(directory)
        os.chmod(directory, 0o700)
        for test in (test_what_happens, test_window, test_same, test_left_behind, test_memory):
            if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
                continue
            with capturing.Directory() as folder:
                test(os.path.abspath(folder))
    if capturing.left_out:
        print("left out: " + "; ".join(capturing.left_out))


if __name__ == "__main__":
    main()
