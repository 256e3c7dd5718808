#!/usr/bin/env python3
"""collect.py: makes one file of the figures that benchmarks have told, with the commit and the machine.

    collect.py ROWS.jsonl -o FILE.json [--load-before LOAD]
    collect.py FILE.json --into tests/bench/results [--busy]

The first adds to the figures the commit that is checked out (`+` where files were changed) and its day, the processor,
cores, memory and kernel of the machine, the load before and after, and whether the machine was idle: the load before
was below half a processor, and that after at most one more than there are cores, which the benchmarks keep busy
themselves. The second takes collected figures over into the results that the documents show: a figure of the same
subject and sentence is replaced, in the unit that it had, others are added. One of an idle machine stays where the new
one is of a busy machine, unless --busy says otherwise. Then run tools/update_reference.sh.
"""

import argparse
import os
import subprocess
import sys

import compare
import figures

HEADS_OF_COMPARED = ("before",)  # what is said of an older commit stays with its figure


def git(*words):
    done = subprocess.run(["git", "-C", figures.HERE, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def first_of(path, key):
    with open(path, encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), "")


def machine():
    return {
        "processor": first_of("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{int(first_of('/proc/meminfo', 'MemTotal').split()[0]) / 1e6:.1f} GB",
        "kernel": os.uname().release,
    }


def state_of(before, after, cores):
    return "idle" if before < 0.5 and after <= cores + 1 else "busy"


def collect(path, target, before):
    rows = figures.read(path)[0]
    after, its = os.getloadavg()[0], machine()
    before = after if before is None else before
    changed = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    about = {"commit": git("rev-parse", "--short=8", "HEAD") + changed, "date": git("log", "-1", "--format=%cs"),
             "machine": its, "state": state_of(before, after, its["cores"]),
             "load": [round(before, 2), round(after, 2)]}
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    figures.write(target, about, rows)
    loads = f"load {before:.1f} to {after:.1f}"
    print(f"{target}: {len(rows)} figures of {about['commit']}, {about['state']} machine, {loads}")


# ---- Into the results.


def in_unit(row, unit):
    """The figure in the unit of the one that it replaces, where that is of the same kind."""
    numbers = compare.scaled(row, unit)
    if row["unit"] == unit or numbers is None or row["value"] is None:
        return row
    scale = numbers[0] / row["value"] if row["value"] else 1
    names = ("value", "low", "high", "error")
    changed = {name: figures.rounded(row[name] * scale) for name in names if name in row}
    if "compared" in row:
        changed["compared"] = [other if "unit" in other else {
            key: figures.rounded(it * scale) if key in names and it is not None else it for key, it in other.items()}
            for other in row["compared"]]
    return dict(row, unit=unit, **changed)


def adopted(row, old, about):
    """The row as it stands in results/, with what the old one alone knows."""
    row = {key: value for key, value in row.items() if key != "subject"}
    row.update(machine=about["state"], load=about["load"], commit=about["commit"], date=about["date"])
    if row["machine"] == "idle":
        del row["load"]
    if old:
        row = in_unit(row, old["unit"])
        kept = [other for other in old.get("compared", ()) if other["with"].startswith(HEADS_OF_COMPARED)]
        if kept:
            row["compared"] = row.get("compared", []) + kept
        if "headline" in old:
            row["headline"] = old["headline"]
    return {key: row[key] for key in figures.KEYS if key in row}


def take_over(path, folder, takes_busy):
    rows, about = figures.read(path)
    if "state" not in about:
        raise figures.Wrong(f"{path}: is not of collect.py: it does not tell the machine")
    if about["commit"].endswith("+"):
        raise figures.Wrong(f"{path}: was measured with changes that are in no commit ({about['commit']})")
    replaced = added = kept = 0
    for subject in dict.fromkeys(row["subject"] for row in rows):
        target = os.path.join(folder, subject + ".json")
        old, head = figures.read(target)
        names = {row["what"]: i for i, row in enumerate(old)}
        for row in rows:
            if row["subject"] == subject:
                at = names.get(row["what"])
                if at is not None and about["state"] == "busy" and old[at]["machine"] == "idle" and not takes_busy:
                    kept += 1
                    continue
                new = adopted(row, None if at is None else old[at], about)
                replaced, added = replaced + (at is not None), added + (at is None)
                if at is None:
                    old.append(new)
                else:
                    old[at] = new
        figures.write(target, head, [{key: value for key, value in row.items() if key != "subject"} for row in old])
    print(f"{folder}: {replaced} figures replaced, {added} added; now run tools/update_reference.sh")
    if kept:
        print(f"{kept} of an idle machine stay, as the new ones are of a busy one: --busy takes these")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="collect.py ROWS -o FILE | collect.py FILE --into FOLDER")
    parser.add_argument("rows")
    parser.add_argument("-o", dest="target", metavar="FILE.json")
    parser.add_argument("--load-before", type=float, metavar="LOAD", help="the load before the benchmarks ran")
    parser.add_argument("--into", metavar="FOLDER", help="take the figures over into the results there")
    parser.add_argument("--busy", action="store_true", help="also where the machine was busy, and was idle before")
    options = parser.parse_args()
    if (options.target is None) == (options.into is None):
        parser.error("either -o or --into says where the figures go")
    try:
        if options.into:
            take_over(options.rows, options.into, options.busy)
        else:
            collect(options.rows, options.target, options.load_before)
    except figures.Wrong as wrong:
        print(f"collect.py: {wrong}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
