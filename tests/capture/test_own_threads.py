"""The recorder's own threads are made by no function that a library may have replaced, and take no signal.

Under gevent and eventlet, whose patches make greenlets of Python's threads, programs run as they do without the
recorder, and are recorded. A program that takes its signals by sigwait() gets them.
"""

import re

import capturing
from capturing import bounded, query

# Models are called on what the library calls threads, and on real ones where it has them; a fork and a timer besides.
GREEN = """
import %(name)s%(patch)s
import os, sys, threading, time, torch
torch.set_num_threads(1)
torch.manual_seed(1)

class Doubled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x) * 2

models = [Doubled() for _ in range(4)]

def work(number):
    for _ in range(3):
        total = models[number](torch.ones(4, 8)).sum()
        time.sleep(0.002)  # lets the others run
    print(number, "%%.4f" %% total.item())

threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
%(real)s
child = os.fork()
if child == 0:
    work(3)
    sys.stdout.flush()
    os._exit(3)
print(os.waitpid(child, 0)[1], flush=True)
time.sleep(0.3)
"""
LIBRARIES = {
    "gevent": dict(
        patch=".monkey; gevent.monkey.patch_all()",
        real="gevent.get_hub().threadpool.apply(work, (3,))",
    ),
    "eventlet": dict(
        patch="; eventlet.monkey_patch()",
        real="import eventlet.tpool; eventlet.tpool.execute(work, 3)",
    ),
}

SIGWAIT = """
import os, signal, threading, time
signals = {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGALRM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # Before the import: NumPy starts threads, which would take them.
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(2, 2)
thread = threading.Thread(target=lambda: model(torch.ones(1, 2)))
thread.start()
thread.join()
time.sleep(0.2)
others = 0
for tid in os.listdir("/proc/self/task"):
    with open("/proc/self/task/%s/status" % tid) as file:
        status = dict(line[:-1].split(":\\t", 1) for line in file if ":\\t" in line)
    if status["Name"].startswith("tfprof-"):
        others += 1
        free = ~int(status["SigBlk"], 16)
        assert not any(free >> number - 1 & 1 for number in range(1, 32) if number not in (9, 19)), status
print("threads of the recorder:", others >= 2)
for one in sorted(signals):
    os.kill(os.getpid(), one)
    print(signal.sigwait(signals))
"""


def test_green_threads():
    for name, words in LIBRARIES.items():
        program = ["-W", "ignore", "-c", GREEN % dict(words, name=name)]
        plain = bounded.run([capturing.PYTHON] + program, capturing.SECONDS)
        if "ModuleNotFoundError: No module named '%s'" % name in plain.stderr:
            capturing.left_out.append("%s is not installed" % name)
            continue
        assert plain.returncode == 0 and "768" in plain.stdout, (name, plain.stdout, plain.stderr)
        with capturing.Directory() as directory:
            out, error = capturing.run(directory, program)
            assert (sorted(out.split("\n")), error) == (sorted(plain.stdout.split("\n")), plain.stderr), (out, error)
            counts = query(directory, """
                SELECT profile_id, count(*) AS count FROM ops WHERE name = 'aten::linear' GROUP BY 1""")
            assert sorted(row["count"] for row in counts) == [3, 12], (name, counts)
            (named,) = query(directory, """
                SELECT count(*) AS count FROM ops JOIN nodes ON nodes.id = ops.node_id
                WHERE ops.name = 'aten::linear' AND nodes.op_type = 'Linear'""")
            # Of a model that is called on a thread which may not wait for it the first call has none.
            assert named["count"] >= 8, (name, named)


def test_signals():
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", SIGWAIT])
        assert error == "" and re.fullmatch(r"threads of the recorder: True\n(2\n10\n14\n15\n)", out), (out, error)


if __name__ == "__main__":
    capturing.main(globals())
