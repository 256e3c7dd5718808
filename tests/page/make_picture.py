#!/usr/bin/env python3
"""make_picture.py TRACE: the picture at the head of README.md, page/picture.png: the timeline of a report of TRACE.

It is resnet50_num_workers_0.pt.trace.json.gz of the shared traces there. To be run again when the page looks different.
"""

import os
import sys

from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reports import ROOT, write_report  # noqa: E402
from test_browser import ARGUMENTS, Watched  # noqa: E402


def main():
    path = write_report("picture.html", sys.argv[1], "--title", "ResNet-50")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        watched = Watched(browser, path, viewport={"width": 1280, "height": 790}, color_scheme="light")
        watched.show("timeline")
        watched.tab.screenshot(path=os.path.join(ROOT, "page", "picture.png"))
        watched.close()
        browser.close()


main()
