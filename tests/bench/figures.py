"""figures.py: figures of benchmarks as data: their form, reading and checking them, and telling them from a benchmark.

Only this comment says what the form is. `tests/bench/results/*.json` has the figures that the documents show, a file
for each subject:

    {"title": "Queries", "about": "Sentences that stand above the table.", "figures": [ROW, ...]}

ROW is one figure, an object on one line, with these keys (those with a star must be there):

    what*      what was measured: a short sentence, which together with the subject names the figure. It says no
               measured value, but it may say of how much (`1 million ops`).
    value*     the figure, a number; null where only the range of several runs is known, which is then `low` and `high`
    unit*      one of UNITS. Units that end in ` more` are differences, shown with their sign.
    low, high  its 95 % interval, or the least and the most of several runs; without a value 0 and x is "below x"
    error      its standard error, where there is no interval
    trials     how many cycles, pairs or runs it is of
    better     "lower" (if nothing is said), "higher", or "neither", for what is no achievement
    compared   a list of what it is compared with: {"with"*: "a native table", "value"*: 1320, "unit", "low", "high"},
               of the same run where nothing else is said, in the same unit if none is given. `low` and `high` without a
               value are as above. What was true of an older commit has a `with` that begins with "before". Ratios are
               computed, never typed.
    machine*   "idle" or "busy"
    load       the load average meanwhile: a number, or [least, most]
    host       the machine, where it is not the one that the page names
    commit     the commit that was measured, and `date`, its day
    command*   what repeats it, or how it was found by hand
    headline   the sentence by which README.md shows it, too

A benchmark tells a figure by tell() here or, in C, by tell_figure() of figures.h. Where TFPROF_BENCH_RESULTS names a
file, each is appended to it as one line: a ROW with `subject` (the name of the file in results/) and without what is
known only afterwards (machine, load, commit, date), which collect.py adds. It makes of the lines one file

    {"commit": ..., "date": ..., "machine": {...}, "state": "idle", "load": [0.1, 1.2], "figures": [ROW, ...]}

Figures that were told several times, by several runs, become one: the median, with the least and the most.
"""

import json
import math
import os
import re
import statistics

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
SUBJECTS = ("recorder", "recording", "frameworks", "starting", "attaching", "accuracy", "opening", "queries",
            "refreshing", "reports", "serving", "peers")
UNITS = ("", "%", "% more", "B", "B more", "kB", "kB more", "MB", "MB more", "MiB more", "GB", "bytes per byte",
         "ns", "µs", "ms", "s", "ms more", "CPU ms", "CPU s", "GB/s", "MB/s", "million/s", "times", "times as fast",
         "times smaller")
NUMBER = (int, float)
KEYS = {"subject": str, "what": str, "value": (*NUMBER, type(None)), "unit": str, "low": NUMBER, "high": NUMBER,
        "error": NUMBER, "trials": int, "better": str, "compared": list, "machine": str, "load": (*NUMBER, list),
        "host": str, "commit": str, "date": str, "command": str, "headline": str}
COMPARED_KEYS = {"with": str, "value": (*NUMBER, type(None)), "unit": str, "low": NUMBER, "high": NUMBER}
LONGEST = 120  # characters of a cell


class Wrong(Exception):
    """What is wrong, with the file and the row where it is."""


def check_keys(row, keys, needed):
    if not isinstance(row, dict):
        return "is not an object"
    for name in needed:
        if name not in row:
            return f"lacks `{name}`"
    for name, value in row.items():
        if name not in keys:
            return f"has `{name}`, which no figure has; the keys are {', '.join(keys)}"
        if not isinstance(value, keys[name]) or (isinstance(value, bool) and keys[name] is not bool):
            return f"has {value!r} as `{name}`"
    return None


def check_values(row):
    """The value, its unit and its range."""
    for name in ("value", "low", "high", "error"):
        if row.get(name) is not None and not math.isfinite(row[name]):
            return f"has {row[name]} as `{name}`"
    if row.get("unit", "") not in UNITS:
        return f"has the unit {row['unit']!r}; figures.py lists the units"
    if ("low" in row) != ("high" in row):
        return "has one of `low` and `high`, not both"
    if row["value"] is None and "low" not in row:
        return "has neither a value nor a range"
    if "low" in row and row["low"] > row["high"]:
        return f"has {row['low']} as `low` and {row['high']} as `high`"
    return None


def check_row(row, needed):
    """What is wrong with a figure, or None."""
    wrong = check_keys(row, KEYS, needed) or check_values(row)
    if wrong:
        return wrong
    if not row["what"] or len(row["what"]) > LONGEST:
        return f"has a `what` of {len(row['what'])} characters; a cell has 1 to {LONGEST}"
    if len(row.get("headline", "")) > LONGEST:
        return f"has a `headline` of {len(row['headline'])} characters; a cell has {LONGEST}"
    if row.get("machine", "idle") not in ("idle", "busy"):
        return f"has {row['machine']!r} as `machine`; it is idle or busy"
    if row.get("better", "lower") not in ("lower", "higher", "neither"):
        return f"has {row['better']!r} as `better`; it is lower, higher or neither"
    if row.get("subject", SUBJECTS[0]) not in SUBJECTS:
        return f"has the subject {row['subject']!r}; the subjects are {', '.join(SUBJECTS)}"
    for other in row.get("compared", ()):
        wrong = check_keys(other, COMPARED_KEYS, ("with", "value")) or check_values(other)
        if wrong:
            return f"is compared with what {wrong}"
        if len(other["with"]) > LONGEST:
            return f"is compared with what takes {len(other['with'])} characters; a cell has {LONGEST}"
    return None


def check_rows(path, rows, needed):
    if not isinstance(rows, list):
        raise Wrong(f"{path}: `figures` is no list")
    for number, row in enumerate(rows, 1):
        wrong = check_row(row, needed)
        if wrong:
            name = f" ({row['what'][:60]})" if isinstance(row, dict) and isinstance(row.get("what"), str) else ""
            raise Wrong(f"{path}: figure {number}{name} {wrong}")


# ---- Reading.


def read_lines(path, text):
    """What benchmarks have told, one figure a line."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise Wrong(f"{path}: line {number} is not JSON: {error}") from None
    check_rows(path, rows, ("what", "value", "unit", "subject"))
    return merge(rows)


def merge(rows):
    """Figures of the same name become one: the median with its range."""
    by_name = {}
    for row in rows:
        by_name.setdefault((row["subject"], row["what"]), []).append(row)
    return [alike[0] if len(alike) == 1 else merge_one(alike) for alike in by_name.values()]


def merge_one(rows):
    values = sorted(row["value"] for row in rows if row["value"] is not None)
    if not values:
        return rows[-1]
    trials = sum(row.get("trials", 1) for row in rows)
    merged = dict(rows[-1], value=rounded(statistics.median(values)), low=values[0], high=values[-1], trials=trials)
    merged.pop("error", None)  # the range of the runs stands for it
    if all(len(row.get("compared", ())) == len(merged.get("compared", ())) for row in rows):
        for i, other in enumerate(merged.get("compared", ())):
            others = [row["compared"][i]["value"] for row in rows]
            if None not in others:
                other["value"] = rounded(statistics.median(others))
    return merged


def parse(path, text):
    """The figures in the text of a file, of either form: a list of rows, and what the file says of all of them."""
    if path.endswith(".jsonl"):
        return read_lines(path, text), {}
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise Wrong(f"{path}: is not JSON: {error}") from None
    if not isinstance(whole, dict) or "figures" not in whole:
        raise Wrong(f"{path}: has no `figures`; the form is told in tests/bench/figures.py")
    rows, about = whole["figures"], {key: value for key, value in whole.items() if key != "figures"}
    is_collected = "title" not in about
    check_rows(path, rows, ("what", "value", "unit", "command") + (("subject",) if is_collected else ("machine",)))
    if not is_collected:
        subject = os.path.basename(path)[: -len(".json")]
        if subject not in SUBJECTS:
            raise Wrong(f"{path}: {subject} is no subject; figures.py lists them")
        rows = [dict(row, subject=subject) for row in rows]
    check_names(path, rows)
    return rows, about


def check_names(path, rows):
    seen = set()
    for number, row in enumerate(rows, 1):
        name = row["subject"], row["what"]
        if name in seen:
            raise Wrong(f"{path}: figure {number} ({row['what'][:60]}) is there twice")
        seen.add(name)


def read_folder(path):
    """As one file: what several of them have are several runs of one commit."""
    rows, said = [], {}
    for name in sorted(os.listdir(path)):
        if not name.endswith((".json", ".jsonl")):
            continue
        its, about = read(os.path.join(path, name))
        if "commit" in about and said.setdefault("commit", about["commit"]) != about["commit"]:
            raise Wrong(f"{path}: has figures of several commits, {said['commit']} and {about['commit']} ({name})")
        said.update((key, about[key]) for key in ("state", "load", "machine", "date") if key in about)
        rows += its
    if not rows:
        raise Wrong(f"{path}: has no figures in it")
    return merge(rows), said


def read(path):
    """The figures of a file, or of all *.json and *.jsonl of a folder, and what the file says of all of them."""
    if os.path.isdir(path):
        return read_folder(path)
    try:
        with open(path, encoding="utf-8") as file:
            return parse(path, file.read())
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Wrong(f"{path}: is not UTF-8 at byte {error.start}") from None


def written(about, rows):
    """The text of a file: one figure a line."""
    head = json.dumps(about, ensure_ascii=False, indent=1)[:-2] + ",\n" if about else "{\n"
    body = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    return head + ' "figures": [\n' + body + "\n ]\n}\n"


def write(path, about, rows):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(written(about, rows))
    os.replace(path + ".new", path)


# ---- What a figure says.


def number(value):
    """As people write it, with commas and no more digits than there are."""
    if isinstance(value, float) and abs(value) < 1000:
        return repr(value)
    return f"{value:,.0f}"


def shown(row):
    """(the figure, its interval) as they stand in cells."""
    sign, unit = row["unit"].endswith(" more"), row["unit"].removesuffix(" more")

    def one(value):
        return ("+" if sign and value > 0 else "") + number(value)

    interval = f"{one(row['low'])} to {one(row['high'])}" if "low" in row else ""
    if "error" in row:
        interval = "± " + number(row["error"])
    if row["value"] is None:
        interval = interval if row["low"] else "below " + number(row["high"])
        return f"{interval} {unit}".strip(), ""
    return f"{one(row['value'])} {unit}".strip(), interval


def factor(value, unit):
    """What ratios are made of: the number itself, of percent more what it makes of 1; None where there is none."""
    if value is None:
        return None
    if unit == "% more":
        return 1 + value / 100
    return value


def ratio(row, other):
    """How many times the figure the other is; None where it is no ratio."""
    unit = other.get("unit", row["unit"])
    same = unit == row["unit"] and row["value"] and other["value"] is not None
    if not same or (unit.endswith(" more") and (row["value"] <= 0 or other["value"] <= 0)) or unit == "":
        return None
    return other["value"] / row["value"]


def count(number_of):
    """As sentences have it: "1 million", or "12,345"."""
    return f"{number_of // 1000000} million" if number_of and number_of % 1000000 == 0 else f"{number_of:,}"


def rounded(value, digits=4):
    """Of so many digits that count."""
    return float(f"%.{digits}g" % value)


def tell(subject, what, value, unit, command, **more):
    """Appends a figure to the file that TFPROF_BENCH_RESULTS names, if it does. `more` are the other keys of the form;
    compared may be one tuple (with, value). A value that is no number is not told."""
    path = os.environ.get("TFPROF_BENCH_RESULTS")
    if not path or value is not None and not math.isfinite(value):
        return
    row = {"subject": subject, "what": re.sub(r"\s+", " ", what), "value": None if value is None else rounded(value),
           "unit": unit, "command": command}
    compared = more.pop("compared", None)
    row.update((key, rounded(value) if isinstance(value, float) else value) for key, value in more.items())
    if compared:
        is_one = isinstance(compared, tuple)
        row["compared"] = [{"with": compared[0], "value": rounded(compared[1])}] if is_one else compared
    wrong = check_row(row, ("what", "value", "unit"))
    if wrong:
        raise Wrong(f"the figure {what!r} {wrong}")
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from None
