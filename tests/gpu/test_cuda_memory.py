#!/usr/bin/env python3
"""Memory of devices, as PyTorch's allocator reports it: pieces, what it holds from the driver, and a job that dies for
want of memory, which leaves what was live then, by op and line. On the doubles (doubles/): PyTorch runs on the CPU, and
an allocator of the test's (site-packages/cuda_device.py) reports through PyTorch's own functions."""

import json
import os

import playing
from playing import capturing
from capturing import Directory, query

MIB = 1 << 20
PROGRAM = os.path.join(playing.HERE, "programs", "device_memory.py")


def line_of(text):
    with open(PROGRAM) as file:
        (line,) = [number for number, line in enumerate(file, 1) if "# " + text in line]
    return "device_memory.py:%d" % line


def play(directory, mode, status, **settings):
    """What the program's allocator counted, and the run."""
    run = os.path.join(directory, "run")
    environment = playing.environment_of_programs(**settings)
    output, error = capturing.launch(run, [capturing.PYTHON, PROGRAM, mode], ["--ops=all"], status, environment)
    return json.loads(output.splitlines()[-1]), run


def check_death(mode, status):
    with Directory() as directory:
        counted, run = play(directory, mode, status)
        weights, history, hole, activation, asked = 9 * MIB, 25 * MIB, 8 * MIB, 4 * MIB, 64 * MIB
        live = weights + history + activation
        assert (counted["in_use"], counted["peak"], counted["reserved"]) == (live, live + hole, 60 * MIB), counted
        (failure,) = query(run, "SELECT * FROM memory_failures")
        assert failure["device"] == "cuda:0" and failure["bytes"] == asked, failure
        assert (failure["in_use_bytes"], failure["reserved_bytes"]) == (live, counted["reserved"]), failure
        assert failure["peak_bytes"] == counted["peak"] and failure["capacity_bytes"] == 80 << 30, failure
        assert failure["location"] == line_of("the line of the activations"), failure
        assert failure["op"] == "Layer", failure
        # Each piece, with its op and line, and when it was released.
        rows = query(run, """
            SELECT devices.name AS device, ops.name AS op, location, count(*) AS count, sum(allocations.bytes) AS bytes,
                   count(released_ns) AS released
            FROM allocations JOIN devices ON devices.id = allocations.device_id
            LEFT JOIN ops ON ops.id = op_id LEFT JOIN _code_trace_lines AS lines USING (code_trace_id)
            WHERE devices.kind = 'gpu' GROUP BY 1, 2, 3 ORDER BY 1, 2, 5""")
        layers = 6 * (4 + 2) * MIB + activation
        assert [tuple(row.values()) for row in rows] == [
            ("cuda:0", None, line_of("the line of the hole"), 1, hole, 1),
            ("cuda:0", None, line_of("the line of the weights"), 3, weights, 0),
            ("cuda:0", None, line_of("the line of the history"), 5, history, 0),
            ("cuda:0", "Layer", line_of("the line of the activations"), 13, layers, 12),
            ("cuda:1", None, line_of("the line of the other device"), 1, 7 * MIB, 0)], rows
        # What the allocator held from the driver, and what of it was not in use.
        summaries = query(run, "SELECT * FROM memory_summary WHERE device = 'cuda:0' AND peak_bytes IS NOT NULL")
        (summary,) = summaries
        assert summary["peak_bytes"] == counted["peak"] == summary["heap_bytes"], (summary, counted)
        assert summary["allocation_count"] == 22 and summary["deallocation_count"] == 13, summary
        assert summary["reserved_bytes"] == summary["reserved_peak_bytes"] == counted["reserved_peak"], summary
        assert summary["free_bytes"] == counted["reserved_peak"] - counted["peak"], summary
        assert abs(summary["unused_ratio"] - (1 - counted["peak"] / counted["reserved_peak"])) < 1e-9, summary
        # CUPTI hands over what the driver gave once a second, so of a program that is killed some of it is missing.
        assert mode == "killed" or 0 < summary["fragmentation_ratio"] < 1, summary
        # What was live at the peak, by op and line, and is still.
        rows = query(run, """SELECT op, location, bytes, count, peak_ratio FROM memory_breakdown
                             WHERE memory = 'cuda:0' ORDER BY bytes DESC""")
        parts = (("history", None, history, 5), ("weights", None, weights, 3), ("hole", None, hole, 1),
                 ("activations", "Layer", activation, 1))
        assert [tuple(row.values()) for row in rows] == [
            (op, line_of("the line of the " + line), size, count, size / counted["peak"])
            for line, op, size, count in parts], rows
        rows = query(run, """SELECT location, live_count, live_bytes, peak_bytes FROM memory_by_line
                             WHERE device = 'cuda:0' ORDER BY peak_bytes DESC""")
        assert [tuple(row.values()) for row in rows] == [
            (line_of("the line of the " + line), 0 if line == "hole" else count, 0 if line == "hole" else size, size)
            for line, op, size, count in parts], rows
        (advice,) = query(run, "SELECT severity, subject, message FROM advise WHERE check_name = 'out_of_memory'")
        assert advice["severity"] == "critical" and "cuda:0" in advice["subject"], advice
        asking = line_of("the line of the activations")
        for text in ("at %s: 64.0 MiB were asked for while 38.0 MiB were in use" % asking,
                     "held by %s (25.0 MiB), %s (9.00 MiB), %s (4.00 MiB)" % tuple(
                         line_of("the line of the " + line) for line in ("history", "weights", "activations"))):
            assert text in advice["message"], (text, advice)


def test_segments():
    """Segments, and after each event what of them is free in one piece: what the allocators themselves counted."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        program = os.path.join(playing.HERE, "programs", "device_segments.py")
        output, _ = capturing.launch(run, [capturing.PYTHON, program], ["--ops=all", "--max-rate=0"], 0,
                                     playing.environment_of_programs())
        counted = json.loads(output.splitlines()[-1])
        events = query(run, """
            SELECT ordinal, in_use_bytes, reserved_bytes, largest_free_bytes, fragmentation_ratio
            FROM memory_events AS events JOIN devices ON devices.id = device_id
            WHERE devices.kind = 'gpu' AND in_use_bytes IS NOT NULL ORDER BY time_ns, events.id""")
        assert len(events) == len(counted["events"]) > 700, (len(events), len(counted["events"]))
        for event, (ordinal, in_use, reserved, largest) in zip(events, counted["events"]):
            ratio = 1 - largest / (reserved - in_use) if reserved > in_use else None
            assert tuple(event.values()) == (ordinal, in_use, reserved, largest, ratio), (event, ordinal, largest)
        assert len({event["fragmentation_ratio"] for event in events}) > 300, events
        segments = query(run, """
            SELECT ordinal, address, bytes, released_ns IS NULL AS is_held, allocator FROM memory_segments
            JOIN devices ON devices.id = device_id ORDER BY ordinal, address""")
        wanted = [(ordinal, *segment, "pytorch")
                  for ordinal, its in enumerate(counted["segments"]) for segment in map(tuple, its)]
        wanted.append((0, 1 << 40, 33 * MIB, 1, "cuda"))
        assert sorted(tuple(segment.values()) for segment in segments) == sorted(wanted), (segments, wanted)
        assert any(not held for _, _, _, held, _ in wanted) and any(held for _, _, _, held, _ in wanted), wanted
        # The views say the same.
        moments = query(run, """
            SELECT device, fragmentation_ratio FROM memory_timeline JOIN devices ON devices.id = device_id
            WHERE devices.kind = 'gpu' ORDER BY time_ns, event_id""")
        failures = sum(event["fragmentation_ratio"] is None for event in events)
        assert failures < 20, failures
        assert [moment["fragmentation_ratio"] for moment in moments] == [
            event["fragmentation_ratio"] for event in query(run, """
                SELECT fragmentation_ratio FROM memory_events JOIN devices ON devices.id = device_id
                WHERE devices.kind = 'gpu' AND memory_events.kind IN ('allocate', 'release')
                ORDER BY time_ns, memory_events.id""")], moments
        for summary in query(run, "SELECT * FROM memory_summary WHERE device LIKE 'cuda:%' AND allocator IS NULL"):
            (at_peak,) = [event for event in events if event["in_use_bytes"] == summary["peak_bytes"]
                          and event["ordinal"] == int(summary["device"][-1])][:1]
            assert summary["fragmentation_ratio"] == at_peak["fragmentation_ratio"], (summary, at_peak)


def test_fails():
    """It ends by the exception."""
    check_death("fails", 1)


def test_killed():
    """It is killed as soon as the allocation has failed, within the op."""
    check_death("killed", -9)


if __name__ == "__main__":
    capturing.need_torch()
    playing.main(globals())
