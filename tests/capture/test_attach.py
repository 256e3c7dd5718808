"""Programs that are dormant until somebody asks (tfprof-capture --dormant, --list, --attach)."""

import contextlib
import glob
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

import capturing

bounded = capturing.bounded

PROGRAM = os.path.join(capturing.PROGRAMS, "steps_until.py")
CAPTURE = os.path.join(capturing.BUILD, "tfprof-capture")
ASK, RECORD, END, FACTS, BEGUN, ENDED, REFUSED = range(1, 8)
ENOUGH = 10
PATIENCE = 120  # seconds; a test that waits for so long has failed
STEPS, DURATION, TOGETHER, FILE, PROBLEM = 4, 5, 9, 67, 68  # tags of capture/common/control_message.h


def ask(*options, status=0):
    """tfprof-capture itself: (stdout, stderr)."""
    result = bounded.run([CAPTURE, *options], capturing.SECONDS, stdin=subprocess.DEVNULL)
    assert status is None or result.returncode == status, (options, result.returncode, result.stderr)
    return result.stdout, result.stderr


def wait_for(look, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain for " + what)


def is_ours(process):
    """Runs of other tests, which have no place of their own, are listed, too."""
    with contextlib.suppress(OSError):
        with open("/proc/%d/environ" % process, "rb") as file:
            return b"XDG_RUNTIME_DIR=" + os.environ["XDG_RUNTIME_DIR"].encode() in file.read().split(b"\0")
    return False


def listed():
    """{process: the rest of its row}."""
    rows = [line.split(None, 1) for line in ask("--list")[0].splitlines()[1:]]
    return {int(process): rest for process, rest in rows if is_ours(int(process))}


@contextlib.contextmanager
def dormant(folder, *arguments, count=1, **more):
    """A program that can be asked: (the numbers of its processes that train, its run, its tfprof-capture)."""
    run, stop = os.path.join(folder, "run"), os.path.join(folder, "stop")
    command = [CAPTURE, "--dormant", "-o", run, "--", capturing.PYTHON, PROGRAM, stop, *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with bounded.started(command, env=dict(os.environ, **more), **streams) as program:
        try:

            def training():
                found = [process for process, rest in listed().items() if int(re.split(r"  +", rest)[1]) > 0]
                return len(found) == count and found

            yield wait_for(training, "steps"), run, program
        finally:
            open(stop, "w").close()


def end(program, folder):
    open(os.path.join(folder, "stop"), "w").close()
    return program.communicate(timeout=capturing.SECONDS)


# ---- The other side of the socket, as a hostile program may be.


def message(kind, numbers={}, version=1):
    fields = b"".join(bytes([tag]) + struct.pack("<Q", value) for tag, value in numbers.items())
    return b"tfpc" + bytes([version, kind]) + struct.pack("<H", len(fields)) + fields


def place():
    return os.path.join(os.environ["XDG_RUNTIME_DIR"], "tfprof")


def connect(process):
    (path,) = glob.glob(os.path.join(place(), "%d-*[0-9]" % process))
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(capturing.SECONDS)
    one.connect(path)
    return one


def receive(one):
    """(kind, {tag: value}); None: nobody is there any more."""
    head = one.recv(8, socket.MSG_WAITALL)
    if len(head) < 8:
        return None
    size = struct.unpack("<H", head[6:])[0]
    body, found = one.recv(size, socket.MSG_WAITALL) if size else b"", {}
    while body:
        wide = body[0] >= 64
        length = struct.unpack("<H", body[1:3])[0] if wide else 8
        value = body[3 if wide else 1:][:length]
        found[body[0]] = value.decode() if wide else struct.unpack("<Q", value)[0]
        body = body[(3 if wide else 1) + length:]
    return head[5], found


def visit(process, numbers):
    """One recording: what its end told."""
    with connect(process) as one:
        one.sendall(message(RECORD, numbers))
        assert receive(one)[0] == BEGUN
        kind, found = receive(one)
        assert kind == ENDED and receive(one) is None, (kind, found)
        return found


# ---- Tests.


def test_one(folder):
    """Five steps, twice; then many times, and nothing grows; and all that can go wrong on the socket."""
    with dormant(folder, RANK="3", WORLD_SIZE="4") as ((process,), run, program):
        row = re.split(r"  +", listed()[process])
        assert os.listdir(run) == [] and (row[0], row[2]) == ("3 of 4", "dormant") and "pytorch" in row[3], row
        (path,) = glob.glob(os.path.join(place(), "%d-*" % process))
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_IMODE(os.stat(place()).st_mode) == 0o700
        for number in (1, 2):
            error = ask("--attach", {1: str(process), 2: "rank:*"}[number], "--steps", "5")[1]
            assert "in 5 optimizer steps" in error and "warning" not in error, error
            assert len(capturing.dumps(run)) == number
        files = [path for path in sorted(glob.glob(run + "/*.tfprof"), key=os.path.getmtime)]
        last = -1
        for path in files:
            assert capturing.summary(path)["closed"]
            steps = capturing.query(path, "SELECT number, ops_recorded, is_warmup FROM steps ORDER BY id")
            numbers = [step["number"] for step in steps]  # go on from those of the recording before
            assert numbers == list(range(numbers[0], numbers[0] + 5)) and numbers[0] > last, (numbers, last)
            last = numbers[-1]
            assert all(step["ops_recorded"] == 1 for step in steps), steps
            counts = capturing.query(
                path,
                """SELECT name, count(*) AS n, count(step_id) AS inside, count(code_trace_id) AS lines FROM ops
                WHERE name IN ('aten::addmm', 'Optimizer.step#SGD.step') GROUP BY name ORDER BY name""",
            )
            assert [(row["n"], row["inside"]) for row in counts] == [(5, 5), (10, 10)], counts
            assert all(row["lines"] == row["n"] for row in counts), counts
        nodes = ["Sequential", "0", "1", "2", "0.weight", "0.bias", "2.weight", "2.bias"]
        assert [row["name"] for row in capturing.query(files[1], "SELECT name FROM nodes ORDER BY id")] == nodes
        names = capturing.query(run, "SELECT name FROM _process_names ORDER BY profile_id")
        assert sorted(row["name"] for row in names) == ["rank 3, window 1 of 2", "rank 3, window 2 of 2"], names
        text = capturing.query(run, "SELECT text FROM run_summary WHERE title = 'run'")[0]["text"]
        assert "2 processes" not in text, text
        rows = capturing.query(files[1], "SELECT count(*) AS n, sum(is_warmup) AS warm FROM steps")
        assert rows == [{"n": 5, "warm": 0}], rows
        before = capturing.query(files[1], "SELECT value FROM counters WHERE name = 'capture_steps_before'")
        assert before[0]["value"] >= 5, before
        check_socket(process)
        check_growth(process)
        check_ends(process, folder)
        wait_for(lambda: re.split(r"  +", listed()[process])[2] == "dormant", "the end of a recording")
        out, error = end(program, folder)
        expected = bounded.run([capturing.PYTHON, PROGRAM, os.path.join(folder, "stop")], capturing.SECONDS).stdout
        assert (program.returncode, out) == (0, expected), (out, expected, error)
        assert os.listdir(place()) == [], os.listdir(place())
    print("one process")


def check_socket(process):
    for hostile in (b"GET / HTTP/1.1\r\n\r\n", message(99), b"tfpc\1\1\xff\xff", message(RECORD)[:7], b"\0" * 100000):
        with connect(process) as one:
            with contextlib.suppress(OSError):  # it may have hung up already
                one.sendall(hostile)
                one.shutdown(socket.SHUT_WR)
                assert receive(one) is None, hostile
    for wrong, said in ((message(RECORD), "neither steps nor"), (message(ASK, version=7), "another version")):
        with connect(process) as one:
            one.sendall(wrong)
            kind, found = receive(one)
            assert kind == REFUSED and said in found[PROBLEM], (kind, found)
    crowd = [connect(process) for _ in range(100)]  # who says nothing is hung up on, and who comes next is heard
    assert process in listed()
    for one in crowd:
        one.close()
    with connect(process) as first, connect(process) as second:
        first.sendall(message(RECORD, {DURATION: 10**12}))
        assert receive(first)[0] == BEGUN
        second.sendall(message(RECORD, {STEPS: 1}))
        kind, found = receive(second)
        assert kind == REFUSED and "somebody else" in found[PROBLEM], found
        first.sendall(message(END))
        assert receive(first)[0] == ENDED
    with connect(process) as one:  # more steps than can be counted
        one.sendall(message(RECORD, {STEPS: 2**64 - 1}))
        assert receive(one)[0] == BEGUN
        wait_for(lambda: re.split(r"  +", listed()[process])[2] == "recording", "the recording")
        one.sendall(message(END))
        kind, found = receive(one)
        steps = capturing.query(found[FILE], "SELECT DISTINCT ops_recorded AS r FROM steps")
        assert kind == ENDED and (not found.get(STEPS) or steps == [{"r": 1}]), (found, steps)
        os.unlink(found[FILE])


def check_growth(process):
    """Fifty more recordings: memory and descriptors stay as they are once the first have been."""

    def size():
        with open("/proc/%d/statm" % process) as file:
            resident = int(file.read().split()[1]) * 4096
        return resident, len(os.listdir("/proc/%d/fd" % process)), len(os.listdir("/proc/%d/task" % process))

    for number in range(50):
        found = visit(process, {STEPS: 1})
        assert found[STEPS] == 1
        os.unlink(found[FILE])
        if number == 9:
            before = size()
    after = size()
    assert after[1:] == before[1:] and after[0] - before[0] < 2 << 20, (before, after)


def check_ends(process, folder):
    """Ctrl-C ends a recording in order; so does the end of who asked; and who is stopped is told."""
    target = os.path.join(folder, "slow")
    command = [CAPTURE, "--attach", str(process), "--for", "1h", "-o", target]
    with bounded.started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as asking:
        wait_for(lambda: "recording" in listed()[process], "a recording")
        assert "somebody else" in ask("--attach", str(process), status=125)[1]
        asking.send_signal(signal.SIGINT)
        error = asking.communicate(timeout=capturing.SECONDS)[1]
        assert asking.returncode == 0 and "recorded" in error, error
    assert capturing.summary(capturing.dumps(target)[0])["closed"]
    with bounded.started(command[:-1] + [target + "2"], stdout=subprocess.DEVNULL) as asking:
        wait_for(lambda: "recording" in listed()[process], "a recording")
        asking.kill()
    wait_for(lambda: "dormant" in listed()[process], "the end of a recording")
    assert capturing.summary(capturing.dumps(target + "2")[0])["closed"]
    os.kill(process, signal.SIGSTOP)
    wait_for(lambda: ") T" in open("/proc/%d/stat" % process).read(), "a stopped process")
    error = ask("--attach", str(process), status=125)[1]
    assert "process %d: it does not answer: it is stopped" % process in error, error
    os.kill(process, signal.SIGCONT)


def test_several(folder):
    """Processes that were forked from a dormant one are asked by themselves: all at once; one of them is gone."""
    with dormant(folder, "8", count=8) as (processes, run, program):
        assert os.listdir(run) == []
        error = ask("--attach", ",".join(map(str, processes)), "--for", "1s", "-o", os.path.join(folder, "all"))[1]
        share = re.search(r"all 8 were recorded at the same time for [0-9.]+ ms, (\d+) % of the longest", error)
        assert share and int(share.group(1)) > 0 and "of 8 processes" in error, error
        paths = capturing.dumps(os.path.join(folder, "all"))
        assert len(paths) == 8
        starts = []
        for path in paths:
            steps = capturing.query(path, "SELECT min(start_ns) AS first, max(end_ns) AS last FROM steps")
            starts.append((steps[0]["first"], steps[0]["last"]))
        overlap = min(last for _, last in starts) - max(first for first, _ in starts)
        print("eight processes: windows overlap by %s %%" % share.group(1))
        assert overlap > 0, starts
        two = ",".join(map(str, processes[:2]))
        os.kill(processes[2], signal.SIGKILL)
        error = ask("--attach", two + ",%d" % processes[2], "--steps", "3", status=1)[1]
        assert "of 2 processes" in error and "process %d: " % processes[2] in error, error
        assert len(capturing.dumps(run)) == 2
        # Who looks for others while it is about to end may find it still there.
        gone = os.path.join(place(), "%d-*" % processes[2])
        wait_for(lambda: listed() and not glob.glob(gone), "the socket of who is gone")
        end(program, folder)
    print("several processes")


def check_whole_steps(path, least):
    """What was recorded of a step before its end only is none, and the others are whole."""
    cut = capturing.query(path, "SELECT time_ns, value FROM counters WHERE name = 'capture_step_cut'")
    steps = capturing.query(
        path,
        """SELECT number, steps.start_ns, ops_recorded AS r, sum(ops.name = 'aten::addmm') AS n,
            sum(ops.name LIKE 'Optim%') AS o
        FROM steps JOIN ops ON step_id = steps.id GROUP BY steps.id ORDER BY steps.id""",
    )
    first = steps[0]["number"]
    assert len(steps) >= least and [step["number"] for step in steps] == list(range(first, first + len(steps))), steps
    assert all((step["r"], step["n"], step["o"]) == (1, 2, 2) for step in steps), steps
    if cut:  # it began within a step, as nearly all do
        assert (first, steps[0]["start_ns"] >= cut[0]["time_ns"]) == (cut[0]["value"], True), (cut, steps)
    return len(steps), len(cut)


@contextlib.contextmanager
def hostile():
    """This process as one that can be asked, and does not stop answering."""
    with open("/proc/self/stat") as file:
        start = file.read().rsplit(")", 1)[1].split()[19]
    path = os.path.join(place(), "%d-%s" % (os.getpid(), start))

    def answer():
        with contextlib.suppress(OSError):
            while True:
                one = listener.accept()[0]
                with one, contextlib.suppress(OSError):
                    is_question = one.recv(4096)[5] == ASK
                    one.sendall(message(FACTS, {1: os.getpid(), STEPS: 10}))
                    while not is_question:
                        one.sendall(message(ENOUGH) * 100)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        threading.Thread(target=answer, daemon=True).start()
        try:
            yield os.getpid()
        finally:
            os.unlink(path)
            listener.shutdown(socket.SHUT_RDWR)


def test_together(folder):
    """Several begin and end at one moment each, with at least the asked steps; none holds the others."""
    with dormant(folder, "3", count=3) as (processes, run, program):
        for number in (1, 2):
            target = os.path.join(folder, "together%d" % number)
            error = ask("--attach", ",".join(map(str, processes)), "--steps", "5", "-o", target)[1]
            counts = [check_whole_steps(path, 5) for path in capturing.dumps(target)]
            most = max(steps for steps, _ in counts)
            assert len(counts) == 3 and sum(cut for _, cut in counts), counts
            said = re.search(r"5 steps were asked for; until all had theirs (?:\d+ to )?(\d+) were", error)
            assert (most > 5) == bool(said) and (not said or int(said.group(1)) == most), (counts, error)
        print("three processes, asked for 5 steps:", counts, *re.findall(r"\d+ % of the longest", error))
        with hostile() as other:
            error = ask("--attach", "%d,%d" % (processes[0], other), "--steps", "3", status=1)[1]
            assert "process %d: what it answers is not understood: there is no end of it" % other in error, error
            assert re.search(r"recorded [0-9,]+ ops in \d+ optimizer steps into", error), error
        with connect(processes[0]) as one:  # who never says that all have theirs does not hold it
            one.sendall(message(RECORD, {STEPS: 5, TOGETHER: 1}))
            assert [receive(one)[0] for _ in range(2)] == [BEGUN, ENOUGH]
            kind, found = receive(one)
            assert kind == ENDED and found[STEPS] >= 5 and receive(one) is None, (kind, found)
            assert check_whole_steps(found[FILE], 5)[0] == found[STEPS], found
        end(program, folder)
    print("together")


def test_others(folder):
    """Processes that cannot be asked, and what is said of them."""
    assert "there is no such process" in ask("--attach", "4194303", status=125)[1]
    error = ask("--attach", str(os.getpid()), status=125)[1]
    assert "it was not started to be asked" in error and "--dormant -o run -- " in error, error
    for whom in ("x", "rank:y", "rank:*", "0", "-1", ",", ",,"):  # of 0 none is meant, and not all
        error = ask("--attach", whom, status=125)[1]
        assert error.startswith("tfprof-capture: ") and "recorded" not in error, error
    for options in (
        ["--attach", "1", "--steps", "1-2"],
        ["--attach", "1", "--for", "2 s"],
        ["--attach", "1", "--for", "2s", "--steps", "5"],
        ["--attach", "1", "program"],
        ["--dormant", "--python=calls", "--", "true"],
        ["--for", "2s", "--", "true"],
    ):
        ask(*options, status=2)
    # One that is recorded in the usual way.
    code = "import torch, os, sys, time; torch.ones(1).add(1)\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.05)"
    stop, run = os.path.join(folder, "stop"), os.path.join(folder, "usual")
    command = [CAPTURE, "-o", run, "--", capturing.PYTHON, "-c", code, stop]
    with bounded.started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as program:
        rows = wait_for(listed, "a recording")
        ((process, row),) = rows.items()
        assert "recorded" in row, rows
        error = ask("--attach", str(process), status=125)[1]
        assert "it is recorded already, into %s" % run in error, error
        end(program, folder)
    assert os.listdir(place()) == [], os.listdir(place())
    # A place that is no place.
    os.chmod(place(), 0o755)
    try:
        out, error = capturing.run(folder, ["-c", "import torch; print(torch.ones(1).item())"], dormant=1)
        assert out == "1.0\n"
        socket_at = glob.glob("/tmp/tfprof-%d/*" % os.geteuid())
        assert not glob.glob(place() + "/*"), socket_at
    finally:
        os.chmod(place(), 0o700)
    # Nobody asked.
    with open(stop, "w"):
        pass
    nothing = os.path.join(folder, "nothing")
    out, error = capturing.launch(nothing, [capturing.PYTHON, PROGRAM, stop], ["--dormant"])
    assert "nobody asked for it" in error and os.listdir(nothing) == [], error
    print("others")


ASKING_ITSELF = """
import torch, tfprof, time
layer = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
seen = [tfprof.is_recording()]
while len(seen) < 3:
    optimizer.step()
    time.sleep(0.01)
    if tfprof.is_recording() != seen[-1]:
        seen.append(not seen[-1])
print(seen)
"""


def test_what_it_says_of_itself(folder):
    """tfprof.is_recording() while nobody asks, and while somebody does; who watches the run sees the steps, and its end
    when the process has ended, not when the recording has."""
    run = os.path.join(folder, "run")
    os.mkdir(run)
    watch = [os.path.join(capturing.BUILD, "tfprof"), run, "--watch", "0.2", "--csv", "SELECT count(*) AS n FROM steps"]
    command = [CAPTURE, "--dormant", "-o", run, "--", capturing.PYTHON, "-c", ASKING_ITSELF]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with bounded.started(watch, **streams) as watching, bounded.started(command, **streams) as program:
        assert "is empty; waiting for the first recording" in watching.stderr.readline()
        process, = wait_for(lambda: [one for one, row in listed().items() if int(re.split(r"  +", row)[1])], "steps")
        assert "in 3 optimizer steps" in ask("--attach", str(process), "--steps", "3")[1]
        out, error = program.communicate(timeout=capturing.SECONDS)
        assert (program.returncode, out) == (0, "[False, True, False]\n"), (out, error)
        out = watching.communicate(timeout=capturing.SECONDS)[0]
        assert watching.returncode == 0 and out.endswith("n\n3\n"), out
    print("what it says of itself")


def main():
    capturing.need_torch()
    with capturing.Directory() as directory:
        os.environ["XDG_RUNTIME_DIR"] = os.path.abspath(directory)
        os.chmod(directory, 0o700)
        for test in (test_others, test_one, test_several, test_together, test_what_it_says_of_itself):
            if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
                continue
            with capturing.Directory() as folder:
                test(os.path.abspath(folder))


if __name__ == "__main__":
    main()
