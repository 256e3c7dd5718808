"""A process that ends no step is looked at once, while it hangs: what its threads wait for, where their Python is, what
they are in; and it stays in the file whatever ends the process.
"""

import os
import re
import signal
import subprocess
import time

import capturing

# Hangs at a lock until it is told to go on, then works at something else for as long, then hangs in C for good, with
# Python's lock.
PROGRAM = """
import os, re, sys, threading, torch, without_dynamo
torch.set_num_threads(1)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def steps(count):
    for _ in range(count):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
held, is_held = threading.Lock(), threading.Event()
def keeper():
    with held:
        is_held.set()
        sys.stdin.readline()
def waits():
    held.acquire()
def evaluates():
    line = []
    threading.Thread(target=lambda: line.append(sys.stdin.readline()), name="reader", daemon=True).start()
    while not line: model(torch.ones(2, 4))
threading.Thread(target=keeper, name="the keeper", daemon=True).start()
is_held.wait()
steps(12)
with torch.profiler.record_function("the range"): waits()
steps(3)
evaluates()
steps(3)
re.match(r"(a+)+$", "a" * 60 + "b")
"""
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.split("\n"), 1)}

THREADS = """SELECT step_number, is_working, thread_count, hangs.noticed_ns - hangs.start_ns AS after_ns, limit_ns,
    hang_threads.thread_id = hangs.thread_id AS is_main, threads.name, state, waits_for, system_call, busy_ratio,
    is_changing, range, frames.line, c_stack
  FROM hang_threads JOIN hangs ON hangs.id = hang_id JOIN threads ON threads.id = hang_threads.thread_id
  LEFT JOIN code_traces AS traces ON traces.id = code_trace_id
  LEFT JOIN code_frames AS frames ON frames.id = traces.line_frame_id"""


def threads_at(directory, step, seconds=240):
    """The rows of the hang in that step, which is waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rows = [row for row in capturing.query(directory, THREADS) if row["step_number"] == step]
        if rows:
            return rows
        time.sleep(0.3)
    raise AssertionError("no hang in step %d: %s" % (step, capturing.query(directory, "SELECT * FROM hangs")))


def wait_for_file(directory):
    while not capturing.dumps(directory):
        time.sleep(0.1)


def test_hangs_of_a_process():
    with capturing.Directory() as directory:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(PROGRAM)
        command = [capturing.PYTHON, path]
        environment = capturing.environment(directory, hang_after=1, hang_c_stacks=1)
        with capturing.bounded.started(command, env=environment, text=True, **streams) as process:
            wait_for_file(directory)
            rows = threads_at(directory, 12)
            with_c = not capturing.query(directory, "SELECT * FROM diagnostics WHERE reason = 'capture_no_c_stacks'")
            assert not with_c or all(re.match(r"\S+\+0x[0-9a-f]+( \S+\+0x[0-9a-f]+)?\n", row["c_stack"])
                                     for row in rows if row["system_call"] in ("futex", "read")), rows
            main = [row for row in rows if row["is_main"]]
            assert len(main) == 1 and main[0]["waits_for"] == "lock" and main[0]["state"] == "sleeping", rows
            assert main[0]["line"] == LINES["held.acquire()"] and main[0]["range"] == "the range", rows
            assert main[0]["system_call"] == "futex" and not main[0]["is_changing"], rows
            assert main[0]["after_ns"] >= main[0]["limit_ns"] >= 10**9 and not main[0]["is_working"], rows
            keeper = [row for row in rows if row["line"] == LINES["sys.stdin.readline()"]]
            assert len(keeper) == 1 and keeper[0]["waits_for"] == "pipe", rows
            assert keeper[0]["name"] == "the keeper", rows  # which has recorded nothing
            assert rows[0]["thread_count"] == len(rows) and not [row for row in rows if "tfprof" in row["name"]], rows
            process.stdin.write("go on\n")
            process.stdin.flush()

            rows = threads_at(directory, 15)
            assert all(row["is_working"] and not row["c_stack"] for row in rows), rows
            process.stdin.write("go on\n")
            process.stdin.flush()

            rows = threads_at(directory, 18)
            main = [row for row in rows if row["is_main"]]
            assert main[0]["line"] == LINES['re.match(r"(a+)+$", "a" * 60 + "b")'], rows
            assert main[0]["state"] == "running" and main[0]["waits_for"] is None and main[0]["busy_ratio"] > 0, rows
            process.send_signal(signal.SIGKILL)
            process.wait()
        _, error = process.communicate()
        assert error.count("has ended no step for") == 1, error
        assert threads_at(directory, 18) == rows, capturing.query(directory, THREADS)
        hung = capturing.query(directory, "SELECT number FROM steps WHERE is_hung")  # in the other one it worked
        assert hung == capturing.query(directory, "SELECT number FROM steps JOIN _hung_steps ON step_id = id"), hung
        assert [row["number"] for row in hung] == [12], hung
        over = capturing.query(directory, "SELECT message FROM diagnostics WHERE reason = 'capture_hang_over'")
        assert len(over) >= 2 and all("until the next one" in row["message"] for row in over), over
        told = capturing.query(directory, "SELECT severity, message FROM advise WHERE check_name = 'hangs'")
        first = capturing.query(directory, "SELECT check_name, severity FROM advise LIMIT 1")
        assert first == [{"check_name": "hangs", "severity": "critical"}], first
        assert len(told) == 2 and " runs at program.py:" in told[0]["message"], told
        assert told[1]["severity"] != "critical" and "waits for a lock at" in told[1]["message"], told
        summary = capturing.bounded.run([os.path.join(capturing.BUILD, "tfprof"), directory, "summary"], 240).stdout
        assert summary.startswith("hang ") and " has ended no step since " in summary.splitlines()[0], summary
        print("lock, evaluation, a loop in C:", len(rows), "threads")


# One after the other: a child that waits and ends in order, one that waits and does not, and their parent, in vain.
ENDS = PROGRAM.split("held, is_held")[0] + """
import time
for status in (0, 3):
    if not os.fork():
        steps(12)
        time.sleep(2.5)
        os._exit(status)
    os.wait()
steps(12)
time.sleep(2.5)
raise KeyboardInterrupt
"""


def test_how_processes_end():
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", ENDS], hang_after=1, status=None)
        rows = capturing.query(directory, "SELECT severity, message FROM hangs_check ORDER BY message LIKE '%status%', "
                                          "message LIKE '%Keyboard%'")
        assert [row["severity"] for row in rows] == ["info", "critical", "critical"], rows
        assert "until it ended in order: it sleeps at" in rows[0]["message"], rows
        print("in order, with a status, by an exception")


# Four ranks; one after the other hangs in its own way, until it is told to go on, and the others wait in a collective.
RANKS = """
import os, re, signal, sys, threading, time, torch
import torch.distributed as dist, recorder, without_dynamo
folder = sys.argv[1]
def may_go(number): return os.path.exists(os.path.join(folder, "go-%d" % number))
def train(model, optimizer, count):
    for _ in range(count):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
def waits_for_lock(number):
    held = threading.Lock()
    held.acquire()
    def keep():
        while not may_go(number): time.sleep(0.05)
        held.release()
    threading.Thread(target=keep).start()
    held.acquire()  # lock
def sleeps(number):
    while not may_go(number): time.sleep(0.5)  # sleep
def leaves_out_collective(number, other):
    def late():
        while not may_go(number): time.sleep(0.05)
        dist.all_reduce(torch.ones(1))
    thread = threading.Thread(target=late)
    thread.start()
    dist.barrier(group=other)  # left out
    thread.join()
def is_busy(number):
    while not may_go(number): re.match(r"(a+)+$", "a" * 22 + "b")  # busy
def work(rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + folder + "/meeting", rank=rank, world_size=4)
    other = dist.new_group()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    train(model, optimizer, 12)
    if rank == 1: waits_for_lock(1)
    train(model, optimizer, 3)
    if rank == 2: sleeps(2)
    train(model, optimizer, 3)
    if rank == 3: leaves_out_collective(3, other)
    else:
        dist.all_reduce(torch.ones(1))
        dist.barrier(group=other)
    train(model, optimizer, 3)
    if rank == 0: is_busy(4)
    train(model, optimizer, 3)
    recorder.wait(0.5)  # so long it may take until a step is in the file
    dist.barrier()
    if rank == 2: os.kill(os.getpid(), signal.SIGKILL)
    while not may_go(5): time.sleep(0.05)
    os._exit(0)
for rank in range(4):
    if not os.fork(): work(rank)
for _ in range(4): os.wait()
"""


def test_hangs_of_ranks():
    """Each time the right rank is named, with its line, and the others wait for it."""
    expected = [(12, 1, "# lock", "lock"), (15, 2, "# sleep", "sleep"), (18, 3, "# left out", None),
                (21, 0, "# busy", None)]
    lines = {text.rpartition("#")[2]: number for number, text in enumerate(RANKS.split("\n"), 1) if "  #" in text}
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(RANKS)
        environment = capturing.environment(directory, hang_after=1)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = [capturing.PYTHON, path, directory]
        with capturing.bounded.started(command, env=environment, text=True, **streams) as process:
            wait_for_file(directory)
            for number, (step, rank, mark, waits_for) in enumerate(expected, 1):
                rows = ranks_at(directory, "step_number = %d" % step, 4)
                missing = [row for row in rows if row["is_missing"]]
                assert len(missing) == 1, (rows, capturing.query(directory, "SELECT * FROM hang_collectives"))
                missing = missing[0]
                assert missing["rank"] == rank and missing["role"] == "missing", rows
                assert missing["line"] == lines[mark[1:]], (missing, lines)
                assert waits_for in (None, missing["waits_for"]), missing
                assert {row["role"] for row in rows if not row["is_missing"]} == {"waiting"}, rows
                assert missing["message"].startswith("rank %d on " % rank), missing
                with open(os.path.join(directory, "go-%d" % number), "w"):
                    pass
            rows = ranks_at(directory, "(step_number = 24 OR role = 'silent')", 4)
            (missing,) = [row for row in rows if row["is_missing"]]
            assert (missing["rank"], missing["role"]) == (2, "silent"), rows
            assert all(row["end_ns"] is None for row in rows), rows
            with open(os.path.join(directory, "go-5"), "w"):
                pass
            output, _ = process.communicate()
        assert process.returncode == 0, output
        over = capturing.query(directory, "SELECT * FROM hang_summary WHERE role <> 'silent' AND end_ns IS NULL")
        assert over == [], over
        print("a lock, a sleep, a collective left out, a loop in C, a process that died: each rank is named")


def ranks_at(directory, which, count, seconds=240):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rows = capturing.query(directory, "SELECT * FROM hang_summary WHERE " + which)
        if len(rows) == count:
            return rows
        time.sleep(0.5)
    raise AssertionError("%s: %s" % (which, capturing.query(directory, "SELECT * FROM hang_summary")))


# What stands for TensorFlow: the step waits in a file of it, and a thread in another one is in the program's generator.
GENERATOR = PROGRAM.split("held, is_held")[0] + """
import time
def of_tensorflow(path, code):
    names = {}
    exec(compile(code, "/packages/tensorflow/python/" + path, "exec"), names)
    return names
wait = of_tensorflow("eager/execute.py", "def quick_execute(lock): lock.acquire()")["quick_execute"]
call = of_tensorflow("ops/script_ops.py", "def call(function): next(function)")["call"]
over = threading.Lock()
over.acquire()
def samples():
    time.sleep(2.5)
    over.release()
    yield 1
def idle():
    time.sleep(2.6)
threading.Thread(target=idle, daemon=True).start()
steps(12)
threading.Thread(target=call, args=(samples(),)).start()
wait(over)
steps(1)
"""


def test_generator():
    """A step that waits in TensorFlow for a generator of the program, which another thread runs."""
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(GENERATOR)
        run = os.path.join(directory, "run")
        os.mkdir(run)
        capturing.run(run, [path], hang_after=1)
        (row,) = capturing.query(run, "SELECT function, waits_for, message FROM hang_summary")
        assert (row["function"], row["waits_for"]) == ("samples", "sleep"), row
        assert "it sleeps at program.py:" in row["message"] and "(time.sleep(2.5))" in row["message"], row
        print("a generator")


def test_not_watched():
    with capturing.Directory() as directory:
        program = PROGRAM.split("with torch.profiler")[0] + "import time; time.sleep(1.5)"
        capturing.run(directory, ["-c", program], hang_after=0)
        assert capturing.query(directory, "SELECT * FROM hangs") == []
        assert capturing.parts(capturing.dumps(directory)[0])["hangs"] == ("off", "asked with --hang-after 0")


capturing.main(globals())
