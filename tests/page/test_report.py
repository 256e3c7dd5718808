#!/usr/bin/env python3
"""test_report.py: what `tfprof report` writes: the rows of every panel, every event, and nothing that it should not.

The file is read without a browser; test_browser.py looks at it in one.
"""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reports  # noqa: E402
import scratch  # noqa: E402
import test_alignment  # noqa: E402
from reports import BUILD, CAPTURE, ROOT, SHARED, Report, bound, query, query_all, tfprof, write_report  # noqa: E402

LINKS = os.path.join(ROOT, "tests", "fixtures", "kineto", "links.json")
PAGE_BYTES = 240000
CELL_COLUMNS = ("profile_id, thread_id, table_name, depth, longest_id, name, category, start_ns, end_ns, count, "
                "busy_ns")


def check_panels(report, run, **values):
    assert len(report.panels) > 45
    answers = query_all(run, {name: bound(panel["sql"], origin_ns=report.run["origin_ns"], **values)
                              for name, panel in report.panels.items()})
    for name, panel in report.panels.items():
        assert panel["error"] is None, (name, panel["error"])
        wanted = answers[name]
        got = [dict(zip(panel["columns"], row)) for row in panel["rows"]]
        assert got == wanted, (run, name, got[:2], wanted[:2])


def check_events(report, run):
    wanted = query(run, f"SELECT {CELL_COLUMNS} FROM timeline(NULL, NULL, 0)")
    key = lambda cell: [str(value) for value in cell.values()]  # noqa: E731
    assert sorted(report.cells(), key=key) == sorted(wanted, key=key), run
    assert report.run["events"] == report.run["cells"] == len(wanted) and report.run["bucket_ns"] == 0
    # Who caused it, and the stack that it was called by.
    of_call = "CASE WHEN api_call_id IS NOT NULL THEN 'api_calls' WHEN op_id IS NOT NULL THEN 'ops' END"
    of_op = "CASE WHEN op_id IS NOT NULL THEN 'ops' END"
    causes = {"kernels": (of_call, "coalesce(api_call_id, op_id)", "NULL"), "ops": ("NULL", "NULL", "code_trace_id"),
              "transfers": (of_call, "coalesce(api_call_id, op_id)", "NULL"), "api_calls": (of_op, "op_id", "NULL"),
              "collectives": (of_op, "op_id", "NULL"), "ranges": ("NULL", "NULL", "NULL")}
    rows = {tuple(row.values()) for name, of in causes.items() for row in query(
        run, f"SELECT '{name}' AS a, id, {of[0]} AS b, {of[1]} AS c, {of[2]} AS d FROM {name} "
             "WHERE start_ns IS NOT NULL")}
    assert set(report.causes()) == rows, run


def check_whole(name, run):
    path = write_report(name, run)
    report = Report(path)
    check_panels(report, run)
    check_events(report, run)
    again = write_report("again.html", run)
    with open(path, "rb") as one, open(again, "rb") as other:
        assert one.read() == other.read(), "equal input, other bytes"
    # Numbers are readable without JavaScript.
    (count,), = [row.values() for row in query(run, "SELECT format_count(count(*)) AS n FROM ops")]
    assert f"<dt>ops</dt><dd>{count}</dd>" in report.text
    return report


def check_page(report):
    """Its code is small, and its policy lets nothing in or out."""
    code = re.search(r"<style>(.*?)</style>", report.text, re.S)[1]
    script = re.search(r"<script>(.*?)</script>", report.text, re.S)[1]
    assert len(code) + len(script) <= PAGE_BYTES, (len(code), len(script))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', report.text)[1]
    for word in ("default-src 'none'", "connect-src 'none'", "form-action 'none'", "script-src 'sha256-"):
        assert word in policy, policy
    assert "unsafe" not in policy
    foreign = {address for address in re.findall(r"https?://[^\s\"'`)]+", code + script)}
    assert foreign == {"https://github.com/leeoniya/uPlot"}, foreign  # the library's name for itself


def check_smaller():
    """What does not fit is put together, and says so; what is not wanted is not there."""
    report = Report(write_report("small.html", CAPTURE, "--max-size", "20k"))
    assert report.run["bucket_ns"] >= 1024 and report.run["cells"] < report.run["events"] == 10003, report.run
    wanted = query(CAPTURE, f"SELECT {CELL_COLUMNS} FROM timeline(NULL, NULL, {report.run['bucket_ns']})")
    assert report.cells() == wanted
    every = Report(write_report("every.html", CAPTURE, "--max-size=20k", "--events=all"))
    # What tells who caused what goes first.
    size = sum(len(text) for name, text in every.scripts.items() if name.startswith("bundle-"))
    without = Report(write_report("without.html", CAPTURE, "--max-size", str(size - 2000)))
    assert without.run["cells"] == 10003 and every.run["has_causes"] and not without.run["has_causes"]
    assert all(cause == [None] * 3 for _, _, *cause in without.causes())
    assert every.run["cells"] == 10003
    for words in (["--no-events"], ["--events", "none"]):
        none = Report(write_report("none.html", CAPTURE, *words))
        assert not none.run["has_events"] and none.cells() == [] and len(none.text) < 600000
        assert set(every.panels) - set(none.panels) == {"mark_gaps", "mark_path", "op_places"}


def check_steps():
    numbers = [row["number"] for row in query(CAPTURE, "SELECT number FROM steps WHERE ops_recorded = 1 ORDER BY 1")]
    first, last = numbers[1], numbers[2]
    report = Report(write_report("steps.html", CAPTURE, "--steps", f"{first}-{last}"))
    check_panels(report, CAPTURE, first_step=first, last_step=last)
    shown = {row[report.panels["step_time"]["columns"].index("number")] for row in report.panels["step_time"]["rows"]}
    assert shown and shown <= set(range(first, last + 1)), shown
    (span,) = query(CAPTURE, "SELECT min(start_ns) AS a, max(end_ns) AS b FROM steps "
                             f"WHERE number BETWEEN {first} AND {last}")
    cells = report.cells()
    assert cells and all(cell["start_ns"] < span["b"] and cell["end_ns"] >= span["a"] for cell in cells)


def check_redacted_names():
    """Of a trace in JSON: what the program named, in each place that has names. What frameworks call ranges stays."""
    events = []
    for step in range(5):
        at = 1000 * step
        for name, category, process, thread, start, more in (
                (f"ProfilerStep#{step}", "user_annotation", 1, 1, 0, {}),
                ("aWordOfARange bob", "user_annotation", 1, 1, 10, {}),
                ("/home/aWordOfAFolder/train.py(12): main", "python_function", 1, 1, 15, {"Python id": step + 1}),
                ("aWordOfAPackage/data.py(3): load", "python_function", 1, 1, 16, {"Python id": step + 10}),
                ("aten::mm", "cpu_op", 1, 1, 20, {"External id": step + 1}),
                ("cudaLaunchKernel", "cuda_runtime", 1, 1, 25, {"correlation": step + 1}),
                ("gemm", "kernel", 0, 7, 60, {"correlation": step + 1, "stream": 7}),
                ("aWordOfADevice", "gpu_user_annotation", 0, 7, 60, {})):
            events.append({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": at + start,
                           "dur": 900 - 10 * start, "args": more})
        events.append({"ph": "i", "name": "aWordOfAMark", "pid": 1, "tid": 1, "ts": at + 5, "s": "t"})
        events.append({"ph": "C", "name": "aWordOfACounter", "pid": 1, "tid": 1, "ts": at + 5, "args": {"value": step}})
    events += [{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "aWordOfAThread"}},
               {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "aWordOfAProcess"}}]
    path = os.path.join(scratch.DIRECTORY, "aWordOfAFile.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "hostname": "aWordOfAHost", "traceEvents": events}, file)
    shown = set(re.findall(r"aWordOf(\w+)", Report(write_report("named.html", path)).unpacked))
    assert shown >= {"ARange", "AFolder", "APackage", "ADevice", "ACounter", "AThread", "AFile"}, shown
    closed = Report(write_report("unnamed.html", path, "--redact"))
    assert "aWordOf" not in closed.unpacked, set(re.findall(r"aWordOf\w+", closed.unpacked))
    names = {name for name, _ in closed.lanes["names"]}
    assert {"ProfilerStep#3", "aten::mm", "gemm", "range 1"} <= names, names
    # Names that begin with each other, and one that goes on where another ends.
    names = ("zoeabelu", "zoeabelu yxxabelu", "zoeabelu yxxabelu qrrabelu", "yxxabelu qrrabelu uvvabelu",
             "zoeabelu yxxabelu qrrabelu uvvabelu!", "zoeabelus")
    events = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10 * place, "dur": 5}
              for place, name in enumerate(names)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    closed = Report(write_report("unnamed.html", path, "--redact"))
    assert not re.search("zoeabelu|yxxabelu|qrrabelu|uvvabelu", closed.unpacked)
    assert len({name for name, _ in closed.lanes["names"]}) == len(events), closed.lanes["names"]


def check_redacted():
    secrets = [row["secret"] for row in query(CAPTURE, "SELECT host AS secret FROM profiles UNION "
                                                       "SELECT command FROM profiles UNION SELECT path FROM profiles")
               if row["secret"]]
    texts = [row["text"] for row in query(CAPTURE, "SELECT DISTINCT text FROM code_frames WHERE length(text) > 12")]
    assert len(secrets) == 3, secrets
    open_text = Report(write_report("open.html", CAPTURE)).unpacked
    closed = Report(write_report("closed.html", CAPTURE, "--redact"))
    assert closed.run["redacted"] and any(secret in open_text for secret in secrets)
    for secret in secrets + texts:
        assert secret not in closed.unpacked, secret
    assert os.path.dirname(CAPTURE) not in closed.unpacked
    # A run that is called as words of other texts are, and a host of two letters: whole words of them are left out.
    folder = os.path.join(scratch.DIRECTORY, "redacted")
    os.makedirs(os.path.join(folder, "run"))
    shutil.copy(CAPTURE, os.path.join(folder, "run"))
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump(test_alignment.trace(0, 0, "vm"), file)
    folders = [row["folder"] for row in query(CAPTURE, "SELECT DISTINCT rtrim(file, replace(file, '/', '')) AS folder "
                                              "FROM code_frames WHERE file LIKE '/%'")]
    assert folders
    for run, words in (("run", [*folders, *texts]), ("run.json", ["vm"])):
        subprocess.run([os.path.join(BUILD, "tfprof"), "report", run, "--redact", "-o", "closed.html"], cwd=folder,
                       check=True, capture_output=True)
        found = Report(os.path.join(folder, "closed.html"))
        cells = [cell for panel in found.panels.values() for row in panel["rows"] for cell in row]
        shown = "\n".join([str(cell) for cell in cells] + [str(name) for name, _ in found.lanes["names"]])
        for word in words:
            assert not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", shown), word
        parts = re.findall(r"\w\(redacted\)\w*|\w*\(redacted\)\w", found.unpacked)
        assert not parts, parts[:3]
    check_redacted_names()
    titled = Report(write_report("titled.html", CAPTURE, "--redact", "--title", "A <b>title</b> & more"))
    assert "<title>A &lt;b&gt;title&lt;/b&gt; &amp; more</title>" in titled.text


def check_many_steps():
    """Of many steps each has its rows on both sides; what has no name of its own there is with all others."""
    steps, kinds, paths = 400, 90, []
    for name, factor in (("before", 1), ("after", 2)):
        events = []
        for step in range(steps):
            at = step * 1000
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9,
                           "ts": at, "dur": 990})
            events += [{"ph": "X", "cat": "cpu_op", "name": f"op{kind:02}", "pid": 9, "tid": 9, "ts": at + 10 * kind,
                        "dur": factor * (1 + kind % 5)} for kind in range(kinds)]
        paths.append(os.path.join(scratch.DIRECTORY, f"{name}.json"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    report = Report(write_report("many.html", paths[0], "--compare", paths[1], "--no-events"))
    for name, side in (("compare_ops", "run_id"), ("step_ops", "profile_id")):
        panel = report.panels[name]
        at, sums, seen = panel["columns"].index, {}, {}
        for row in panel["rows"]:
            seen.setdefault(row[at(side)], set()).add(row[at("number")])
            sums[row[at(side)]] = sums.get(row[at(side)], 0) + row[at("self_ns")]
        measured = steps - (3 if name == "step_ops" else 0)
        assert [len(numbers - {None}) for numbers in seen.values()] in ([steps] * 2, [measured] * 2), (name, seen)
        one, other = (sums[key] for key in sorted(sums))
        assert other == 2 * one, (name, sums)
        assert any(row[at("name")] == "(all others)" for row in panel["rows"])


def check_hostile():
    """No text of a profile ends the element that it stands in."""
    run = reports.hostile_trace()
    report = Report(write_report("hostile.html", run))
    check_panels(report, run)
    check_events(report, run)
    elements = reports.Elements(("img", "b"))
    elements.feed(report.unpacked)
    assert not elements.found, elements.found[:3]
    assert any(name and name.startswith("</script>") for name, _ in report.lanes["names"])


def check_usage():
    for words, status, said in (
            (["--help"], 0, ""), ([], 2, "no run"), ([CAPTURE, "--evnts", "all"], 2, "unknown option"),
            ([CAPTURE, "--steps", "x"], 2, "no steps"), ([CAPTURE, "--events", "some"], 2, "auto, none"),
            ([CAPTURE, "--max-size", "big"], 2, "no size"), ([CAPTURE, "-o"], 2, "needs a file"),
            (["/nowhere/at/all"], 3, "/nowhere"), ([CAPTURE, "--steps", "900000-900001"], 1, "no steps"),
            ([CAPTURE, "--compare"], 2, "--compare needs a run"), (["--compare", CAPTURE], 2, "with which run?"),
            ([CAPTURE, "--compare", "/nowhere/at/all"], 3, "/nowhere"),
            ([CAPTURE, "--compare", CAPTURE, "--compare", "b"], 2, "given twice"),
            ([CAPTURE, "-o", "/nowhere/report.html"], 1, "/nowhere")):
        got, told = tfprof(*words)
        assert got == status and said in told, (words, got, told)


def main():
    check_usage()
    report = check_whole("capture.html", CAPTURE)
    check_page(report)
    check_whole("links.html", LINKS)
    check_whole("several.html", os.path.join(ROOT, "tests", "fixtures", "kineto", "*.json"))
    check_smaller()
    check_steps()
    check_redacted()
    check_many_steps()
    check_hostile()
    if SHARED:
        check_whole("gpu.html", os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz"))
    else:
        print("left out: the large traces are not there")
        sys.exit(77)


main()
