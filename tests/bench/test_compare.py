#!/usr/bin/env python3
"""test_compare.py: what compare.py and collect.py make of small files of figures, right and wrong ones."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402  (temporary files go where they are removed)
import figures  # noqa: E402

OLD = {
    # sentence: (value, unit, more)
    "slower": (10, "ms", {}),
    "much slower": (10, "ms", {}),
    "faster": (10, "ms", {}),
    "a rate that falls": (2.0, "GB/s", {"better": "higher"}),
    "within its intervals": (10, "ms", {"low": 8, "high": 13}),
    "within the noise of all": (10, "ms", {}),
    "the same": (10, "ms", {}),
    "overhead": (1.0, "% more", {"low": 0.8, "high": 1.2}),
    "in another unit": (1.5, "s", {}),
    "of another kind": (1, "ms", {}),
    "lost": (0, "", {}),
    "size of the input": (3, "MB", {"better": "neither"}),
    "only a range": (None, "ms", {"low": 5, "high": 7}),
    "with an error": (10, "kB more", {"error": 1}),
    "removed": (1, "ms", {}),
}
NEW = {
    "slower": (13, "ms", {}),
    "much slower": (40, "ms", {}),
    "faster": (5, "ms", {}),
    "a rate that falls": (1.0, "GB/s", {"better": "higher"}),
    "within its intervals": (14, "ms", {"low": 12, "high": 15}),
    "within the noise of all": (11.5, "ms", {}),
    "the same": (10.4, "ms", {}),
    "overhead": (9.0, "% more", {"low": 8.5, "high": 9.5}),
    "in another unit": (1500, "ms", {}),
    "of another kind": (1, "MB", {}),
    "lost": (5, "", {}),
    "size of the input": (30, "MB", {"better": "neither"}),
    "only a range": (20, "ms", {}),
    "with an error": (13, "kB more", {"error": 1}),
    "added": (1, "ms", {}),
}
VERDICTS = {
    "slower": ("worse", 1.3),
    "much slower": ("worse", 4.0),
    "faster": ("better", 0.5),
    "a rate that falls": ("worse", 2.0),
    "within its intervals": ("within noise", 1.4),
    "within the noise of all": ("within noise", 1.15),
    "the same": ("same", 1.04),
    "overhead": ("worse", 1.09 / 1.01),
    "in another unit": ("same", 1.0),
    "of another kind": ("unlike", None),
    "lost": ("worse", None),
    "size of the input": ("neither", 10.0),
    "only a range": ("worse", 20 / 6),
    "with an error": ("within noise", 1.3),
    "removed": ("gone", None),
    "added": ("new", None),
}


def path_of(name):
    return os.path.join(scratch.DIRECTORY, name)


def put(name, rows):
    with open(path_of(name), "w", encoding="utf-8") as file:
        for what, (value, unit, more) in rows.items():
            row = {"subject": "queries", "what": what, "value": value, "unit": unit, "command": "made up", **more}
            file.write(json.dumps(row) + "\n")
    return path_of(name)


def run(program, *words):
    command = [sys.executable, "-B", os.path.join(HERE, program), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def answer(*words):
    status, out, error = run("compare.py", *words, "--format", "json")
    assert not error, error
    return status, json.loads(out)


def test_verdicts():
    old, new = put("old.jsonl", OLD), put("new.jsonl", NEW)
    status, lines = answer(old, new)
    assert status == 1
    got = {line["what"]: line for line in lines}
    assert set(got) == set(VERDICTS)
    for what, (verdict, ratio) in VERDICTS.items():
        line = got[what]
        assert line["verdict"] == verdict, line
        assert (line["ratio"] or None) is None if ratio is None else abs(line["ratio"] - ratio) < 1e-9, line
    worst = [line["what"] for line in lines if line["verdict"] == "worse"]
    assert worst == ["lost", "much slower", "only a range", "a rate that falls", "slower", "overhead"], worst
    assert answer(old, old)[0] == 0
    assert {line["verdict"] for line in answer(old, old)[1]} == {"same", "neither"}
    assert answer(old, new, "--only", "faster")[0] == 0
    status, lines = answer(old, new, "--threshold", "500", "--only", "slower")
    assert (status, {line["verdict"] for line in lines}) == (0, {"same"})
    status, lines = answer(old, new, "--noise", "200", "--only", "slower")
    assert (status, {line["verdict"] for line in lines}) == (0, {"within noise"})


def test_text():
    status, out, _ = run("compare.py", put("old.jsonl", OLD), put("new.jsonl", NEW))
    lines = out.splitlines()
    assert status == 1 and lines[1].split() == "worse 4.000 10 ms -> 40 ms queries: much slower".split(), lines[1]
    assert not any(line.startswith("same") for line in lines) and "within its" not in out
    assert lines[-1] == "6 worse, 1 unlike, 3 within noise, 2 same, 1 better, 1 neither, 1 gone, 1 new", lines[-1]
    _, all_of_it, _ = run("compare.py", path_of("old.jsonl"), path_of("new.jsonl"), "--all")
    assert len(all_of_it.splitlines()) == len(VERDICTS) + 1
    status, out, _ = run("compare.py", "--help")
    assert status == 0 and "within noise" in out and "--threshold" in out


def test_several_runs_become_an_interval():
    path = path_of("several.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for value in (10, 14, 11):
            row = {"subject": "queries", "what": "slower", "value": value, "unit": "ms", "command": "made up"}
            file.write(json.dumps(row) + "\n")
    ((row,), _) = figures.read(path)
    assert (row["value"], row["low"], row["high"], row["trials"]) == (11, 10, 14, 3), row
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(dict(row, value=1.1001, low=1, high=2)) + "\n")
    assert figures.read(path)[0][0]["value"] == 10.5  # of an even number: no more digits than count
    put("several.jsonl", {"slower": (11, "ms", {"low": 10, "high": 14})})
    assert answer(path, put("new.jsonl", NEW))[1][0]["verdict"] != "worse"  # 13 with 10 % is within 10 to 14


def test_folders():
    """Several runs of a commit are one; those of two commits are not."""
    folder = path_of("runs")
    os.makedirs(folder, exist_ok=True)
    for number, value in enumerate((10, 12, 17)):
        put(f"runs/{number}.jsonl", {"slower": (value, "ms", {"trials": 5})})
    ((row,), _) = figures.read(folder)
    assert (row["value"], row["low"], row["high"], row["trials"]) == (12, 10, 17, 15), row
    for commit in ("11111111", "22222222"):
        figures.write(os.path.join(folder, commit + ".json"), {"commit": commit, "state": "idle"}, [row])
    status, _, error = run("compare.py", folder, put("old.jsonl", OLD))
    assert status == 2 and "has figures of several commits, 11111111 and 22222222" in error, error


def test_wrong_input():
    good = put("old.jsonl", OLD)
    bad = put("bad.jsonl", {**OLD, "slower": ("ten", "ms", {})})
    for words, told in (
        ((good, "no-such-commit"), "no-such-commit: is no file, no folder and no commit"),
        ((good, bad), f"{bad}: figure 1 (slower) has 'ten' as `value`"),
        ((scratch.DIRECTORY + "/empty", good), "has no figures in it"),
    ):
        os.makedirs(scratch.DIRECTORY + "/empty", exist_ok=True)
        status, out, error = run("compare.py", *words)
        assert status == 2 and told in error and not out, (words, error)


def test_collecting():
    target = path_of("collected.json")
    status, out, error = run("collect.py", put("old.jsonl", OLD), "-o", target, "--load-before", "7")
    assert status == 0 and "busy machine" in out, error
    rows, about = figures.read(target)
    assert len(rows) == len(OLD) and about["state"] == "busy" and about["load"][0] == 7
    assert about["machine"]["cores"] >= 1 and about["machine"]["kernel"] == os.uname().release
    status, lines = answer(target, put("new.jsonl", NEW))
    assert status == 1 and lines[0]["note"] == "busy: old", lines[0]


def test_taking_over():
    folder, collected = path_of("results"), path_of("measured.json")
    os.makedirs(folder, exist_ok=True)
    old = {"what": "slower", "value": 0.01, "unit": "s", "machine": "busy", "command": "before", "headline": "Shown",
           "compared": [{"with": "a tool", "value": 3}, {"with": "before it was mended", "value": 7}]}
    figures.write(os.path.join(folder, "queries.json"), {"title": "Queries", "about": ""}, [old])
    new = {"subject": "queries", "what": "slower", "value": 13, "unit": "ms", "low": 12, "high": 14, "command": "now",
           "compared": [{"with": "a tool", "value": 2600}]}
    about = {"commit": "12345678", "date": "2026-01-02", "machine": {}, "state": "idle", "load": [0, 1]}
    figures.write(collected, about, [new, dict(new, what="more")])
    status, out, error = run("collect.py", collected, "--into", folder)
    assert status == 0 and "1 figures replaced, 1 added" in out, error
    (first, second), _ = figures.read(os.path.join(folder, "queries.json"))
    assert first == {"what": "slower", "value": 0.013, "unit": "s", "low": 0.012, "high": 0.014, "machine": "idle",
                     "compared": [{"with": "a tool", "value": 2.6}, {"with": "before it was mended", "value": 7}],
                     "commit": "12345678", "date": "2026-01-02", "command": "now", "headline": "Shown",
                     "subject": "queries"}, first
    assert second["what"] == "more" and second["unit"] == "ms"
    figures.write(collected, {**about, "state": "busy"}, [dict(new, value=50, low=40, high=60)])
    for words, value in ((), 0.013), (("--busy",), 0.05):
        status, out, _ = run("collect.py", collected, "--into", folder, *words)
        assert status == 0 and ("1 of an idle machine stay" in out) == (not words), out
        assert figures.read(os.path.join(folder, "queries.json"))[0][0]["value"] == value
    figures.write(collected, {**about, "commit": "12345678+"}, [new])
    status, _, error = run("collect.py", collected, "--into", folder)
    assert status == 2 and "changes that are in no commit" in error, error


def test_commits():
    """The results of a commit are read as git has them."""
    repository = os.path.join(HERE, "..", "..")
    if subprocess.run(["git", "-C", repository, "cat-file", "-e", "HEAD:tests/bench/results"],
                      capture_output=True).returncode:
        return
    status, lines = answer("HEAD", figures.RESULTS, "--only", "A recorded op in the dump")
    assert status in (0, 1) and len(lines) >= 2, lines


def main():
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    print(len(tests), "tests of comparing figures")


main()
