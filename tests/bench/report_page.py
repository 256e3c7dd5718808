#!/usr/bin/env python3
"""report_page.py TRACE: what `tfprof report` takes, and how long its page takes in Chromium.

Needs Playwright and Chromium. Prints the size of the file and the processor time and memory that writing it took; then,
as medians of five loads of the timeline's page, when something is seen first, when all rows are there, when all events
are decoded and when the first frame is drawn; of sixty frames each the time that drawing took, median and 95 %, of
everything, while zooming and while panning in a part; how long a search over all events takes, and the memory that
JavaScript holds. The events are those of the trace; make_kineto_trace.py and make_ops_dump make larger ones.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import figures

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build")
LOADS = 5
MARKS = """() => ({
  'first paint': performance.getEntriesByName('first-contentful-paint')[0].startTime,
  rows: performance.getEntriesByName('rows')[0].startTime,
  events: performance.getEntriesByName('events')[0].startTime,
  'first frame': performance.getEntriesByName('first-frame')[0].startTime})"""
# Frames are drawn in the frame after an event, so that what passes from one to the next beyond the rest is drawing.
FRAMES = """async () => {
  const canvas = document.querySelector('.lanes canvas'), next = () => new Promise(requestAnimationFrame);
  const wheel = (what) => canvas.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, ...what }));
  const measure = async (what) => {
    const times = [];
    for (let i = 0; i < 60; i++) {
      wheel(what);
      await next();
      const channel = new MessageChannel(), begin = performance.now();
      await new Promise((done) => { channel.port1.onmessage = done; channel.port2.postMessage(0); });
      times.push(performance.now() - begin);
      await next();
    }
    times.sort((a, b) => a - b);
    return [times[30], times[57]];
  };
  const all = await measure({ deltaY: 1 });
  const zooming = await measure({ deltaY: -30, ctrlKey: true });
  return { everything: all, zooming, panning: await measure({ deltaX: 20 }) };
}"""

SEARCH = """async () => {
  const input = document.querySelector('.tools input'), begin = performance.now();
  input.value = 'conv';
  input.dispatchEvent(new Event('input'));
  return [performance.now() - begin, performance.memory.usedJSHeapSize / 1e6];
}"""


def name_of(path):
    """What is opened, as figures call it: its name and, of a file, its size."""
    path = os.path.normpath(path)
    name = f"`{os.path.basename(path).partition('.')[0]}`"
    return name if os.path.isdir(path) else f"{name} of {os.path.getsize(path) / 1e6:.0f} MB"


def tell_frames(subject, what, frames, command):
    """The times of frames as data."""
    for name, (middle, most) in frames.items():
        name = "of everything" if name == "everything" else f"while {name}"
        figures.tell(subject, f"{what}: a frame {name}, median", middle, "ms", command, trials=60)
        figures.tell(subject, f"{what}: a frame {name}, 95 %", most, "ms", command, trials=60)


def say_frames(frames):
    print(", ".join(f"{name} {middle:.1f} ms (95 %: {most:.1f})" for name, (middle, most) in frames.items()))


def main():
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.html")
        subprocess.run([os.path.join(BUILD, "tfprof"), "report", sys.argv[1], "-o", path], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{os.path.getsize(path) / 1e6:.1f} MB, {used.ru_utime + used.ru_stime:.1f} CPU s, "
              f"{used.ru_maxrss / 1000:.0f} MB of memory")
        of, command = name_of(sys.argv[1]), "report_page.py FILE"
        figures.tell("reports", f"Report of {of}: processor time", used.ru_utime + used.ru_stime, "CPU s", command)
        figures.tell("reports", f"Report of {of}: memory", used.ru_maxrss / 1000, "MB", command)
        figures.tell("reports", f"Report of {of}: size of the page", os.path.getsize(path) / 1e6, "MB", command)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND",
                                                                "--disable-gpu", "--disable-background-networking"])
            loads = []
            for _ in range(LOADS):
                tab = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
                tab.goto(f"file://{path}#page=timeline")
                tab.wait_for_function("() => performance.getEntriesByName('first-frame').length", timeout=120000)
                loads.append(tab.evaluate(MARKS))
                frames = tab.evaluate(FRAMES) if len(loads) == LOADS else None
                search, heap = tab.evaluate(SEARCH)
                tab.context.close()
            browser.close()
        print(", ".join(f"{name} {statistics.median(load[name] for load in loads):.0f} ms" for name in loads[0]))
        say_frames(frames)
        print(f"search {search:.0f} ms, {heap:.0f} MB of JavaScript's memory")
        for name, called in (("first paint", "first paint"), ("rows", "all rows"), ("events", "all events"),
                             ("first frame", "first frame")):
            seconds = statistics.median(load[name] for load in loads) / 1e3
            figures.tell("reports", f"Page of {of}: {called}", seconds, "s", command, trials=LOADS)
        tell_frames("reports", f"Page of {of}", frames, command)
        figures.tell("reports", f"Page of {of}: a search over all events", search, "ms", command)
        figures.tell("reports", f"Page of {of}: memory of JavaScript", heap, "MB", command)


if __name__ == "__main__":
    main()
