"""What goes wrong harms neither the program nor what was recorded before: sudden death, no room, no directory."""

import os
import random
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import capturing

# A program that prints, each time it has finished twenty steps, their number and the processor time that its training
# thread has taken (ns). An optimizer of PyTorch's marks its steps so, too, but would import torch._dynamo first, which
# takes long.
PROGRAM = """
import sys, time, torch
x = torch.ones(3, requires_grad=True)
number = 0
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    x.sum().backward()
    with torch.profiler.record_function("Optimizer.step#SGD.step"), torch.no_grad():
        x.sub_(x.grad, alpha=0.1)
    x.grad = None
    number += 1
    if number % 20 == 0:
        print(number, time.thread_time_ns(), flush=True)
"""


def steps(path):
    return capturing.query(path, "SELECT count(*) AS count FROM ops WHERE name = 'Optimizer.step#SGD.step'")[0]["count"]


def test_directories_of_others():
    """A dump is for its user alone; into a link, or another user's directory, nothing is recorded, which is said."""
    with capturing.Directory() as directory:
        run, link = os.path.join(directory, "run"), os.path.join(directory, "link")
        os.mkdir(run)
        os.symlink(run, link)
        foreign = os.path.join(directory, "foreign") if os.getuid() == 0 else "/"
        if os.getuid() == 0:
            os.mkdir(foreign)
            os.chown(foreign, 12345, -1)
        for place, words in ((link, "is a symbolic link"), (foreign, "belongs to another user")):
            out, errors = capturing.run(place, ["-c", "import torch; torch.ones(3); print('done')"])
            assert out == "done\n" and words in errors and "the program goes on" in errors, (out, errors)
            assert capturing.dumps(place) == []
        before = os.umask(0)
        capturing.run(run, ["-c", "import torch; torch.ones(3)"])
        os.umask(before)
        (path,) = capturing.dumps(run)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode)


def test_kill():
    """Every step that ended a second before the program was killed is in the dump.

    The second is one of the training thread's processor time: on an idle machine the same, and on one where neither
    that thread nor the writer's comes to run, no steps are expected of them. It is killed once that thread has had a
    second and more of it after its first steps, however long that takes.
    """
    random.seed(int(os.environ.get("TFPROF_TEST_SEED", "1")))
    for attempt in range(int(os.environ.get("TFPROF_TEST_KILLS", "3"))):
        with capturing.Directory() as directory:
            with capturing.started(directory, ["-c", PROGRAM, str(capturing.SECONDS)]) as process:
                lines = [process.stdout.readline()]
                enough = int(lines[0].split()[1]) + random.uniform(1.2, 2.5) * 1e9
                while lines[-1] and int(lines[-1].split()[1]) < enough:
                    lines.append(process.stdout.readline())
                process.send_signal(signal.SIGKILL)
                lines += process.communicate(timeout=capturing.SECONDS)[0].splitlines()
            told = [tuple(map(int, line.split())) for line in lines if line.count(" ") == 1]
            (path,) = capturing.dumps(directory)
            summary = capturing.summary(path)
            recorded = steps(path)
            count, taken = told[-1]
            expected = max([number for number, when in told if when < taken - 1_000_000_000], default=0)
            print("killed: %d steps told, %d recorded, %d needed" % (count, recorded, expected))
            assert not summary["closed"] and recorded >= expected > 0, (recorded, expected)


def test_clock():
    """Times are those of CLOCK_MONOTONIC: what the program reads before and after a range lies around the range."""
    program = """
import sys, time, torch
from torch.profiler import record_function
until = time.monotonic() + 3
number = 0
while time.monotonic() < until:
    before = time.monotonic_ns()
    with record_function("range %d" % number):
        torch.ones(1)
    print(number, before, time.monotonic_ns())
    number += 1
    time.sleep(0.003)
"""
    with capturing.Directory() as directory:
        out, _ = capturing.run(directory, ["-c", program])
        (path,) = capturing.dumps(directory)
        ranges = {op.name: op for op in capturing.ops(path) if op.category == "user"}
        worst = 0
        for line in out.splitlines():
            number, before, after = map(int, line.split())
            op = ranges["range %d" % number]
            worst = max(worst, before - op.start, op.end - after)
        print("%d ranges; the farthest outside what the program itself measured: %d ns" % (len(ranges), worst))
        assert len(ranges) == len(out.splitlines()) and worst < 20_000, worst


def test_no_directory():
    with tempfile.TemporaryDirectory() as parent:
        for directory, reason in ((os.path.join(parent, "absent"), "No such file or directory"), ("/proc", "")):
            out, error = capturing.run(directory, ["-c", PROGRAM, "0.1"])
            assert out and error.count("\n") == 1, error
            assert error.startswith("tfprof: nothing is recorded") and reason in error, error
            print("one line:", error.strip())
        out, error = capturing.run(os.path.join(parent, "absent"), ["-c", PROGRAM, "0.1"], quiet=1)
        assert out and not error
        environment = capturing.environment(parent)
        environment["TFPROF_LIBRARY"] = os.path.join(parent, "none.so")
        command = [capturing.PYTHON, "-c", PROGRAM, "0.1"]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0 and result.stderr.count("\n") == 1, result.stderr
        assert result.stderr.startswith("tfprof: "), result.stderr
        print("one line:", result.stderr.strip())


def test_names_with_nul():
    names = ["a\0b", "\0", "long enough not to lie in the object itself\0tail", "plain"]
    program = """
import torch
for name in %r:
    with torch.profiler.record_function(name): torch.ones(3)
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program % names])
        (path,) = capturing.dumps(directory)
        query = "SELECT hex(name) AS hex FROM ops WHERE category = 'user' ORDER BY id"
        shell = os.path.join(capturing.BUILD, "tfprof")
        answer = subprocess.run([shell, "--format", "csv", path, query], capture_output=True, text=True, check=True)
        assert answer.stdout.split()[1:] == [name.encode().hex().upper() for name in names], answer.stdout


# Fills the disk between its first steps and its last ones, and makes room again.
FILLING = """
import os, recorder, torch
def work(name, count):
    for _ in range(count):
        with torch.profiler.record_function(name): torch.ones(3)
work("before", 500)
recorder.flush()
filler, piece = os.environ["TFPROF_RUN_DIRECTORY"] + "/filler", 1 << 20
with open(filler, "wb", buffering=0) as file:
    while piece:
        try: file.write(bytes(piece))
        except OSError: piece //= 2
work("meanwhile", 20000)
recorder.flush()
os.unlink(filler)
recorder.wait(1.1)  # it looks each second whether there is room again
work("after", 300)
"""


def test_full_disk():
    """A full disk that gets room again. (tests/crash/test_full_disk.py has one that stays full.)"""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", directory], capture_output=True)
        if mount.returncode:
            capturing.left_out.append("a small disk, since there is no right to mount one")
            return
        try:
            _, error = capturing.run(directory, ["-c", FILLING])
            assert error.count("\n") == 1 and error.startswith("tfprof: cannot write"), error
            (path,) = capturing.dumps(directory)
            rows = capturing.query(path, "SELECT name, count(*) AS n FROM ranges WHERE name <> 'gc.collect' GROUP BY 1")
            found = {row["name"]: row["n"] for row in rows}
            assert (found["before"], found["after"]) == (500, 300) and found.get("meanwhile", 0) < 20000, found
            summary = capturing.summary(path)
            assert summary["closed"] and {problem[1] for problem in summary["problems"]} == {"dropped_rows"}, summary
        finally:
            subprocess.run(["umount", directory], check=True)


def test_closed_descriptors():
    """A program that closes every descriptor, as daemons do, is recorded on, and its own files hold what it wrote."""
    program = """
import os, sys, time, torch
x = torch.ones(3)
range_of = torch.profiler.record_function
for number in range(3):
    with range_of("before"): x.relu()
time.sleep(1)
os.closerange(3, 1024)
files = [open("%s/%d" % (sys.argv[1], number), "w") for number in range(20)]
for file in files: print("mine", file=file, flush=True)
for number in range(30):
    with range_of("after"): x.relu()
    time.sleep(0.1)
for file in files: print("still mine", file=file, flush=True)
if sys.argv[2] == "gone":
    time.sleep(2)
    os.rename(os.environ["TFPROF_RUN_DIRECTORY"], sys.argv[1] + "/moved")
    os.closerange(3, 1024)
"""
    for ending in ("stays", "gone"):
        with capturing.Directory() as directory, tempfile.TemporaryDirectory() as own:
            out, error = capturing.run(directory, ["-c", program, own, ending])
            names = sorted(name for name in os.listdir(own) if name != "moved")
            texts = {open(os.path.join(own, name)).read() for name in names}
            assert len(names) == 20 and texts == {"mine\nstill mine\n"}, texts
            assert not error, error
            if ending == "gone":  # the dump goes on where it has been moved to
                directory = shutil.move(os.path.join(own, "moved"), directory)
            (path,) = capturing.dumps(directory)
            ranges = [op.name for op in capturing.ops(path) if op.category == "user"]
            assert ranges.count("before") == 3 and ranges.count("after") == 30, ranges
            assert capturing.summary(path)["closed"]
            print("every descriptor closed, the file %s: %d ranges" % (ending, len(ranges)))


def test_memory():
    """The library's own memory stays small, however much the program does."""
    program = """
import os, sys, torch
def resident(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
x = torch.ones(4)
def work(count):
    for number in range(count):
        torch.relu_(x)
work(1000)
before = resident()
work(600000)
after = resident()
def vary(count, size):
    for number in range(count):
        torch.empty(number % size, 2).t()
        with torch.profiler.record_function("range %d" % number): pass
vary(60000, 20011)
varied = resident()
vary(400000, 10**9)
print(after - before, varied - after, resident() - varied)
"""
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", program])
        many, varied, endless = map(int, out.split())
        print("1.2 million ops took %.1f MB, 60,000 names and 20,000 shapes %.1f MB more" % (many / 1e6, varied / 1e6))
        print("400,000 names and shapes after that %.1f MB more" % (endless / 1e6))
        assert many < 32e6 and varied < 64e6 and endless < 100e6, (many, varied, endless)
        (path,) = capturing.dumps(directory)
        summary = capturing.summary(path)
        assert not summary["problems"] and summary["rows"]["ops"] > 3_000_000, summary
        messages = [row["message"] for row in capturing.table(path, "diagnostics")
                    if row["reason"] == "capture_dropped"]
        assert len(messages) == 1 and messages[0].startswith("names (of ops, functions, threads), "), messages


def test_long_texts():
    """A text beyond what a dump holds reads as NULL, and is told; so is a name that is cut."""
    program = """
import time, torch
model = torch.nn.Linear(4, 4)
model.register_parameter("w" * (17 << 20), torch.nn.Parameter(torch.ones(3)))
for _ in range(40):
    with torch.profiler.record_function("n" * 4001):
        model(torch.ones(2, 4))
    time.sleep(0.01)
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program])
        (path,) = capturing.dumps(directory)
        names = [row["name"] for row in capturing.table(path, "nodes")]
        assert sorted(name or "" for name in names) == ["", "Linear", "bias", "weight"], names
        rows = capturing.table(path, "diagnostics")
        told = {row["message"]: row for row in rows if row["reason"] == "capture_dropped"}
        (cut,), (null,) = ([row for text, row in told.items() if words in text]
                           for words in ("longer than 4000 bytes", "read as NULL"))
        assert len(told) == 2 and cut["count"] == null["count"] == "1", told
        assert cut["message"].endswith("; the longest has 4001"), cut


capturing.main(globals())
