"""Whether the lines that python_summary names for the time between operations are those that py-spy sees.

  python tests/bench/python_lines.py [PROGRAM ...] [--seconds S] [--ops all|sampled] [--cost PAIRS]

Runs each program of python_lines_program.py recorded, with py-spy (of the same environment) beside it, which stops the
process a hundred times a second and reads its stacks: two samples of one run.  For each line of the program that runs
no operation: its share in both, and their difference in standard errors; then the chi-square of all lines.  Where both
see the same, the probability of as large a chi-square is even: seldom below 0.01.

With --cost: what looking takes, the processor time of the recorder's thread in percent of the time that passes, in
pairs of runs with stacks and with --python=none; the difference holds what stacks of operations take as well.
"""

import argparse
import collections
import math
import os
import random
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "capture"))
sys.path.insert(0, HERE)
os.environ["WHOLE_TORCH"] = os.environ["PLAIN_END"] = "1"  # as users' programs (../capture/within/sitecustomize.py)
import capturing  # noqa: E402
import figures  # noqa: E402

PROGRAM = os.path.join(HERE, "python_lines_program.py")
PROGRAMS = ("data", "augmentation", "tokenizer")
NAMES = {"data": "data preparation", "augmentation": "augmentation", "tokenizer": "tokenizer"}
FEW = 10  # samples: lines with fewer are taken together


def lines_with(mark):
    with open(PROGRAM, encoding="utf-8") as file:
        return {number for number, line in enumerate(file, 1) if mark in line}


def spied(path):
    """{line: samples}: the innermost frame of the program in each stack that py-spy saw in its loop."""
    loop = lines_with("inputs = make()")
    seen, place = collections.Counter(), re.compile(r"\(.*%s:([0-9]+)\)" % re.escape(os.path.basename(PROGRAM)))
    with open(path, encoding="utf-8") as file:
        for row in file:
            stack, _, count = row.rpartition(" ")
            lines = [place.search(frame) for frame in stack.split(";")]
            lines = [int(line.group(1)) for line in lines if line]
            if loop & set(lines):
                seen[lines[-1]] += int(count)
    return seen


def recorded(directory):
    """{line: share}, and how many samples of equal weight would say as much."""
    rows = capturing.query(directory, "SELECT line, self_ratio FROM python_summary WHERE file = '%s'" % PROGRAM)
    (count,) = capturing.query(
        directory,
        """SELECT pow(sum(weight), 2) / sum(weight * weight) AS n FROM (SELECT samples.period_ns * steps.sample_weight
          AS weight FROM python_samples AS samples JOIN steps ON steps.id = step_id WHERE is_warmup = 0)""",
    )
    return {row["line"]: row["self_ratio"] for row in rows}, count["n"]


def upper_tail(chi_square, freedom):
    """The probability of a larger chi-square (Wilson and Hilferty)."""
    if not freedom:
        return 1.0
    z = ((chi_square / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return 0.5 * math.erfc(z / math.sqrt(2))


def compare(name, seconds, mode):
    with capturing.Directory() as directory:
        raw = os.path.join(directory, "stacks.raw")
        os.mkdir(os.path.join(directory, "run"))
        command = [os.path.join(os.path.dirname(capturing.PYTHON), "py-spy"), "record", "--idle", "-r", "100"]
        command += ["--format", "raw", "-o", raw, "--", capturing.PYTHON, PROGRAM, name, str(seconds)]
        environment = capturing.environment(os.path.join(directory, "run"), ops=mode)
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        left_out = lines_with("# operations")
        theirs = {line: n for line, n in spied(raw).items() if line not in left_out}
        ours, count = recorded(os.path.join(directory, "run"))
    ours = {line: share for line, share in ours.items() if line not in left_out}
    ratio, all_theirs = sum(ours.values()), sum(theirs.values())
    count *= ratio
    print("%s: %.0f samples of tfprof, %d of py-spy" % (name, count, all_theirs))
    chi_square, lines, rest = 0.0, 0, [0.0, 0]
    for line in sorted(set(ours) | set(theirs), key=lambda line: -theirs.get(line, 0)):
        mine, other = ours.get(line, 0.0) / ratio, theirs.get(line, 0) / all_theirs
        both = (mine * count + other * all_theirs) / (count + all_theirs)
        if both * min(count, all_theirs) < FEW:
            rest = [rest[0] + mine, rest[1] + other]
            continue
        error = math.sqrt(both * (1 - both) * (1 / count + 1 / all_theirs))
        print("  line %3d  %5.1f %%  py-spy %5.1f %%  %+5.1f" % (line, 100 * mine, 100 * other, (mine - other) / error))
        chi_square += (mine - other) ** 2 / (both * (1 / count + 1 / all_theirs))
        lines += 1
    print("  others    %5.1f %%  py-spy %5.1f %%" % (100 * rest[0], 100 * rest[1]))
    largest = max(ours, key=ours.get)
    command = "python_lines.py %s --seconds %g" % (name, seconds)
    figures.tell("accuracy", "Share of the largest line of Python between operations: %s" % NAMES[name],
                 100 * ours[largest] / ratio, "%", command, better="neither",
                 compared=("py-spy in the same run", 100 * theirs.get(largest, 0) / all_theirs))
    figures.tell("accuracy", "Chi-square of all lines between operations against py-spy, its p: %s" % NAMES[name],
                 upper_tail(chi_square, lines - 1), "", command, better="neither")
    print("  chi-square %.1f of %d lines, p = %.3f" % (chi_square, lines, upper_tail(chi_square, lines - 1)))


def cost(name, seconds, mode, pairs):
    differences = []
    for _ in range(pairs):
        taken = {}
        for python_mode in random.sample(("stacks", "none"), 2):
            with capturing.Directory() as directory:
                out, _ = capturing.run(directory, [PROGRAM, name, str(seconds)], ops=mode, python_mode=python_mode)
            taken[python_mode] = float(out)
        differences.append(taken["stacks"] - taken["none"])
        print("%s: %.3f %% with stacks, %.3f %% without" % (name, taken["stacks"], taken["none"]), flush=True)
    figures.tell("recorder", "Looking at lines of Python with %s recorded, of one processor: %s"
                 % ("every step" if mode == "all" else "some steps", NAMES[name]), statistics.median(differences), "%",
                 "python_lines.py %s --cost %d --seconds %g" % (name, pairs, seconds), trials=pairs)
    print("%s: looking takes %.3f %% of a processor (median)" % (name, statistics.median(differences)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="*", help=", ".join(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--ops", default="all", choices=("all", "sampled"))
    parser.add_argument("--cost", type=int, default=0, metavar="PAIRS")
    arguments = parser.parse_args()
    for name in arguments.program or PROGRAMS:
        if arguments.cost:
            cost(name, arguments.seconds, arguments.ops, arguments.cost)
            continue
        compare(name, arguments.seconds, arguments.ops)


main()
