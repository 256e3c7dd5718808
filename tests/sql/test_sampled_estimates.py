"""What is said of all steps from those whose ops were recorded, held against recordings of every step.

  python tests/sql/test_sampled_estimates.py [TRIALS]

Twenty-one made-up programs (tests/bench/make_sampled_capture_dumps.c) are recorded whole, and in TRIALS jobs in all
(105; with 1000 it takes a minute) with the ops of the steps that the recorder chooses.  Both are dumps, asked through
the views: where a view says x +- e of the sampled one, x - 2 e to x + 2 e is its 95 % interval, and has to hold what
the same view says of the whole one in at least 93 % of the trials; from 1,000 trials on in 90 % of those of each
program, too.  An op that no recorded step had has no row, and nothing is stated of it.  All is drawn by seeds: each run
gives the same.

What recording took is charged to nobody: in each program without chance in its steps the parts of a step, of every job
and recorded whole, are those of the program unrecorded, within 3 % of the step, and add up to it.
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
    ("time in ops", "SELECT profile_id, '' AS part, in_ops_ratio AS x, in_ops_error_ratio AS e FROM step_summary"),
    ("calls by op", "SELECT profile_id, op AS part, per_step_count AS x, per_step_count_error AS e FROM op_summary"),
    (
        "time by op",
        "SELECT profile_id, op AS part, per_step_self_ns AS x, per_step_self_error_ns AS e FROM op_summary",
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


# The parts of a step: a name and its time in one.
PARTS = """
SELECT profile_id, 'phase ' || phase AS part, 1.0 * per_step_ns AS x, 0 AS e FROM phase_summary
UNION ALL SELECT profile_id, 'in ops', in_ops_ratio * mean_ns, 0 FROM step_summary
UNION ALL SELECT profile_id, 'outside', outside_ratio * mean_ns, 0 FROM step_summary
UNION ALL SELECT profile_id, 'host compute', sum_ratio * (SELECT mean_ns FROM step_summary AS s
  WHERE s.profile_id = p.profile_id), 0
FROM xprof_step_statistics AS p WHERE part = 'host_compute'
UNION ALL SELECT profile_id, 'op ' || op, 1.0 * per_step_self_ns, 0 FROM op_summary WHERE op <> 'aten::chance'
UNION ALL SELECT profile_id, 'all of ' || op, 1.0 * sum_ns / s.step_count, 0 FROM op_summary
JOIN (SELECT profile_id, step_count - warmup_count AS step_count FROM step_summary) AS s USING (profile_id)
WHERE op = 'aten::linear'"""
SUMS = """
SELECT profile_id, 'phases' AS part, sum(sum_ns) AS x, (SELECT sum(net_ns) FROM steps AS s
  WHERE is_warmup = 0 AND s.profile_id = p.profile_id) AS e
FROM phase_summary AS p GROUP BY profile_id
UNION ALL SELECT profile_id, 'host ' || number, op_ns + loading_ns + wait_ns + outside_ns, dur_ns - recording_ns
FROM step_op_time WHERE recording_ns IS NOT NULL
UNION ALL SELECT profile_id, 'parts of ' || step_id, host_compute_ns + other_ns, net_ns FROM _weighed_steps
JOIN (SELECT id AS step_id, net_ns FROM steps WHERE recording_ns > 0) USING (step_id)
UNION ALL SELECT profile_id, 'ranges of ' || step_id, sum(outside_ns) + (SELECT sum(self_ns) FROM ops
  WHERE ops.step_id = ranges.step_id AND category = 'op'), net_ns FROM ranges
JOIN (SELECT id AS step_id, net_ns FROM steps WHERE recording_ns > 0) USING (step_id) GROUP BY profile_id, step_id
UNION ALL SELECT profile_id, 'longest of ' || number, max(net_ns), max(dur_ns) FROM ops JOIN (
  SELECT id AS step_id, number FROM steps) USING (step_id) GROUP BY profile_id, step_id HAVING max(net_ns > dur_ns)"""
STEADY = ("the same", "mostly recording", "every second", "in stages")


def check_parts(name, number):
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        subprocess.run([MAKE, directory, str(number), "0", "3"], check=True)
        answers = ask(directory, PARTS)
        truths = answers.pop("unrecorded")
        step = sum(time for part, (time, _) in truths.items() if part.startswith("phase "))
        worst = 0
        for job, parts in answers.items():
            assert parts.keys() == truths.keys(), (name, job, parts, truths)
            for part, (time, _) in parts.items():
                off = abs(time - truths[part][0]) / step
                worst = max(worst, off)
                assert off <= 0.03, (name, job, part, time, truths[part][0], step)
        for job, parts in ask(directory, SUMS).items():
            for part, (time, whole) in parts.items():
                # An op gives no more than its own time, and its caller does not know of the rest.
                most = 8 + (0.03 * whole if part.startswith("ranges") else 0)
                assert abs(time - whole) <= most and not part.startswith("longest"), (name, job, part, time, whole)
        print("%-20s parts within %.1f %% of the step" % (name, 100 * worst))


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
            answers.pop("unrecorded")
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
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 105
    each = trials // len(names)
    for name in STEADY:
        check_parts(name, names.index(name))
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
