#!/usr/bin/env python3
"""test_several_processes.py: traces of several processes in one file, and several traces of one process in a
directory: a profile for each process, links that never cross, windows that are one process, clocks that stay."""

import gzip
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from made_traces import BASE, SHARED, kernel, launch, span, write

HOUR = 3_600_000_000_000


def rank_events(rank, pid, at=0, steps=4):
    """Steps of 2 ms with three launches each; all ranks have the same numbers of ops, correlations and streams."""
    events = []
    for step in range(steps):
        start = at + step * 2_000_000
        events.append(span("user_annotation", "ProfilerStep#%d" % step, start, 1_990_000, pid, pid))
        for i in range(3):
            number = 3 * step + i + 1
            op = start + 50_000 + 200_000 * i + 7000 * rank
            events.append(span("cpu_op", "aten::" + ("mm", "bmm")[rank % 2], op, 20_000, pid, pid,
                               **{"External id": number}))
            events.append({**launch(op + 5000, 10_000, number), "pid": pid, "tid": pid})
            events[-1]["args"]["External id"] = number
            events.append({**kernel(op + 50_000, 90_000, correlation=number, name="kern_r%d" % rank),
                           "args": {"device": 0, "stream": 7, "correlation": number, "External id": number}})
    return events


def member(rank, world=2, host=None):
    return {"distributedInfo": {"rank": rank, "world_size": world}, **({"host_name": host} if host else {})}


LINKS = """SELECT DISTINCT profiles.rank, kernels.op_name, kernels.name, count(*) FROM kernels
    JOIN profiles ON profiles.id = kernels.profile_id GROUP BY 1, 2, 3 ORDER BY 1"""


def merged(form):
    """What a script makes of the files of two ranks: pids say which they are of, the rest repeats."""
    events = []
    for rank in (0, 1):
        for event in rank_events(rank, 1000 + rank):
            events.append({**event, "pid": form % ((event["pid"], rank) if form.index("%d") == 0 else
                                                   (rank, event["pid"]))})
    return events


def test_merged_by_texts(engine):
    """As two files: two profiles, of which each kernel belongs to an op of its own rank."""
    for form in ("[TP%02d] %d", "rank%d_%d", "%d (rank %d)"):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "merged.json")
            write(path, merged(form), **member(0))
            connection = engine()
            connection.values(f"SELECT tfprof_open('{path}')")
            assert connection.values(LINKS) == [(0, "aten::mm", "kern_r0", 12), (1, "aten::bmm", "kern_r1", 12)], form
            assert connection.values("SELECT rank, pid FROM profiles ORDER BY 1") == [(0, 1000), (1, 1001)], form
            assert connection.values("SELECT count(*) FROM steps") == [(8,)], form
            assert connection.values("SELECT reason FROM diagnostics WHERE severity <> 'info'") == [], form
            connection.close()


def appended(pids, tids=(1000, 1001), with_metadata=False):
    """The events of two ranks one behind the other; nothing but numbers says which is whose."""
    events = []
    for rank in (0, 1):
        if with_metadata:
            events.append({"ph": "M", "name": "thread_name", "pid": pids[rank], "tid": tids[rank], "ts": 0,
                           "args": {"name": "trainer %d" % rank}})
        for event in rank_events(rank, 1000 + rank):
            is_host = event["pid"] != 0
            events.append({**event, "pid": pids[rank] if is_host else 0, "tid": tids[rank] if is_host else 7})
    return events


def opened_file(engine, events, **members):
    connection = engine()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "merged.json")
        write(path, events, **members)
        connection.values(f"SELECT tfprof_open('{path}')")
        connection.values("SELECT count(attributes) FROM ops")
    return connection


def test_appended(engine):
    """Numbers that come again begin the next process, be pids the same, as in containers, or those of threads, too."""
    for pids, tids in (((1000, 1001), (1000, 1001)), ((1, 1), (1000, 1001)), ((1, 1), (1, 1))):
        for with_metadata in (False, True):
            case = pids, tids, with_metadata
            connection = opened_file(engine, appended(pids, tids, with_metadata), **member(0))
            assert connection.values(LINKS) == [(0, "aten::mm", "kern_r0", 12), (1, "aten::bmm", "kern_r1", 12)], case
            assert connection.values("SELECT rank, pid FROM profiles ORDER BY 1") == list(enumerate(pids)), case
            assert connection.values("SELECT profile_id, count(*) FROM steps GROUP BY 1") == [(1, 4), (2, 4)], case
            assert connection.values("SELECT count(*) FROM api_calls WHERE lacks_kernel") == [(0,)], case
            told = connection.values("SELECT DISTINCT severity, reason FROM diagnostics WHERE reason <> 'lost_file'")
            assert told == [("info", "merged_processes")], (case, told)
            names = connection.values("SELECT DISTINCT name FROM threads WHERE name LIKE 'trainer%' ORDER BY 1")
            assert len(names) == (2 if with_metadata else 0), (case, names)
            connection.close()
    # A mark with a pid of its own is no process.
    marked = rank_events(0, 1000)
    marked.insert(0, {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#9", "pid": 9999, "tid": 9999, "ts": 1,
                      "dur": 1, "args": {"External id": 77777}})
    connection = opened_file(engine, marked, **member(0))
    assert connection.values("SELECT rank FROM profiles") == [(0,)]
    assert connection.values("SELECT reason FROM diagnostics WHERE reason = 'merged_processes'") == []
    connection.close()
    # Of processes of which the job has more, ranks are not known.
    connection = opened_file(engine, appended((1, 1), (1, 1)), **member(0, 8))
    assert connection.values("SELECT rank, count(*) FROM profiles GROUP BY 1") == [(None, 2)]
    assert connection.values("SELECT name FROM _process_names") == [("process 1, part 1 of 2",),
                                                                   ("process 1, part 2 of 2",)]
    told = connection.values("SELECT message FROM diagnostics WHERE reason = 'merged_processes'")
    assert "does not say" in told[0][0], told
    connection.close()


def test_ops_of_one_number(engine):
    """Ops of a library that all have one number, behind all others, are no processes."""
    for numbers in ((7,), (7, 8)):
        events = rank_events(0, 1000, steps=8)
        events += [span("cpu_op", "custom::op", 2_000_000 * step + 1_000_000 + 10_000 * number, 5000, 1000, 1000,
                        **{"External id": number}) for step in range(8) for number in numbers]
        connection = opened_file(engine, events, **member(0, 1))
        assert connection.values("SELECT count(*), min(rank) FROM profiles") == [(1, 0)], numbers
        assert connection.values(LINKS) == [(0, "aten::mm", "kern_r0", 24)], numbers
        assert connection.values("SELECT count(*) FROM ops WHERE name = 'custom::op'") == [(8 * len(numbers),)]
        connection.close()


def test_data_loaders(engine):
    """Data loaders have few numbers, and may be more than the processes that they load for."""
    events = []
    for rank in range(2):
        events += rank_events(rank, 1000, steps=8)
        for worker in range(2):
            events += [span("cpu_op", "aten::stack", 2_000_000 * step + 7000 * rank, 5000, 1100 + worker, 1100 + worker,
                            **{"External id": step + 1}) for step in range(2)]
    connection = opened_file(engine, events, **member(0, 2))
    assert sorted(row[1:] for row in connection.values(LINKS)) == [
        ("aten::bmm", "kern_r1", 24), ("aten::mm", "kern_r0", 24)], connection.values(LINKS)
    assert connection.values("SELECT count(*) FROM profiles") == [(6,)]
    connection.close()


def test_merged_by_time(engine):
    """Where events were sorted by time, what has the number of several links to none; that is told, and nothing else
    that would follow from it: no launch has lost its kernel, no number is wrong. Of one pid, steps of both are those of
    one; by pids they are two processes."""
    for pids, tids in (((1000, 1001), (1000, 1001)), ((1, 1), (1000, 1001)), ((1, 1), (1, 1))):
        events = sorted(appended(pids, tids), key=lambda event: event["ts"])
        connection = opened_file(engine, events, **member(0))
        assert connection.values("SELECT count(op_id), count(api_call_id), count(*) FROM kernels") == [(0, 0, 24)], pids
        connection.values("SELECT count(*) FROM api_calls WHERE lacks_kernel")
        told = connection.values("SELECT severity, reason, sum(count) FROM diagnostics WHERE severity <> 'info' "
                                 "AND reason NOT IN ('lost_file', 'unlinked_kernels') "  # the latter says the same
                                 "GROUP BY 2 ORDER BY 2")
        steps = [] if pids[0] != pids[1] else [("warning", "repeated_step_marks", 1)]
        crossing = [("warning", "crossing_ops", 12)] if tids[0] == tids[1] else []
        assert told == crossing + steps + [("warning", "several_processes", 96)], (pids, tids, told)
        assert connection.values("SELECT count(*), count(DISTINCT pid) FROM profiles") == [
            (2, 2) if pids[0] != pids[1] else (1, 1)], pids
        connection.close()


def numbers_apart(events, by):
    """The same with other numbers of ops and calls, on other devices."""
    for event in events:
        for name in ("correlation", "External id"):
            if name in event["args"]:
                event["args"][name] += by
    return events


def test_pids_sorted_by_time(engine):
    """Events of two pids that are sorted by time are two processes. What ran on devices is of the one that has its
    number, or where both have, of the one after whose launches all of its stream began."""
    for by, device in ((100, 0), (5, 1), (100, 1)):
        events = rank_events(0, 1000)
        other = numbers_apart(rank_events(1, 1001), by)
        for event in other:
            if event["pid"] == 0:
                event["pid"] = event["args"]["device"] = device
        connection = opened_file(engine, sorted(events + other, key=lambda event: event["ts"]))
        assert connection.values("SELECT pid, count(*) FROM profiles GROUP BY 1") == [(1000, 1), (1001, 1)]
        links = connection.values("SELECT DISTINCT pid, op_name, kernels.name, count(*) FROM kernels JOIN profiles "
                                  "ON profiles.id = kernels.profile_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")
        assert links == [(1000, "aten::mm", "kern_r0", 12), (1001, "aten::bmm", "kern_r1", 12)], (by, device, links)
        assert connection.values("SELECT profile_id, count(*) FROM steps GROUP BY 1") == [(1, 4), (2, 4)]
        told = connection.values("SELECT DISTINCT severity, reason FROM diagnostics WHERE reason <> 'lost_file'")
        assert told == [("info", "merged_processes")], told
        connection.close()


def in_step(*names):
    """Three ranks of one pid and thread that do the same at the same nanosecond, but for the names of these rows."""
    ranks = []
    for rank in range(3):
        events = rank_events(0, 1)
        for event in events:
            event["name"] += "_of_%d" % rank if event["cat"] in names else ""
        ranks.append(events)
    return ranks


def test_in_step(engine):
    """What is equal in everything is no repeat where the ops or kernels that belong to it are others: three processes,
    or, sorted by time, one in which nothing is linked."""
    for names in (("cpu_op",), ("kernel",), ("cpu_op", "kernel")):
        ranks = in_step(*names)
        connection = opened_file(engine, sum(ranks, []))
        rows = connection.values("SELECT kernels.profile_id, kernels.op_name, kernels.name, count(*) FROM kernels "
                                 "GROUP BY 1, 2, 3 ORDER BY 1")
        assert rows == [(i + 1, "aten::mm" + ("_of_%d" % i) * ("cpu_op" in names),
                         "kern_r0" + ("_of_%d" % i) * ("kernel" in names), 12) for i in range(3)], (names, rows)
        assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'repeated_events'") == [(0,)]
        connection.close()
        connection = opened_file(engine, sorted(sum(ranks, []), key=lambda event: event["ts"]))
        rows = connection.values("SELECT count(*), count(op_id), count(api_call_id) FROM kernels")
        assert rows == [(36, 0, 0)], (names, rows)
        told = connection.values("SELECT count FROM diagnostics WHERE reason = 'several_processes'")
        assert told == [(36 * 4,)], (names, told)
        connection.close()


def test_what_differs_is_no_repeat(engine):
    """Events that differ in what no column holds are none that stand in the file twice."""
    once = rank_events(0, 1)
    for event in once:
        event["args"]["more"] = 1
    twice = [{**event, "args": {**event["args"], "more": 2}} for event in once]
    for events, told in ((once + [dict(event) for event in once], [(44,)]), (once + twice, [])):
        connection = opened_file(engine, events)
        found = connection.values("SELECT count FROM diagnostics WHERE reason = 'repeated_events'")
        assert found == told, (told, found)
        assert connection.values("SELECT count(*) FROM kernels") == [(12 if told else 24,)]
        connection.close()


def test_crossing_ops(engine):
    """Ops of one thread that cross each other are told: calls of a thread nest, so that these are of several."""
    events = rank_events(0, 1) + numbers_apart(rank_events(1, 1), 100)
    connection = opened_file(engine, sorted(events, key=lambda event: event["ts"]))
    connection.values("SELECT count(parent_id) FROM ops")
    told = connection.values("SELECT severity, count FROM diagnostics WHERE reason = 'crossing_ops'")
    assert told == [("warning", 12)], told
    connection.close()
    # A few asynchronous ops, which end after the next of their siblings have begun, are that.
    events = rank_events(0, 1)
    events += [span("cpu_op", "rpc_async#work(w0 -> w1)", 2_000_000 * step + 60_000, 200_000, 1, 1,
                    **{"External id": 100 + step}) for step in range(4)]
    connection = opened_file(engine, sorted(events, key=lambda event: event["ts"]))
    connection.values("SELECT count(parent_id) FROM ops")
    told = connection.values("SELECT severity, count FROM diagnostics WHERE reason = 'crossing_ops'")
    assert told == [("info", 8)], told
    assert connection.values("SELECT * FROM advise WHERE message GLOB '*crossing_ops*'") == []
    connection.close()


def opened(engine, files):
    """{name: (events, members)} as the files of one directory."""
    connection = engine()
    with tempfile.TemporaryDirectory() as directory:
        for name, (events, members) in files.items():
            write(os.path.join(directory, name), events, **members)
        connection.values(f"SELECT tfprof_open('{directory}')")
        connection.values("SELECT count(*) FROM steps")
    return connection


def windows(gap):
    return {"host_%d.%d.pt.trace.json" % (2000 + rank, BASE + at):
            (rank_events(rank, 2000 + rank, at), member(rank, host="node%d" % rank))
            for rank in (0, 1) for at in (0, gap)}


def test_windows(engine):
    """Two windows of each of two ranks are two processes, eight steps side by side; an hour between them moves no
    clock."""
    for gap in (1_000_000_000, HOUR):
        connection = opened(engine, windows(gap))
        assert connection.values("SELECT count(DISTINCT process_id), max(window) FROM _process_windows") == [(2, 1)]
        assert connection.values("SELECT DISTINCT clock_offset_ns FROM profiles") == [(0,)], gap
        steps = connection.values(
            "SELECT pod_step, count(*), count(DISTINCT rank) FROM xprof_pod_steps GROUP BY 1 ORDER BY 1")
        assert steps == [(i, 2, 2) for i in range(8)], (gap, steps)
        text = connection.values("SELECT text FROM run_summary WHERE title = 'run'")[0][0]
        assert "2 processes" in text and "in 4 windows" in text, text
        # What is told of each profile says which window of its process it is.
        rows = connection.values("SELECT rank, window, window_count, step_count FROM step_summary ORDER BY 1, 2")
        assert rows == [(rank, window, 2, 4) for rank in (0, 1) for window in (1, 2)], rows
        names = [f"rank {rank}, window {window} of 2" for rank in (0, 1) for window in (1, 2)]
        assert connection.values("SELECT name FROM _process_names ORDER BY 1") == [(name,) for name in names]
        text = connection.values("SELECT text FROM run_summary WHERE title = 'steps'")[0][0]
        assert " in window " in text and " of 2 of rank " in text and "; the fastest process " in text, text
        connection.close()


def positions(connection):
    """Of each pod_step, the ranks and step numbers."""
    return connection.values("SELECT pod_step, group_concat(told, ' ') FROM (SELECT pod_step, "
                             "coalesce(rank, 'process ' || profile_id) || ':' || number AS told FROM xprof_pod_steps "
                             "ORDER BY 1, rank, profile_id) WHERE pod_step IS NOT NULL GROUP BY 1 ORDER BY 1")


def numbered(events, first):
    """The same steps with other numbers."""
    return [{**event, "name": "ProfilerStep#%d" % (first + int(event["name"][13:]))}
            if event["name"].startswith("ProfilerStep#") else event for event in events]


def test_missing_window(engine):
    """Windows belong together by their times: that which one rank lacks shifts none of its others."""
    second = 1_000_000_000
    files = {"h_%d.%d.pt.trace.json" % (2000 + rank, BASE + window * second):
             (numbered(rank_events(rank, 2000 + rank, window * second), 10 * window), member(rank, 3))
             for rank in (0, 1, 2) for window in (0, 1, 2) if (rank, window) != (2, 1)}
    connection = opened(engine, files)
    told = [" ".join("%d:%d" % (rank, 10 * window + step) for rank in (0, 1, 2) if (rank, window) != (2, 1))
            for window in (0, 1, 2) for step in range(4)]
    assert positions(connection) == list(enumerate(told)), positions(connection)
    connection.close()


def test_windows_without_ranks(engine):
    """Where files say no rank, their names and pids tell which are windows of one process; what overlaps is none."""
    second = 1_000_000_000
    for pids in ((2000, 2001), (1, 1)):
        files = {"worker%d.%d.pt.trace.json" % (rank, BASE + window * second):
                 (numbered(rank_events(rank, pids[rank], window * second), 10 * window), {})
                 for rank in (0, 1) for window in (0, 1)}
        connection = opened(engine, files)
        assert connection.values("SELECT process_id, count(*) FROM _process_windows GROUP BY 1") == [(1, 2), (3, 2)]
        names = connection.values("SELECT DISTINCT name FROM _process_names")
        assert len(names) == 4 and all("window " in name for name, in names), names
        assert len(positions(connection)) == 8, positions(connection)
        connection.close()


def test_restarts(engine):
    """Each run of the ranks is paired with its own, and named."""
    files = {"host_%d.%d.pt.trace.json" % (2000 + rank + 10 * run, BASE + run * HOUR):
             (rank_events(rank, 2000 + rank + 10 * run, run * HOUR), member(rank))
             for rank in (0, 1) for run in (0, 1)}
    connection = opened(engine, files)
    assert positions(connection) == [(i, "0:%d 1:%d" % (i % 4, i % 4)) for i in range(8)], positions(connection)
    names = [("rank %d, run %d of 2" % (rank, run),) for rank in (0, 1) for run in (1, 2)]
    assert connection.values("SELECT name FROM _process_names ORDER BY 1") == names
    assert connection.values("SELECT count(*) FROM overview WHERE host = 'ALL_HOSTS'") == [(0,)]
    connection.close()


def test_copies(engine):
    """A file that has nothing but events of another one, be it compressed or cut off, counts once, wherever it lies in
    the list, and is told; a refresh does not bring it back."""
    events = rank_events(0, 2000)
    text = json.dumps({**member(0), "baseTimeNanoseconds": BASE, "traceEvents": events})
    for copy, names in ((text.encode(), ("a.json", "b.json")), (gzip.compress(text.encode()), ("a.json", "b.json.gz")),
                        (text[:len(text) // 2].encode(), ("b.json", "a.json"))):
        with tempfile.TemporaryDirectory() as directory:
            for name, content in zip(names, (text.encode(), copy)):
                with open(os.path.join(directory, name), "wb") as file:
                    file.write(content)
            connection = engine()
            for _ in range(2):
                connection.values(f"SELECT tfprof_open('{directory}')")
                kernels = connection.values("SELECT path, count(*) FROM kernels JOIN profiles ON profiles.id = "
                                            "kernels.profile_id GROUP BY 1")
                assert kernels == [(os.path.join(directory, names[0]), 12)], kernels
                assert connection.values("SELECT count(*), max(window_count) FROM _process_windows") == [(1, 1)]
                told = connection.values("SELECT severity, message FROM diagnostics WHERE reason = 'repeated_file'")
                assert len(told) == 1 and told[0][0] == "warning", told
                assert f"{names[1]} holds" in told[0][1] and f"events of {names[0]}," in told[0][1], told
                assert ("cut off" in told[0][1]) == (len(copy) * 2 <= len(text) + 1 and names[1] == "a.json"), told
            connection.close()


def test_overlapping_files(engine):
    """A file that begins before another one of its process ends is no window of it: both count by themselves, and that
    is told; one that begins later is."""
    for at, is_window in ((5_000_000, False), (9_000_000, True)):
        later = numbered(rank_events(0, 2000, at), 4)
        connection = opened(engine, {"host_2000.1.pt.trace.json": (rank_events(0, 2000), member(0)),
                                     "host_2000.2.pt.trace.json": (later, member(0))})
        rows = connection.values("SELECT count(DISTINCT process_id), max(window_count), max(session_count) "
                                 "FROM _process_windows")
        assert rows == [(1, 2, 1) if is_window else (2, 1, 1)], rows
        told = connection.values("SELECT severity FROM diagnostics WHERE reason = 'overlapping_files'")
        assert told == ([] if is_window else [("warning",)]), told
        names = connection.values("SELECT name FROM _process_names ORDER BY 1")
        told = ["window 1 of 2", "window 2 of 2"] if is_window else ["in host_2000.%d.pt.trace.json" % i
                                                                     for i in (1, 2)]
        assert names == [(f"rank 0, {text}",) for text in told], names
        assert connection.values("SELECT count(*) FROM steps") == [(8,)]
        connection.close()


def test_windows_whose_kernels_outlast_them(engine):
    """A device may go on with what a window asked for after the next one has begun: the host tells windows."""
    second = 10_000_000
    files = {"host_%d.%d.pt.trace.json" % (2000 + rank, window):
             (numbered(rank_events(rank, 2000 + rank, window * second), 10 * window), member(rank))
             for rank in (0, 1) for window in (0, 1)}
    last = max((event for event in files["host_2000.0.pt.trace.json"][0] if event["cat"] == "kernel"),
               key=lambda event: event["ts"])
    last["dur"] = (second + 400_000) / 1000 - last["ts"]
    connection = opened(engine, files)
    rows = connection.values("SELECT count(DISTINCT process_id), min(window_count), max(session_count), "
                             "(SELECT count(pod_step) FROM xprof_pod_steps) FROM _process_windows")
    assert rows == [(2, 2, 2, 16)], rows
    assert connection.values("SELECT * FROM diagnostics WHERE reason = 'overlapping_files'") == []
    connection.close()


def test_stragglers_of_restarts(engine):
    """Collectives of a rank's second run are those of the others' second run, though steps have the same numbers."""
    files = {}
    for run in (0, 1):
        for rank in (0, 1):
            pid, at = 2000 + rank + 10 * run, run * HOUR
            events = rank_events(rank, pid, at)
            for step in range(4):  # who comes last is in it for the shortest time: rank 1, then rank 0
                dur = 100_000 if (rank + run) % 2 else 300_000 + 100_000 * run
                end = at + step * 2_000_000 + 1_500_000
                events.append({**launch(end - 600_000, 5000, 100 + step), "pid": pid, "tid": pid})
                events.append(kernel(end - dur, dur, stream=20, correlation=100 + step,
                                     name="ncclDevKernel_AllReduce_Sum_f32_RING_LL"))
            files["host_%d.%d.pt.trace.json" % (pid, BASE + at)] = (events, member(rank))
    connection = opened(engine, files)
    told = connection.values("SELECT rank, start_number, count, late_ns, step_count FROM late_ranks "
                             "JOIN _process_windows USING (profile_id) WHERE late_ns > 0 ORDER BY start_number")
    assert told == [(1, 1, 4, 800_000, 4), (0, 2, 4, 1_200_000, 4)], told
    connection.close()


def test_clocks_far_apart(engine):
    """Ranks whose clocks are five minutes apart are brought together; what is an hour away is another run for each
    view, which is told."""
    for away, is_one in ((300_000_000_000, True), (HOUR, False)):
        files = {}
        for rank in (0, 1):
            at = rank * away
            events = rank_events(rank, 2000 + rank, at)
            for step in range(4):
                end, dur = at + step * 2_000_000 + 1_500_000, 100_000 + 200_000 * rank
                events.append({**launch(end - 600_000, 5000, 100 + step), "pid": 2000 + rank, "tid": 2000 + rank})
                events.append(kernel(end - dur, dur, stream=20, correlation=100 + step,
                                     name="ncclDevKernel_AllReduce_Sum_f32_RING_LL"))
            files["rank%d.json" % rank] = (events, member(rank, host="host%d" % rank))
        connection = opened(engine, files)
        assert len(connection.values("SELECT * FROM late_ranks")) == 2 * is_one, away
        assert connection.values("SELECT count(pod_step) FROM _pod_step_members") == [(8 * is_one,)], away
        told = connection.values("SELECT message FROM diagnostics WHERE reason = 'distant_rank'")
        assert len(told) == (not is_one) and (is_one or "3600 s" in told[0][0]), (away, told)
        connection.close()


def test_ranks_of_names(engine):
    """Where files say no rank, names do as vLLM, sglang and people make them without the word: by pipeline, data and
    tensor."""
    for names in (["dp%d_pp0_tp%d.17" % (i // 2, i % 2) for i in range(4)],
                  ["17.123-TP-%d" % i for i in range(4)],
                  ["17.123-TP-%d-DP-%d-PP-0" % (i % 2, i // 2) for i in range(4)],
                  ["17.123-TP%d-DP%d" % (i % 2, i // 2) for i in range(4)],
                  ["run.TP%dDP%d" % (i % 2, i // 2) for i in range(4)],
                  ["http2_run_tp_%d" % i for i in range(4)]):
        connection = opened(engine, {name + ".trace.json": (rank_events(rank, 2000 + rank)[:4], {})
                                     for rank, name in enumerate(names)})
        found = connection.values("SELECT path, rank FROM profiles")
        found = {os.path.basename(path)[:-len(".trace.json")]: rank for path, rank in found}
        assert found == {name: rank for rank, name in enumerate(names)}, found
        connection.close()


def test_one_rank_twice(engine):
    """Two files whose names give both one rank at the same time are told, and compared with nothing."""
    connection = opened(engine, {"a_rank0.json": (rank_events(0, 2000), {}),
                                 "b_rank0.json": (rank_events(0, 3000), {})})
    told = connection.values("SELECT severity, message FROM diagnostics WHERE reason = 'repeated_rank'")
    assert len(told) == 1 and told[0][0] == "warning" and "a_rank0.json" in told[0][1], told
    assert positions(connection) == []
    names = connection.values("SELECT name FROM _process_names ORDER BY 1")
    assert names == [("rank 0, run 1 of 2",), ("rank 0, run 2 of 2",)], names
    connection.close()


def test_frameworks(engine):
    """A run of TensorFlow and one of JAX that lie in one directory have no step in common, and a title each."""
    own = os.path.join(SHARED, "traces", "reports", "tensorflow")
    if not os.path.isdir(os.path.join(own, "keras_fit")):
        return
    with tempfile.TemporaryDirectory() as directory:
        for name in ("keras_fit", "jax"):
            os.symlink(os.path.join(own, name, "vm.xplane.pb"), os.path.join(directory, name + ".xplane.pb"))
        connection = engine()
        connection.values(f"SELECT tfprof_open('{directory}')")
        told = connection.values("SELECT count(DISTINCT profile_id), count(*), count(pod_step) FROM xprof_pod_steps")
        assert told[0][0] == 2 and told[0][1] > 10 and told[0][2] == 0, told
        runs = [text.split(",")[:2] for text, in connection.values("SELECT text FROM run_summary WHERE title = 'run'")]
        assert runs == [["jax 0.10.2", " 1 process"], ["tensorflow", " 1 process"]], runs
        connection.close()


def test_restarts_and_strangers(engine):
    """A rank that was started again an hour later, and two runs that share a directory, are at no time together: no
    clock is moved, no step is one of both, there is no row for all hosts."""
    connection = opened(engine, {
        "a.json": (rank_events(0, 2000), member(0, 1, "a")), "b.json": (rank_events(0, 3000, HOUR), member(0, 1, "b"))})
    assert connection.values("SELECT DISTINCT clock_offset_ns FROM profiles") == [(0,)]
    assert connection.values("SELECT count(pod_step) FROM xprof_pod_steps") == [(0,)]
    assert connection.values("SELECT count(*) FROM overview WHERE host = 'ALL_HOSTS'") == [(0,)]
    assert connection.values("SELECT count(DISTINCT process_id) FROM _process_windows") == [(2,)]
    connection.close()


def test_jobs_beside_each_other(engine):
    """Two jobs of two ranks each, recorded at one time into one directory: no rank is compared with the other job's,
    and every step says whose it is. Where the job is but a directory, ranks may have one each."""
    make = os.path.join(os.environ.get("TFPROF_BUILD", "build"), "tests", "make_dump_of_rows")
    for jobs, count in ((("slurm 7.0", "slurm 8.0"), 2), (("/runs/a", "/runs/b"), 4)):
        connection = engine()
        with tempfile.TemporaryDirectory() as directory:
            for job in jobs:
                for rank in (0, 1):
                    rows = ["= threads tid", "1", "= steps number name thread_id start_ns dur_ns"]
                    rows += [f"{step} step 0 {BASE + step * 1000 + 10 * rank} 900" for step in range(4)]
                    path = os.path.join(directory, f"{job[-1:]}{job[6:7]}{rank}.tfprof".replace("/", ""))
                    subprocess.run([make, path, "tfprof-capture", job, str(rank)], input="\n".join(
                        "=\t" + row[2:].replace(" ", "\t") if row[0] == "=" else row.replace(" ", "\t")
                        for row in rows) + "\n", encoding="utf-8", check=True)
            connection.values(f"SELECT tfprof_open('{directory}/*')")
            sizes = connection.values("SELECT DISTINCT session_count FROM _process_windows")
            assert sizes == [(count,)], (jobs, sizes)
            steps = connection.values("SELECT job, host, rank, step_count FROM step_summary ORDER BY job, rank")
            assert steps == [(job, "host", rank, 4) for job in jobs for rank in (0, 1)], steps
        connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
