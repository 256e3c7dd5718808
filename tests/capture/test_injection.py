#!/usr/bin/env python3
"""Recording begins where CUDA's driver calls the library: in C programs, and in Python before and after PyTorch.

inject.c stands for the driver.
"""

import os
import signal
import subprocess
import tempfile

import capturing


def built(name):
    """A program of programs/, in a folder that goes with the test's."""
    path = os.path.join(tempfile.mkdtemp(), name)
    compiler = os.environ.get("CC", "cc")
    source = os.path.join(capturing.PROGRAMS, name + ".c")
    subprocess.run([compiler, "-std=gnu11", "-O1", "-o", path, source, "-pthread", "-ldl"], check=True)
    return path


INJECT = built("inject")


def launched(directory, arguments, status=0, **more):
    return capturing.launch(os.path.join(directory, "run"), [INJECT, *arguments], status=status, **more)


def recordings(directory):
    return [capturing.summary(path) for path in capturing.dumps(os.path.join(directory, "run"))]


def test_ends():
    """However it ends the file is there, closed in order where anything of ours is called at the end."""
    for end, status, is_closed in (("return", 0, True), ("exit", 0, True), ("_exit", 0, False),
                                   ("kill", -signal.SIGKILL, False), ("exec", 0, False)):
        with capturing.Directory() as directory:
            launched(directory, [end], status=status)
            (recording,) = recordings(directory)
            assert recording["closed"] == is_closed, (end, recording)
            if is_closed or end in ("_exit", "kill"):
                assert recording["rows"]["counters"] >= 10, (end, recording)


def test_threads():
    """Several that begin it at once are one recording."""
    with capturing.Directory() as directory:
        launched(directory, ["return", "16"])
        (recording,) = recordings(directory)
        assert recording["closed"], recording
        rows = capturing.query(os.path.join(directory, "run"), "SELECT message FROM diagnostics ORDER BY 1")
        parts = [row["message"] for row in rows if row["message"].startswith(("clock:", "counters:", "ops:"))]
        assert len(parts) == 2 and parts[0].startswith("clock: ok") and parts[1] == "counters: ok", rows


def test_fork():
    """A forked process has a file of its own if the driver is initialised in it."""
    with capturing.Directory() as directory:
        launched(directory, ["fork"])
        assert [recording["closed"] for recording in recordings(directory)] == [True, True]


def test_others_stay():
    """A library of the user's own is left in its place, and that is said; other programs are not touched."""
    with capturing.Directory() as directory:
        others = dict(os.environ, CUDA_INJECTION64_PATH="/no/such/library.so")
        _, error = capturing.launch(os.path.join(directory, "run"), ["/bin/sh", "-c", "echo $CUDA_INJECTION64_PATH"],
                                    environment=others)
        assert "CUDA_INJECTION64_PATH is set to /no/such/library.so and is left so" in error, error
        assert not capturing.dumps(os.path.join(directory, "run")), error
        _, error = launched(directory + "/again", ["return"], status=3, environment=others)


PROGRAM = """
import ctypes, os, sys, threading
def inject():
    assert ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() == 1
if "before" in sys.argv:
    inject()
    thread = threading.Thread(target=inject); thread.start(); thread.join()
import torch, without_dynamo
if "after" in sys.argv: inject()
torch.manual_seed(0)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(10):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""


def test_pytorch():
    """Ops, their forward ops, modules and memory are the same whether the driver comes before PyTorch or after it."""
    seen = []
    asked = """SELECT (SELECT count(*) FROM ops WHERE category = 'op') AS ops,
        (SELECT count(*) FROM ops WHERE forward_op_id IS NOT NULL) AS links,
        (SELECT count(*) FROM ops WHERE module IS NOT NULL) AS modules,
        (SELECT count(*) FROM steps) AS steps, (SELECT framework FROM profiles) AS framework,
        (SELECT count(*) FROM diagnostics WHERE message LIKE 'ops: ok%') AS parts"""
    for when in ("before", "after"):
        with capturing.Directory() as directory:
            run = os.path.join(directory, "run")
            capturing.launch(run, [capturing.PYTHON, "-c", PROGRAM, when], options=["--ops=all"])
            (row,) = capturing.query(run, asked)
            assert int(row["links"]) > 10 and int(row["steps"]) == 10 and int(row["parts"]) == 1, (when, row)
            (memory,) = capturing.query(run, "SELECT count(*) AS n FROM memory_events")
            assert int(memory["n"]) > 100, (when, memory)
            seen.append(row)
    assert seen[0] == seen[1], seen


capturing.main(globals())
