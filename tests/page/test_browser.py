#!/usr/bin/env python3
"""test_browser.py: the page in a browser: every page of several reports loads without a message and asks for nothing.

Chromium, driven by Playwright, with all names of hosts unresolvable. The numbers on the page are those of the views,
what is searched, selected and measured in the timeline is what SQL says, addresses carry what is looked at, and texts
of a profile that are markup stay texts. Pictures of the pages are in build/test-logs/page/.
"""

import json
import os
import re
import shlex
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reports  # noqa: E402
import exchange_formats  # noqa: E402
from reports import BUILD, CAPTURE, ROOT, SHARED, query, write_report  # noqa: E402

PAGES = ("overview", "timeline", "code", "ops", "memory", "devices", "ranks", "steps", "compare", "input", "model",
         "counters", "sql")
ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-gpu",
             "--disable-background-networking", "--force-color-profile=srgb"]
PICTURES = os.path.join(BUILD, "test-logs", "page")


def skip(reason):
    print(reason)
    sys.exit(77)


class Watched:
    """A tab on a report that remembers whatever the browser says, and what it asks for."""

    def __init__(self, browser, path, **settings):
        self.context = browser.new_context(accept_downloads=True, **settings)
        self.tab, self.said, self.asked = self.context.new_page(), [], []
        self.address = "file://" + path
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(self.address)

    def show(self, page, **state):
        words = "&".join(f"{key}={value}" for key, value in {"page": page, **state}.items())
        self.tab.evaluate("hash => { location.hash = hash; }", "#" + words)
        self.tab.wait_for_selector(f'main.{page}[data-ready="{page}"]')

    def close(self):
        assert not self.said, self.said
        strange = [url for url in self.asked if not url.startswith((self.address, "blob:", "data:"))]
        assert not strange, strange
        self.context.close()


def check_pages(browser, name, path, **settings):
    """Each page has a section for each of its panels, with rows or the reason why there are none."""
    watched = Watched(browser, path, **settings)
    report = reports.Report(path)
    of_page = {}
    for panel in report.panels.values():
        words = dict(line[3:].split(": ", 1) for line in panel["sql"].splitlines() if line.startswith("-- ")
                     and ": " in line)
        of_page.setdefault(words["page"].split()[0], []).append((panel, words))
    for page in PAGES:
        watched.show(page)
        if page == "timeline":
            watched.tab.wait_for_function("() => performance.getEntriesByName('first-frame').length || "
                                          "document.querySelector('.empty')")
        for panel, words in of_page.get(page, []):
            if page == "timeline" or words["chart"] == "header":
                continue
            section = watched.tab.locator(f"#p-{panel['name']}")
            text = section.inner_text()
            assert text.startswith(panel["sql"].splitlines()[0][3:]), (name, panel["name"], text[:80])
            assert panel["rows"] or words.get("empty", "There is nothing.") in text, (name, panel["name"], text[:200])
            cut = re.search(r"^The first ([\d,]+) rows\.$", text, re.MULTILINE)
            assert not cut or int(cut[1].replace(",", "")) == len(panel["rows"]), (name, panel["name"], cut[0])
        if name:
            watched.tab.screenshot(path=os.path.join(PICTURES, f"{name}-{page}.png"), full_page=page != "timeline")
    watched.close()


def check_numbers(browser, path, run):
    """A table's exact values are in its cells' titles; CSV and JSON have all rows."""
    watched = Watched(browser, path)
    watched.show("ops")
    wanted = query(run, "SELECT op, count, host_self_ns FROM tb_operator_summary ORDER BY host_self_ns DESC, "
                        "op")
    head = watched.tab.locator("#p-tb_operator_summary thead th").all_inner_texts()
    rows = watched.tab.locator("#p-tb_operator_summary tbody tr")
    assert rows.count() == min(50, len(wanted)), rows.count()
    at = head.index("host self")
    for i in (0, min(49, len(wanted) - 1)):
        cell = rows.nth(i).locator("td").nth(at)
        assert rows.nth(i).locator("td").nth(head.index("op")).inner_text() == wanted[i]["op"]
        exact = cell.get_attribute("title") or cell.inner_text()
        assert exact == str(wanted[i]["host_self_ns"]), (exact, wanted[i])
    with watched.tab.expect_download() as found:
        watched.tab.locator("#p-tb_operator_summary .panel-head button", has_text="JSON").click()
    with open(found.value.path(), encoding="utf-8") as file:
        got = json.load(file)
    assert [{key: row[key] for key in wanted[0]} for row in got] == wanted
    with watched.tab.expect_download() as found:
        watched.tab.locator("#p-tb_operator_summary .panel-head button", has_text="CSV").click()
    with open(found.value.path(), encoding="utf-8") as file:
        assert len(file.read().splitlines()) == len(wanted) + 1
    # Sorting by a head, and a filter.
    watched.tab.locator("#p-tb_operator_summary thead button", has_text="count").click()
    most = max(wanted, key=lambda row: row["count"])
    assert rows.first.locator("td").nth(head.index("op")).inner_text() == most["op"]
    watched.tab.locator("#p-tb_operator_summary input").fill(wanted[3]["op"].upper())
    assert wanted[3]["op"] in rows.first.inner_text()
    # The SELECT of a panel, by its button; and back again.
    watched.tab.locator("#p-tb_operator_summary .panel-head button", has_text="SQL").click()
    assert "FROM temp.tb_operator_summary" in watched.tab.locator("#sql-tb_operator_summary pre").inner_text()
    box = watched.tab.locator("#sql-box textarea")
    assert "FROM temp.tb_operator_summary" in box.input_value()
    watched.tab.go_back()
    watched.tab.wait_for_selector('main.ops[data-ready="ops"]')
    # The box completes names of views and of their columns, and has the command, as the shell takes it.
    watched.show("sql")
    box.fill("SELECT 'it''s', cat FROM op_summ")
    box.press("Tab")
    assert box.input_value() == "SELECT 'it''s', cat FROM op_summary"
    box.evaluate("box => box.setSelectionRange(19, 19)")
    box.press("Tab")
    assert box.input_value() == "SELECT 'it''s', category FROM op_summary"
    (word, *others) = shlex.split(watched.tab.locator("#sql-box pre").inner_text())
    assert word == "tfprof" and others[-1] == box.input_value(), others
    watched.close()


def check_steps(browser, path, run):
    numbers = [row["number"] for row in query(run, "SELECT DISTINCT number FROM step_breakdown ORDER BY 1")]
    watched = Watched(browser, path)
    watched.show("steps", steps=f"{numbers[1]}-{numbers[2]}")
    wanted = query(run, f"SELECT number FROM step_op_time WHERE number BETWEEN {numbers[1]} AND {numbers[2]}")
    assert watched.tab.locator("#p-step_list tbody tr").count() == len(wanted)
    watched.tab.keyboard.press("]")
    watched.tab.wait_for_function("() => /steps=(\\d+)-\\1(&|$)/.test(location.hash)")
    # Warm-up is shaded, and said to those who do not see it.
    watched.show("overview", steps=f"{numbers[0]}-{numbers[-1]}")
    warmup = [row["number"] for row in query(run, "SELECT number FROM steps WHERE is_warmup ORDER BY 1")]
    said = watched.tab.locator("#p-step_time .plot").first.get_attribute("aria-label")
    assert f"steps {warmup[0]} to {warmup[-1]} are warm-up" in said, (said, warmup)
    watched.close()
    # A file of some steps begins with those, and says what it has of all.
    watched = Watched(browser, write_report("of_steps.html", run, "--steps", f"{numbers[1]}-{numbers[2]}"))
    watched.tab.wait_for_selector('main.overview[data-ready="overview"]')
    assert f"steps={numbers[1]}-{numbers[2]}" in watched.tab.url, watched.tab.url
    assert "Of all steps" in watched.tab.locator("#p-step_summary").inner_text()
    watched.close()


def check_ranks(browser):
    """What many ranks share is told once, of many numbers the extremes; a heat map has its scale, whatever its size."""
    run = reports.ranks_of(40)
    path = write_report("ranks.html", run)
    watched = Watched(browser, path)
    tab = watched.tab
    watched.show("overview")
    wanted = query(run, "SELECT check_name, message, process_count FROM advise_summary")
    shown = tab.locator("#p-findings .findings > li")
    assert shown.count() == len(wanted), (shown.count(), wanted)
    for i, row in enumerate(wanted):
        text = shown.nth(i).inner_text()
        assert row["message"] in text, (text, row)
        assert row["process_count"] == 1 or f"{row['process_count']} of 40 processes" in text, (text, row)
    (first,) = query(run, "SELECT subject FROM advise WHERE check_name = 'device_gaps' LIMIT 1 OFFSET 3")
    tab.locator("#p-findings summary", has_text="the others (").first.click()
    assert first["subject"] in shown.first.inner_text()
    (least,) = query(run, "SELECT min(mean_ns) AS ns FROM step_summary")
    cells = tab.locator("#p-step_summary .facts tr", has_text="mean").locator("td")
    exact = cells.first.get_attribute("title")
    assert exact.startswith("rank ") and exact.endswith(f": {least['ns']}"), (exact, least)
    assert tab.locator("#p-step_time figure").count() == 3
    watched.show("ranks")
    (most,) = query(run, "SELECT format_ns(max(ns)) AS ns FROM (SELECT sum(waiting_ns) AS ns FROM collective_waits "
                         "GROUP BY profile_id, step_id)")
    assert tab.locator("#p-rank_waits .scale").inner_text().replace("\u202f", " ").endswith(most["ns"]), most
    canvas = tab.locator("#p-rank_waits canvas")
    assert canvas.bounding_box()["height"] < 700
    # Of one rank: its own finding.
    watched.show("overview", profile=3)
    assert "the others" not in tab.locator("#p-findings").inner_text()
    watched.close()


def check_memory(browser):
    """Steps that are chosen are those of the memory page, too; what was in use when they began stays."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9,
               "ts": 1000 * step, "dur": 990} for step in range(1, 6)]
    events += [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 1000 * step + 500,
                "s": "t", "args": {"Total Allocated": 4096 * step, "Bytes": 4096, "Device Id": 0, "Device Type": 1,
                                   "Addr": 4096 * step, "Total Reserved": 1 << 20}} for step in range(1, 6)]
    path = os.path.join(reports.scratch.DIRECTORY, "memory.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    watched = Watched(browser, write_report("memory.html", path))
    tab = watched.tab
    for page in ("overview", "memory"):
        watched.show(page)
        rows = tab.locator("#p-memory_over_time summary", has_text="as a table (5)")
        rows.wait_for()
        watched.show(page, steps="3-4")
        tab.locator("#p-memory_over_time summary", has_text="as a table (3)").wait_for()
        tab.locator("#p-memory_over_time summary").click()
        tab.locator("#p-memory_over_time .rows tbody tr").first.wait_for()
        cells = tab.locator("#p-memory_over_time .rows tbody tr").all_inner_texts()
        assert [cell.replace("\u202f", " ").split("\t")[2:] for cell in cells] == [
            ["2.00 ms", "8.00 KiB"], ["2.50 ms", "12.0 KiB"], ["3.50 ms", "4.00 KiB"]], cells
    tab.locator("#p-memory_blocks h3", has_text="Made in the window: 2").wait_for()
    watched.close()
    # Memories of two processes are two; without addresses nobody knows how long an allocation was held.
    folder = os.path.join(reports.scratch.DIRECTORY, "memories")
    os.makedirs(folder)
    for pid in (8, 9):
        for event in events:
            event["pid"] = pid
            if pid == 9:
                event.get("args", {}).pop("Addr", None)
        with open(os.path.join(folder, f"{pid}.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    watched = Watched(browser, write_report("memories.html", folder))
    watched.show("memory")
    captions = watched.tab.locator("#p-memory_over_time figcaption").all_inner_texts()
    assert captions == ["process 8: GPU 0", "process 9: GPU 0"], captions
    captions = watched.tab.locator("#p-memory_blocks figcaption").all_inner_texts()
    assert captions == ["process 8: GPU 0"], captions
    watched.close()


def check_several(browser):
    """What is of several processes says of which; charts of numbers show all of them, the first and the last, too."""
    folder = os.path.join(reports.scratch.DIRECTORY, "several")
    os.makedirs(folder)
    for pid, longest in ((8, 100), (9, 900)):
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": pid, "tid": pid,
                   "ts": 1000 * step, "dur": longest if step == 3 else 90} for step in range(1, 6)]
        events += [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": pid, "tid": pid, "ts": 1000 * step + 1,
                    "dur": 50, "args": {"External id": step}} for step in range(1, 6)]
        events += [{"ph": "C", "name": "room", "pid": pid, "tid": 0, "ts": ts, "args": {"left": pid * ts}}
                   for ts in (1000, 3000, 5000)[:pid - 6]]
        with open(os.path.join(folder, f"{pid}.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    watched = Watched(browser, write_report("processes.html", folder))
    tab = watched.tab
    watched.show("overview")
    tab.wait_for_function("() => document.querySelector('#p-step_durations .plot').plot")
    low, high = tab.evaluate("['min', 'max'].map((end) => document.querySelector('#p-step_durations .plot')"
                             ".plot.scales.x[end])")
    durations = [row["d"] for row in query(folder, "SELECT dur_ns AS d FROM steps WHERE is_warmup = 0")]
    assert low <= min(durations) < max(durations) <= high, (low, high)
    watched.show("ops")
    assert {tab.locator("#p-tb_operator_summary tbody tr").nth(i).locator("td").first.inner_text() for i in (0, 1)} == {
        "process 8", "process 9"}
    watched.show("steps")  # that of the slowest step is the one that every panel looks at
    assert tab.locator(".panel.steps output").inner_text() == "step 3"
    said = tab.locator("#p-step_ops").inner_text()
    assert "step 3" in said and "Of process 9" in said, said
    watched.show("counters")
    tab.wait_for_function("() => document.querySelector('#p-counters_over_time .plot').plot")
    lines = tab.locator("#p-counters_over_time .u-legend .u-label").all_inner_texts()[1:]
    assert lines == ["process 8", "process 9"], lines
    watched.show("timeline")
    tab.wait_for_function("() => performance.getEntriesByName('first-frame').length")
    watched.close()
    # Memory has a place in time without any event.
    watched = Watched(browser, write_report("snapshot.html", reports.memory_snapshot()))
    watched.show("timeline")
    watched.tab.wait_for_function("() => performance.getEntriesByName('first-frame').length")
    assert not watched.tab.locator(".empty").count()
    watched.show("memory")
    watched.tab.locator("#p-memory_blocks h3").first.wait_for()
    heads = watched.tab.locator("#p-memory_summary thead th").all_inner_texts()
    assert heads == ["cuda:0", "cuda:1"], heads
    watched.close()


def check_far_apart(browser):
    """One step that takes a thousand times as long as the others leaves something to be seen of them, and is told."""
    events, at = [], 0
    for step in range(40):
        length = 1_000_000 if step == 20 else 1000 + step
        events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9, "ts": at,
                    "dur": length},
                   {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 9, "tid": 9, "ts": at, "dur": length - 1}]
        at += length
    path = os.path.join(reports.scratch.DIRECTORY, "far.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    watched = Watched(browser, write_report("far.html", path))
    watched.show("overview")
    said = [text.replace("\u202f", " ") for text in watched.tab.locator("#p-step_time .note").all_inner_texts()]
    assert said == ["▲ 1 of 40 are higher than the chart, up to 1.00 s."], said
    watched.tab.wait_for_function("() => document.querySelector('#p-step_time .plot').plot")
    assert watched.tab.evaluate("document.querySelector('#p-step_time .plot').plot.scales.y.max") < 10e6
    ticks = watched.tab.evaluate("""() => { const { plot } = document.querySelector('#p-step_durations .plot');
      return plot.axes[0].values(plot, [0, 1, 2].map((i) => 1388e6 + i * 5e5)); }""")
    assert [tick.replace("\u202f", " ") for tick in ticks] == ["1.3880 s", "1.3885 s", "1.3890 s"], ticks
    said = watched.tab.locator("#p-step_durations .note").all_inner_texts()
    assert said and said[0].startswith("The last bar has 1 that take longer, up to 1.00"), said
    watched.close()


def check_compare(browser):
    """Both sides in all are op_diff, and swapping them turns every difference round."""
    sides = [CAPTURE, os.path.join(ROOT, "tests", "fixtures", "kineto", "links.json")]
    watched = Watched(browser, write_report("compare.html", sides[0], "--compare", sides[1]))
    tab = watched.tab
    watched.show("compare", per="all")
    wanted = reports.query_all(sides[0], {"diff": f"SELECT tfprof_open('{sides[1]}'); "
                                          f"SELECT * FROM op_diff('{sides[0]}', '{sides[1]}')"})["diff"]
    exact = {row["op"]: (row["a_ns"], row["b_ns"]) for row in wanted}

    def shown():
        more = tab.locator("#p-compare_ops .differences button.more")
        if more.count() and more.is_visible():
            more.click()
        return {name: (int(a), int(b)) for name, a, b in tab.locator("#p-compare_ops tbody tr").evaluate_all(
            "rows => rows.map(row => [row.cells[0].textContent, row.cells[1].title, row.cells[2].title])")}

    before = shown()
    assert len(before) > 20 and all(exact[name] == sums for name, sums in before.items() if name != "(all others)")
    tab.locator(".sides button", has_text="swap").click()
    tab.wait_for_function("() => location.hash.includes('before=')")
    assert shown() == {name: (b, a) for name, (a, b) in before.items()}
    watched.close()
    # The halves of one run, without warm-up.
    watched = Watched(browser, write_report("halves.html", sides[0]))
    watched.show("compare")
    measured = [row["number"] for row in query(sides[0], "SELECT number FROM steps WHERE is_warmup = 0 ORDER BY 1")]
    halves = measured[:len(measured) // 2], measured[len(measured) // 2:]
    shown = watched.tab.locator(".sides input").evaluate_all("inputs => inputs.map((input) => input.value)")
    assert shown == [f"{half[0]}-{half[-1]}" for half in halves], (shown, measured)
    watched.close()


def check_timeline(browser, path, run):
    watched = Watched(browser, path, viewport={"width": 1280, "height": 900})
    tab = watched.tab
    watched.show("timeline")
    tab.wait_for_selector(".lanes canvas")
    # Search over everything, with its counts.
    (rare,) = query(run, "SELECT name FROM ops WHERE name GLOB 'aten::*' GROUP BY 1 ORDER BY count(*), 1 LIMIT 1")
    name = rare["name"]
    tables = ("ranges", "ops", "api_calls", "kernels", "transfers", "collectives")
    wanted = sum(row["n"] for table in tables for row in query(
        run, f"SELECT count(*) AS n FROM {table} WHERE instr(lower(name), '{name.lower()}') AND start_ns IS NOT NULL"))
    tab.keyboard.press("/")
    tab.keyboard.type(name)
    said = tab.locator(".tools .note").first.inner_text()
    assert said.startswith(f"{wanted} event"), (said, wanted)
    # The next one, and the address of its row.
    tab.keyboard.press("Enter")
    sql = tab.locator(".details pre").inner_text()
    (found,) = query(run, sql.rstrip(";"))
    assert name.lower() in found["name"].lower() and tab.locator(".details h3").inner_text() == found["name"]
    tab.keyboard.press("Escape")
    # Zoom to it; the address keeps the window, and the whole comes back.
    tab.keyboard.press("f")
    tab.wait_for_function("() => /t=-?\\d+~-?\\d+/.test(location.hash)")
    window = tab.evaluate("decodeURIComponent(location.hash).match(/t=(-?\\d+)~(-?\\d+)/).slice(1).map(Number)")
    origin = int(reports.Report(path).run["origin_ns"])
    assert window[0] <= found["start_ns"] - origin and window[1] >= found["end_ns"] - origin, (window, found)
    tab.keyboard.press("0")
    tab.wait_for_function("length => { const t = decodeURIComponent(location.hash).match(/t=(-?\\d+)~(-?\\d+)/); "
                          "return t && t[2] - t[1] > length; }", arg=2 * (window[1] - window[0]))
    # All of it as an area: every event is counted.
    box = tab.locator(".lanes canvas").bounding_box()
    tab.mouse.move(box["x"] + 211, box["y"] + 45)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] - 2, steps=4)
    tab.mouse.up()
    assert "events" in tab.locator(".details h3").inner_text()
    counted = sum(int(cell.get_attribute("title") or cell.inner_text().replace(",", "")) for cell in
                  tab.locator(".details tbody tr td:nth-child(3)").all())
    assert counted > 0
    rows = tab.locator(".details tbody tr").count()
    tab.locator(".details select").select_option("category")
    assert 0 < tab.locator(".details tbody tr").count() < rows
    # The address has the area; it is drawn again from it.
    assert "area=" in tab.evaluate("location.hash")
    said = tab.locator(".details h3").first.inner_text()
    tab.reload()
    tab.wait_for_function("said => document.querySelector('.details h3')?.textContent === said", arg=said)
    # All of the window as a file for other viewers.
    with tab.expect_download() as found_file:
        tab.locator(".tools button", has_text="for Perfetto").click()
    with open(found_file.value.path(), "rb") as file:
        trace = json.load(file)
    exchange_formats.check_events(trace)
    assert sum(event["ph"] == "X" for event in trace["traceEvents"]) == reports.Report(path).run["events"]
    # Commands by a few letters of them.
    tab.keyboard.press("Control+k")
    tab.keyboard.type("pgecode")
    tab.keyboard.press("Enter")
    tab.wait_for_selector('main.code[data-ready="code"]')
    watched.show("timeline", t="")
    # W zooms while it is held.
    tab.keyboard.press("Escape")
    tab.locator(".lanes canvas").focus()
    before = tab.locator(".tools .note").last.inner_text()
    tab.keyboard.down("w")
    tab.wait_for_function("before => [...document.querySelectorAll('.tools .note')].pop().textContent !== before",
                          arg=before)
    tab.keyboard.up("w")
    watched.close()


def check_lines(browser, path, run):
    """A line leads to its ops in the timeline, an op there to its line, and one of its moments to the timeline."""
    (wanted,) = query(run, "SELECT location, count(*) AS n FROM _code_trace_lines JOIN ops USING (code_trace_id) "
                           "WHERE start_ns IS NOT NULL AND location IN (SELECT location FROM code_summary) "
                           "GROUP BY 1 HAVING count(*) < 1000 ORDER BY 2 DESC, 1 LIMIT 1")
    watched = Watched(browser, path)
    tab = watched.tab
    watched.show("code")
    tab.locator("#p-code_lines td a", has_text=wanted["location"]).first.click()
    tab.wait_for_selector('main.timeline[data-ready="timeline"]')
    assert tab.locator(".tools .note").first.inner_text().startswith(f"{wanted['n']} event"), wanted
    tab.keyboard.press("/")
    tab.keyboard.press("Enter")
    tab.locator(".details .place a", has_text=wanted["location"]).click()
    tab.wait_for_selector('main.code[data-ready="code"]')
    assert tab.locator("#p-code_lines input").input_value() == wanted["location"]
    link = tab.locator("#p-line_ops tbody tr").first.locator("td a").nth(1)
    link.click()
    tab.wait_for_selector('main.timeline[data-ready="timeline"]')
    row = tab.locator(".details pre").inner_text()
    assert query(run, row.rstrip(";"))[0]["name"] == tab.locator(".details h3").inner_text()
    watched.close()


def check_keys(browser, path, run):
    """A range of steps by keys alone, as by a drag."""
    numbers = [row["number"] for row in query(run, "SELECT DISTINCT number FROM step_breakdown ORDER BY 1")]
    watched = Watched(browser, path)
    watched.show("overview")
    plot = watched.tab.locator("#p-step_time .plot")
    watched.tab.wait_for_selector("#p-step_time .u-over")
    plot.focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "Enter"):
        plot.press(key)
    watched.tab.wait_for_function(f"() => location.hash.includes('steps={numbers[1]}-{numbers[2]}')")
    shown = watched.tab.locator("#p-step_time summary", has_text="as a table (2)")
    shown.wait_for()
    watched.tab.locator("#p-step_time .u-over").wait_for()
    plot.press("Escape")
    watched.tab.wait_for_function("() => !location.hash.includes('steps=')")
    watched.close()


def check_links(browser, path, run):
    """The op of a kernel, by its launch, with its line; the work of that op; and back by the browser's history."""
    (wanted,) = query(run, "SELECT kernels.id AS id, kernels.name AS name, ops.name AS op, "
                           "_code_trace_lines.location AS "
                           "location, ops.id AS op_id FROM kernels JOIN ops ON ops.id = kernels.op_id LEFT JOIN "
                           "_code_trace_lines USING (code_trace_id) WHERE api_call_id IS NOT NULL ORDER BY 1 LIMIT 1")
    watched = Watched(browser, path, viewport={"width": 1280, "height": 900})
    watched.show("timeline", sel=f"kernels:{wanted['id']}")
    tab = watched.tab
    assert tab.locator(".details h3").inner_text() == wanted["name"]
    if wanted["location"]:
        assert tab.locator(".details .place").inner_text().startswith(wanted["location"])
    tab.locator(".lanes canvas").focus()
    tab.keyboard.press("c")
    tab.keyboard.press("c")
    assert tab.locator(".details h3").inner_text() == wanted["op"]
    assert f"sel=ops%3A{wanted['op_id']}" in tab.evaluate("location.hash")
    (work,) = query(run, f"""WITH RECURSIVE inside(id) AS (SELECT {wanted['op_id']} UNION SELECT ops.id FROM ops
      JOIN inside ON parent_id = inside.id) SELECT (SELECT count(*) FROM kernels WHERE op_id IN inside)
      + (SELECT count(*) FROM transfers WHERE op_id IN inside) AS count""")
    assert f"{work['count']} kernels and copies" in tab.locator(".details").inner_text()
    watched.close()


def check_hostile(browser):
    path = write_report("hostile.html", reports.hostile_trace())
    check_pages(browser, None, path)
    watched = Watched(browser, path)
    for page in PAGES:
        watched.show(page)
        assert watched.tab.evaluate("document.querySelectorAll('img, main b, iframe, object').length") == 0, page
    watched.show("devices")
    assert "</script><img" in watched.tab.locator("#p-kernel_summary").inner_text()
    watched.close()


def check_odd(browser):
    """Steps of an hour, numbers that are none, ops that lie 4,000 deep or all upon each other, and nothing at all."""
    def event(kind, name, at, dur, **more):
        return json.dumps({"ph": "X", "cat": kind, "name": name, "pid": 9, "tid": 9, "ts": at, "dur": dur, **more})

    def count(value, at):
        return f'{{"ph": "C", "cat": "counter", "name": "c", "pid": 9, "tid": 9, "ts": {at}, "args": {{"v": {value}}}}}'

    odd = {"hour": [event("user_annotation", f"ProfilerStep#{i}", 3600e6 * i, 3600e6) for i in range(3)]
           + [event("cpu_op", "a", 1e6 * i, 5e5) for i in range(100)],
           "numbers": [event("cpu_op", "a", 1, 5), *(count(value, i) for i, value in enumerate(
               ("NaN", "Infinity", "1e400", "-1e308", "1e308", "null")))],
           "deep": [event("cpu_op", f"op {i}", i, 10000 - 2 * i) for i in range(4000)],
           "heap": [event("kernel", "k", i, 100000, args={"device": 0, "stream": 7}) for i in range(3000)],
           "one": [event("cpu_op", "a", 5, 0)], "none": []}
    for name, events in odd.items():
        path = os.path.join(reports.scratch.DIRECTORY, f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"schemaVersion": 1, "traceEvents": [' + ",\n".join(events) + "]}")
        path = write_report(f"{name}.html", path)
        check_pages(browser, None, path)
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    tab = context.new_page()
    tab.goto("file://" + path)
    tab.get_by_text("This browser has no DecompressionStream").wait_for()
    context.close()


def check_contrast(browser, path):
    """Texts have a contrast of 4.5 to their ground, in both themes (WCAG 2.1, 1.4.3)."""
    for theme in ("light", "dark"):
        watched = Watched(browser, path)
        watched.show("overview", theme=theme)
        ratios = watched.tab.evaluate("""() => {
          const style = getComputedStyle(document.documentElement);
          const light = (name) => {
            let hex = style.getPropertyValue(name).trim().slice(1);
            if (hex.length === 3) hex = [...hex].map((c) => c + c).join('');
            const [r, g, b] = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
              .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          return [['--ink', '--ground'], ['--quiet', '--ground'], ['--quiet', '--panel'], ['--ink', '--share'],
                  ['--ink', '--code']].map((pair) => {
            const [a, b] = pair.map(light).sort((x, y) => y - x);
            return [pair.join(' on '), (a + 0.05) / (b + 0.05)];
          });
        }""")
        assert all(ratio >= 4.5 for _, ratio in ratios), (theme, ratios)
        watched.close()


def check_access(browser, path):
    """Tab comes to all that can be clicked, and what has the focus is marked; pictures have texts; nothing moves."""
    watched = Watched(browser, path)
    tab = watched.tab
    for page in PAGES:
        watched.show(page)
        tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        wanted = tab.evaluate("""() => {
          window.wanted = new Set([...document.querySelectorAll('a[href], button, input, select, textarea, summary, ' +
            'canvas:not([aria-hidden])')].filter((each) => !each.disabled && each.checkVisibility()));
          const silent = [...document.querySelectorAll('canvas:not([aria-hidden]), svg:not([aria-hidden])')].filter(
            (each) => !each.closest('[aria-label]'));
          return [window.wanted.size, silent.map((each) => each.outerHTML.slice(0, 100)),
                  document.getAnimations().length];
        }""")
        assert wanted[1:] == [[], 0], (page, wanted)
        tabs = tab.evaluate("""() => { [...window.wanted].filter((each) => each.closest('.plot')).forEach(
                                 (each) => window.wanted.delete(each));
                               return window.wanted.size + document.querySelectorAll('[tabindex="0"]').length; }""")
        for _ in range(tabs + 20):
            tab.keyboard.press("Tab")
            unmarked = tab.evaluate("""() => {
              const now = document.activeElement;
              window.wanted.delete(now);
              const style = getComputedStyle(now);
              return now === document.body || style.outlineStyle !== 'none' ? '' : now.outerHTML.slice(0, 100);
            }""")
            assert not unmarked, (page, unmarked)
            if not tab.evaluate("window.wanted.size"):
                break
        left = tab.evaluate("[...window.wanted].map((each) => each.outerHTML.slice(0, 100))")
        assert not left, (page, left)
    watched.close()


def check_print(browser, path):
    """On paper, pages are light and stand below each other, and no table is wider than the paper."""
    watched = Watched(browser, path, viewport={"width": 794, "height": 1123}, color_scheme="dark")
    tab = watched.tab
    watched.show("ops")
    tab.emulate_media(media="print", color_scheme="dark")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("h1.page-title").count() > 5
    wide = tab.evaluate("""[...document.querySelectorAll('main table')].filter((each) =>
      each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      .map((each) => each.closest('section').id)""")
    assert not wide, wide
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    watched.close()


def main():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip("this Python has no playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        skip("there is no chromium to look at the page in")
    os.makedirs(PICTURES, exist_ok=True)
    traces = [("capture", CAPTURE)]
    if SHARED:
        traces.append(("gpu", os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz")))
    else:
        traces.append(("gpu", os.path.join(ROOT, "tests", "fixtures", "kineto", "links.json")))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for name, run in traces:
            path = write_report(f"{name}.html", run)
            check_pages(browser, name, path, viewport={"width": 1280, "height": 900})
        capture = write_report("capture.html", CAPTURE)
        check_pages(browser, "dark", capture, viewport={"width": 2560, "height": 1300}, color_scheme="dark")
        check_numbers(browser, capture, CAPTURE)
        check_steps(browser, capture, CAPTURE)
        check_timeline(browser, capture, CAPTURE)
        check_links(browser, write_report("gpu.html", traces[1][1]), traces[1][1])
        check_lines(browser, capture, CAPTURE)
        check_keys(browser, capture, CAPTURE)
        check_ranks(browser)
        check_memory(browser)
        check_several(browser)
        check_far_apart(browser)
        check_compare(browser)
        check_contrast(browser, capture)
        check_access(browser, capture)
        check_print(browser, capture)
        check_pages(browser, None, write_report("none.html", CAPTURE, "--no-events"))
        check_pages(browser, None, write_report("small.html", CAPTURE, "--max-size", "20k"))
        check_pages(browser, None, write_report("several.html", os.path.join(ROOT, "tests/fixtures/kineto/*.json")))
        check_hostile(browser)
        check_odd(browser)
        browser.close()
    print("pictures:", len(os.listdir(PICTURES)))


if __name__ == "__main__":
    main()
