"""A step of examples/train_gpu.py again and again, for one profiler or another.

    workload.py about             prints as JSON which PyTorch, GPU, CUPTI and JAX are here
    workload.py MODE PHASE...     one after the other:

    steps=N            N steps
    profile=N:TRACE    torch.profiler sees a step to warm up, and writes the N steps after it to TRACE, where they
                       have the numbers 1 to N
    warm=SECONDS       steps as long as that
    seconds=SECONDS    the same, and prints their number, mean and median as JSON
    profiled=SECONDS   the same under torch.profiler; what that saw is given up: the process ends at once
    endless            steps until it is killed; prints its pid as JSON when some have been made

Steps are numbered through all phases, from 0 on, and marked by that number where the program is recorded. What is
random is the same each time, so the same step runs the same kernels whoever looks.
"""

import contextlib
import glob
import importlib.util
import json
import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import train_gpu  # noqa: E402

try:
    import tfprof
except ImportError:  # nobody records it
    tfprof = None
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
AHEAD = 10  # steps that the host may run ahead, where the device is not waited for in each


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def activities():
    kinds = torch.profiler.ProfilerActivity
    return [kinds.CPU, kinds.CUDA] if DEVICE == "cuda" else [kinds.CPU]


class Workload:
    def __init__(self, mode):
        self.train, self.number = train_gpu.prepare(train_gpu.parse(["--mode", mode]), DEVICE), 0

    def step(self, is_waiting=True):
        with tfprof.step(self.number) if tfprof else contextlib.nullcontext():
            with torch.profiler.record_function("workload"):
                self.train()
            if is_waiting:
                wait()
        self.number += 1

    def steps(self, count):
        for _ in range(count):
            self.step()

    def profile(self, count, path):
        schedule = torch.profiler.schedule(wait=0, warmup=1, active=count, repeat=1)
        with torch.profiler.profile(activities=activities(), schedule=schedule,
                                    on_trace_ready=lambda ready: ready.export_chrome_trace(path)) as profiler:
            for _ in range(count + 1):
                self.step()
                profiler.step()

    def last_for(self, seconds):
        """What steps take: the host waits for the device now and then only, as in training."""
        wait()
        times, begin = [], time.perf_counter()
        while not times or time.perf_counter() < begin + seconds:
            start = time.perf_counter()
            self.step(len(times) % AHEAD == AHEAD - 1)
            times.append(time.perf_counter() - start)
        wait()
        return {"steps": len(times), "mean_ms": 1e3 * (time.perf_counter() - begin) / len(times),
                "median_ms": 1e3 * statistics.median(times)}

    def endless(self):
        self.steps(AHEAD)
        print(json.dumps({"pid": os.getpid()}), flush=True)
        while True:
            self.step(self.number % AHEAD == 0)

    def run(self, phase):
        name, _, value = phase.partition("=")
        if name == "steps":
            self.steps(int(value))
        elif name == "profile":
            count, _, path = value.partition(":")
            self.profile(int(count), path)
        elif name == "endless":
            self.endless()
        elif name == "warm":
            self.last_for(float(value))
        elif name == "seconds":
            print(json.dumps({"seconds": self.last_for(float(value))}), flush=True)
        elif name == "profiled":
            profiler = torch.profiler.profile(activities=activities())
            profiler.start()
            self.last_for(1)  # CUPTI begins
            print(json.dumps({"profiled": self.last_for(float(value))}), flush=True)
            os._exit(0)
        else:
            sys.exit("workload.py: what is " + phase)


def about():
    """Files of CUPTI in the order in which the recorder would take them."""
    found = [path for folder in sys.path
             for path in sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcupti.so.*[0-9]")))]
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cupti": found[0] if found else None,
            "gpu": torch.cuda.get_device_name() if DEVICE == "cuda" else None, "python": sys.version.split()[0],
            "jax": importlib.util.find_spec("jax") is not None}


def main():
    if sys.argv[1:] == ["about"]:
        print(json.dumps(about()))
        return
    workload = Workload(sys.argv[1])
    for phase in sys.argv[2:]:
        workload.run(phase)


main()
