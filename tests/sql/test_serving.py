#!/usr/bin/env python3
"""test_serving.py: requests to a server of models, and the batches that it makes of them, from XSpaces made by hand.

Times here are microseconds. A batch is handed over by a context of the batch scheduler (5), the work of a function by
one of its executor (2).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, column, query, rows, run_tests
from xplane_files import event, line, plane, space, written

SCHEDULER, EXECUTOR = 5, 2


def at(name, start, end, **stats):
    return event(name, start * 1_000_000, (end - start) * 1_000_000, **stats)


def queued(start, size, *parts, name="ScheduleWithEagerSplit"):
    """What puts a request of `size` into batches; parts: (context, size)."""
    return [at(name, start, start + 10, batching_input_task_size=size)] + [
        at("ScheduleOutputTask", start + 1 + i, start + 2 + i, size=own, _pt=SCHEDULER, _p=context)
        for i, (context, own) in enumerate(parts)]


def batch(start, end, context, size, padded=None, model=None, merge="MergeInputTensors"):
    events = [at("ProcessBatch", start, end, batch_size_before_padding=size, _r=2, _ct=SCHEDULER, _c=context)]
    if padded:
        events.append(at(merge, start + 10, start + 20, batch_size_after_padding=padded, padding_amount=padded - size))
    if model:
        events.append(at("SessionRun", start + 30, end - 10, _r=1, id=context, model_id=model))
    return events


def of_lines(*lines):
    return space(plane("/host:CPU", [line(i + 1, name, events) for i, (name, events) in enumerate(lines)]))


def sessions():
    """Three requests in two batches that overlap; the third request is split over both."""
    def request(start, end, *schedule):
        return [at("BatchingSessionRun", start, end, thread_pool_name="pool", _r=1), *queued(*schedule)]

    first = batch(500, 900, 101, 4, 4, "resnet:3") + [at("a/first:MatMul", 700, 800)]
    return of_lines(("grpc/1", request(0, 1000, 10, 2, (101, 2))), ("grpc/2", request(100, 1010, 110, 1, (101, 1))),
                    ("grpc/3", request(200, 2500, 210, 6, (101, 1), (102, 5))), ("batch/1", first),
                    ("batch/2", batch(600, 2400, 102, 5, 8, "resnet:3") + [at("a/second:MatMul", 650, 660)]))


BATCHES = """SELECT name, model, size, padding, padded_size, task_count, wait_ns / 1000, dur_ns / 1000,
    (SELECT name FROM threads WHERE threads.id = thread_id), (SELECT number FROM steps WHERE steps.id = step_id)
  FROM batches ORDER BY start_ns"""
REQUESTS = """SELECT name, model, size, batch_count, wait_ns / 1000, dur_ns / 1000,
    (SELECT name FROM threads WHERE threads.id = thread_id),
    (SELECT count(*) FROM batches AS before WHERE before.id < batch_id) AS batch,
    (SELECT number FROM steps WHERE steps.id = step_id)
  FROM requests ORDER BY start_ns"""
TASKS = """SELECT tasks.size, tasks.wait_ns / 1000, (SELECT name FROM ops WHERE ops.id = tasks.op_id),
    requests.size, batches.size
  FROM batch_tasks AS tasks JOIN batches ON batches.id = tasks.batch_id LEFT JOIN requests ON requests.id = request_id
  ORDER BY batches.start_ns, queued_ns"""


def test_sessions(directory):
    """Batches, requests and which are in which; what each batch caused is of its step, also where two overlap."""
    run = written(directory, sessions())
    copy = os.path.join(directory, "copy")
    query(run, f"SELECT tfprof_save('{copy}')")
    for name, path in (("file", run), ("saved", copy)):
        check(rows(path, BATCHES), [("ProcessBatch", "resnet:3", 4, 0, 4, 3, 489, 400, "batch/1", 0),
                                    ("ProcessBatch", "resnet:3", 5, 3, 8, 1, 388, 1800, "batch/2", 1)], name)
        check(rows(path, REQUESTS), [("BatchingSessionRun", "resnet:3", 2, 1, 500, 1000, "grpc/1", 0, 0),
                                     ("BatchingSessionRun", "resnet:3", 1, 1, 400, 910, "grpc/2", 0, 0),
                                     ("BatchingSessionRun", "resnet:3", 6, 2, 300, 2300, "grpc/3", 0, 0)], name)
        check(rows(path, TASKS), [(2, 489, "ScheduleOutputTask", 2, 4), (1, 389, "ScheduleOutputTask", 1, 4),
                                  (1, 289, "ScheduleOutputTask", 6, 4), (5, 388, "ScheduleOutputTask", 6, 5)], name)
        check(rows(path, "SELECT number, name, origin, dur_ns / 1000 FROM steps ORDER BY number"),
              [(0, "ProcessBatch 0", "serving", 400), (1, "ProcessBatch 1", "serving", 1800)], name)
        check(rows(path, "SELECT ops.name, number FROM ops JOIN steps ON steps.id = step_id WHERE ops.op_type = "
                         "'MatMul' ORDER BY 2"), [("a/first", 0), ("a/second", 1)], name)
    check(column(run, "SELECT count(*) FROM ranges WHERE name GLOB '*Batch*' OR name GLOB 'Schedule*'"), [0], "ranges")
    check(column(run, "SELECT json_extract(attributes, '$.padding_amount') FROM ops WHERE name = 'MergeInputTensors' "
                      "ORDER BY start_ns"), [0, 3], "the source's own words stay")
    # XProf 2.24 has of this file: batches of 0.4 and 1.8 ms, 1.100 on average, efficiency 0.75, 1052.6 a second;
    # requests of 0.91, 1.0 and 2.3 ms, 1.403 on average, delays of 0.4, 0.5 and 0.3 ms, 1200.0 a second.
    check(rows(run, "SELECT model, count, per_second, mean_tasks, mean_size, max_size, mean_padded_size, "
                    "padding_ratio, mean_wait_ns, mean_ns, p50_ns, max_ns FROM batch_summary"),
          [("resnet:3", 2, 2e6 / 1900, 2.0, 4.5, 5, 6.0, 0.25, 438500, 1100000, 1100000, 1800000)], "batch_summary")
    check(rows(run, "SELECT model, count, per_second, mean_size, batched_ratio, split_ratio, p50_ns, max_ns, "
                    "mean_wait_ns, wait_ratio FROM request_summary"),
          [("resnet:3", 3, 3e6 / 2500, 3.0, 1.0, 1 / 3, 1000000, 2300000, 400000, 1200 / 4210)], "request_summary")
    check(rows(run, "SELECT title, text FROM run_summary WHERE title IN ('requests', 'batches')"),
          [("requests", "3, 1,200 a second, median 1.00 ms, 99 % within 2.27 ms, 29 % of it waiting for a batch"),
           ("batches", "2 of 4.5 examples on average, 25 % of what is computed is padding")], "run_summary")


def test_in_the_graph(directory):
    """Batches of an op in the graph: the request is found through the executor's thread, and lasts for its batch."""
    # The op that batches, as executors mark it: as any other, or (TensorFlow 2.21) as one that goes on.
    as_others = at("layer/batch:BatchFunction", 30, 80)
    start = ("ExecutorState::ProcessAsync::Start", 30_000_000, 50_000_000, None,
             {"name": "layer/BatchFunction", "kernel_type": "BatchFunction", "_pt": EXECUTOR, "_p": 71})

    def call(name, op, **model):
        asking = [at(name, 0, 300, _r=1, id=7, _pt=EXECUTOR, _p=70, **model)]
        executor = [at("ExecutorState::Process", 20, 90, id=7, iter_num=0, _ct=EXECUTOR, _c=70), op,
                    *queued(40, 3, (9, 3), name="ScheduleWithoutSplit")]
        return of_lines(("grpc/1", asking), ("tf_Compute/1", executor),
                        ("batch/1", batch(100, 400, 9, 3, 4, merge="ConcatInputTensors")))

    for name, op, model, stats in (("TfrtModelRun", start, "bert:1", {"model_id": "bert:1"}),
                                   ("FunctionRun", as_others, "layer/batch", {}),
                                   ("FunctionRun", start, "layer/BatchFunction", {})):
        run = written(directory, call(name, op, **stats), name + ".xplane.pb")
        check(rows(run, BATCHES), [("ProcessBatch", model, 3, 1, 4, 1, 59, 300, "batch/1", 0)], name)
        check(rows(run, REQUESTS), [(name, model, 3, 1, 100, 400, "grpc/1", 0, 0)], name)


def test_without_batches(directory):
    """Requests that nothing is batched of are the steps; runs of sessions that tell no model are no requests."""
    plain = of_lines(("grpc/1", [at("TfrtModelRun", 0, 100, _r=1, model_id="bert:1"),
                                 at("TfrtModelRun", 200, 300, _r=1, model_id="bert:1")]),
                     ("grpc/2", [at("TfrtModelRun", 50, 260, _r=1, model_id="resnet:2")]))
    run = written(directory, plain)
    check(rows(run, "SELECT model, size, batch_count, batch_id, wait_ns, dur_ns / 1000 FROM requests"),
          [("bert:1", None, 0, None, None, 100), ("resnet:2", None, 0, None, None, 210),
           ("bert:1", None, 0, None, None, 100)], "requests")
    check(rows(run, "SELECT number, name, origin FROM steps ORDER BY 1"),
          [(i, f"TfrtModelRun {i}", "serving") for i in range(3)], "steps")
    check(column(run, "SELECT count(*) FROM batches"), [0], "batches")
    check(rows(run, "SELECT model, count, batched_ratio, mean_size, mean_wait_ns, wait_ratio FROM request_summary"),
          [("bert:1", 2, 0.0, None, None, None), ("resnet:2", 1, 0.0, None, None, None)], "request_summary")
    run = written(directory, of_lines(("grpc/1", [
        at("ModelServerRequest_Predict", 0, 100, _r=-1), at("TfrtModelRun", 10, 90, _r=1, model_id="bert:1")])))
    check(rows(run, "SELECT name, model, dur_ns / 1000 FROM requests"), [("ModelServerRequest_Predict", "bert:1", 100)],
          "a request in the server's own")
    run = written(directory, of_lines(("main", [at("SessionRun", 100 * i, 100 * i + 90, _r=1, id=i)
                                                for i in range(5)])))
    check(column(run, "SELECT count(*) FROM requests"), [0], "sessions")
    check(column(run, "SELECT DISTINCT origin FROM steps"), ["repetition"], "sessions")


def test_marked_steps(directory):
    """A program that marks its steps has these; its batches are there all the same, and lie in them."""
    marks = [at("train", 300 * i, 300 * i + 290, _r=1, step_num=i) for i in range(3)]
    run = written(directory, of_lines(("python", marks), ("batch/1", batch(310, 500, 4, 2, 2))))
    check(column(run, "SELECT DISTINCT origin FROM steps"), ["user"], "steps")
    check(rows(run, BATCHES), [("ProcessBatch", None, 2, 0, 2, 0, None, 190, "batch/1", 1)], "batches")


def test_advice(directory):
    """A server that waits for requests is no loop that loses time between its steps, nor are its batches alike."""
    batches = [batch(10_000 * i, 10_000 * i + (9000 if i % 5 == 4 else 1000), i + 1, 4, 4) for i in range(20)]
    run = written(directory, of_lines(("batch/1", sum(batches, []))))
    check(column(run, "SELECT check_name FROM advise WHERE check_name IN ('between_steps', 'step_time_outliers')"), [],
          "advise")
    check(rows(run, "SELECT step_count, steps_per_second, between_ns FROM step_summary"), [(20, None, None)], "rates")


def test_edges_and_damage(directory):
    """What began before the recording or ends after it; two batches of one context; sizes that cannot be."""
    cut = of_lines(
        ("grpc/1", [at("BatchingSessionRun", 0, 900, _r=1), *queued(10, 2, (1, 2))]),  # its batch is not there
        ("grpc/2", queued(20, 3, (2, 3))),  # of a request that began before
        ("batch/1", batch(100, 200, 2, 3) + batch(300, 400, 3, 1, 2, "m:1")),  # the second's requests are not there
        ("grpc/3", [at("BatchingSessionRun", 500, 900, _r=1), *queued(510, 1, (2, 1))]),
        ("batch/2", [at("ProcessBatch", 600, 700, batch_size_before_padding=-5, _r=2, _ct=SCHEDULER, _c=2)]),
        ("batch/3", [at("ProcessBatch", 800, 850, _r=2)]))
    run = written(directory, cut)
    check(rows(run, "SELECT size, task_count, wait_ns / 1000, model FROM batches ORDER BY start_ns"),
          [(3, 1, 79, None), (1, 0, None, "m:1"), (None, 1, 89, None), (None, 0, None, None)], "batches")
    check(rows(run, "SELECT size, batch_count, dur_ns / 1000 FROM requests ORDER BY start_ns"),
          [(None, 0, 900), (1, 1, 400)], "requests")
    check(rows(run, "SELECT size, request_id IS NULL FROM batch_tasks ORDER BY queued_ns"), [(3, 1), (1, 0)], "tasks")
    run = written(directory, of_lines(("t", [at("", 0, 10, size=3), at("", 20, 30, model_id="m:1", _c=4, _ct=5)])))
    check(rows(run, "SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM batches)"), [(0, 0)], "no names")
    odd = [at("ProcessBatch", 0, 50, _r=2), at("MergeInputTensors", 5, 9, batch_size_after_padding=4, padding_amount=5)]
    run = written(directory, of_lines(("t", odd)))
    check(rows(run, "SELECT size, padding, padded_size FROM batches"), [(None, None, 4)], "more padding than there is")
    check(column(run, "SELECT padding_ratio FROM batch_summary"), [None], "its share")
    # Contexts that go round in a circle, and a request deep inside of others.
    circle = [at(f"f{i}", 0, 100, _pt=EXECUTOR, _p=i, _ct=EXECUTOR, _c=(i + 1) % 3) for i in range(3)]
    lines = [(f"t{i}", [one] + (queued(10, 1, (8, 1)) if i == 0 else [])) for i, one in enumerate(circle)]
    run = written(directory, of_lines(*lines, ("batch/1", batch(50, 60, 8, 1))))
    check(column(run, "SELECT task_count FROM batches"), [1], "a circle")
    deep = [at("BatchingSessionRun", 0, 9000, _r=1)] + [at("inner", i, 9000 - i) for i in range(1, 3000)]
    run = written(directory, of_lines(("t", deep + queued(3500, 1, (8, 1))), ("batch/1", batch(4000, 4100, 8, 1))))
    check(column(run, "SELECT task_count FROM batches"), [1], "deep")


if __name__ == "__main__":
    run_tests(globals())
