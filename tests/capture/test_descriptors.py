#!/usr/bin/env python3
"""A program may do to descriptors what it likes: its files hold what it wrote, its calls end as without the recorder.

    test_descriptors.py [--seconds N]     the storms last so long each
"""

import json
import os
import subprocess
import sys

import capturing

SECONDS = 3.0
if "--seconds" in sys.argv:
    at = sys.argv.index("--seconds")
    SECONDS = float(sys.argv[at + 1])
    del sys.argv[at : at + 2]

# Two threads of each rank close, reuse and dup2 over every number, while another trains, so that the rank agrees with
# the other on what is recorded. What does not end as it must where nobody else uses descriptors is counted.
STORM = """
import collections, errno, json, mmap, os, struct, sys, threading, time, torch
torch.set_num_threads(1)
rank, seconds, folder, way = int(os.environ.get("RANK", 0)), float(sys.argv[1]), sys.argv[2], sys.argv[3]
wrong, counts = collections.Counter(), collections.Counter()
SIZE = 8 << 20
def content(name): return bytes([name + 1]) * 4096
files = [os.open("%s/%d-%d" % (folder, rank, name), os.O_RDWR | os.O_CREAT) for name in range(4)]
for name, file in enumerate(files):
    os.write(file, content(name))
    os.truncate(file, SIZE)
before = [os.fstat(file) for file in files]
number_of = {facts.st_ino: name for name, facts in enumerate(before)}
# Ranks agree as long as they are not far apart: each waits for the other.
with open(folder + "/meeting", "ab+") as file:
    file.truncate(4096)
    meeting = mmap.mmap(file.fileno(), 4096)
def meet(steps):
    struct.pack_into("q", meeting, 8 * rank, steps)
    while struct.unpack_from("q", meeting, 8 * (1 - rank))[0] + 8 < steps and steps < 240: time.sleep(0.001)

# What the program and its libraries have open stays; the storm has all else for its own.
kept = {int(name) for name in os.listdir("/proc/self/fd")}
kept = {number for number in kept if os.path.exists("/proc/self/fd/%d" % number)}
if way == "shared": # there the recorder's are among them
    for number in list(kept):
        target = os.readlink("/proc/self/fd/%d" % number)
        if target.endswith(".tfprof") or target.startswith("/dev/shm/tfprof-"): kept.discard(number)
highest = max(files) + 300
numbers = [number for number in range(3, highest) if number not in kept] + list(range(4090, 4110))
stop = False

def expect(what, code, call, *arguments):
    counts[what] += 1
    try:
        result = call(*arguments)
    except OSError as problem:
        if problem.errno != code: wrong[what + ": " + problem.strerror] += 1
        return None
    if code: wrong[what + ": no error"] += 1
    return result

def storm(mine):
    at = 0
    while not stop:
        at += 1
        name = at % len(files)
        for number in mine:
            expect("dup2", 0, os.dup2, files[name], number)
        for number in mine:
            facts = expect("fstat", 0, os.fstat, number)
            if facts and number_of.get(facts.st_ino) != name: wrong["another file"] += 1
        for number in mine: expect("close", 0, os.close, number)
        for number in mine:
            expect("close again", errno.EBADF, os.close, number)
            expect("write", errno.EBADF, os.write, number, b"x")
        time.sleep(0)

def lowest():
    # Alone with the numbers below the storm's: it must get the same each time.
    got = os.open("%s/lowest-%d" % (folder, rank), os.O_RDWR | os.O_CREAT)
    os.close(got)
    while not stop:
        counts["open"] += 1
        again = os.open("%s/lowest-%d" % (folder, rank), os.O_RDWR)
        if again != got: wrong["open gave %d, not %d" % (again, got)] += 1
        os.close(again)
        time.sleep(0.001)

weight = torch.nn.Parameter(torch.ones(4))
weight.grad = torch.zeros(4)
optimizer = torch.optim.SGD([weight], lr=0.0)
optimizer.step() # The first one imports modules of PyTorch: their files would take numbers of the threads below.
numbers.remove(min(numbers)) # is lowest()'s
if way == "storm":
    threads = [threading.Thread(target=storm, args=(numbers[first::2],)) for first in range(2)]
    threads.append(threading.Thread(target=lowest))
else:
    threads = []
for thread in threads: thread.start()
end, steps = time.monotonic() + seconds, 1
while steps < 240 or time.monotonic() < end:
    value = weight.detach()
    for _ in range(50): value = value + 1
    optimizer.step()
    steps += 1
    meet(steps)
    time.sleep(0.001)
    if way == "shared" and steps % 10 == 0:
        for number in numbers if steps > 10 else (): # nobody else has closed them
            expect("close", 0, os.close, number)
        os.closerange(max(kept) + 1, 20000)
        for number in numbers: os.dup2(files[steps % 4], number)
stop = True
for thread in threads: thread.join()
for name, file in enumerate(files):
    facts = os.fstat(file)
    if (facts.st_size, facts.st_blocks) != (SIZE, before[name].st_blocks): wrong["size of a file"] += 1
    if os.pread(file, SIZE, 0) != content(name).ljust(SIZE, b"\\0"): wrong["bytes of a file"] += 1
print(json.dumps({"rank": rank, "steps": steps, "wrong": wrong, "counts": counts}), flush=True)
"""

# Where a sandbox refuses close_range(2), as older ones do, and kernels before 5.9.
REFUSE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 436), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("HBBI", *line) for line in code)
memory = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(memory))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
"""


def ranks(directory, arguments, before=(), seconds=0.0):
    """Runs two ranks; returns what each prints, and the dumps."""
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(os.getpid()), "OMP_NUM_THREADS": "1"}
    settings = dict(capturing.environment(directory, ops="sampled", overhead=2), **job)
    processes = [
        subprocess.Popen(
            [*before, capturing.PYTHON, "-c", STORM, str(seconds), *arguments],
            env=dict(settings, RANK=str(rank)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = []
    for process in processes:
        out, errors = process.communicate(timeout=capturing.SECONDS + 10 * seconds)
        assert process.returncode == 0, (out, errors)
        told.append(json.loads(out))
        assert not errors, errors
    return told


def check_dumps(directory, told):
    """They are whole, no write went elsewhere, and the ranks agreed: the same steps were recorded."""
    sql = """SELECT rank, count(*) AS steps,
        group_concat(number) FILTER (WHERE ops_recorded AND number < 240) AS recorded
        FROM (SELECT * FROM steps ORDER BY id) AS steps JOIN profiles ON profiles.id = steps.profile_id
        GROUP BY steps.profile_id ORDER BY 1"""
    rows = capturing.query(directory, sql)
    for path in capturing.dumps(directory):
        summary = capturing.summary(path)
        assert summary["closed"], summary
        reasons = {problem[1] for problem in summary["problems"]}
        assert not reasons & {"capture_stray_write", "capture_dropped"}, summary
    steps = [(row["rank"], row["steps"]) for row in rows]
    assert steps == [(each["rank"], each["steps"]) for each in told], (steps, told)
    return rows


def test_storm():
    """Nothing ends otherwise than POSIX says, and the files hold what they held."""
    with capturing.Directory() as directory, capturing.Directory() as own:
        told = ranks(directory, [own, "storm"], seconds=SECONDS)
        for each in told:
            assert each["wrong"] == {}, each
            assert each["counts"]["dup2"] > 1000 and each["counts"]["open"] > 20, each
        rows = check_dumps(directory, told)
        assert rows[0]["recorded"] == rows[1]["recorded"], rows
        print("storm: %s" % [each["counts"] for each in told])


def test_shared_table():
    """Where the recorder cannot have a table of its own it finds its files replaced, and opens them again."""
    with capturing.Directory() as directory, capturing.Directory() as own:
        told = ranks(directory, [own, "shared"], before=[capturing.PYTHON, "-c", REFUSE])
        for each in told:
            assert each["wrong"] == {}, each
        check_dumps(directory, told)
        print("shared table: %s steps" % [each["steps"] for each in told])


# Started with descriptors closed, and closes those that it has. What the numbers are, and what libraries in C that
# write to 2 bring about, is told in a file.
CLOSED = """
import ctypes, errno, json, os, sys, time
def look():
    found = {}
    for number in range(3):
        try: found[number] = os.readlink("/proc/self/fd/%d" % number)
        except OSError: found[number] = None
    return found
told = {"start": look()}
import torch
told["import"] = look()
x = torch.ones(3)
libc = ctypes.CDLL(None)
seen = set()
for closed in range(8):
    for number in range(3):
        try: os.close(number)
        except OSError: pass
    lent = [os.open("/dev/null", os.O_RDWR) for number in range(3)]
    for number in range(3):
        if closed >> number & 1: os.close(number)
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        for _ in range(50): x + 1
        for number in range(3):
            if closed >> number & 1:
                try: seen.add((number, "write", os.write(number, b"")))
                except OSError as problem: seen.add((number, "write", problem.errno))
                try: seen.add((number, "close", os.close(number)))
                except OSError as problem: seen.add((number, "close", problem.errno))
        libc.perror(b" ".join([b"a", b"library"]))
        if closed & 1:
            first = os.open("/dev/null", os.O_RDONLY)
            seen.add((0, "open", first))
            os.close(first)
told["seen"] = sorted(seen)
third = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(third, json.dumps(told).encode())
"""


def test_closed():
    told = []
    with capturing.Directory() as directory:
        for name, command in (
            ("plain", [capturing.PYTHON]),
            ("recorded", [os.path.join(capturing.BUILD, "tfprof-capture"), "-o", directory, "--", capturing.PYTHON]),
        ):
            result = os.path.join(directory, name)
            script = 'exec "$@" <&- >&- 2>&-'
            words = ["sh", "-c", script, "sh", *command, "-c", CLOSED, result, str(SECONDS / 16)]
            done = subprocess.run(words, timeout=capturing.SECONDS)
            assert done.returncode == 0, (name, done)
            told.append(json.load(open(result)))
        assert told[0] == told[1], told
        assert {row[2] for row in told[1]["seen"] if row[1] != "open"} == {9}, told
        (path,) = capturing.dumps(directory)
        summary = capturing.summary(path)
        assert summary["closed"] and summary["rows"]["ops"] > 1000, summary
        data = open(path, "rb").read()
        assert b"a library:" not in data
        print("0, 1 and 2 closed: %s, %d ops" % (told[1]["start"], summary["rows"]["ops"]))


def test_stderr_of_the_program():
    """What the recorder has to say is not said in a file that has become descriptor 2, nor to what stands for
    sys.stderr."""
    program = """
import io, os, sys
way, path = sys.argv[1:]
if way == "file": os.close(2); assert os.open(path, os.O_RDWR | os.O_CREAT) == 2
sys.stderr = io.StringIO()
import torch
sys.modules["_tfprof_hooks"].say("a problem")
assert sys.stderr.getvalue() == "", sys.stderr.getvalue()
"""
    with capturing.Directory() as directory:
        own = os.path.join(directory, "own")
        _, errors = capturing.run("/nowhere", ["-c", program, "stays", own])
        assert errors.startswith("tfprof: nothing is recorded") and errors.endswith("tfprof: a problem\n"), errors
        _, errors = capturing.run("/nowhere", ["-c", program, "file", own])
        assert (errors, os.path.getsize(own)) == ("", 0), (errors, open(own).read())


capturing.main(globals())
