"""What recording costs a synchronous job of two ranks, which takes as long as its slower rank in every step.

  python tests/bench/two_ranks.py [--seconds S] [--jobs N]

Two processes train one model on the CPU, a thread each, and add up their gradients by gloo in every step, under
tfprof-capture with default settings.  After the steps in which the recorder finds out what it can afford, both pause it
in the same turns of some steps, in an order that is drawn, so that what slows the machine down falls on turns with and
without it alike.  Measured are the time that passes for the whole job, and the processor time of the two threads that
train, which other programs disturb less.  A cycle is as many turns as hold some recorded steps.  Given are the median
of the cycles' ratios with its 95 % confidence interval, the ratio of the sums, the same for turns that are both without
(the error of the measurement), and how many of the steps whose ops one rank recorded the other did, too.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import figures

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build")
PROGRAM = """
import ctypes, json, os, random, sys, time, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.LayerNorm(256), torch.nn.GELU())
                              for _ in range(24)])
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
batch = torch.randn(16, 256)
pause = ctypes.CDLL(os.environ["TFPROF_LIBRARY"]).tfprof_capture_pause

def step():
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()

WARMUP, TURN, TURNS = 300, 8, 8
for _ in range(WARMUP): step()
cycles, end, draw = [], time.monotonic() + float(sys.argv[1]), random.Random(0)
goes_on = torch.ones(1)
while goes_on.item():
    sums, used = [0, 0, 0], torch.zeros(3, dtype=torch.float64)
    for _ in range(TURNS):
        for kind in draw.sample((0, 1, 2), 3):
            pause(kind < 2)
            dist.barrier()
            began, began_used = time.perf_counter(), time.thread_time()
            for _ in range(TURN): step()
            dist.barrier()
            sums[kind] += time.perf_counter() - began
            used[kind] += time.thread_time() - began_used
    dist.all_reduce(used)
    cycles.append([sums, used.tolist()])
    goes_on.fill_(time.monotonic() < end)
    dist.broadcast(goes_on, 0)
pause(0)
if dist.get_rank() == 0: print("cycles", json.dumps([cycles, TURN * TURNS]))
dist.destroy_process_group()
"""


def run(directory, number, seconds):
    program, recording = os.path.join(directory, "train.py"), os.path.join(directory, "run%d" % number)
    with open(program, "w") as file:
        file.write(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", program]
    command = [os.path.join(BUILD, "tfprof-capture"), "-q", "-o", recording, "--", *command, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("cycles ")]
    return recording, *json.loads(line.split(" ", 1)[1])


def common_steps(recording):
    sql = """SELECT total(profiles = 1) AS alone, total(profiles > 1) AS common FROM (SELECT count(*) AS profiles
        FROM steps WHERE ops_recorded GROUP BY number)"""
    command = [os.path.join(BUILD, "tfprof"), "--format", "json", recording, sql]
    (row,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return int(row["common"]), int(row["alone"])


def percents(ratios):
    """The median and its 95 % confidence interval, by order statistics, in percent more."""
    ratios, half = sorted(ratios), 0.98 * math.sqrt(len(ratios))
    low = ratios[max(0, math.floor(len(ratios) / 2 - half))]
    high = ratios[min(len(ratios) - 1, math.ceil(len(ratios) / 2 + half))]
    return tuple(100 * (ratio - 1) for ratio in (statistics.median(ratios), low, high))


def told(ratios):
    return "%+.2f %% (%+.2f to %+.2f)" % percents(ratios)


def tell(mode, what, ratios, more=None):
    """The figures as data; more: of the sums, in percent."""
    value, low, high = percents(ratios)
    name = "Two gloo ranks, %s: %s" % (mode, what)
    figures.tell("recording", name, value, "% more", "two_ranks.py", low=low, high=high, trials=len(ratios))
    if more is not None:
        figures.tell("recording", name + ", of the sums", more, "% more", "two_ranks.py", trials=len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cycles, common, alone = [], 0, 0
    with tempfile.TemporaryDirectory() as directory:
        for number in range(options.jobs):
            recording, of_job, steps = run(directory, number, options.seconds)
            cycles += of_job
            shared = common_steps(recording)
            common, alone = common + shared[0], alone + shared[1]
    for what, kind in ("time that passes", 0), ("processor time of the training threads", 1):
        turns = [cycle[kind] for cycle in cycles]
        plain, again, recorded = (sum(turn[i] for turn in turns) for i in range(3))
        print("%s: %.2f ms a step; %d cycles of %d steps" % (what, 1e3 * plain / steps / len(turns), len(turns), steps))
        slower, of_sums = [turn[2] / (turn[0] + turn[1]) * 2 for turn in turns], recorded / (plain + again) * 2
        noise = [turn[1] / turn[0] for turn in turns]
        print("  recorded %s, of the sums %+.2f %%" % (told(slower), 100 * (of_sums - 1)))
        print("  the same against the same %s" % told(noise))
        tell("default settings", what, slower, 100 * (of_sums - 1))
        tell("the same against the same", what, noise)
    figures.tell("recording", "Two gloo ranks, default settings: steps recorded by one rank alone", alone, "",
                 "two_ranks.py", trials=common + alone)
    print("recorded: %d steps on both ranks, %d on one" % (common, alone))


main()
