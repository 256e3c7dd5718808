#!/usr/bin/env python3
"""make_screenshots.py FOLDER [--look=LOOK] [NAME=RUN...]: every page, as a person sees it, to be looked at.

Each run is shown by `tfprof report` and by `tfprof serve`, 1280 and 2560 px wide, light and dark; pictures are
FOLDER/NAME-report-1280-light-PAGE.png and so on. Of each run, how, width and theme there is one sheet with all pages
beside each other where this Python has Pillow. Eight ranks and a memory snapshot are made here; of a GPU trace, a
capture, classic files of TensorFlow and an XPlane the shared traces have some:

  tests/page/make_screenshots.py /tmp/shots gpu=$T/pytorch/resnet50_num_workers_0.pt.trace.json.gz cpu=run \
      classic=$T/tf/profile_9 xplane=$T/xplane/gpu_train_a.xplane.pb

With --look=report-1280-light (several times) only those are taken. What the browser says, and panels that are wider
than the page, are told.
"""

import glob
import os
import sys

from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reports import eight_ranks, memory_snapshot, write_report  # noqa: E402
from serving import Served  # noqa: E402
from test_browser import ARGUMENTS, PAGES, Watched  # noqa: E402
from test_served_page import Tab  # noqa: E402

LOOKS = [(how, width, theme) for how in ("report", "serve") for width in (1280, 2560) for theme in ("light", "dark")]
ACROSS, ROOM = 4, 900  # of a sheet: pages beside each other, and how wide each is there

WIDE = """() => [...document.querySelectorAll('main section')].filter((each) =>
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((each) => each.id)"""


def take(tab, folder, name, width, theme):
    wide = set()
    for page in PAGES:
        tab.show(page)
        if page == "timeline":
            tab.tab.wait_for_function("() => performance.getEntriesByName('first-frame').length || "
                                      "document.querySelector('.empty')")
        wide.update(f"{page}: {each}" for each in tab.tab.evaluate(WIDE))
        path = os.path.join(folder, f"{name}-{width}-{theme}-{page}.png")
        tab.tab.screenshot(path=path, full_page=page != "timeline")
    if wide:
        print(f"{name} at {width}: wider than the page:", ", ".join(sorted(wide)))
    if tab.said:
        print(f"{name}: the browser says", tab.said)
    tab.close()


def make_sheets(folder, names):
    try:
        from PIL import Image
    except ImportError:
        return
    for name in names:
        pictures = [Image.open(os.path.join(folder, f"{name}-{page}.png")) for page in PAGES]
        pictures = [each.convert("RGB").resize((ROOM, each.height * ROOM // each.width)).crop(
            (0, 0, ROOM, min(2 * ROOM, each.height * ROOM // each.width))) for each in pictures]
        rows = [pictures[at:at + ACROSS] for at in range(0, len(pictures), ACROSS)]
        heights = [max(each.height for each in row) for row in rows]
        sheet = Image.new("RGB", (ROOM * ACROSS, sum(heights)), "magenta")
        for number, row in enumerate(rows):
            for column, each in enumerate(row):
                sheet.paste(each, (column * ROOM, sum(heights[:number])))
        sheet.save(os.path.join(folder, f"sheet-{name}.png"))


def main():
    folder, *words = sys.argv[1:]
    chosen = {word[7:] for word in words if word.startswith("--look=")}
    words = [word for word in words if not word.startswith("--")]
    os.makedirs(folder, exist_ok=True)
    runs = {"ranks": eight_ranks(), "snapshot": memory_snapshot(), **dict(word.split("=", 1) for word in words)}
    arguments = [word.replace("~NOTFOUND", "~NOTFOUND, EXCLUDE 127.0.0.1") for word in ARGUMENTS]
    names = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        for name, run in runs.items():
            path = write_report(f"{name}.html", run)
            with Served(run) as served:
                for how, width, theme in LOOKS:
                    if chosen and f"{how}-{width}-{theme}" not in chosen:
                        continue
                    settings = {"viewport": {"width": width, "height": width * 9 // 16}, "color_scheme": theme}
                    tab = Watched(browser, path, **settings) if how == "report" else Tab(browser, served, **settings)
                    take(tab, folder, f"{name}-{how}", width, theme)
                    names.append(f"{name}-{how}-{width}-{theme}")
        browser.close()
    make_sheets(folder, names)
    print("pictures:", len(glob.glob(os.path.join(folder, "*.png"))), "in", folder)


if __name__ == "__main__":
    main()
