"""What recording costs a whole program: in time, in processor time, in memory, at its start and at its end.

  python tests/bench/capture.py [PART ...] [--cycles N] [--seconds S] [--append FILE] [--modes A,B,...]

launch_bound: a training step of 3,300 operations that does little but launch them, in about 10 ms.
tiny: the same on tensors so small that it does nothing else, in about 3 ms.
long: a step of 4,100 operations that takes 70 to 130 ms.
start: whole Python processes that import torch, and that do not; plain, and recorded.
fastest: the fastest operations there are, every one recorded, for ten seconds: whether any is lost, and bytes of
each.

Each mode has a process of its own, in which turns of some hundredths of a second with and without it follow each
other in random order, and the processes take turns: so what slows the machine down falls on both, and where the
memory of a process happens to lie, which makes one of two processes that do the same faster than the other by a
percent or two, does, too.  What cannot be taken away in between, that the library is there, is told by two processes,
and by as many as are started while it runs. Given are the median of the ratios of the cycles and its 95 % confidence
interval, for the processor time of the thread that trains, for the time that passed, and for the processor time of
the whole process, the recorder's own thread included.

With --seconds it stops after so long, and with --append the cycles are added to a file and counted together with
those of earlier calls, so that many can be measured in slices.

Modes: again (two turns without anything: the error of the measurement), none (--ops=none), sampled (the default),
empty (a callback for every operation that wants the same as ours and does nothing: what PyTorch takes for calling
any), all (--ops=all, with stacks, shapes and memory), profiler (torch.profiler of the CPU), profiler_full (with shapes,
stacks, modules and memory), py_spy (where it is installed).
"""

import argparse
import collections
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "capture"))
sys.path.insert(0, HERE)
os.environ["WHOLE_TORCH"] = os.environ["PLAIN_END"] = "1"  # as users' programs (../capture/within/sitecustomize.py)
import capturing  # noqa: E402
import figures  # noqa: E402

PROGRAM = os.path.join(HERE, "capture_program.py")
# By mode: the variables that are set where the program is recorded.
SETTINGS = {
    "empty": {"ops": "none", "memory": 0},
    "none": {"ops": "none"},
    "sampled": {"ops": "sampled"},
    "all": {"ops": "all"},
}
PROFILERS = ("profiler", "profiler_full")
MODES = {
    "launch_bound": ["again", "none", "sampled", "empty", "all", "profiler", "profiler_full", "py_spy"],
    "tiny": ["again", "none", "sampled", "empty", "all", "profiler", "profiler_full"],
    "long": ["again", "all", "profiler_full"],
}
# How figures call them.
STEP_NAMES = {"launch_bound": "Launch-bound step", "tiny": "Tiny step", "long": "Long step"}
MODE_NAMES = {
    "again": "the same against the same",
    "none": "`--ops=none`",
    "sampled": "default settings",
    "empty": "an empty callback for every op",
    "all": "every op",
    "profiler": "`torch.profiler`",
    "profiler_full": "`torch.profiler` with the same data",
    "py_spy": "py-spy",
}
# Steps of a turn: few, so that both sides meet the same machine.  Turns of a cycle, as many without as with; where few
# steps are recorded a cycle has to hold several of those.  A profiler that keeps all in memory gets as little as
# possible.
STEPS = {"launch_bound": 3, "tiny": 6, "long": 1}
TURNS = {"launch_bound": 6, "tiny": 6, "long": 4}
TURNS_BY_MODE = {"sampled": 16, "profiler": 1, "profiler_full": 1}
SPIED_STEPS = 10
WARMUP_STEPS = {"launch_bound": 200, "tiny": 400, "long": 12}
CYCLES_OF_A_PROCESS = 30


class Worker:
    """A program of its own that runs steps when told to."""

    def __init__(self, kind, mode, directory):
        self.kind, self.mode, self.spy = kind, mode, None
        self.steps, self.turns = STEPS[kind], TURNS_BY_MODE.get(mode, TURNS[kind])
        environment, command = dict(os.environ), [capturing.PYTHON, PROGRAM, kind]
        if mode in SETTINGS:
            path = os.path.join(directory, mode)
            os.makedirs(path)
            environment = capturing.environment(path, quiet=1, **SETTINGS[mode])
        if mode in PROFILERS or mode == "empty":
            command.append(mode)
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def begin(self, directory):
        self.ask(0, WARMUP_STEPS[self.kind])
        if self.mode == "py_spy":
            command = ["py-spy", "record", "-d", "36000", "-f", "raw", "-o", os.path.join(directory, "py_spy.txt")]
            self.spy = subprocess.Popen(
                command + ["-p", str(self.process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(1)

    def ask(self, turns, steps):
        self.process.stdin.write("%d %d\n" % (turns, steps))
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def spied(self):
        answers = [collections.Counter(), collections.Counter()]
        for is_on in random.sample((0, 1), 2):
            if is_on:
                self.spy.send_signal(signal.SIGCONT)
            else:
                self.stop_spy()
            answers[is_on].update(self.ask(0, SPIED_STEPS)[0])
        self.stop_spy()
        return answers

    def stop_spy(self):
        """It stops the program while it looks at it: it must not be stopped itself meanwhile."""
        while True:
            self.spy.send_signal(signal.SIGSTOP)
            time.sleep(0.002)
            with open("/proc/%d/stat" % self.process.pid, encoding="utf-8") as file:
                state = file.read().rpartition(")")[2].split()[0]
            if state not in "tT":
                return
            self.spy.send_signal(signal.SIGCONT)
            time.sleep(0.002)

    def cycle(self):
        """What the steps took, each, without and with."""
        answers = self.spied() if self.spy else self.ask(self.turns, self.steps)
        result = [{key: its[key] / its["steps"] for key in ("wall_ns", "thread_ns", "process_ns")} for its in answers]
        result[1]["resident_bytes"] = answers[1]["resident_bytes"]
        if answers[1].get("events"):
            result[1]["stop_ns"] = answers[1]["stop_ns"] / answers[1]["events"]
        return result

    def end(self):
        if self.spy:
            self.spy.send_signal(signal.SIGCONT)
            self.spy.kill()
            self.spy.wait()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def run_processes(kind, modes, cycles, is_over, keep):
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        workers = [Worker(kind, mode, directory) for mode in modes]
        try:
            for worker in workers:
                worker.begin(directory)
            for _ in range(cycles):
                if is_over():
                    break
                keep({worker.mode: worker.cycle() for worker in random.sample(workers, len(workers))})
        finally:
            for worker in workers:
                worker.end()


# ---- Starts.

STARTS = {"python": "pass", "torch": "import torch"}


def one_start(program, is_recorded):
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        environment = capturing.environment(directory, quiet=1, ops="sampled") if is_recorded else os.environ
        begin = time.perf_counter_ns()
        process = subprocess.Popen([capturing.PYTHON, "-c", program], env=environment)
        usage = os.wait4(process.pid, 0)[2]
        process.returncode = 0
        return {
            "wall_ns": time.perf_counter_ns() - begin,
            "thread_ns": (usage.ru_utime + usage.ru_stime) * 1e9,
            "resident_bytes": usage.ru_maxrss * 1024,
        }


def run_starts(keep):
    times = {}
    runs = [(name, mode) for name in STARTS for mode in ("plain", "again", "recorded")]
    for name, mode in random.sample(runs, len(runs)):
        times["%s %s" % (name, mode)] = one_start(STARTS[name], mode == "recorded")
    keep(times)


# ---- The fastest operations.


def run_fastest(seconds=10):
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        process = subprocess.Popen(
            [capturing.PYTHON, PROGRAM, "fastest"],
            env=capturing.environment(directory, quiet=1, ops="all"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            process.stdin.write("0 100\n")
            process.stdin.flush()
            count += json.loads(process.stdout.readline())[0]["steps"] * 1000
        elapsed = time.perf_counter() - begin
        process.stdin.close()
        begin = time.perf_counter()
        process.wait()
        end = time.perf_counter() - begin
        (path,) = capturing.dumps(directory)
        summary = capturing.summary(path)
        lost = sum(problem[2] for problem in summary["problems"] if problem[1] == "dropped_rows")
        rows = summary["rows"]["ops"]
        print("fastest: %.0f operations a second; %d in the dump, %d lost" % (count / elapsed, rows, lost), end="")
        print(", %.2f bytes each; the end took %.0f ms" % (os.path.getsize(path) / rows, 1e3 * end))
        command = "capture.py fastest"
        figures.tell("recorder", "Ops lost of the fastest there are, each recorded", lost, "", command, trials=rows)
        figures.tell("recorder", "The fastest ops there are, each recorded", count / elapsed / 1e6, "million/s",
                     command, better="higher")
        figures.tell("recorder", "An op in the dump, of the fastest there are", os.path.getsize(path) / rows, "B",
                     command)


# ---- Statistics.


def interval(values):
    """The 95 % confidence interval of the median, from order statistics (the binomial distribution)."""
    ordered, count = sorted(values), len(values)
    below = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return ordered[below], ordered[count - 1 - below]


def told(values, form):
    return (form + " (" + form + " to " + form + ")") % ((statistics.median(values),) + interval(values))


def tell_steps(kind, cycles, mode, pairs, memory):
    """One mode's figures as data."""
    command = "capture.py %s --modes %s" % (kind, ",".join(name for name in MODES[kind] if name in cycles[0]))

    def tell(what, values, unit):
        low, high = interval(values)
        figures.tell("recording", "%s, %s: %s" % (STEP_NAMES[kind], MODE_NAMES[mode], what), statistics.median(values),
                     unit, command, low=float(low), high=float(high), trials=len(values))

    for name, what in (("thread_ns", "processor time of the training thread"), ("wall_ns", "time that passes"),
                       ("process_ns", "processor time of the process")):
        tell(what, [100 * (its[name] / plain[name] - 1) for plain, its in pairs], "% more")
    if memory:
        tell("resident memory", memory, "MB more")
    stops = [its["stop_ns"] / 1e3 for _, its in pairs if "stop_ns" in its]
    if stops:
        tell("time for each op when it stops", stops, "µs")


def tell_plain_step(kind, plain, modes):
    values = [its["wall_ns"] / 1e6 for its in plain]
    figures.tell("recording", "%s, not recorded: time that passes" % STEP_NAMES[kind], statistics.median(values), "ms",
                 "capture.py %s --modes %s" % (kind, ",".join(modes)), better="neither")


def report_steps(kind, cycles):
    plain = [its[0] for cycle in cycles for its in cycle.values()]
    print(
        "%s: %d cycles; a plain step takes %.2f ms, %.2f ms of processor time"
        % (
            kind,
            len(cycles),
            statistics.median(its["wall_ns"] for its in plain) / 1e6,
            statistics.median(its["thread_ns"] for its in plain) / 1e6,
        )
    )
    tell_plain_step(kind, plain, cycles[0])
    titles = ("", "training thread, %", "time passed, %", "whole process, %", "MB more")
    print("  %-14s %-26s %-26s %-26s %-8s" % titles)
    added = collections.defaultdict(dict)  # by column and mode
    for mode in MODES["launch_bound"]:
        pairs = [cycle[mode] for cycle in cycles if mode in cycle]
        if not pairs:
            continue
        columns = [
            told([100 * (its[name] / plain[name] - 1) for plain, its in pairs], "%+.2f")
            for name in ("thread_ns", "wall_ns", "process_ns")
        ]
        both = [(cycle[mode][1], cycle["again"][1]) for cycle in cycles if mode in cycle and "again" in cycle]
        memory = [(its["resident_bytes"] - plain["resident_bytes"]) / 1e6 for its, plain in both]
        print("  %-14s %-26s %-26s %-26s %s" % (mode, *columns, "%+.1f" % statistics.median(memory) if memory else ""))
        tell_steps(kind, cycles, mode, pairs, memory)
        for title, name in (("training thread", "thread_ns"), ("whole process", "process_ns")):
            added[title][mode] = statistics.median(its[name] - plain[name] for plain, its in pairs)
        stops = [its["stop_ns"] / 1e3 for _, its in pairs if "stop_ns" in its]
        if stops:
            print("  %-14s and %s us for each operation when it stops" % ("", told(stops, "%.1f")))
    for title, medians in added.items():
        for other in ("empty", "profiler", "profiler_full"):
            if "all" in medians and medians.get(other, 0) > 0:
                print("  all adds %.2f times what %s adds, %s" % (medians["all"] / medians[other], other, title))
                what = "%s, every op: what it adds, in times of what %s adds, %s"
                figures.tell("recording", what % (STEP_NAMES[kind], MODE_NAMES[other], title),
                             medians["all"] / medians[other], "times", "capture.py %s" % kind)
    both = [(cycle["none"][0], cycle["again"][0]) for cycle in cycles if "again" in cycle and "none" in cycle]
    if both:
        paused = told([100 * (its["thread_ns"] / plain["thread_ns"] - 1) for its, plain in both], "%+.2f")
        print("  loaded and paused, beside another process without: %s %% in the training thread" % paused)


def tell_start(name, mode, its, plain):
    what = "Start of a Python that %s torch" % ("imports" if name == "torch" else "does not import")
    what += ", the same against the same" if mode == "again" else ""
    for key, more, unit in (("wall_ns", "", "ms more"), ("thread_ns", ": processor time", "ms more"),
                            ("resident_bytes", ": largest memory", "MB more")):
        values = [(a[key] - b[key]) / 1e6 for a, b in zip(its, plain)]
        low, high = interval(values)
        figures.tell("starting", what + more, statistics.median(values), unit, "capture.py start", low=float(low),
                     high=float(high), trials=len(values))


def report_starts(cycles):
    print("start: %d cycles" % len(cycles))
    print("  %-26s %-30s %-30s %s" % ("", "time passed, ms more", "processor time, ms more", "largest memory, MB more"))
    for name in STARTS:
        plain = [cycle["%s plain" % name] for cycle in cycles]
        text = "%s (%.0f ms)" % (name, statistics.median(its["wall_ns"] for its in plain) / 1e6)
        for mode in ("again", "recorded"):
            its = [cycle["%s %s" % (name, mode)] for cycle in cycles]
            columns = [
                told([(a[key] - b[key]) / 1e6 for a, b in zip(its, plain)], "%+.1f")
                for key in ("wall_ns", "thread_ns", "resident_bytes")
            ]
            print("  %-26s %-30s %-30s %s" % ((text + ", " + mode,) + tuple(columns)))
            tell_start(name, mode, its, plain)


# ---- Command line.


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("parts", nargs="*", help="launch_bound, tiny, long, start, fastest (all of them)")
    arguments.add_argument("--cycles", type=int, default=150)
    arguments.add_argument("--seconds", type=float, default=1e9)
    arguments.add_argument("--append")
    arguments.add_argument("--modes")
    options = arguments.parse_args()
    capturing.need_torch()
    cycles = collections.defaultdict(list)
    if options.append and os.path.exists(options.append):
        with open(options.append, encoding="utf-8") as file:
            for line in file:
                part, cycle = json.loads(line)
                cycles[part].append(cycle)
    end = time.monotonic() + options.seconds

    def is_over():
        return time.monotonic() >= end

    for part in options.parts or ["launch_bound", "tiny", "long", "start", "fastest"]:
        if part == "fastest":
            run_fastest()
            continue
        modes = options.modes.split(",") if options.modes else MODES.get(part, [])
        if not shutil.which("py-spy"):
            modes = [mode for mode in modes if mode != "py_spy"]

        def keep(cycle):
            cycles[part].append(cycle)
            if options.append:
                with open(options.append, "a", encoding="utf-8") as file:
                    file.write(json.dumps([part, cycle]) + "\n")

        while len(cycles[part]) < options.cycles and not is_over():
            if part == "start":
                run_starts(keep)
            else:
                run_processes(part, modes, min(CYCLES_OF_A_PROCESS, options.cycles - len(cycles[part])), is_over, keep)
        if not cycles[part]:
            continue
        if part == "start":
            report_starts(cycles[part])
        else:
            report_steps(part, cycles[part])


if __name__ == "__main__":
    main()
