"""The disk is full while a program is recorded: the program goes on unharmed, what was recorded before is served."""

import collections
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "shell"))
from terminal import LeftOut, asking, program, run_tests

CAPTURE = program("tfprof-capture")
PYTHON = os.environ.get("TFPROF_PYTHON", sys.executable)
LIMIT = 65536
TRAIN = """
import torch, sys, time
torch.set_num_threads(1)
x = torch.randn(64, 64)
layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for i in range(3000):
    loss = layer(x).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
end = time.monotonic() + 2.5
while time.monotonic() < end:  # the disk is full: what is seen of Python, and the counters of each second
    optimizer.step()
    time.sleep(0.05)
print("trained to the end")
sys.exit(6)
"""


def check(run, done):
    assert done.returncode == 6 and done.stdout == "trained to the end\n", (done.returncode, done.stdout, done.stderr)
    assert "lost" in done.stderr, done.stderr
    recorded = asking.query(run, "SELECT count(*) AS n, count(name) AS named, sum(dur_ns) AS total FROM ops")[0]
    assert recorded["n"] > 1000 and recorded["n"] == recorded["named"], recorded
    told = asking.query(run, "SELECT severity, reason, message, table_name, count FROM diagnostics WHERE severity <> 'info'")
    lost = collections.Counter()
    for row in told:
        if row["reason"] == "capture_dropped":
            lost[row["table_name"]] += row["count"]
    assert lost == {row["table_name"]: row["count"] for row in told if row["reason"] == "dropped_rows"}, told
    # Whatever could not be written is told, of every table.
    assert {"ops", "memory_events", "python_samples", "counters"} <= set(lost), told
    # The last words find room on the full disk: how much was lost, and the end.
    assert f"tfprof: {sum(lost.values()):,} rows were lost" in done.stderr, (lost, done.stderr)
    coverage = asking.query(run, "SELECT complete, rows_dropped FROM coverage")
    assert coverage == [{"complete": 1, "rows_dropped": sum(lost.values())}], told
    print("       ", recorded["n"], "ops recorded;", told)


def test_limit_on_the_file():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run = os.path.join(directory, "run")
    done = subprocess.run(
        [CAPTURE, "--ops=all", "-o", run, "--", PYTHON, "-c", TRAIN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)),
    )
    check(run, done)
    assert all(os.path.getsize(os.path.join(run, name)) <= LIMIT for name in os.listdir(run))


def test_small_file_system():
    """As root only: a file system of its own, in a mount namespace of its own."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run, copy, small = os.path.join(directory, "run"), os.path.join(directory, "copy"), f"size={2 * LIMIT}"
    os.mkdir(run)
    if (
        os.getuid() != 0
        or subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "-o", small, "none", run], stderr=subprocess.DEVNULL
        ).returncode
        != 0
    ):
        raise LeftOut("not root, or no mounts here")
    script = (
        f'mount -t tmpfs -o {small} none "$1"; status=0; "$3" --ops=all -o "$1" -- "$4" -c "$5" || status=$?; '
        'cp -r "$1" "$2"; exit $status'
    )
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script, "bash", run, copy, CAPTURE, PYTHON, TRAIN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert "are free for" in done.stderr, done.stderr  # said before the program begins
    check(copy, done)


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        print("PyTorch is missing")
        sys.exit(77)
    run_tests(globals())
