#!/usr/bin/env python3
"""A server of models, recorded by its profiler server: requests and batches are those that it made.

A program of TensorFlow with tf.nondifferentiable_batch_function batches by the scheduler of TensorFlow Serving, and
starts a profiler server as that does. TFPROF_TENSORFLOW_PYTHON is a Python that has TensorFlow; without it nothing is
tried here (tests/sql/test_serving.py reads what such servers write, made by hand).
"""

import json
import os
import subprocess

import capturing
from test_attach import CAPTURE, bounded
from test_servers import free_port

PROGRAM = """
import json, os, sys, threading, time
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf
port, stop = int(sys.argv[1]), sys.argv[2]
weights, lock = tf.Variable(tf.random.normal([64, 64])), threading.Lock()

@tf.nondifferentiable_batch_function(num_batch_threads=2, max_batch_size=8, batch_timeout_micros=2000,
                                     allowed_batch_sizes=[2, 4, 8], max_enqueued_batches=100)
def layer(x):
    return tf.matmul(x, weights)

@tf.function(input_signature=[tf.TensorSpec([None, 64])])
def serve(x):
    return layer(x) + 1.0

answered = []
def client(number):
    own = []
    while not os.path.exists(stop):
        size = 1 + (len(own) + number) % 3
        begin = time.time_ns()
        assert serve(tf.ones([size, 64])).shape[0] == size
        own.append((begin, time.time_ns(), size))
    with lock:
        answered.extend(own)

serve(tf.zeros([1, 64]))
tf.profiler.experimental.server.start(port)
clients = [threading.Thread(target=client, args=(number,)) for number in range(5)]
for one in clients:
    one.start()
print('ready', flush=True)
for one in clients:
    one.join()
print(json.dumps(answered))
"""


def record(python, folder):
    """The run, and (begin, end, size) of each request that the program sent."""
    stop, run, port = os.path.join(folder, "stop"), os.path.join(folder, "run"), free_port()
    with bounded.started([python, "-c", PROGRAM, str(port), stop], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            asked = bounded.run([CAPTURE, "--attach", "localhost:%d" % port, "--for", "400ms", "-o", run],
                                capturing.SECONDS, stdin=subprocess.DEVNULL)
            assert asked.returncode == 0, asked.stderr
        finally:
            open(stop, "w").close()
        return run, json.loads(program.stdout.read())


def check_run(run, sent):
    (found,) = capturing.query(run, """
        SELECT count(*) AS count, max(wait_ns < dur_ns) AS waits, count(DISTINCT thread_id) AS threads,
          group_concat(DISTINCT model) AS model, min(batch_count) AS batches, min(start_ns) AS start_ns,
          max(end_ns) AS end_ns
        FROM requests WHERE batch_id IS NOT NULL""")
    inside = [1 for begin, end, _ in sent if begin > found["start_ns"] and end < found["end_ns"]]
    print(found, "sent", len(sent), "of these inside", len(inside))
    # The first and the last of each of the threads lie across the edges; the clocks of program and profiler are one.
    assert len(inside) > 20 and len(inside) <= found["count"] <= len(inside) + 10, (found, len(inside), len(sent))
    assert found["threads"] == 5 and found["batches"] == 1 and found["waits"] == 1, found
    assert found["model"].endswith("BatchFunction"), found
    batches = capturing.query(run, """
        SELECT size, padding, padded_size, task_count,
          (SELECT sum(size) FROM batch_tasks WHERE batch_id = batches.id) AS task_size, step_id IS NOT NULL AS is_step,
          (SELECT count(*) FROM ops WHERE ops.step_id = batches.step_id AND op_type GLOB '*MatMul') AS products
        FROM batches ORDER BY start_ns""")
    whole = [row for row in batches[8:-8]]  # the first ones were put together before the recording
    assert len(whole) > 10, len(batches)
    for row in whole:
        assert row["size"] == row["task_size"] == row["padded_size"] - row["padding"], row
        assert row["padded_size"] in (2, 4, 8) and row["padding"] < row["padded_size"] / 2 + 1, row
        assert row["task_count"] >= 1 and row["is_step"] and row["products"] == 1, row
    (steps,) = capturing.query(run, "SELECT count(*) AS count, group_concat(DISTINCT origin) AS origin FROM steps")
    assert steps == {"count": len(batches), "origin": "serving"}, (steps, len(batches))


def main():
    python = os.environ.get("TFPROF_TENSORFLOW_PYTHON")
    if not python:
        capturing.skip("TFPROF_TENSORFLOW_PYTHON names no Python with TensorFlow")
    with capturing.Directory() as folder:
        check_run(*record(python, os.path.abspath(folder)))


if __name__ == "__main__":
    main()
