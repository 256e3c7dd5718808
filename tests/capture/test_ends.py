#!/usr/bin/env python3
"""Ends that nothing may hold up: disks that do not answer, or are slow; children that no handler of forks has seen; and
ends in order by signals that the program handles.
"""

import glob
import json
import os
import signal
import subprocess

import capturing
from capturing import Directory, main, ops, run, summary

os.environ["PLAIN_END"] = "1"
SECONDS = 15  # that an end may take here; by itself 3, and without a limit that holds more than 20


def built(directory):
    library = os.path.join(directory, "hanging_disk.so")
    source = os.path.join(capturing.PROGRAMS, "hanging_disk.c")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-std=gnu11", "-O1", "-w", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def dump_of(directory, pid):
    (path,) = glob.glob(os.path.join(directory, "*-%d.tfprof" % pid))
    return path


def test_ends():
    with Directory() as directory, Directory() as beside, Directory() as disk:
        os.environ.update(LD_PRELOAD=built(beside), DISK=disk)
        try:
            stdout, stderr = run(directory, [os.path.join(capturing.PROGRAMS, "ends.py")], ops="all", seconds=120)
        finally:
            del os.environ["LD_PRELOAD"], os.environ["DISK"]
        told = json.loads(stdout)
        raw, (status, seconds, first, was_so) = told.pop("raw"), told.pop("first op")
        assert status == 3 and was_so and seconds < SECONDS, "a first op on such a disk took %.1f s" % seconds
        assert stderr.count("the disk has not answered") == 1, stderr
        for name, (status, seconds, pid, was_so) in told.items():
            assert status == 3 and was_so, (name, status, was_so)
            assert seconds < SECONDS, "%s took %.1f s" % (name, seconds)
        # Of the two that end with it: who becomes another program says nothing.
        assert stderr.count("the disk does not answer") == 2, stderr
        slow = stderr.count("the disk is too slow")
        is_complete = summary(dump_of(directory, told["starved"][2]))["closed"]  # unless the machine is very busy
        assert slow == 1 + (not is_complete), stderr
        for name in ("exit", "_exit", "exec", "slow"):
            path = dump_of(directory, told[name][2])
            assert not summary(path)["closed"] and len(ops(path)) > 20, name
        for name in ("SIGTERM", "SIGINT"):
            path = dump_of(directory, told[name][2])
            assert summary(path)["closed"] and len(ops(path)) > 20, name
        # What a child of a raw fork runs is in no file, and its parent goes on as if it had none.
        paths = glob.glob(os.path.join(directory, "*.tfprof"))
        paths = [path for path in paths if not path.endswith("-%d.tfprof" % first)]  # of which nothing was written
        assert len(paths) == 1 + len(told), paths
        (parent,) = [path for path in paths if not any(path == dump_of(directory, end[2]) for end in told.values())]
        names = [op.name for op in ops(parent)]
        assert summary(parent)["closed"] and names.count("aten::tan") == 100 and "aten::cos" not in names
        for status, seconds in raw or []:
            assert status == 0 and seconds < SECONDS, raw


EXIT = """
import ctypes, torch, without_dynamo
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(8))], 0.1)
for _ in range(20):
    optimizer.step()
ctypes.CDLL(None).exit(3)
"""


def test_exit_without_python():
    """exit() in native code: the recording ends in order, before PyTorch's own objects go."""
    with Directory() as directory:
        os.environ["GLIBC_TUNABLES"] = "glibc.malloc.check=3:glibc.malloc.tcache_count=0"
        try:
            run(directory, ["-c", EXIT], ops="all", status=3)
        finally:
            del os.environ["GLIBC_TUNABLES"]
        (path,) = glob.glob(os.path.join(directory, "*.tfprof"))
        assert summary(path)["closed"] and len(ops(path)) > 20


TERMINATED = """
import os, time, torch
for _ in range(20):
    torch.tan(torch.ones(8))
time.sleep(1)  # what the file begins with is written
for _ in range(50):
    torch.sin(torch.ones(8))
print("ready", flush=True)
time.sleep(60)
"""


def test_terminated():
    """A program that SIGTERM kills, sent to tfprof-capture: what ran a moment before is there."""
    launcher = os.path.join(capturing.BUILD, "tfprof-capture")
    for attempt in range(3):  # a machine that is busy may give the recorder no processor in time
        with Directory() as directory:
            command = [launcher, "-q", "--force", "--ops=all", "-o", directory, "--"]
            command += [capturing.PYTHON, "-c", TERMINATED]
            with capturing.bounded.started(command, stdout=subprocess.PIPE, text=True) as program:
                assert program.stdout.readline() == "ready\n"
                program.send_signal(signal.SIGTERM)
                status = program.wait(60)
            assert status == -signal.SIGTERM, status
            (path,) = glob.glob(os.path.join(directory, "*.tfprof"))
            count = [op.name for op in ops(path)].count("aten::sin")
            if count == 50:
                break
    assert count == 50, count
    assert not glob.glob("/dev/shm/tfprof-call-%d-*" % program.pid)


if __name__ == "__main__":
    main(globals())
