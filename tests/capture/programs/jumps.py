"""Trains on one thread and computes on two others, while the processor's counter jumps (moving_counter.c is loaded).

Says how many ops of each kind ran, and between which times of CLOCK_MONOTONIC.
"""

import ctypes
import json
import sys
import threading
import time

double = ctypes.CDLL(sys.argv[1])
watches = double.watch()
began = time.monotonic_ns()

import without_dynamo  # noqa: E402,F401
import torch  # noqa: E402

PAUSE = 0.25
JUMPS = [5 * 10**12, -(10**13), 5 * 10**12, -(10**15), 10**15, 1_250_000_000, -1_250_000_000, 500_000_000, -500_000_000]
torch.set_num_threads(1)
double.move.argtypes = [ctypes.c_long]
ended, ran = threading.Event(), [0, 0]


def compute(place):
    values = torch.ones(64)
    while not ended.is_set():
        values = torch.sin(values)
        ran[place] += 1
        time.sleep(0.0005)


def jump():
    for ticks in JUMPS:
        time.sleep(PAUSE)
        if watches:
            assert double.move(ticks)
    time.sleep(PAUSE)
    ended.set()


model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
threads = [threading.Thread(target=compute, args=(0,)), threading.Thread(target=compute, args=(1,))]
threads.append(threading.Thread(target=jump))
steps = 0
for thread in threads:
    thread.start()
while not ended.is_set():
    with torch.profiler.record_function("whole step"):
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.002)
    steps += 1
for thread in threads:
    thread.join()
print(json.dumps({"began": began, "ended": time.monotonic_ns(), "sin": sum(ran), "steps": steps, "jumps": len(JUMPS),
                  "watches": watches}))
