#!/usr/bin/env python3
"""compare.py: what changed between two commits, by the figures of their benchmarks.

    compare.py A B [--threshold PERCENT] [--noise PERCENT] [--only TEXT] [--all] [--format text|csv|json]

A is the older side and B the newer one. Each is one of these:

    a file     what TFPROF_BENCH_RESULTS collected (*.jsonl), what run.sh made of it, or one of tests/bench/results
    a folder   all such files in it: several runs of one commit
    a commit   what run.sh left of it in build/bench; without that, tests/bench/results as it was in the commit

Each figure that both sides have is told: old, new, their ratio, and what that means. A ratio above 1 is worse,
whichever way the figure counts. The worst come first, then figures that only one side has; --all tells all of these,
and those that did not change.

    worse, better    by more than --threshold (5 %), and by more than noise
    within noise     the two intervals overlap; where a side has none, it counts as --noise (10 %) on both sides of it
    same             by --threshold or less

A difference (`% more`) is compared as the whole that it makes: +1 % and +3 % are 1.01 and 1.03. A figure that is
neither good nor bad is never worse. Figures of a busy machine are marked, as are pairs of unlike units, which are not
compared.

The exit status is 1 where a figure is worse, 2 for wrong input, else 0.

    TFPROF_BENCH_RESULTS=old.jsonl build/tests/bench_store ops.tfprof     # some times, for an interval
    TFPROF_BENCH_RESULTS=new.jsonl build/tests/bench_store ops.tfprof     # with the change
    python3 tests/bench/compare.py old.jsonl new.jsonl
"""

import argparse
import csv
import glob
import json
import os
import signal
import subprocess
import sys

import figures

ROOT = os.path.join(figures.HERE, "..", "..")
COLUMNS = ("verdict", "ratio", "old", "new", "unit", "subject", "what", "note")
NEEDED = ("what", "value", "unit", "low", "high", "error", "better", "machine")
# Units of the same kind, in the smallest of them.
SCALES = (
    {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9},
    {"CPU ms": 1, "CPU s": 1e3},
    {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    {"B more": 1, "kB more": 1e3, "MB more": 1e6, "MiB more": 1048576},
    {"MB/s": 1, "GB/s": 1e3},
)


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def collected(commit):
    """What run.sh left of the commit: the file, or None."""
    for path in sorted(glob.glob(os.path.join(ROOT, "build", "bench", "*.json"))):
        try:
            told = figures.read(path)[1].get("commit", "")
        except figures.Wrong:
            continue
        if told and commit.startswith(told):
            return path
    return None


def read(path):
    rows, about = figures.read(path)
    return [{"machine": about["state"], **row} for row in rows] if "state" in about else rows


def side(name):
    """The figures of a side by (subject, what)."""
    if os.path.exists(name):
        rows = read(name)
    else:
        commit = git("rev-parse", "--verify", "--quiet", name + "^{commit}")
        if commit is None:
            raise figures.Wrong(f"{name}: is no file, no folder and no commit")
        commit = commit.strip()
        path = collected(commit)
        rows = read(path) if path else of_commit(name, commit)
    return {(row.get("subject", ""), row["what"]): row for row in rows}


def of_commit(name, commit):
    """What is compared of the results of a commit, whose form may have had other keys besides."""
    rows = []
    for path in (git("ls-tree", "--name-only", commit, "tests/bench/results/") or "").split():
        its = json.loads(git("show", f"{commit}:{path}"))["figures"]
        its = [{key: row[key] for key in NEEDED if key in row} for row in its]
        figures.check_rows(f"{name}:{path}", its, ("what", "value", "unit"))
        rows += [dict(row, subject=os.path.basename(path)[: -len(".json")]) for row in its]
    if not rows:
        raise figures.Wrong(f"{name}: the commit has no tests/bench/results, and build/bench has nothing of it")
    return rows


# ---- Two figures.


def scaled(row, unit):
    """(value, low, high) in the unit; None where it is of another kind. Without an interval low and high are None."""
    scale = 1
    if row["unit"] != unit:
        kinds = [kind for kind in SCALES if unit in kind and row["unit"] in kind]
        if not kinds:
            return None
        scale = kinds[0][row["unit"]] / kinds[0][unit]
    low, high, value = row.get("low"), row.get("high"), row["value"]
    if "error" in row and value is not None:
        low, high = value - 2 * row["error"], value + 2 * row["error"]
    if value is None:
        value = (low + high) / 2  # of a range the middle
    return tuple(None if number is None else number * scale for number in (value, low, high))


def whole(number, unit):
    """A difference in percent as the whole that it makes."""
    return 1 + number / 100 if unit == "% more" and number is not None else number


def with_noise(numbers, noise):
    value, low, high = numbers
    if low is not None:
        return low, high
    return value - abs(value) * noise, value + abs(value) * noise


def worsening(old, new, better):
    """How many times as bad: above 1 is worse; None where it cannot be said."""
    if old == new:
        return 1.0
    if old <= 0 or new <= 0:  # from or to nothing
        return None
    return old / new if better == "higher" else new / old


def judge(old, new, options):
    """A line of the answer."""
    better, unit = new.get("better", "lower"), new["unit"]
    line = dict.fromkeys(COLUMNS, "")
    line.update(unit=unit, subject=new.get("subject", ""), what=new["what"], new=figures.shown(new)[0],
                old=figures.shown(old)[0])
    busy = [name for name, row in (("old", old), ("new", new)) if row.get("machine") == "busy"]
    line["note"] = f"busy: {' and '.join(busy)}" if busy else ""
    ours, theirs = scaled(new, unit), scaled(old, unit)
    if theirs is None:
        return dict(line, verdict="unlike", note=f"{old['unit']} and {unit} are not compared")
    ours, theirs = (tuple(whole(number, unit) for number in numbers) for numbers in (ours, theirs))
    ratio = worsening(theirs[0], ours[0], better)
    line["ratio"] = ratio
    if better == "neither":
        return dict(line, verdict="neither")
    (old_low, old_high), (low, high) = with_noise(theirs, options.noise / 100), with_noise(ours, options.noise / 100)
    is_worse = ours[0] < theirs[0] if better == "higher" else ours[0] > theirs[0]
    if ratio is not None and 1 / (1 + options.threshold / 100) <= ratio <= 1 + options.threshold / 100:
        return dict(line, verdict="same")
    if low <= old_high and old_low <= high:
        return dict(line, verdict="within noise")
    return dict(line, verdict="worse" if is_worse else "better")


# Of these so many are told, without --all.
SHOWN = {"same": 0, "within noise": 0, "neither": 0, "gone": 10, "new": 10}
ORDER = ("worse", "unlike", "within noise", "same", "better", "neither", "gone", "new")


def place(line):
    """The worst first: by verdict, then by ratio, what came from nothing before all."""
    ratio = line["ratio"] if isinstance(line["ratio"], float) else float("inf")
    return ORDER.index(line["verdict"]), -ratio, line["what"]


def compare(older, newer, options):
    lines = []
    for name in {**older, **newer}:
        if options.only and options.only.lower() not in " ".join(name).lower():
            continue
        if name in older and name in newer:
            lines.append(judge(older[name], newer[name], options))
        else:
            is_new = name in newer
            row = (newer if is_new else older)[name]
            line = dict.fromkeys(COLUMNS, "")
            line.update(verdict="new" if is_new else "gone", unit=row["unit"], subject=name[0], what=name[1])
            line["new" if is_new else "old"] = figures.shown(row)[0]
            lines.append(line)
    return sorted(lines, key=place)


# ---- Telling it.


def print_text(lines, is_all):
    counts = {verdict: sum(line["verdict"] == verdict for line in lines) for verdict in ORDER}
    seen = dict.fromkeys(ORDER, 0)
    for line in lines:
        seen[line["verdict"]] += 1
        if not is_all and seen[line["verdict"]] > SHOWN.get(line["verdict"], len(lines)):
            continue
        ratio = f"{line['ratio']:.3f}" if isinstance(line["ratio"], float) else ""
        values = f"{line['old'] or '-'} -> {line['new'] or '-'}"
        note = f" ({line['note']})" if line["note"] else ""
        print(f"{line['verdict']:<12} {ratio:>8}  {values:<34} {line['subject']}: {line['what']}{note}")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no figures")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="compare.py A B [options]")
    parser.add_argument("older", metavar="A")
    parser.add_argument("newer", metavar="B")
    parser.add_argument("--threshold", type=float, default=5, metavar="PERCENT", help="what counts as a change (5)")
    parser.add_argument("--noise", type=float, default=10, metavar="PERCENT",
                        help="the noise of a figure that has no interval (10)")
    parser.add_argument("--only", metavar="TEXT", help="only figures whose subject or sentence has the text")
    parser.add_argument("--all", action="store_true", help="also what did not change, and all that came or went")
    parser.add_argument("--format", choices=("text", "csv", "json"), default="text")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as other programs do when `head` has enough
    try:
        lines = compare(side(options.older), side(options.newer), options)
    except figures.Wrong as wrong:
        print(f"compare.py: {wrong}", file=sys.stderr)
        return 2
    if options.format == "json":
        print(json.dumps(lines, ensure_ascii=False, indent=1))
    elif options.format == "csv":
        writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    else:
        print_text(lines, options.all)
    return 1 if any(line["verdict"] == "worse" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
