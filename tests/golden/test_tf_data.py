#!/usr/bin/env python3
"""test_tf_data.py: input_pipelines, input_pipeline_graph and input_bottleneck against TensorFlow's bottleneck analysis.

The converter inside TensorFlow 2.16 printed what is compared, field by field; it takes numbers of iterators from 2^63
on for 0, so that several may be one there, and counts in picoseconds: sums may differ by one for each event.  Without
the shared traces only the files that are made here are looked at.
"""

import collections
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, query, run_tests
from xplane_files import event, line, plane, space

TRACES = os.path.join(os.environ.get("TFPROF_SHARED", ""), "traces", "xplane")


def is_close(found, picoseconds, events, what):
    assert abs(found - int(picoseconds) / 1000) <= events, (what, found, picoseconds)


def number(iterator):
    """Of an iterator, as the converter reads it."""
    return max(iterator or 0, 0)


def compare_call(rows, expected, what):
    """One call of a pipeline: each iterator, and which of them was the bottleneck."""
    merged = collections.defaultdict(list)
    for row in rows:
        merged[number(row["iterator"])].append(row)
    check(sorted(merged), sorted(int(key) for key in expected["iterator_stats"]), what)
    for key, stat in expected["iterator_stats"].items():
        here = merged[int(key)]
        count = sum(row["count"] for row in here)
        check(count, int(stat["num_calls"]), (what, key))
        is_close(sum(row["sum_ns"] for row in here), stat["duration_ps"], count, (what, key, "duration"))
        is_close(sum(row["self_ns"] for row in here), stat["self_time_ps"], 30 * count, (what, key, "self"))
        check(max(row["is_blocking"] for row in here), int(stat.get("is_blocking", False)), (what, key, "blocking"))
    if all(len(here) == 1 for here in merged.values()):
        bottlenecks = [row for row in rows if row["is_bottleneck"]]
        check([number(row["iterator"]) for row in bottlenecks], [int(expected.get("bottleneck_iterator_id", 0))], what)


def compare_host(path, host, expected):
    """How many calls were compared."""
    compared = 0
    pipelines = [row for row in query(path, "SELECT * FROM input_pipelines") if row["host"] == host]
    graph = collections.defaultdict(list)
    for row in query(path, "SELECT * FROM input_pipeline_graph"):
        if row["host"] == host:
            graph[row["pipeline"], row["position"]].append(row)
    wanted = expected.get("input_pipelines", {})
    check(sorted(row["iterator"] for row in pipelines), sorted(int(key) for key in wanted), (path, "pipelines"))
    for row in pipelines:
        theirs = wanted[str(row["iterator"])]
        check(row["pipeline"], theirs["metadata"]["name"], path)
        check(row["slow_count"], int(theirs["num_slow_calls"]), (path, "slow calls"))
        check(row["count"], len(theirs["stats"]), (path, "calls"))
        for column, field in (("mean_ns", "avg_latency_ps"), ("min_ns", "min_latency_ps"),
                              ("max_ns", "max_latency_ps")):
            is_close(row[column], theirs[field], 1, (path, column))
        for position, call in enumerate(theirs["stats"], 1):
            compare_call(graph[row["pipeline"], position], call, (path, host, position))
            compared += 1
    metadata = {}
    for row in (row for rows in graph.values() for row in rows):
        metadata[row["iterator"]] = (row["name"], row["long_name"], bool(row["is_async"]),
                                     number(row["parent_iterator"]))
    for key, (name, long_name, is_async, parent) in metadata.items():
        theirs = expected["iterator_metadata"][str(number(key))]
        if key > 0:
            check((name, long_name, is_async, parent),
                  (theirs["name"], theirs["long_name"], theirs.get("is_async", False),
                   int(theirs.get("parent_id", 0))), (path, key))
    return compared


def test_recordings(_directory):
    compared = 0
    for golden in sorted(glob.glob(os.path.join(TRACES, "golden", "*", "tf216.tf_data_bottleneck_analysis.json"))):
        name = os.path.basename(os.path.dirname(golden))
        path = os.path.join(TRACES, name)
        path = path if os.path.isdir(path) else path + ".xplane.pb"
        with open(golden, encoding="utf-8") as file:
            expected = json.load(file)
        for host, of_host in expected["tf_data_stats"].items():
            compared += compare_host(path, host, of_host)
        found = query(path, "SELECT * FROM input_bottleneck")
        wanted = expected.get("bottleneck_analysis", [])
        slowest = query(path, "SELECT * FROM input_pipeline_graph WHERE position = 1")
        check([(row["host"], row["pipeline"], row["name"], row["long_name"]) for row in found],
              [(row["host"], row["input_pipeline"], row["iterator_name"], row["iterator_long_name"])
               for row in wanted], name)
        check(bool(found) and found[0]["max_latency_ns"] > 50000, expected.get("is_input_bound", False), name)
        for row, theirs in zip(found, wanted):
            is_close(row["max_latency_ns"], theirs["max_latency_ps"], 1, name)
            same = [each["self_ns"] for each in slowest if (each["host"], each["pipeline"]) ==
                    (row["host"], row["pipeline"]) and number(each["iterator"]) == number(row["iterator"])]
            is_close(sum(same), theirs["iterator_latency_ps"], 30, name)
            assert row["self_ns"] in same, (name, row)
            assert row["suggestion"].endswith("."), row
    assert compared > 30 or not os.path.isdir(TRACES), compared


def microseconds(name, start, end, **stats):
    return event(name, start * 1_000_000, (end - start) * 1_000_000, **stats)


def host_pipeline(directory, extra=()):
    """The recording of xplane_to_tf_data_stats_test, HostInputPipeline."""
    path = os.path.join(directory, "a.xplane.pb")
    consumer = [microseconds("Iterator::Prefetch", 0, 100, id=123),
                microseconds("Iterator::Prefetch", 200, 220, id=123),
                microseconds("PrefetchConsume", 80, 100, element_id=100),
                microseconds("PrefetchConsume", 210, 220, element_id=200)]
    producer = []
    for element, start, end in ((100, 0, 80), (200, 100, 180)):
        producer += [microseconds("PrefetchProduce", start, end, element_id=element),
                     microseconds("Iterator::Prefetch::Range", start, end, id=456, parent_id=123)]
    with open(path, "wb") as file:
        file.write(space(plane("/host:CPU", [line(1, "main", consumer), line(2, "producer", producer),
                                             *[line(3 + i, "more", events) for i, events in enumerate(extra)]])))
    return path


def test_vector(directory):
    path = host_pipeline(directory)
    check([(row["pipeline"], row["mean_ns"], row["min_ns"], row["max_ns"], row["slow_count"])
           for row in query(path, "SELECT * FROM input_pipelines")], [("Host:0", 60000, 20000, 100000, 1)], "pipelines")
    check([(row["position"], row["iterator"], row["self_ns"], row["is_blocking"], row["is_bottleneck"])
           for row in query(path, "SELECT * FROM input_pipeline_graph ORDER BY position, iterator")],
          [(1, 123, 20000, 1, 0), (1, 456, 80000, 1, 1), (2, 123, 20000, 1, 1), (2, 456, 80000, 0, 0)], "graph")
    check([(row["name"], row["self_ns"], row["max_latency_ns"]) for row in query(
        path, "SELECT * FROM input_bottleneck")], [("Range", 80000, 100000)], "bottleneck")


def test_device_and_circles(directory):
    """A pipeline that a generator feeds is one of a device. Elements that ask for each other in a circle, an element
    that nobody takes, one that two take: rows for all, and an end."""
    device = [microseconds("Iterator::Prefetch", 0, 90, id=7),
              microseconds("Iterator::Prefetch::Generator", 1, 80, id=8, parent_id=7)]
    circle = []
    for start, mine, other in ((0, 1, 2), (100, 2, 1)):
        circle += [microseconds("PrefetchProduce", start, start + 90, element_id=mine),
                   microseconds("Iterator::Prefetch::Map", start, start + 90, id=50, parent_id=50),
                   microseconds("PrefetchConsume", start + 10, start + 20, element_id=other)]
    lost = [microseconds("PrefetchProduce", 0, 10, element_id=9),
            microseconds("Iterator::Prefetch::Range", 0, 10, id=456, parent_id=123)]
    twice = [microseconds("Iterator::Prefetch", 300, 400, id=123),
             microseconds("PrefetchConsume", 310, 320, element_id=100)]
    path = host_pipeline(directory, (device, circle, lost, twice))
    check([(row["pipeline"], row["count"]) for row in query(path, "SELECT * FROM input_pipelines")],
          [("Device:0", 1), ("Host:0", 3)], "pipelines")
    check([row["pipeline"] for row in query(path, "SELECT * FROM input_bottleneck")], ["Host:0"], "bottlenecks")
    rows = query(path, "SELECT iterator, parent_id, call_id FROM input_events")
    check(sorted(str(row["iterator"]) for row in rows if row["call_id"] is None), ["456", "50", "50"], "no call")
    check(sum(row["parent_id"] is not None for row in rows if row["iterator"] == 50), 1, "circle")


if __name__ == "__main__":
    run_tests(globals())
