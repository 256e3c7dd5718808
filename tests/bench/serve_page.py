#!/usr/bin/env python3
"""serve_page.py RUN: how long `tfprof serve` takes until it is looked at, in Chromium.

Needs Playwright and Chromium. As medians of five starts: from the command to its address, from there to what is seen
first and to the last panel of the first page; then the answer to all that the timeline draws at first, and the size of
it; and the processor time of the server for all of that.
"""

import os
import resource
import shutil
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "page"))
from serving import Served  # noqa: E402

STARTS = 5


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
        browser.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(", ".join(f"{name} {statistics.median(times) * 1000:.0f} ms" for name, times in took.items()))
    each = (used.ru_utime + used.ru_stime) / STARTS
    print(f"timeline {len(body) / 1e6:.2f} MB; {each:.2f} CPU s a start of the server")


main()
