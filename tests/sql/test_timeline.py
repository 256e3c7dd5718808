#!/usr/bin/env python3
"""test_timeline.py: timeline() says of every track and bucket what the rows of the tables say.

The second way to compute it is in Python, from the rows of the tables. Tracks of tables without a depth of their own
are compared lane by lane, and nothing may overlap on them.
"""

import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import asking  # noqa: E402
import engines  # noqa: E402
import scratch  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
SHARED = os.environ.get("TFPROF_SHARED")
FIXTURES = [*sorted(glob.glob(os.path.join(ROOT, "tests", "fixtures", "kineto", "*.json"))),
            os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")]
if SHARED:
    FIXTURES += [os.path.join(SHARED, "traces", "pytorch", name)
                 for name in ("dlrm_a100_control.json.gz", "resnet50_num_workers_0.pt.trace.json.gz")]
TABLES = {"ranges": ("thread_id", "depth", "NULL"), "ops": ("thread_id", "depth", "category"),
          "api_calls": ("thread_id", "NULL", "NULL"), "kernels": ("thread_id", "NULL", "nullif(kind, 'compute')"),
          "transfers": ("thread_id", "NULL", "kind"), "collectives": ("NULL", "NULL", "NULL")}
WORDS = {"ranges": "range", "ops": "op", "api_calls": "runtime", "kernels": "kernel", "transfers": "memcpy",
         "collectives": "communication"}


def events(path):
    """(table, profile, thread, depth, id, name, category, start, end) of all that has a start."""
    found = []
    for table, (thread, depth, category) in TABLES.items():
        if depth != "NULL":
            thread = "iif(depth IS NULL, NULL, thread_id)"  # what nests in no thread may end on another
        rows = asking.query(path, f"SELECT profile_id, {thread} AS thread, {depth} AS depth, id, name, "
                                  f"coalesce({category}, '{WORDS[table]}') AS category, start_ns, "
                                  f"start_ns + max(coalesce(dur_ns, 0), 0) AS end_ns "
                                  f"FROM {table} WHERE start_ns IS NOT NULL")
        found += [(table, *row.values()) for row in rows]
    return found


def cells(path, *arguments):
    text = ", ".join("NULL" if argument is None else repr(argument) for argument in arguments)
    return asking.query(path, f"SELECT * FROM timeline({text})")


def has_depth(cell):
    return cell["table_name"] in ("ops", "ranges") and cell["thread_id"] is not None


def expected_cells(rows, bucket_ns):
    """{(table, profile, thread, depth, bucket): what timeline() says of it}."""
    groups = {}
    rows = sorted(rows, key=lambda row: (row[7], row[4]))
    for table, profile, thread, depth, number, name, category, start, end in rows:
        bucket = start // bucket_ns if bucket_ns else (start, number)
        groups.setdefault((table, profile, thread, depth, bucket), []).append((number, name, category, start, end))
    answers = {}
    for key, members in groups.items():
        longest = max(members, key=lambda member: member[4] - member[3])  # of equals the first
        shares = {}
        for member in members:
            shares[member[2]] = shares.get(member[2], 0) + member[4] - member[3]
        answers[key] = {"first_id": members[0][0], "longest_id": longest[0], "name": longest[1],
                        "category": max(shares, key=shares.get), "count": len(members),
                        "busy_ns": sum(member[4] - member[3] for member in members),
                        "start_ns": members[0][3], "end_ns": max(member[4] for member in members)}
    return answers


def check_fixture(path):
    rows = events(path)
    deep = [row for row in rows if row[3] is not None]
    starts = [row[7] for row in rows]
    span = max(starts) - min(starts) if starts else 0
    for bucket_ns in {1000, 1 << 20, max(span // 7, 1), 1 << 62}:
        told = cells(path, None, None, bucket_ns)
        assert sum(cell["count"] for cell in told) == len(rows), (path, bucket_ns)
        got = {(cell["table_name"], cell["profile_id"], cell["thread_id"], cell["depth"], cell["bucket"]):
               {name: cell[name] for name in ("first_id", "longest_id", "name", "category", "count", "busy_ns",
                                              "start_ns", "end_ns")}
               for cell in told if has_depth(cell)}
        wanted = expected_cells(deep, bucket_ns)
        assert got == wanted, (path, bucket_ns, [key for key in got.keys() | wanted.keys()
                                                 if got.get(key) != wanted.get(key)][:3])
        # The others have depths that only timeline() gives: by lane and bucket.
        sums = {}
        for row in rows:
            if row[3] is None:
                sums.setdefault((row[0], row[1], row[2], row[7] // bucket_ns), []).append(row[8] - row[7])
        lanes = {}
        for cell in told:
            if not has_depth(cell):
                key = cell["table_name"], cell["profile_id"], cell["thread_id"], cell["bucket"]
                count, busy = lanes.get(key, (0, 0))
                lanes[key] = count + cell["count"], busy + cell["busy_ns"]
        assert lanes == {key: (len(parts), sum(parts)) for key, parts in sums.items()}, (path, bucket_ns)
    check_single_events(path, rows)
    check_windows(path, rows)
    return len(rows)


def check_single_events(path, rows):
    """With buckets of nothing: each event by itself, in order, and none over another."""
    told = cells(path, None, None, 0)
    assert all(cell["count"] == 1 and cell["first_id"] == cell["longest_id"] for cell in told)
    by_id = {(row[0], row[4]): row for row in rows}
    assert len(told) == len(by_id)
    last = {}
    for cell in told:
        row = by_id[cell["table_name"], cell["first_id"]]
        assert (cell["name"], cell["category"], cell["start_ns"], cell["end_ns"]) == (row[5], row[6], row[7], row[8])
        track = cell["table_name"], cell["profile_id"], cell["thread_id"], cell["depth"]
        if row[3] is None:
            assert last.get(track, cell["start_ns"]) <= cell["start_ns"], (path, track, cell)
        last[track] = cell["end_ns"]


def check_windows(path, rows):
    """A window has what touches it, in the same rows as without it, and the lanes that are asked for."""
    everything = cells(path, None, None, 0)
    times = sorted(row[7] for row in rows)
    for at in (len(times) // 3, len(times) // 2):
        if len(times) < 3:
            break
        left, right = times[at], times[min(at + 1 + len(times) // 10, len(times) - 1)]
        inside = [cell for cell in everything
                  if cell["start_ns"] < right and (cell["end_ns"] > left or cell["start_ns"] >= left)]
        assert cells(path, left, right, 0) == inside, (path, left, right)
        threads = sorted({cell["thread_id"] or 0 for cell in inside})[:2]
        wanted = [cell for cell in inside if (cell["thread_id"] or 0) in threads]
        assert cells(path, left, right, 0, json.dumps(threads)) == wanted, (path, threads)


def test_arguments(engine):
    connection = engine()
    ask = connection.values
    assert ask("SELECT * FROM timeline") == []
    assert ask("SELECT * FROM timeline(NULL, NULL, NULL, NULL)") == []
    path = os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")
    ask(f"SELECT tfprof_open('{path}')")
    (count, rows), = ask("SELECT sum(count), count(*) FROM timeline")
    assert count == 10003 and rows < 10003, (count, rows)
    (buckets,), = ask("SELECT max(bucket) - min(bucket) FROM timeline")
    assert 1024 <= buckets <= 2048, buckets
    (thread,), = ask("SELECT min(thread_id) FROM ops")
    (of_thread,), = ask(f"SELECT count(*) FROM ops WHERE thread_id = {thread}")
    for lanes in (thread, f"'{thread}'", f"'[{thread}]'", f"'[1, {thread}]'"):
        got = ask(f"SELECT sum(count) FROM timeline(NULL, NULL, 0, {lanes}) WHERE table_name = 'ops'")
        assert got == [(of_thread,)], (lanes, got)
    for lanes in ("''", "'[]'", 7):
        assert ask(f"SELECT count(*) FROM timeline(NULL, NULL, 0, {lanes})") == [(0,)], lanes
    # As the inner side of a join, with arguments from the outer side, which the hidden columns show.
    joined = ask("SELECT threads.id, sum(count), max(lanes) "
                 "FROM threads, timeline(NULL, NULL, 0, threads.id) GROUP BY 1")
    assert sum(row[1] for row in joined) == 10003 and all(row[0] == row[2] for row in joined), joined
    for wrong, said in (("timeline(NULL, NULL, -1)", "negative"), ("timeline('soon')", "number of nanoseconds"),
                        ("timeline(NULL, NULL, 0, 'main')", "ids of threads"),
                        ("timeline(NULL, NULL, 0, '[1,2x]')", "ids of threads"),
                        ("timeline WHERE from_ns > 3", "= only")):
        error = connection.query(f"SELECT * FROM {wrong}")[1]
        assert error and said in error, (wrong, error)


def made_trace(name, spans):
    """A trace in which each of `spans` is a kernel (start, duration) in µs on stream 7; None: it never ended."""
    path = os.path.join(scratch.DIRECTORY, name)
    kernels = [{"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": start, "dur": duration,
                "args": {"device": 0, "stream": 7}} for i, (start, duration) in enumerate(spans)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": kernels}, file)
    return path


def test_overlaps_once(_):
    """Kernels that overlap on a stream lie beside each other, in whatever order they were written."""
    spans = [(10, 30), (20, 30), (30, 5), (40, 1), (55, 5)]
    for order in (spans, spans[::-1], spans[2:] + spans[:2]):
        told = cells(made_trace("overlaps.json", order), None, None, 0)
        got = [(cell["depth"], cell["start_ns"] // 1000 % 1000, (cell["end_ns"] - cell["start_ns"]) // 1000)
               for cell in told]
        assert got == [(0, 10, 30), (0, 40, 1), (0, 55, 5), (1, 20, 30), (2, 30, 5)], got
        whole = cells(made_trace("overlaps.json", order), None, None, 1 << 40)
        assert [(cell["depth"], cell["count"], cell["busy_ns"]) for cell in whole] == [(0, 3, 36000), (1, 1, 30000),
                                                                                       (2, 1, 5000)], whole
    # More rows than there may be: the deepest has the rest, and none is lost.
    many = cells(made_trace("many.json", [(i, 10000) for i in range(1500)]), None, None, 1 << 40)
    assert len(many) == 1024 and sum(cell["count"] for cell in many) == 1500 and many[-1]["count"] == 477


def test_fixtures_once(_):
    counts = [check_fixture(path) for path in FIXTURES]
    assert sum(counts) > 10000, counts


engines.run_tests(sys.modules[__name__])
