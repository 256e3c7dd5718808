#!/usr/bin/env python3
"""figures_page.py: what the documents show of tests/bench/results, for tools/update_reference.sh.

    figures_page.py page        the tables of tests/bench/README.md, one for each subject, and the commands below each
    figures_page.py headline    the table of README.md: the figures that have a `headline`

No cell has more than one figure, and none is longer than figures.LONGEST characters.
"""

import collections
import os
import re
import sys

import figures

HEADS = ("what", "figure", "interval", "compared with", "its figure", "its interval", "ratio")
RIGHT = {"figure", "its figure", "ratio"}
OWN_TABLE = 6  # so many figures that begin alike


def machine_of(row):
    told = row["machine"]
    if "load" in row and told == "busy":
        load = row["load"] if isinstance(row["load"], list) else [row["load"]]
        told += ", load " + " to ".join(figures.number(value) for value in load)
    return told + (f", {row['host']}" if "host" in row else "")


def two_digits(value):
    """A ratio, of two digits that count."""
    value = figures.rounded(value, 2)
    return figures.number(value if value < 10 else round(value))


def cells_of(row, what):
    """The lines of a figure: one for each thing that it is compared with."""
    begin = [what, *figures.shown(row)]
    if not row.get("compared"):
        return [begin + [""] * 4]
    lines = []
    for other in row["compared"]:
        its = figures.shown({"unit": row["unit"], **other})
        times = figures.ratio(row, other)
        lines.append(begin + [other["with"], *its, two_digits(times) if times else ""])
    return lines


def groups_of(rows):
    """Figures of the same command and machine, in lists; those that begin alike up to a colon have one of their own
    where they are several."""
    heads = collections.Counter((row["command"], row["what"].split(": ")[0]) for row in rows)
    groups = {}
    for row in rows:
        head = row["what"].split(": ")[0]
        own = head if heads[row["command"], head] >= OWN_TABLE else ""
        groups.setdefault((row["command"], machine_of(row), row.get("trials"), own), []).append(row)
    return groups.items()


def beginning_of(rows):
    """What the sentences of all of them begin with, up to a colon or a comma."""
    common = os.path.commonprefix([row["what"] for row in rows]) if len(rows) > 1 else ""
    return common[: max(common.rfind(": "), common.rfind(", ")) + 2] if ": " in common or ", " in common else ""


def caption_of(key, begin):
    command, machine, trials, _ = key
    told = [f"**{begin[:-2]}**"] if begin else []
    told += [machine, f"{trials:,} trial{'s' if trials > 1 else ''}"] if trials else [machine]
    return " · ".join(told + [command if "by hand" in command else f"`{command}`"])


def table(heads, lines):
    """Markdown, without the columns in which nothing stands."""
    kept = [i for i in range(len(heads)) if any(line[i] for line in lines)]
    yield "| " + " | ".join(heads[i] for i in kept) + " |"
    yield "|" + "|".join("---:" if heads[i] in RIGHT else "---" for i in kept) + "|"
    for line in lines:
        yield "| " + " | ".join(line[i] for i in kept) + " |"


def wrapped(text, width=118):
    """A paragraph in lines."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def capital(what, begin):
    """The rest of the sentence, with a capital where it is a word of its own."""
    rest = what[len(begin):]
    return rest[:1].upper() + rest[1:] if rest.split()[0].strip(":,").isalpha() else rest


def anchor(title):
    """The name of a heading in links."""
    return re.sub("[^a-z ]", "", title.lower()).replace(" ", "-")


def page():
    read = {name: figures.read(os.path.join(figures.RESULTS, name + ".json")) for name in figures.SUBJECTS}
    titles = [about["title"] for _, about in read.values()]
    yield "\n".join(f"- [{title}](#{anchor(title)})" for title in titles)
    yield "\n## In short\n"
    yield from headline()
    yield ""
    for rows, about in read.values():
        yield f"## {about['title']}\n\n{wrapped(about['about'])}\n"
        for key, alike in groups_of(rows):
            begin = beginning_of(alike)
            yield caption_of(key, begin) + "\n"
            yield from table(HEADS, [line for row in alike for line in cells_of(row, capital(row["what"], begin))])
            yield ""


def headline():
    rows, _ = figures.read(figures.RESULTS)
    rows.sort(key=lambda row: figures.SUBJECTS.index(row["subject"]))
    lines = []
    for row in rows:
        if row.get("headline"):
            other = (row.get("compared") or [{}])[0]
            its = figures.shown({"unit": row["unit"], **other})[0] if other else ""
            lines.append([row["headline"], figures.shown(row)[0], other.get("with", ""), its])
    yield from table(("what", "figure", "compared with", "its figure"), lines)


def main():
    kinds = {"page": page, "headline": headline}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        raise SystemExit(__doc__)
    try:
        print("\n".join(kinds[sys.argv[1]]()).rstrip("\n"))
    except figures.Wrong as wrong:
        raise SystemExit(f"figures_page.py: {wrong}")


if __name__ == "__main__":
    main()
