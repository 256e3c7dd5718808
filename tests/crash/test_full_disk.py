"""The disk is full while a program is recorded: the program goes on unharmed, what was recorded before is served.

The program itself fills the disk once its first steps are in the file, as how much its imports take depends on the
machine.
"""

import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "shell"))
from terminal import LeftOut, asking, bounded, program, run_tests

CAPTURE = program("tfprof-capture")
PYTHON = os.environ.get("TFPROF_PYTHON", sys.executable)
TRAIN = """
import glob, os, resource, sys, time, torch
torch.set_num_threads(1)
weight = torch.ones(64, 64, requires_grad=True)

def train(steps):
    for i in range(steps):
        weight.grad = None
        (weight.relu() + weight).square().mean().backward()

def looks():
    # how often the writer thread woke
    for thread in glob.glob("/proc/self/task/*/"):
        if open(thread + "comm").read() == "tfprof-writer\\n":
            return int(open(thread + "status").read().split("\\nvoluntary_ctxt_switches:")[1].split()[0])

train(200)
sys.modules["_tfprof_hooks"].recording.library.tfprof_capture_flush()
run = os.environ["TFPROF_RUN_DIRECTORY"]
%s
train(2000)
enough = looks() + 50
while looks() < enough:  # the disk is full: what is seen of Python
    time.sleep(0.05)
print("trained to the end")
sys.exit(6)
"""
ROOM = 16384  # that is kept for the last words
# Nothing else fits into the file any more.
LIMITED_FILE = TRAIN % f"""
(dump,) = glob.glob(run + "/*.tfprof")
size = -1
while size != os.path.getsize(dump):  # it may grow meanwhile
    size = os.path.getsize(dump)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + {ROOM}, resource.RLIM_INFINITY))
"""
FILLED_DISK = TRAIN % """
piece = 1 << 20
with open(run + "/filler", "wb", buffering=0) as filler:
    while piece:
        try:
            filler.write(bytes(piece))
        except OSError:
            piece //= 2
"""


def recorded(command):
    return bounded.run(command, 300, stdin=subprocess.DEVNULL)


def check(run, done, tables):
    assert done.returncode == 6 and done.stdout == "trained to the end\n", (done.returncode, done.stdout, done.stderr)
    assert "tfprof: cannot write" in done.stderr and "lost" in done.stderr, done.stderr
    ops = asking.query(run, "SELECT count(*) AS n, count(name) AS named, sum(dur_ns) AS total FROM ops")[0]
    assert ops["n"] > 1000 and ops["n"] == ops["named"], ops
    told = asking.query(run, "SELECT severity, reason, message, table_name, count FROM diagnostics "
                              "WHERE severity <> 'info'")
    lost = collections.Counter()
    for row in told:
        if row["reason"] == "capture_dropped":
            lost[row["table_name"]] += row["count"]
    assert lost == {row["table_name"]: row["count"] for row in told if row["reason"] == "dropped_rows"}, told
    # Whatever could not be written is told, of every table.
    assert tables <= set(lost), told
    # The last words find room on the full disk: how much was lost, and the end.
    assert f"tfprof: {sum(lost.values()):,} rows were lost" in done.stderr, (lost, done.stderr)
    coverage = asking.query(run, "SELECT complete, rows_dropped FROM coverage")
    assert coverage == [{"complete": 1, "rows_dropped": sum(lost.values())}], told
    print("       ", ops["n"], "ops recorded;", told)


def test_limit_on_the_file():
    run = os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "run")
    check(run, recorded([CAPTURE, "--ops=all", "-o", run, "--", PYTHON, "-c", LIMITED_FILE]),
          {"ops", "memory_events", "python_samples", "counters"})


def test_small_file_system():
    """As root only: a file system of its own, in a mount namespace of its own."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run, copy = os.path.join(directory, "run"), os.path.join(directory, "copy")
    os.mkdir(run)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", run]
    if os.getuid() != 0 or subprocess.run(["unshare", "-m"] + mount, stderr=subprocess.DEVNULL).returncode != 0:
        raise LeftOut("not root, or no mounts here")
    script = (
        '"${@:6}" && status=0; "$3" --ops=all -o "$1" -- "$4" -c "$5" || status=$?; '
        'rm "$1/filler"; cp -r "$1" "$2"; exit $status'
    )
    done = recorded(["unshare", "-m", "bash", "-c", script, "bash", run, copy, CAPTURE, PYTHON, FILLED_DISK] + mount)
    assert "are free for" in done.stderr, done.stderr  # said before the program begins
    # What remains of the last block may take a few rows more.
    check(copy, done, {"ops", "memory_events"})


if __name__ == "__main__":
    look = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"
    if subprocess.run([PYTHON, "-c", look]).returncode != 0:
        print("PyTorch is missing")
        sys.exit(77)
    run_tests(globals())
