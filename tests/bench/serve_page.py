#!/usr/bin/env python3
"""serve_page.py RUN: how long `tfprof serve` takes until it is looked at, in Chromium.

Needs Playwright and Chromium. As medians of five starts: from the command to its address, from there to what is seen
first and to the last panel of the first page; then the answer to all that the timeline draws at first, and the size of
it; the answers to twenty windows of a 200th of the time (the processor time of the server, and until they are there);
the first frame of the timeline's page, and of sixty frames each the time that drawing took, as report_page.py has it;
and the processor time and memory of the server for all of that.
"""

import os
import re
import shutil
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "page"))
import figures  # noqa: E402
from report_page import FRAMES, name_of, say_frames, tell_frames  # noqa: E402
from serving import Served  # noqa: E402

STARTS, WINDOWS = 5, 20
# How figures call them.
NAMES = {
    "address": "command to address",
    "first page complete": "last panel of the first page",
    "timeline": "answer of all that the timeline draws",
    "window": "answer of a window",
    "window, processor": "processor time of the server for a window of a 200th",
    "first frame": "first frame of the timeline's page",
}


def tell(path, took, frames, answer_bytes, used, memory):
    """All of it as data."""
    of, command = f"{name_of(path)}, served", "serve_page.py RUN"
    for name, times in took.items():
        figures.tell("serving", f"{of}: {NAMES.get(name, name)}", statistics.median(times) * 1000,
                     "CPU ms" if "processor" in name else "ms", command, trials=len(times))
    tell_frames("serving", of, frames, command)
    for what, value, unit in (("size of the answer of all that the timeline draws", answer_bytes / 1e6, "MB"),
                              ("processor time of the server", used, "CPU s"), ("memory of the server", memory, "MB")):
        figures.tell("serving", f"{of}: {what}", value, unit, command)


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        numbers = file.read().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def most_memory(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) / 1000


def ask_windows(served):
    """Seconds until each answer is there, and those of the server's processor for one."""
    head, _ = served.events("run=0")
    span = max(head["bucket_ns"] * 4096, 1000)
    times, before = [], processor_seconds(served.process)
    for i in range(WINDOWS):
        at, begin = span * (i + 1) // (WINDOWS + 2), time.monotonic()
        pixel = max(1, span // 200 // 1400)
        served.raw("GET", f"/api/events?run=0&window={at}~{at + span // 200}&bucket={1 << (pixel.bit_length() - 1)}",
                   served.good)
        times.append(time.monotonic() - begin)
    return times, (processor_seconds(served.process) - before) / WINDOWS


def main():
    from playwright.sync_api import sync_playwright

    took = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu",
                                                            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])
        for _ in range(STARTS):
            begin = time.monotonic()
            with Served(sys.argv[1], "--stay") as served:
                took.setdefault("address", []).append(time.monotonic() - begin)
                tab = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
                tab.goto(served.address)
                tab.wait_for_function("() => performance.getEntriesByName('page-complete').length", timeout=120000)
                marks = tab.evaluate("() => ['first-contentful-paint', 'page-complete'].map((name) => "
                                     "performance.getEntriesByName(name)[0].startTime)")
                took.setdefault("first paint", []).append(marks[0] / 1000)
                took.setdefault("first page complete", []).append(marks[1] / 1000)
                tab.wait_for_selector("html[data-complete]", timeout=120000)
                tab.context.close()
                begin = time.monotonic()
                _, _, body = served.raw("GET", "/api/events?run=0", served.good)
                took.setdefault("timeline", []).append(time.monotonic() - begin)
                windows, each = ask_windows(served)
                took.setdefault("window", []).extend(windows)
                took.setdefault("window, processor", []).append(each)
                tab = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
                tab.goto(served.address + "&page=timeline")
                tab.wait_for_function("() => performance.getEntriesByName('first-frame').length", timeout=120000)
                took.setdefault("first frame", []).append(
                    tab.evaluate("performance.getEntriesByName('first-frame')[0].startTime") / 1000)
                frames = tab.evaluate(FRAMES)
                tab.context.close()
                used, memory = processor_seconds(served.process), most_memory(served.process)
        browser.close()
    print(", ".join(f"{name} {statistics.median(times) * 1000:.0f} ms" for name, times in took.items()))
    say_frames(frames)
    tell(sys.argv[1], took, frames, len(body), used, memory)
    print(f"timeline {len(body) / 1e6:.2f} MB; the server took {used:.2f} CPU s and {memory:.0f} MB")


main()
