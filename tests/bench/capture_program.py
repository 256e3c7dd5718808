"""The program that capture.py measures: a training step that is run when the standard input says so.

  python tests/bench/capture_program.py STEP [profiler|profiler_full|empty]

STEP is launch_bound, tiny, long or fastest.

A line "TURNS STEPS" runs so many turns of STEPS steps without and as many with what is measured, each pair in random
order: the recorder, if the program is recorded, is paused meanwhile, and torch.profiler, if it is asked for, does not
run.  "0 STEPS" runs STEPS steps as they are.  The answer is a line of JSON with a list of two (or one), without and
with: steps, wall_ns of the steps, thread_ns (processor time of the thread that runs them), process_ns (of the whole
process meanwhile, the recorder's thread included), resident_bytes, and of torch.profiler the ns that stopping it took
and the number of its events.

"empty" registers callbacks that do nothing; "fastest" is a step of 1,000 of the fastest operations there are.
"""

import collections
import ctypes
import gc
import json
import os
import random
import sys
import time


def make_step(blocks, width, batch, length):
    """A small transformer, every operation a kernel of its own, and an optimizer that loops over parameters."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)

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
        nn.Embedding(100, width), *[Block() for _ in range(blocks)], nn.LayerNorm(width), nn.Linear(width, 100)
    )
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=False)
    x, y = torch.randint(0, 100, (batch, length)), torch.randint(0, 100, (batch, length))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(x).view(-1, 100), y.view(-1))
        loss.backward()
        optimizer.step()

    return step


# 3,300 operations in 10 ms, and in 3, where next to nothing is computed; 4,100 in 70 to 130 ms.
STEPS = {"launch_bound": (4, 128, 4, 32), "tiny": (4, 32, 2, 16), "long": (5, 256, 4, 64)}


PROFILERS = ("profiler", "profiler_full")


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def make_profiler(mode):
    from torch.profiler import ProfilerActivity, profile

    is_full = mode == "profiler_full"
    return profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=is_full,
        with_stack=is_full,
        with_modules=is_full,
        profile_memory=is_full,
    )


def make_fastest_step():
    import torch

    torch.set_num_threads(1)
    x, function = torch.ones(4), torch.relu_

    def step():
        for _ in range(1000):
            function(x)

    return step


def find_switch(mode):
    """What pauses the recorder; None where there is none."""
    if not getattr(sys.modules.get("_tfprof_hooks"), "recording", None):
        return None
    library = ctypes.CDLL(os.environ["TFPROF_LIBRARY"])
    if mode == "empty":
        library.tfprof_capture_pause(1)
        return lambda is_on: library.tfprof_capture_switch(2 if is_on else 0)
    return lambda is_on: library.tfprof_capture_pause(0 if is_on else 1)


def run(step, profiler, count, sums):
    used = time.process_time_ns()
    if profiler:
        profiler.start()
        step()  # finds its tables empty
    cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
    for _ in range(count):
        step()
    sums["wall_ns"] += time.perf_counter_ns() - wall
    sums["thread_ns"] += time.thread_time_ns() - cpu
    sums["steps"] += count
    if profiler:
        begin = time.perf_counter_ns()
        profiler.stop()
        sums["stop_ns"] += time.perf_counter_ns() - begin
        sums["events"] += len(profiler.profiler.kineto_results.events())
    sums["process_ns"] += time.process_time_ns() - used


def run_cycle(step, switch, mode, turns, count):
    sums = [collections.Counter(), collections.Counter()]
    for _ in range(turns):
        for is_on in random.sample((0, 1), 2):
            if switch:
                switch(is_on)
            run(step, make_profiler(mode) if is_on and mode in PROFILERS else None, count, sums[is_on])
    return sums


def main():
    step = make_step(*STEPS[sys.argv[1]]) if sys.argv[1] in STEPS else make_fastest_step()
    mode = sys.argv[2] if len(sys.argv) > 2 else None
    switch = find_switch(mode)
    step()
    gc.collect()
    gc.freeze()  # a collection of all that importing has made would fall into the turn of one side
    for line in sys.stdin:
        turns, count = map(int, line.split())
        if turns:
            answer = run_cycle(step, switch, mode, turns, count)
        else:
            answer = [collections.Counter()]
            run(step, None, count, answer[0])
        answer[-1]["resident_bytes"] = resident_bytes()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
