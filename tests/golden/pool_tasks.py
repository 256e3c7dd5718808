"""pool_tasks.py: what steps of an XPlane recording cause on the host, with and without the tasks of thread pools.

TensorFlow's and JAX's profiler makes a region of the marks around each task of a pool, to count what lies in it for
the step that handed the task on (tsl/profiler/utils/preprocess_xplane.h).  XProf 2.24 and the converter of TensorFlow
2.16 show numbers without any of this, and tfprof's views more: exactly these tasks, as is computed here,
independently of tfprof.  Of the shared recordings only jax_a has such marks.
"""

import functools
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from xplane_files import decode

START, STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"


def regions_of(events):
    """Of the events of one line, (start, end, stats of the first mark) between each pair of marks."""
    opened = None
    for event in events:
        if event["name"] == START:
            opened = event
        elif event["name"] == STOP and opened:
            yield opened["offset_ps"], event["offset_ps"], opened["stats"]
            opened = None


def events_of(plane, has_tasks):
    """All events as [start, end, stats, those that it causes], with what lies in them by their line."""
    found = []
    for line in plane["lines"]:
        events = sorted(line["events"], key=lambda event: (event["offset_ps"], -event["duration_ps"]))
        spans = [(event["offset_ps"], event["offset_ps"] + event["duration_ps"], event["stats"]) for event in events]
        if has_tasks:
            spans += regions_of(events)
        opened = []
        for start, end, stats in sorted(spans, key=lambda span: (span[0], -span[1])):
            while opened and opened[-1][1] < end:
                opened.pop()
            event = [start, end, stats, []]
            if opened:
                opened[-1][3].append(event)
            found.append(event)
            opened.append(event)
    return found


def covered(spans, start, end):
    total = 0
    for begin, until in sorted(spans):
        total += max(0, min(until, end) - max(begin, start))
        start = max(start, until)
    return total


@functools.lru_cache
def host_compute(path, has_tasks):
    """{number of a step: nanoseconds of it in which the host did what the step caused}."""
    with open(path, "rb") as file:
        planes = [plane for plane in decode(file.read())["planes"] if plane["name"] == "/host:CPU"]
    events = [event for plane in planes for event in events_of(plane, has_tasks)]
    consumers = {}
    for event in events:
        consumers.setdefault((event[2].get("_ct"), event[2].get("_c")), []).append(event)
    consumers.pop((None, None), None)
    found, reached = {}, set()
    for root in sorted((event for event in events if "_r" in event[2]), key=lambda event: event[0]):
        todo, spans = [root], []
        while todo:
            event = todo.pop()
            if id(event) not in reached:
                reached.add(id(event))
                spans += [event[:2]] * (event is not root)
                todo += event[3] + consumers.get((event[2].get("_pt"), event[2].get("_p")), [])
        found[root[2]["step_num"]] = covered(spans, *root[:2]) / 1000
    return found


def has_pool_tasks(name):
    return name == "jax_a"


def with_tasks(path, number, parts, host, other):
    """What a tool shows of a step, which is what there is without tasks, made what there is with them."""
    without, whole = host_compute(path, False)[number], host_compute(path, True)[number]
    assert abs(parts[host] - without) <= 20, (path, number, parts, without)
    return {**parts, host: whole, other: parts[other] - (whole - without)}


def summary_with_tasks(path, durations, part, summary):
    """The same for average, deviation and extremes of all steps, in milliseconds; durations are {number: ns}."""
    def values(has_tasks):
        return [ns / 1e6 if part == "host_compute" else (durations[number] - ns) / 1e6
                for number, ns in host_compute(path, has_tasks).items()]
    assert abs(statistics.mean(values(False)) - summary["average"]) < 2e-5, (path, part, summary)
    here = values(True)
    return {"average": statistics.mean(here), "standard_deviation": statistics.stdev(here), "minimum": min(here),
            "maximum": max(here)}
