"""A step of examples/train_gpu.py again and again, to be recorded by one profiler or another, or timed.

    workload.py MODE STEPS record                under tfprof-capture: the steps are marked by their numbers
    workload.py MODE STEPS profile FIRST TRACE   torch.profiler records the steps from FIRST on into TRACE
    workload.py MODE STEPS time [profile]        prints the median step in milliseconds; with torch.profiler running

What is random is the same each time, so the same step runs the same kernels whoever looks.
"""

import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import train_gpu  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def activities():
    kinds = torch.profiler.ProfilerActivity
    return [kinds.CPU, kinds.CUDA] if DEVICE == "cuda" else [kinds.CPU]


def record(step, steps):
    import tfprof

    for number in range(steps):
        with tfprof.step(number):
            with torch.profiler.record_function("workload"):
                step()
            wait()


def profile(step, steps, first, path):
    schedule = torch.profiler.schedule(wait=first - 1, warmup=1, active=steps - first, repeat=1)
    with torch.profiler.profile(activities=activities(), schedule=schedule,
                                on_trace_ready=lambda ready: ready.export_chrome_trace(path)) as profiler:
        for _ in range(steps):
            with torch.profiler.record_function("workload"):
                step()
            wait()
            profiler.step()


def timed(step, steps):
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times[steps // 5:])


def main():
    mode, steps, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    step = train_gpu.prepare(train_gpu.parse(["--mode", mode]), DEVICE)
    if what == "record":
        record(step, steps)
    elif what == "profile":
        profile(step, steps, int(sys.argv[4]), sys.argv[5])
    elif sys.argv[4:] == ["profile"]:
        with torch.profiler.profile(activities=activities()):
            print(timed(step, steps))
    else:
        print(timed(step, steps))


main()
