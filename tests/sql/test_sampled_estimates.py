"""What is said of all steps from those whose ops were recorded, held against recordings of every step.

  python tests/sql/test_sampled_estimates.py [TRIALS]

Twenty made-up programs (tests/bench/make_sampled_capture_dumps.c) are recorded whole, and in TRIALS jobs in all (100;
with 1000 it takes a minute) with the ops of the steps that the recorder chooses.  Both are dumps, asked through the
views: where a view says x +- e of the sampled one, x - 2 e to x + 2 e is its 95 % interval, and has to hold what the
same view says of the whole one in at least 93 % of the trials; from 1,000 trials on in 90 % of those of each program,
too.  An op that no recorded step had has no row, and nothing is stated of it.  All is drawn by seeds: each run gives
the same.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
import asking  # noqa: E402
import tempfile  # noqa: E402

BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build")
MAKE = os.path.join(BUILD, "tests", "make_sampled_capture_dumps")
# What is asked: a name, the estimate and its error by profile and part.
QUESTIONS = (
    ("ops of a step", "SELECT profile_id, '' AS part, ops_per_step AS x, ops_per_step_error AS e FROM step_summary"),
    ("time in ops", "SELECT profile_id, '' AS part, in_ops_ratio AS x, in_ops_error AS e FROM step_summary"),
    ("calls by op", "SELECT profile_id, name AS part, per_step_count AS x, per_step_count_error AS e FROM op_summary"),
    (
        "time by op",
        "SELECT profile_id, name AS part, per_step_self_ns AS x, per_step_self_error_ns AS e FROM op_summary",
    ),
)


def ask(directory, sql):
    """{name of the dump: {part: (estimate, error)}}"""
    sql = "SELECT path, part, x, e FROM (%s) AS q JOIN profiles ON profiles.id = q.profile_id" % sql
    answers = {}
    for row in asking.query(directory, sql):
        name = os.path.basename(row["path"]).partition(".")[0]
        answers.setdefault(name, {})[row["part"]] = (row["x"], row["e"])
    return answers


def is_held(estimate, error, truth):
    return abs(estimate - truth) <= 2 * error + 1e-6 * abs(truth) + 1e-9


def try_program(number, first, count):
    """{question: [answers that state no error, whose interval holds the truth, whose interval does not]}"""
    found = {}
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        subprocess.run([MAKE, directory, str(number), str(first), str(count)], check=True)
        for question, sql in QUESTIONS:
            answers = ask(directory, sql)
            truths = answers.pop("full")
            assert len(answers) == count and all(error == 0 for _, error in truths.values()), (question, truths)
            counts = found[question] = [0, 0, 0]
            for parts in answers.values():
                for part, (truth, _) in truths.items():
                    estimate, error = parts.get(part, (0, None))
                    counts[0 if error is None else 1 if is_held(estimate, error, truth) else 2] += 1
    return found


def share(counts):
    stated = counts[1] + counts[2]
    return "%5.1f %%" % (100 * counts[1] / stated) if stated else "   none"


def main():
    names = subprocess.run([MAKE], capture_output=True, text=True, check=True).stdout.splitlines()
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    each = trials // len(names)
    sums = {question: [0, 0, 0] for question, _ in QUESTIONS}
    print("%-20s %s" % ("", "  ".join("%-15s" % question for question, _ in QUESTIONS)))
    for number, name in enumerate(names):
        found = try_program(number, number * each, each)
        cells = []
        for question, counts in found.items():
            sums[question] = [a + b for a, b in zip(sums[question], counts)]
            cells.append("%-15s" % (share(counts) + (" (%d)" % counts[0] if counts[0] else "")))
            assert trials < 1000 or counts[1] >= 0.9 * (counts[1] + counts[2]), (name, question, counts)
        print("%-20s %s" % (name, "  ".join(cells)))
    print("%-20s %s" % ("all", "  ".join("%-15s" % share(counts) for counts in sums.values())))
    print("%d trials; in brackets: so many answers stated no error" % (each * len(names)))
    for question, counts in sums.items():
        assert counts[1] >= 0.93 * (counts[1] + counts[2]) > 0.5 * sum(counts), (question, counts)


main()
