#!/usr/bin/env python3
"""test_figures.py: the figures of tests/bench/results are in their form, and what documents show of them is readable.

That the documents are up to date is looked at by test_documents.py (tools/update_reference.sh --check). Here: no cell
of the tables made of figures holds more than one figure, or more than figures.LONGEST characters; wrong files are
refused with the file, the figure and what is wrong.
"""

import json
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BENCH = os.path.join(ROOT, "tests", "bench")
sys.path.insert(0, BENCH)
import figures  # noqa: E402
import figures_page  # noqa: E402

NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
FIGURE = re.compile(rf"(?:(?:below )?{NUMBER}|{NUMBER} to {NUMBER})( [^\d ][^\d]*)?")
INTERVAL = re.compile(rf"{NUMBER} to {NUMBER}|± {NUMBER}|below {NUMBER}")


def tables(lines):
    """(heads, cells of a line) of the tables in the text."""
    heads = None
    for line in lines:
        if not line.startswith("|"):
            heads = None
        elif heads is None:
            heads = [cell.strip() for cell in line.strip("|").split("|")]
        elif not re.fullmatch(r"[|:-]+", line):
            yield heads, [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def test_cells():
    count = 0
    for heads, cells in tables("\n".join([*figures_page.page(), *figures_page.headline()]).split("\n")):
        assert len(heads) == len(cells), cells
        for head, cell in zip(heads, cells):
            count += 1
            assert len(cell) <= figures.LONGEST, (len(cell), cell)
            if head in ("figure", "its figure"):
                assert FIGURE.fullmatch(cell) or (head == "its figure" and not cell), (head, cell)
            elif head in ("interval", "its interval"):
                assert not cell or INTERVAL.fullmatch(cell), cell
            elif head == "ratio":
                assert not cell or re.fullmatch(NUMBER, cell), cell
            else:
                assert ";" not in cell, f"one idea a cell: {cell}"
    assert count > 1000, count


def test_results():
    rows, _ = figures.read(figures.RESULTS)
    files = {name[: -len(".json")] for name in os.listdir(figures.RESULTS)}
    assert files == set(figures.SUBJECTS), files ^ set(figures.SUBJECTS)
    for subject in figures.SUBJECTS:  # files stay as write() leaves them, so that changes are small
        path = os.path.join(figures.RESULTS, subject + ".json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        its, about = figures.parse(path, text)
        its = [{key: value for key, value in row.items() if key != "subject"} for row in its]
        assert text == figures.written(about, its), f"{path}: not as figures.write() writes it, one figure a line"
    assert any(row.get("headline") for row in rows)


GOOD = {"what": "Opening a dump", "value": 3, "unit": "ms", "machine": "idle", "command": "bench_store"}
WRONG = (
    ({"what": None}, "has None as `what`"),
    ({"value": "3"}, "has '3' as `value`"),
    ({"value": None}, "has neither a value nor a range"),
    ({"unit": "furlongs"}, "has the unit 'furlongs'"),
    ({"low": 1}, "has one of `low` and `high`, not both"),
    ({"low": 2, "high": 1}, "has 2 as `low` and 1 as `high`"),
    ({"machine": "tired"}, "has 'tired' as `machine`"),
    ({"better": "up"}, "has 'up' as `better`"),
    ({"colour": "red"}, "has `colour`, which no figure has"),
    ({"what": "x" * 121}, "has a `what` of 121 characters"),
    ({"compared": [{"with": "that"}]}, "is compared with what lacks `value`"),
    ({"trials": True}, "has True as `trials`"),
    ({"value": float("nan")}, "has nan as `value`"),
    ({"unit": "ms", "low": 1, "high": float("inf")}, "has inf as `high`"),
)


def refused(path, text):
    try:
        figures.parse(path, text)
    except figures.Wrong as wrong:
        return str(wrong)
    raise AssertionError(f"taken: {text}")


def test_wrong_files():
    def whole(*rows):
        return json.dumps({"title": "Opening", "about": "", "figures": rows})

    assert figures.parse("results/opening.json", whole(GOOD))[0] == [dict(GOOD, subject="opening")]
    for change, told in WRONG:
        wrong = refused("results/opening.json", whole(GOOD, {**GOOD, **change}))
        assert wrong.startswith("results/opening.json: figure 2") and told in wrong, (change, wrong)
    lacking = {key: value for key, value in GOOD.items() if key != "machine"}
    assert "figure 1 (Opening a dump) lacks `machine`" in refused("results/opening.json", whole(lacking))
    assert "figure 2 (Opening a dump) is there twice" in refused("results/opening.json", whole(GOOD, GOOD))
    assert "opened is no subject" in refused("results/opened.json", whole(GOOD))
    assert "is not JSON" in refused("results/opening.json", "{")
    assert "has no `figures`" in refused("results/opening.json", "[]")
    assert "figure 1 is not an object" in refused("results/opening.json", whole(7))
    assert "rows.jsonl: line 2 is not JSON" in refused("rows.jsonl", '{"what": "x"}\nx')
    assert "rows.jsonl: figure 1 (x) lacks `value`" in refused("rows.jsonl", '{"what": "x"}\n')


def main():
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    print(len(tests), "tests of figures")


main()
