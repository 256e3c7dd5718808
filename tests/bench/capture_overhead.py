"""What recording costs: a launch-bound training step, with and without.

  python tests/bench/capture_overhead.py [--cycles N] [--steps N]      (TFPROF_BUILD: the build directory)

The script starts itself under the capture library and then, in one process, interleaves windows of a few steps: nothing
registered; empty callbacks that want the same inputs as ours; our recording of ops with shapes and stacks, of memory
(with the stacks of large pieces only, as where ops are not recorded), and both; torch.profiler with record_shapes and
with_stack.  Each window is compared with the plain one of its own cycle, so that load on the machine falls on both;
times are processor time of the training thread, and wall time beside it.  At the end: how long stopping takes, and a
minute's worth of the fastest ops for losses.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "capture"))
import capturing  # noqa: E402


def make_step():
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    width = 32

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
            q, k, v = [t.view(t.shape[0], t.shape[1], 4, -1).transpose(1, 2) for t in (q, k, v)]
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.out(y)
            return x + self.ffn(self.norm2(x))

    model = nn.Sequential(
        nn.Embedding(100, width), *[Block() for _ in range(4)], nn.LayerNorm(width), nn.Linear(width, 100)
    )
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=False)
    x, y = torch.randint(0, 100, (2, 16)), torch.randint(0, 100, (2, 16))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(x).view(-1, 100), y.view(-1))
        loss.backward()
        optimizer.step()

    return step


def timed(step, steps):
    result = []
    for _ in range(steps):
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        step()
        result.append((time.thread_time_ns() - cpu, time.perf_counter_ns() - wall))
    return result


def measure(cycles, steps):
    from torch.profiler import ProfilerActivity, profile

    library = ctypes.CDLL(os.environ["TFPROF_LIBRARY"])
    library.tfprof_capture_switch(0)
    step = make_step()
    timed(step, 30)
    # What is switched on: ops (2: empty callbacks), memory.
    switches = {"empty": (2, 0), "recorded": (1, 0), "memory": (0, 1), "both": (1, 1)}
    modes = ["plain", *switches, "profiler"]
    library.tfprof_capture_switch_memory(0)
    times = {mode: [] for mode in modes}  # one list per window
    stops = []
    for cycle in range(cycles):
        for mode in modes[cycle % len(modes) :] + modes[: cycle % len(modes)]:
            profiler = None
            if mode == "profiler":
                profiler = profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True)
                profiler.start()
            elif mode != "plain":
                library.tfprof_capture_switch(switches[mode][0])
                library.tfprof_capture_switch_memory(switches[mode][1])
            timed(step, 1)
            times[mode].append(timed(step, steps))
            if profiler:
                begin = time.perf_counter_ns()
                profiler.stop()
                stops.append((time.perf_counter_ns() - begin) / (steps + 1))
            library.tfprof_capture_switch(0)
            library.tfprof_capture_switch_memory(0)
    library.tfprof_capture_flush()
    begin = time.perf_counter_ns()
    library.tfprof_capture_switch(1)
    timed(step, 20)
    library.tfprof_capture_switch(0)
    begin = time.perf_counter_ns()
    library.tfprof_capture_finish()
    own_stop = time.perf_counter_ns() - begin

    def added(mode, which):
        """Median over the cycles of (best step of the window - best step of the plain window of that cycle)."""
        return statistics.median(
            min(t[which] for t in window) - min(t[which] for t in plain)
            for window, plain in zip(times[mode], times["plain"])
        )

    for which, name in enumerate(("processor time", "wall time")):
        base = statistics.median(min(t[which] for t in window) for window in times["plain"])
        print("%s of a step: plain %.0f us" % (name, base / 1e3))
        for mode in modes[1:]:
            print("  %-9s adds %7.0f us (%5.1f %%)" % (mode, added(mode, which) / 1e3, 100 * added(mode, which) / base))
        print(
            "  recorded / empty callback  %.2f  (to be at most 1.5)"
            % (added("recorded", which) / added("empty", which))
        )
        print(
            "  recorded / torch.profiler  %.2f  (to be at most 0.5)"
            % (added("recorded", which) / added("profiler", which))
        )
    print(
        "stopping: torch.profiler %.1f ms for each step of its window; ours %.1f ms in all, after 20 steps"
        % (statistics.median(stops) / 1e6, own_stop / 1e6)
    )


def hammer(seconds):
    import torch

    torch.set_num_threads(1)
    x, out = torch.ones(4), torch.ones(4)
    function = torch._C._nn.relu_ if hasattr(torch._C._nn, "relu_") else torch.relu_
    begin = time.perf_counter()
    count = 0
    function = torch.relu_
    while time.perf_counter() - begin < seconds:
        for _ in range(1000):
            function(x)
        count += 1000
    elapsed = time.perf_counter() - begin
    print("%d calls in %.1f s: %.0f a second" % (count, elapsed, count / elapsed))
    del out


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cycles", type=int, default=40)
    arguments.add_argument("--steps", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=10, help="how long the fastest ops run")
    arguments.add_argument("--inside", choices=["measure", "hammer"], help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.inside == "measure":
        return measure(options.cycles, options.steps)
    if options.inside == "hammer":
        return hammer(options.seconds)
    capturing.need_torch()
    for inside in ("measure", "hammer"):
        with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
            command = [
                capturing.PYTHON,
                __file__,
                "--inside",
                inside,
                "--cycles",
                str(options.cycles),
                "--steps",
                str(options.steps),
                "--seconds",
                str(options.seconds),
            ]
            subprocess.run(command, env=capturing.environment(directory), check=True, stderr=subprocess.DEVNULL)
            (path,) = capturing.dumps(directory)
            summary = capturing.summary(path)
            rows, size = summary["rows"]["ops"], os.path.getsize(path)
            lost = sum(problem[2] for problem in summary["problems"] if problem[1] == "dropped_rows")
            print(
                "%s: %d ops in the dump, %d lost, %.2f bytes each, closed in order: %s"
                % (inside, rows, lost, size / rows, summary["closed"])
            )


if __name__ == "__main__":
    main()
