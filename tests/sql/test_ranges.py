#!/usr/bin/env python3
"""test_ranges.py: ranges in the tree of ops where Python frames were recorded, what devices did for each, and which
range an op, a kernel and a look at Python belong to."""

import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import BUILD, run_tests
from made_traces import kernel, launch, opened, span


def steps(with_frames):
    """Two steps with a range `load` and a range `train_step`, which has three ops and a range with one of them; each
    launches a kernel.  Frames as with_stack=True has them: ranges begin in __enter__ and end in __exit__."""
    events = [span("python_function", "train.py(1): main", 0, 900_000)] if with_frames else []

    def frame(name, start, dur):
        if with_frames:
            events.append(span("python_function", name, start, dur))

    def marked(name, start, dur):
        frame("torch/autograd/profiler.py(700): __enter__", start - 900, 1800)
        frame("<built-in method _record_function_enter_new>", start - 400, 800)
        events.append(span("user_annotation", name, start, dur))
        frame("torch/autograd/profiler.py(710): __exit__", start + dur - 900, 1800)
    for step in range(2):
        at = 10_000 + 400_000 * step
        frame("torch/profiler/profiler.py(900): step", at - 3000, 5000)
        events.append(span("user_annotation", "ProfilerStep#%d" % step, at, 399_000))
        marked("load", at + 10_000, 20_000)
        events.append(span("cpu_op", "aten::rand", at + 15_000, 2000))
        marked("train_step", at + 50_000, 200_000)
        marked("inner", at + 140_000, 60_000)
        for i in range(3):
            number, start = 10 * step + i + 1, at + 60_000 + 45_000 * i
            events.append(span("cpu_op", "aten::mm", start, 20_000, **{"External id": number}))
            events.append({**launch(start + 5000, 5000, number), "args": {"correlation": number,
                                                                          "External id": number}})
            events.append(kernel(start + 20_000, 10_000 * (i + 1), correlation=number))
    return events


def test_frames(engine):
    """The tree is the same with stacks and without."""
    answers = {}
    for with_frames in (False, True):
        connection = opened(engine, steps(with_frames))
        answers[with_frames] = (
            connection.values("""WITH RECURSIVE below(id) AS (SELECT id FROM ops WHERE name = 'train_step'
                UNION ALL SELECT ops.id FROM below JOIN ops ON ops.parent_id = below.id)
                SELECT name, count(*) FROM ops WHERE id IN below AND category <> 'python' GROUP BY 1 ORDER BY 1"""),
            connection.values("""SELECT ops.name, parents.name, count(*) FROM ops LEFT JOIN ops AS parents
                ON parents.id = ops.parent_id WHERE ops.category = 'user' AND ops.name NOT GLOB 'Prof*'
                GROUP BY 1, 2 ORDER BY 1, 2"""),
            connection.values("""SELECT name, count, device_ns, kernel_count FROM range_summary
                ORDER BY name"""),
            connection.values("""SELECT ranges.name, ops.name, count(*) FROM ops JOIN ranges ON ranges.id = ops.range_id
                WHERE ops.category = 'op' GROUP BY 1, 2 ORDER BY 1, 2"""),
            connection.values("""SELECT ranges.name, sum(kernels.dur_ns) FROM kernels JOIN ranges
                ON ranges.id = kernels.range_id GROUP BY 1 ORDER BY 1"""),
            connection.values("SELECT DISTINCT reason FROM diagnostics WHERE reason = 'crossing_ranges'"))
        connection.close()
    assert answers[True] == answers[False], answers
    below, parents, summary, ops, kernels, told = answers[True]
    assert below == [("aten::mm", 6), ("inner", 2), ("train_step", 2)], below
    assert [row for row in parents if row[0] == "inner"] == [("inner", "train_step", 2)], parents
    assert summary == [("ProfilerStep#", 2, 120_000, 6), ("inner", 2, 60_000, 2), ("load", 2, 0, 0),
                       ("train_step", 2, 120_000, 6)], summary
    assert ops == [("inner", "aten::mm", 2), ("load", "aten::rand", 2), ("train_step", "aten::mm", 4)], ops
    assert kernels == [("inner", 60_000), ("train_step", 60_000)] and not told, (kernels, told)


def test_crossing(engine):
    """Ranges of coroutines cross each other on their thread: that is told, by both of them, and the second has no work
    of its own. Ranges in each other, beside each other, or that begin or end together do not cross."""
    events = [span("user_annotation", "req0", 0, 100_000), span("user_annotation", "req1", 20_000, 120_000)]
    others = {"epoch": (200_000, 90_000), "step": (200_000, 50_000), "forward": (210_000, 40_000),
              "backward": (250_000, 40_000), "loss": (250_000, 40_000), "after": (290_000, 10_000)}
    events += [span("user_annotation", name, *times) for name, times in others.items()]
    events += [span("user_annotation", "req2", 5000, 300_000, 1, 99)]  # of another thread
    for i in range(12):
        events.append(span("cpu_op", "aten::linear", 30_000 + 5000 * i, 2000, **{"External id": i + 1}))
    connection = opened(engine, events)
    told = connection.values("SELECT severity, count FROM diagnostics WHERE reason = 'crossing_ranges'")
    assert told == [("warning", 1)], told
    rows = connection.values("SELECT name FROM range_summary WHERE crossing_count > 0 ORDER BY name")
    assert rows == [("req0",), ("req1",)], rows
    assert connection.values("SELECT count(*), sum(crossing_count) FROM range_summary") == [(9, 2)]
    connection.close()


def test_who_crosses(engine):
    """Against each pair: many ranges of two threads at random, with ends that fall together."""
    drawn = random.Random(7)
    ranges = [(drawn.randrange(400), drawn.randrange(1, 60), drawn.randrange(2)) for _ in range(150)]
    connection = opened(engine, [span("user_annotation", f"r{i}", 1000 * start, 1000 * length, 1, 10 + lane)
                                 for i, (start, length, lane) in enumerate(ranges)])
    wanted = {f"r{i}" for i, (start, length, lane) in enumerate(ranges) for other, much, on in ranges if lane == on and
              (start < other < start + length < other + much or other < start < other + much < start + length)}
    found = {name for name, in connection.values("SELECT name FROM ranges WHERE is_crossing = 1")}
    assert found == wanted and 20 < len(found) < 150, (len(found), found ^ wanted)
    connection.close()


def test_looks(engine):
    """Against each pair: in which range of its thread Python was seen, where many cross, and one is of no thread."""
    drawn = random.Random(8)
    ranges = [(drawn.randrange(400), drawn.randrange(60), drawn.randrange(2)) for _ in range(120)]
    looks = [(drawn.randrange(480), drawn.randrange(2)) for _ in range(200)]
    rows = ["=\tthreads\tkind\ttid\tpid", "host\t10\t1", "host\t11\t1"]
    rows += ["=\tranges\tname\tthread_id\tstart_ns\tdur_ns\tis_process_wide"]
    rows += [f"r{i}\t{lane}\t{1000 + start}\t{length}\t" for i, (start, length, lane) in enumerate(ranges)]
    rows += ["wide\t0\t900\t900\t1"]
    rows += ["=\tpython_samples\tthread_id\ttime_ns\tperiod_ns"]
    rows += [f"{lane}\t{1000 + at}\t1" for at, lane in looks]
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "looks.tfprof")
        subprocess.run([os.path.join(BUILD, "tests", "make_dump_of_rows"), path], encoding="utf-8", check=True,
                       input="\n".join(rows) + "\n")
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        found = connection.values("""SELECT time_ns - 1000, threads.tid - 10, ranges.name FROM python_samples
            JOIN threads ON threads.id = python_samples.thread_id LEFT JOIN ranges ON ranges.id = range_id""")
        connection.close()
    assert sorted((at, lane) for at, lane, _ in found) == sorted(looks), len(found)
    inside = 0
    for at, lane, name in found:
        around = [(start, -length, f"r{i}") for i, (start, length, on) in enumerate(ranges)
                  if on == lane and start <= at <= start + length]
        inside += bool(around)
        innermost = {each for start, length, each in around if (start, length) == max(around)[:2]}
        assert name in (innermost or {None}), (at, lane, name, innermost)
    assert 20 < inside < 200, inside


def test_numbers_of_other_ops(engine):
    """Calls whose number names an op of another thread, or of another time, are of the op around them, which is told;
    one that names the op around its own is right. No op has less than no time of its own."""
    events = [span("cpu_op", "aten::linear", 0, 50_000, **{"External id": 1}),
              span("cpu_op", "aten::mm", 10_000, 30_000, **{"External id": 2}),
              span("cpu_op", "aten::add", 60_000, 10_000, **{"External id": 3}),
              span("cpu_op", "aten::mul", 0, 90_000, 1, 99, **{"External id": 4})]
    for correlation, number, start, length in ((11, 4, 12_000, 2000), (12, 3, 15_000, 2000), (13, 1, 20_000, 15_000),
                                               (14, 2, 36_000, 1000)):
        events += [span("cuda_runtime", "cudaLaunchKernel", start, length, correlation=correlation,
                        **{"External id": number}), kernel(100_000 + 1000 * correlation, 500, 7, correlation)]
    connection = opened(engine, events)
    rows = connection.values("SELECT ops.name, count(*) FROM kernels JOIN ops ON ops.id = op_id GROUP BY 1 ORDER BY 1")
    assert rows == [("aten::linear", 1), ("aten::mm", 3)], rows
    told = connection.values("SELECT severity, count FROM diagnostics WHERE reason = 'wrong_op_numbers'")
    assert told == [("warning", 2)], told
    least = connection.values("SELECT min(self_ns), min(host_self_ns) FROM ops, tb_operator_summary")
    assert min(least[0]) >= 0, least
    connection.close()


def test_calls_of_threads_without_ops(engine):
    """Where the tracer gives a thread another id than its ops have, the numbers of its calls tell the ops; of a thread
    whose calls lie in none of the ops that they name they tell nothing."""
    events = []
    for i in range(40):
        events += [span("cpu_op", "aten::mm", 10_000 * i, 5000, **{"External id": i + 1}),
                   span("cuda_runtime", "cudaLaunchKernel", 10_000 * i + 1000, 1000, 1, 140_000_001,
                        correlation=100 + i, **{"External id": i + 1}),
                   kernel(10_000 * i + 4000, 3000, 7, 100 + i)]
    for i in range(40):  # every other one lies in its op by chance
        events += [span("cuda_runtime", "cudaEventRecord", 10_000 * i + 2000, 1000, 1, 140_000_002,
                        correlation=500 + i, **{"External id": i + 1 if i % 2 else (i + 7) % 40 + 1})]
    connection = opened(engine, events)
    assert connection.values("SELECT count(op_id) FROM kernels") == [(40,)]
    assert connection.values("SELECT name, count(op_id) FROM api_calls GROUP BY 1 ORDER BY 1") == [
        ("cudaEventRecord", 0), ("cudaLaunchKernel", 40)]
    assert connection.values("SELECT count FROM diagnostics WHERE reason = 'wrong_op_numbers'") == [(40,)]
    connection.close()


def in_two(events):
    """Each event as its begin and its end, as converters write them."""
    out = []
    for event in events:
        begin = {**event, "ph": "B"}
        ends = event["ts"] + begin.pop("dur")
        out.append((event["ts"], 1, -ends, begin))
        out.append((ends, 0, -event["ts"], {"ph": "E", "pid": event["pid"], "tid": event["tid"], "ts": ends}))
    return [event for *_, event in sorted(out, key=lambda each: each[:3])]


def test_events_in_two(engine):
    """Ops, calls, kernels and marks are what they are, in one event or in two; what never ends has no duration."""
    questions = [f"SELECT {columns} FROM {table} ORDER BY start_ns, dur_ns DESC, 1" for table, columns in (
        ("ops", "name, category, start_ns, dur_ns, self_ns, depth, correlation"), ("steps", "number, start_ns, dur_ns"),
        ("api_calls", "name, start_ns, dur_ns, correlation"), ("ranges", "name, category, domain, start_ns, dur_ns"),
        ("kernels", "name, start_ns, dur_ns, op_name, device_id, thread_id"))]
    whole = opened(engine, steps(False))
    events = in_two(steps(False))
    halves = opened(engine, events)
    for question in questions:
        assert halves.values(question) == whole.values(question), question
    assert halves.values("SELECT reason FROM diagnostics") == whole.values("SELECT reason FROM diagnostics")
    events.append({"ph": "B", "cat": "cpu_op", "name": "aten::open", "pid": 1, "tid": 1, "ts": 900, "args": {"odd": 7}})
    events.append({"ph": "B", "cat": "cpu_op", "name": "aten::told", "pid": 1, "tid": 1, "ts": 901, "args": {}})
    events.append({"ph": "E", "pid": 1, "tid": 1, "ts": 902, "args": {"odd": 8}})
    connection = opened(engine, events)
    assert connection.values("SELECT name, dur_ns, attributes FROM ops WHERE name IN ('aten::open', 'aten::told') "
                             "ORDER BY name") == [("aten::open", None, '{"odd":7}'), ("aten::told", 1000, None)]
    assert connection.values("SELECT reason, count FROM diagnostics WHERE reason LIKE '%begin' OR reason LIKE '%ends' "
                             "ORDER BY 1") == [("members_of_ends", 1), ("unmatched_begin", 1)]
    connection.close()


def test_ends_with_names(engine):
    """An end with a name is of the innermost begin of that name: what lies in it may cross it, or have lost its end."""
    def half(phase, name, at):
        return {"ph": phase, "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at} if name else {
            "ph": phase, "pid": 1, "tid": 1, "ts": at}

    events = [half(*each) for each in (
        ("B", "crossed", 0), ("B", "crossing", 10), ("E", "crossed", 20), ("E", "crossing", 35),
        ("B", "outer", 100), ("B", "lost", 110), ("B", "outer", 120), ("E", "outer", 130), ("E", "outer", 150),
        ("B", "last", 200), ("E", "without begin", 230), ("B", "nameless", 300), ("E", "", 340), ("E", "last", 350))]
    events[5]["args"] = {"External id": 7}
    events += [span("cuda_runtime", "cudaLaunchKernel", 112_000, 2000, correlation=9, **{"External id": 7}),
               kernel(160_000, 5000, 7, 9)]
    connection = opened(engine, events)
    assert connection.values("SELECT name, dur_ns FROM ops ORDER BY start_ns") == [
        ("crossed", 20_000), ("crossing", 25_000), ("outer", 50_000), ("lost", None), ("outer", 10_000),
        ("last", 150_000), ("nameless", 40_000)]
    assert connection.values("SELECT reason, count FROM diagnostics WHERE reason IN ('crossing_ends', "
                             "'unmatched_begin', 'unmatched_end') ORDER BY 1") == [
        ("crossing_ends", 2), ("unmatched_begin", 1), ("unmatched_end", 1)]
    assert connection.values("SELECT op_name FROM kernels") == [("lost",)]
    assert not connection.values("SELECT * FROM diagnostics WHERE reason = 'wrong_op_numbers'")
    connection.close()
    connection = opened(engine, [half("B", "work", 0), half("E", "end of work", 40)])  # ends have names of their own
    assert connection.values("SELECT name, dur_ns FROM ops") == [("work", 40_000)]
    connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
