"""What recording costs a whole run: paired, interleaved runs of a training program with and without it.

  python tests/bench/capture.py [--cycles N] [--steps N] [--sleep MS] [--modes A,B,...] [--seconds S] [--append FILE]

Each cycle runs the launch-bound step of capture_overhead.py once plain and once in each mode, a process each, in an order
that rotates; the time of a run is that of its steps after the first ten.  A mode is compared with the plain run of its own
cycle; given are the median of the ratios and its 95 % confidence interval (order statistics of the binomial
distribution).  --sleep adds so many milliseconds of sleep to each step, as a device that is waited for would.  With
--seconds it stops after so long, and with --append the ratios are added to a file and counted together with those of
earlier calls, so that many cycles can be measured in slices.

Modes: none (--ops=none), sampled (the default), all (--ops=all).
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "capture"))
import capturing  # noqa: E402

MODES = {"plain": None, "none": {"ops": "none"}, "sampled": {"ops": "sampled"}, "all": {"ops": "all"}}
FIRST = 10


def inside(steps, sleep_ms):
    import capture_overhead

    step = capture_overhead.make_step()
    for _ in range(FIRST):
        step()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
        if sleep_ms:
            time.sleep(sleep_ms / 1e3)
    print((time.perf_counter() - begin) / steps)


def run(mode, options):
    command = [capturing.PYTHON, __file__, "--inside", "--steps", str(options.steps), "--sleep", str(options.sleep)]
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        settings = MODES[mode]
        environment = os.environ if settings is None else capturing.environment(directory, quiet=1, **settings)
        return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def interval(values):
    """The 95 % confidence interval of the median, from order statistics."""
    ordered, count = sorted(values), len(values)
    below = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return ordered[below], ordered[count - 1 - below]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cycles", type=int, default=150)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--sleep", type=float, default=0)
    arguments.add_argument("--modes", default="none,sampled,all")
    arguments.add_argument("--seconds", type=float, default=1e9)
    arguments.add_argument("--append")
    arguments.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.inside:
        return inside(options.steps, options.sleep)
    capturing.need_torch()
    modes = ["plain"] + options.modes.split(",")
    cycles = []
    if options.append and os.path.exists(options.append):
        with open(options.append, encoding="utf-8") as file:
            cycles = [json.loads(line) for line in file]
    begin, before = time.monotonic(), len(cycles)
    while len(cycles) < options.cycles and time.monotonic() - begin < options.seconds:
        shift = len(cycles) % len(modes)
        times = {mode: run(mode, options) for mode in modes[shift:] + modes[:shift]}
        cycles.append(times)
        if options.append:
            with open(options.append, "a", encoding="utf-8") as file:
                file.write(json.dumps(times) + "\n")
    print("%d cycles, %d of them now; a plain step takes %.2f ms" % (
        len(cycles), len(cycles) - before, 1e3 * statistics.median(times["plain"] for times in cycles)))
    for mode in modes[1:]:
        ratios = [100 * (times[mode] / times["plain"] - 1) for times in cycles if mode in times]
        print("%-8s %+6.2f %%, 95 %% interval %+.2f to %+.2f %%" % ((mode, statistics.median(ratios)) + interval(ratios)))


if __name__ == "__main__":
    main()
