"""Ends of forked processes, one after the other: with a disk that does not answer (hanging_disk.c is loaded), with a
slow one, with a writer that gets no processor, after a fork that no handler sees, by signals.

Says of each how it ended, and after how many seconds.
"""

import ctypes
import json
import os
import platform
import signal
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # it waits for threads that a raw fork leaves behind, whoever records
import without_dynamo  # noqa: E402,F401
import torch  # noqa: E402

FORK = {"x86_64": (57,), "aarch64": (220, signal.SIGCHLD, 0, 0, 0, 0)}.get(platform.machine())
disk = os.environ["DISK"]
ones = torch.ones(8)


def work(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        torch.sin(ones)
        time.sleep(0.001)


def disk_is(how):
    open(os.path.join(disk, how), "w").close()


def disk_is_well():
    for how in os.listdir(disk):
        os.remove(os.path.join(disk, how))


def ended(pid, began):
    _, status = os.waitpid(pid, 0)
    return [os.waitstatus_to_exitcode(status), time.monotonic() - began]


def end_of_child(how, do, seconds=1.5):
    """The child records, and its disk is like that for a while before it ends."""
    with torch.profiler.record_function("around the fork"):  # which ends in the child, too
        pid = os.fork()
    if not pid:
        work(1)
        if how:
            disk_is(how)
        work(seconds)
        os.write(pipe[1], json.dumps(time.monotonic()).encode().ljust(64))
        do()
        os._exit(99)
    began = json.loads(os.read(pipe[0], 64))
    end = ended(pid, began) + [pid]
    end.append(how is None or how in os.listdir(disk))  # it was so until the end
    disk_is_well()
    return end


def leave():
    sys.exit(0)  # as the interpreter does: atexit


def interrupted(number):
    def do():
        os.kill(os.getpid(), number)
        time.sleep(10)

    return do


def end_by_exception(do):
    def ends():
        try:
            do()
        except (KeyboardInterrupt, SystemExit):
            import atexit

            atexit._run_exitfuncs()
            os._exit(3)

    return ends


def first_op():
    """A child whose disk does not answer when it begins to record."""
    disk_is("hangs")
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        torch.sin(ones)
        os._exit(3)
    end = ended(pid, began) + [pid, "hangs" in os.listdir(disk)]
    disk_is_well()
    return end


def raw_fork():
    """Its ops are nobody's, and it ends at once: by os._exit, after forks of its own, and by the C library's exit."""
    libc, results = ctypes.PyDLL(None), []
    for end in ("_exit", "fork", "exit"):
        began = time.monotonic()
        with torch.profiler.record_function("around the fork"):  # which ends in the child, too
            pid = libc.syscall(*FORK)
        if not pid:
            for _ in range(2000):
                torch.sin(ones)
            torch.nn.Sequential(model, torch.nn.ReLU())(ones).sum().backward()
            optimizer.step()
            with torch.profiler.record_function("in the child"):
                torch.cos(ones)
            if end == "fork":
                grandchild = os.fork()
                if not grandchild:
                    torch.cos(ones)
                    os._exit(0)
                os.waitpid(grandchild, 0)
            if end == "exit":
                libc.exit(0)
            os._exit(0)
        results.append(ended(pid, began))
    return results


model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
pipe = os.pipe()
signal.signal(signal.SIGTERM, lambda *unused: sys.exit(0))
model(ones)
work(1.5)  # no thread of the recorder's waits for Python's lock any more: a raw fork would leave it to wait for ever
ends = {
    "raw": raw_fork() if FORK else None,
    "first op": first_op(),
    "exit": end_of_child("hangs", end_by_exception(leave)),
    "_exit": end_of_child("hangs", lambda: os._exit(3)),
    "exec": end_of_child("hangs", lambda: os.execv("/bin/sh", ["sh", "-c", "exit 3"])),
    "slow": end_of_child("slow", lambda: os._exit(3)),
    "starved": end_of_child("starves", lambda: os._exit(3), 0),
    "SIGTERM": end_of_child(None, end_by_exception(interrupted(signal.SIGTERM)), 0.1),
    "SIGINT": end_of_child(None, end_by_exception(interrupted(signal.SIGINT)), 0.1),
}
for _ in range(100):
    torch.tan(ones)
print(json.dumps(ends))
