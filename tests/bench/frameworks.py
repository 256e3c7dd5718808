"""What recording costs training steps of TensorFlow, Keras and JAX, in time and in processor time.

  python tests/bench/frameworks.py [jax|tensorflow|keras ...] [--width N] [--pairs N] [--cycles N] [--modes A,B,...]

TFPROF_JAX_PYTHON and TFPROF_TENSORFLOW_PYTHON name the Pythons that have them. Hooks of a framework stay where they
are once it has been imported, so what they cost is told by two processes that run the same steps, one plain and one of
the mode: again (plain, too: the error of the measurement), recorded (the default settings), dormant (--dormant, nobody
asks). --width is that of the layers: 128 makes steps of less than a millisecond, 1024 some of several.
Pairs of processes follow each other, since where the memory of a process lies makes a percent or two; in each, turns of
some steps alternate in an order drawn by chance, so that what slows the machine down falls on both.  Given are the
medians of the ratios of the cycles with their 95 % confidence intervals, for the time that passes, for the processor
time of the thread that trains, and for that of the whole process, the recorder's own threads included.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "capture"))
sys.path.insert(0, HERE)
os.environ["WHOLE_TORCH"] = os.environ["PLAIN_END"] = "1"  # as users' programs (../capture/within/sitecustomize.py)
import capturing  # noqa: E402
import figures  # noqa: E402
from capture import interval, told  # noqa: E402

PROGRAM = os.path.join(HERE, "frameworks_program.py")
PYTHONS = {"jax": "TFPROF_JAX_PYTHON", "tensorflow": "TFPROF_TENSORFLOW_PYTHON", "keras": "TFPROF_TENSORFLOW_PYTHON"}
SETTINGS = {"recorded": {"ops": "sampled"}, "dormant": {"ops": "sampled", "dormant": 1}}
TURN_STEPS, WARMUP_STEPS = 50, 200
TIMES = ("passed_ns", "thread_ns", "process_ns")
# How figures call them.
FRAMEWORK_NAMES = {"jax": "JAX", "tensorflow": "`tf.function`", "keras": "Keras `fit()`"}
MODE_NAMES = {"again": "the same against the same", "recorded": "default settings", "dormant": "dormant"}
TIME_NAMES = {"passed_ns": "time that passes", "thread_ns": "processor time of the training thread",
              "process_ns": "processor time of the process"}


class Side:
    """One process of a pair."""

    def __init__(self, framework, width, mode, directory):
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        if mode in SETTINGS:
            environment = capturing.environment(directory, quiet=1, **SETTINGS[mode])
        python = os.environ.get(PYTHONS[framework]) or capturing.PYTHON
        self.process = subprocess.Popen([python, PROGRAM, framework, str(width)], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, steps):
        """TIMES of these steps, each."""
        self.process.stdin.write("%d\n" % steps)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the program ended; run it by hand: %s" % " ".join(self.process.args))
        return {name: value / steps for name, value in json.loads(line).items()}

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def one_pair(framework, width, mode, cycles, keep):
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        plain, other = sides = [Side(framework, width, "plain", directory), Side(framework, width, mode, directory)]
        try:
            for side in sides:
                side.ask(WARMUP_STEPS)
            for _ in range(cycles):
                answers = {side: side.ask(TURN_STEPS) for side in random.sample(sides, 2)}
                keep(answers[plain], answers[other])
        finally:
            for side in sides:
                side.end()


def tell(framework, width, modes, steps, ratios):
    """All of it as data."""
    step = "A step of %s of width %d" % (FRAMEWORK_NAMES[framework], width)
    command = "frameworks.py %s --width %d --modes %s" % (framework, width, ",".join(modes))
    for name, values in steps.items():
        figures.tell("frameworks", "%s, not recorded: %s" % (step, TIME_NAMES[name]), statistics.median(values) / 1e6,
                     "ms", command, better="neither")
    for mode in modes:
        for name, values in ratios[mode].items():
            low, high = interval(values)
            figures.tell("frameworks", "%s, %s: %s" % (step, MODE_NAMES[mode], TIME_NAMES[name]),
                         statistics.median(values), "% more", command, low=float(low), high=float(high),
                         trials=len(values))


def measure(framework, width, modes, pairs, cycles):
    ratios, steps = {mode: {name: [] for name in TIMES} for mode in modes}, {name: [] for name in TIMES}
    for _ in range(pairs):
        for mode in random.sample(modes, len(modes)):
            def keep(plain, other, of=ratios[mode]):
                for name, values in of.items():
                    steps[name].append(plain[name])
                    values.append(100 * (other[name] / plain[name] - 1))

            one_pair(framework, width, mode, cycles, keep)
    print("%s: a plain step takes %.3f ms, %.3f of processor time on its thread, %.3f in all; %d pairs of %d cycles"
          % (framework, *(statistics.median(steps[name]) / 1e6 for name in TIMES), pairs, cycles))
    for mode in modes:
        print("  %-10s time %s %%, thread %s %%, process %s %%"
              % (mode, *(told(ratios[mode][name], "%+.1f") for name in TIMES)), flush=True)
    tell(framework, width, modes, steps, ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("frameworks", nargs="*", choices=[[], *PYTHONS], default=[])
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--modes", default="again,recorded,dormant")
    options = parser.parse_args()
    for framework in options.frameworks or ("jax", "tensorflow", "keras"):
        measure(framework, options.width, options.modes.split(","), options.pairs, options.cycles)


main()
