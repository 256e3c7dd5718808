"""Which processes leave which dumps: forks, workers, new programs, ends of all kinds, programs without a framework."""

import os
import re
import subprocess
import sys
import tempfile

import capturing

# An optimizer of PyTorch's would import torch._dynamo, which takes longer than all that is done here. It marks each of
# its steps by this range, too.
STEP = """
import os, sys, time, torch
x = torch.ones(3, requires_grad=True)
def optimize(parameter):
    with torch.profiler.record_function("Optimizer.step#SGD.step"), torch.no_grad():
        parameter.sub_(parameter.grad, alpha=0.1)
def step(count=1):
    for _ in range(count):
        x.sum().backward()
        optimize(x)
        x.grad = None
"""


def steps(directory):
    """{path: steps}"""
    sql = """SELECT path, (SELECT count(*) FROM ops WHERE ops.profile_id = profiles.id
        AND ops.name = 'Optimizer.step#SGD.step') AS steps FROM profiles"""
    found = {row["path"]: row["steps"] for row in capturing.query(directory, sql)}
    assert sorted(found) == capturing.dumps(directory), (sorted(found), capturing.dumps(directory))
    return found


def record(program, status=0, arguments=(), **settings):
    """Runs the text; returns {pid: (steps, closed)}, stdout, stderr, the diagnostics of all processes."""
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", program] + list(arguments), status, **settings)
        result = {}
        for path, count in steps(directory).items():
            name = os.path.basename(path)[: -len(".tfprof")].split("-", 1)[1]
            summary = capturing.summary(path)
            assert not summary["problems"], summary["problems"]
            result[name] = (count, summary["closed"])
        rows = capturing.query(directory, "SELECT reason, message, count FROM diagnostics")
        return result, out, error, [tuple(row.values()) for row in rows]


def expect(what, result, counts, is_closed=True):
    found = sorted(count for count, _ in result.values())
    assert found == sorted(counts), "%s: %s and not %s" % (what, result, counts)
    assert all(closed == is_closed for _, closed in result.values()), (what, result)
    print("%-40s %s" % (what, found))


def test_ends():
    opened = "r = torch.profiler.record_function('open')\nr.__enter__()\n"
    os.environ["PLAIN_END"] = "1"
    result, _, error, rows = record(STEP + opened + "step(7)")
    expect("the usual end, within a range", result, [7])
    message = "ops and ranges were still running when the recording ended: they have no row"
    assert ("capture_dropped", message, 1) in rows and error == "", (rows, error)
    at_exit = "import atexit\natexit.register(step, 3)\nstep()\nraise SystemExit(3)"
    expect("an exception, and steps in atexit", record(STEP + at_exit, 3)[0], [4])
    expect("os._exit", record(STEP + "step(6)\nos._exit(4)", 4)[0], [6])
    late_abort = "import recorder\nstep(6)\nrecorder.wait(0.5)\nos.abort()"
    expect("os.abort loses at most half a second", record(STEP + late_abort, -6)[0], [6], False)
    # PyTorch itself ends this program with an abort, after the dump was closed.
    endless = "import threading\nmade = []\ndef work():\n    while True: step(); made.append(1)\n"
    endless += "threading.Thread(target=work, daemon=True).start()\nwhile len(made) < 20: time.sleep(0.01)"
    result = record(STEP + endless, None)[0]
    ((count, is_closed),) = result.values()
    assert count >= 20 and is_closed, result
    interrupted = "import signal\nstep(4)\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)"
    result, _, error, _ = record(STEP + interrupted, -2)
    expect("keyboard interrupt", result, [4])
    assert "tfprof" not in error, error
    del os.environ["PLAIN_END"]


def test_forks():
    # Of the first child nothing is recorded, one ends at once, one as Python does, one has a child of its own.
    program = STEP + """
step(2)
def child(work):
    pid = os.fork()
    if not pid: work()
    os.waitpid(pid, 0)
def grandchild():
    step(4)
    pid = os.fork()
    step(1)
    if pid: os.waitpid(pid, 0)
    os._exit(0)
child(lambda: os._exit(0))
child(lambda: (step(3), os._exit(0)))
child(lambda: (step(4), sys.exit(0)))
child(grandchild)
with torch.profiler.record_function("around"):
    step()
    pid = os.fork()
    step()
if pid: os.waitpid(pid, 0)
if pid: step(3)
"""
    expect("forks of all kinds, the last one in a range", record(program)[0], [7, 3, 4, 5, 1, 1])
    # What a child runs has been run before. What a thread of the parent is just doing for the first time stays half
    # done in the child, with us and without: a static of an op of PyTorch's, in which the C library registers its end,
    # with a lock of its own.  And no child runs backward(), for it may want a lock of autograd's that the thread had.
    forks = STEP + """
import threading
def forward(count):
    y = torch.ones(2, requires_grad=True)
    y.grad = torch.ones(2)
    for _ in range(count):
        optimize(y)
step(2)
forward(2)
thread = threading.Thread(target=step, args=(3000,))
thread.start()
for number in range(40):
    pid = os.fork()
    if not pid:
        forward(number)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
thread.join()
"""
    for ops in ("all", "sampled"):  # sampled: the callbacks come and go, in the children too
        result = record(forks, ops=ops, seconds=120)[0]
        expect("many forks while ops run, %s" % ops, result, [3004] + list(range(40)))
    result = record(STEP + """
import multiprocessing
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    pool.map(step, [3, 3, 3, 3], chunksize=1)
    pool.close()
    pool.join()
step()
""")[0]
    assert sum(count for count, _ in result.values()) == 13 and all(closed for _, closed in result.values()), result


def test_new_processes():
    with tempfile.TemporaryDirectory() as scripts:
        path = os.path.join(scripts, "program.py")
        with open(path, "w") as file:
            file.write(STEP + """
import multiprocessing, subprocess
if __name__ == "__main__":
    step(2)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=step, args=(3,))
    process.start()
    process.join()
    subprocess.run([sys.executable, "-c", "print('no framework')"], check=True)
    subprocess.run(["true"], check=True)
    text = open(__file__).read().split("import multiprocessing")[0]
    subprocess.run([sys.executable, "-c", text + "step(4)"], check=True)
""")
        with capturing.Directory() as directory:
            capturing.run(directory, [path])
            found = sorted(steps(directory).values())
            assert found == [2, 3, 4], found
            print("%-40s %s" % ("spawned processes", found))
    again = """
step(2)
if len(sys.argv) < 2:
    os.execv(sys.executable, [sys.executable, "-c", open("/proc/self/cmdline").read().split(chr(0))[2], "again"])
"""
    result = record(STEP + again)[0]
    assert sorted(result.values()) == [(2, False), (2, True)], result
    assert sorted(name.count("-") for name in result) == [0, 1], result  # the same process number: a second file
    print("%-40s %s" % ("exec", sorted(result.values())))


def profiles(directory):
    """{pid: (pid of the parent, rank, optimizer steps)}"""
    sql = """SELECT pid, parent_pid, rank, (SELECT count(*) FROM ops WHERE ops.profile_id = profiles.id
        AND ops.name = 'Optimizer.step#SGD.step') AS steps FROM profiles"""
    return {row["pid"]: (row["parent_pid"], row["rank"], row["steps"]) for row in capturing.query(directory, sql)}


def test_forkserver():
    """Its server has imported PyTorch or not; workers are its children, and have their own ranks."""
    for preload in ("", "context.set_forkserver_preload(['torch'])"):
        with tempfile.TemporaryDirectory() as scripts, capturing.Directory() as directory:
            path = os.path.join(scripts, "program.py")
            with open(path, "w") as file:
                file.write(STEP + """
import multiprocessing
def work(rank, count):
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), "2"
    step(count)
    os.write(1, ("%%s\\n" %% " ".join(map(str, (os.getpid(), os.getppid(), rank, count)))).encode())  # at once
if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    %s
    processes = [context.Process(target=work, args=(rank, rank + 3)) for rank in range(2)]
    for process in processes: process.start()
    for process in processes: process.join()
""" % preload)
            out, _ = capturing.run(directory, [path])
            told = {pid: rest for pid, *rest in (map(int, line.split()) for line in out.splitlines())}
            found = profiles(directory)
            assert len(told) == 2 and len(found) == 3 + bool(preload), (told, found)
            for pid, (parent, rank, count) in told.items():
                assert found[pid] == (parent, rank, count), (pid, told, found)
            assert all((parent in found) == bool(preload) for parent, _, _ in told.values()), (told, found)
    print("forkserver")


def test_families():
    """A child that outlives its parent, one that dies, and programs that replace each other."""
    program = STEP + """
import recorder
step(2)
print(os.getpid(), os.getppid(), 2, flush=True)
if not os.fork():
    while os.getppid() == int(sys.argv[1]): time.sleep(0.01)
    step(5)
    print(os.getpid(), os.getppid(), 5, flush=True)
    os._exit(0)
pid = os.fork()
if not pid:
    step(3)
    print(os.getpid(), os.getppid(), 3, flush=True)
    recorder.wait(0.5)
    os.kill(os.getpid(), 9)
os.waitpid(pid, 0)
"""
    starter = "import os, sys; sys.argv[1] = str(os.getpid()); exec(%r)" % program
    with capturing.Directory() as directory:
        out, _ = capturing.run(directory, ["-c", starter, "pid"])
        told = {pid: (parent, None, count)
                for pid, parent, count in (map(int, row.split()) for row in out.splitlines())}
        assert len(told) == 3 and profiles(directory) == told, (told, profiles(directory))
        closed = {row["steps"]: capturing.summary(row["path"])["closed"] for row in capturing.query(
            directory,
            """SELECT path, (SELECT count(*) FROM ops
            WHERE ops.profile_id = profiles.id AND name LIKE 'Optimizer.step#%') AS steps FROM profiles""")}
        assert closed == {2: True, 3: False, 5: True}, closed
    print("children that outlive and die")
    # Each is called with one argument more than the one before.
    calls = ["os.execl(p, *a)", "os.execve(p, a, dict(os.environ))", "os.execvp(p, a)", "os.execlpe(p, *a, os.environ)"]
    program = STEP + "p, a = sys.executable, [sys.executable, '-c', sys.argv[1], *sys.argv[1:], '']\n"
    program += ("step(len(sys.argv))\ncalls = %r\nlen(sys.argv) - 2 == len(calls) or eval(calls[len(sys.argv) - 2])"
                % calls)
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program, program])
        found = sorted((count, capturing.summary(path)["closed"]) for path, count in steps(directory).items())
        assert found == [(2, False), (3, False), (4, False), (5, False), (6, True)], found
    print("exec in all its forms")


def test_hundreds():
    """Three hundred short processes in one run: a file each, all there, read with few open files."""
    program = STEP + """
for number in range(300):
    pid = os.fork()
    if not pid:
        torch.ones(number + 1).neg()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program])
        assert len(capturing.dumps(directory)) == 301  # and the parent's
        sql = "SELECT input_shapes FROM ops WHERE name = 'aten::neg'"
        shell = [os.path.join(capturing.BUILD, "tfprof"), "--format", "csv", directory, sql]
        limited = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)); os.execv(*%r)"
        command = [sys.executable, "-c", limited % ((shell[0], shell),)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        sizes = sorted(int(text) for text in re.findall(r"\[\[(\d+)\]", out))
        assert sizes == list(range(1, 301)), (len(sizes), out[:500])
        size = sum(os.path.getsize(path) for path in capturing.dumps(directory))
        assert size < 301 * 8192, size
        print("300 processes: %d kB" % (size // 1000))


def test_without_framework():
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", "import json; print(json.dumps(1))"])
        assert (out, error, os.listdir(directory)) == ("1\n", "", [])
        program = "import sys\ntry:\n  import torch.nothing\nexcept ImportError as e: print(e.name)"
        out, error = capturing.run(directory, ["-c", program])
        assert out == "torch.nothing\n" and error == "", (out, error)
    print("no framework: nothing is written")


def test_chain():
    """The program's own sitecustomize runs, its errors show, and sys.path is as without us."""
    look = "import sys, builtins; print(sys.path, getattr(builtins, 'mine', None), 'sitecustomize' in sys.modules)"
    with tempfile.TemporaryDirectory() as mine, capturing.Directory() as directory:
        texts = [("import builtins; builtins.mine = 42", ""), ("raise ValueError('my error')", "my error"), (None, "")]
        for text, shown in texts:
            path = os.path.join(mine, "sitecustomize.py")
            if os.path.exists(path):
                os.unlink(path)
            if text is not None:
                with open(path, "w") as file:
                    file.write(text)
            plain = dict(os.environ, PYTHONPATH=mine, PYTHONDONTWRITEBYTECODE="1")
            without = subprocess.run([capturing.PYTHON, "-c", look], env=plain, capture_output=True, text=True)
            environment = capturing.environment(directory)
            environment.update(PYTHONPATH=capturing.HOOKS + os.pathsep + mine, PYTHONDONTWRITEBYTECODE="1")
            recorded = subprocess.run([capturing.PYTHON, "-c", look], env=environment, capture_output=True, text=True)
            assert (recorded.returncode, recorded.stdout) == (0, without.stdout), (recorded.stdout, without.stdout)
            assert (shown in recorded.stderr) and (shown in without.stderr), recorded.stderr
            assert recorded.stderr == without.stderr, (recorded.stderr, without.stderr)
    print("sitecustomize is chained")


def test_import_leaves_no_trace():
    program = """
import sys, torch, os, importlib.util
ours = [getattr(finder, "name", type(finder).__name__) for finder in sys.meta_path
        if "_tfprof" in type(finder).__module__]
# Until a program compiles, imports JAX or TensorFlow, or asks for marks; one sees who else listens to CUDA.
assert ours == ["ListenerFinder", "torch._dynamo.utils", "FrameworksFinder", "MarksFinder"], ours
assert "exec_module" not in vars(torch.__loader__), vars(torch.__loader__)
assert type(torch.__loader__).__name__ == "SourceFileLoader"
assert not torch.is_grad_enabled() is False and torch.get_default_dtype() == torch.float32
a = torch.random.get_rng_state()
torch.manual_seed(torch.initial_seed())
print(torch.initial_seed() == torch.default_generator.initial_seed(), os._exit.__name__, os.execv.__name__)
print(torch.equal(a, torch.random.get_rng_state()))
"""
    _, out, error, _ = record(program)
    assert out.split("\n")[:2] == ["True _exit execv", "True"] and not error, (out, error)
    print("the import is as without us")


def test_many_threads():
    result, _, _, rows = record(STEP + """
import threading
def work():
    for _ in range(20): torch.ones(2)
for _ in range(60):
    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
step()
""")
    expect("1,200 threads", result, [1])
    assert not [row for row in rows if row[0] == "capture_dropped"], rows


def test_thread_names():
    """As threading.Thread has them; of other threads as the system has them. A number that
    is used again has a new name."""
    program = """
import _thread, queue, threading, time
from concurrent.futures import ThreadPoolExecutor
# Threads that are there before PyTorch; one of them ends, and its number may be used again.
orders, early_pool = queue.Queue(), ThreadPoolExecutor(1, thread_name_prefix="early pool")
early_pool.submit(int).result()
early = threading.Thread(target=lambda: orders.get()(), name="early bird")
early.start()
import torch
def work(count, done=None):
    for _ in range(count): torch.ones(2)
    if done: done.release()
long_name = "loads the data \\u00fc" + "\\u6570" * 100
for count, name in (10, "feeds"), (11, long_name), (12, None), (13, "a\\ud800b"):
    thread = threading.Thread(target=work, args=(count,), name=name)
    thread.start()
    thread.join()
    time.sleep(0.1)
with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
    pool.submit(work, 14).result()
orders.put(lambda: work(17))
early.join()
early_pool.submit(work, 18).result()
done = _thread.allocate_lock()
done.acquire()
_thread.start_new_thread(work, (15, done))
done.acquire()
work(16)
print(open("/proc/self/comm").read().strip())
"""
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", program], ops="all", memory=0)
        assert error == "", error
        found = {row["count"]: row["name"] for row in capturing.query(
            directory,
            """SELECT t.name AS name, count(*) AS count FROM ops AS o JOIN threads AS t ON t.id = o.thread_id
            WHERE o.name = 'aten::ones' GROUP BY t.id""")}
    assert found[10] == "feeds", found
    assert found[11] == "loads the data \u00fc" + "\u6570" * 36, found
    assert found[12].startswith("Thread-") and "work" in found[12], found
    assert found[13] == "a?b" and found[14] == "pool_0", found
    assert found[17] == "early bird" and found[18] == "early pool_0", found
    system = out.strip().split("\n")[-1]
    assert found[15] == found[16] == system, (found, system)


capturing.main(globals())
