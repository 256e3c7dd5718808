"""Sessions of TensorFlow 1: what TensorFlow traced of their runs is part of the recording.

A stand-in has the functions that the hooks look for, and tells as RunMetadata what it ran; where
TFPROF_TENSORFLOW_PYTHON names a Python with TensorFlow its own statistics are compared.
"""

import json
import os

import capturing

SESSION = '''
import time
def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])
def integer(field, n): return varint(field << 3) + varint(n)
def message(field, content): return varint(field << 3 | 2) + varint(len(content)) + content
def text(field, content): return message(field, content.encode())
class Operation:
    def __init__(self, graph, name, kind, *before):
        self.graph, self.name, self.type, self.control_inputs = graph, name, kind, before
        self.traceback = [("train.py", 7, "build")]
        self.node_def = None
class Tensor:
    def __init__(self, name): self.name = name
class Graph:
    def __init__(self): self.version, self.ops = 4, [Operation(self, n, k) for n, k in NODES]
    def get_collection_ref(self, name): return []
    def get_collection(self, name): return []
    def get_operations(self): return self.ops
    def as_graph_element(self, name, allow_tensor): return Operation(self, name, 'ResourceApplyAdam')
    def as_graph_def(self, add_shapes): return GraphDef()
NODES = [("x", "Placeholder"), ("w", "VariableV2"), ("net/mm", "MatMul")]
class GraphDef:
    def SerializeToString(self):
        return b"".join(message(1, text(1, n) + text(2, k)) for n, k in NODES)
def run_metadata(start):
    def node(number, name, kind, micros):
        return message(2, text(1, name) + integer(2, int(start * 1e6) + number) + integer(4, micros)
                       + integer(5, micros + 1) + text(8, "%s = %s()" % (name, kind)))
    nodes = node(1, "net/mm", "MatMul", 300) + node(400, "net/mm", "MatMul", 100) + node(600, "w", "VariableV2", 5)
    return message(1, message(1, text(1, "/job:localhost/replica:0/task:0/device:CPU:0") + nodes))
class config_pb2:
    class RunOptions:
        SOFTWARE_TRACE, FULL_TRACE = 1, 3
        def __init__(self, trace_level=0, output_partition_graphs=False):
            self.trace_level, self.output_partition_graphs = trace_level, output_partition_graphs
            self.report_tensor_allocations_upon_oom = False
            self.debug_options = type("DebugOptions", (), {"debug_tensor_watch_opts": []})
        def CopyFrom(self, other): self.__dict__.update(other.__dict__)
        def SerializeToString(self): return b"%d%d" % (self.trace_level, self.output_partition_graphs)
        @classmethod
        def FromString(cls, asked): return cls(asked[0] - 48, asked[1] == 49)
    class CallableOptions:
        def __init__(self, target=(), trace_level=0):
            self.fetch, self.target = [], list(target)
            self.run_options = config_pb2.RunOptions(trace_level)
        def SerializeToString(self): return self.run_options.SerializeToString() + ",".join(self.target).encode()
        @classmethod
        def FromString(cls, asked): return cls(asked[2:].decode().split(","), asked[0] - 48)
class RunMetadata:
    content = None
    def ParseFromString(self, content): self.content = content
class tf_session:
    buffers = []
    class Buffer:
        content = b""
    @classmethod
    def TF_NewBuffer(cls):
        cls.buffers.append(cls.Buffer())
        return cls.buffers[-1]
    @classmethod
    def TF_NewBufferFromString(cls, content):
        buffer = cls.TF_NewBuffer()
        buffer.content = content
        return buffer
    @staticmethod
    def TF_GetBuffer(buffer): return buffer.content
    @classmethod
    def TF_DeleteBuffer(cls, buffer): cls.buffers.remove(buffer)
    callables, released, traced = {}, [], []
    @classmethod
    def TF_SessionMakeCallable(cls, session, buffer):
        handle = len(cls.callables)
        cls.callables[handle] = config_pb2.CallableOptions.FromString(buffer.content)
        return handle
    @classmethod
    def TF_SessionRunCallable(cls, session, handle, arguments, metadata):
        start = time.time()
        time.sleep(2e-3)
        if arguments == ('wrong',): raise ValueError(*arguments)
        if cls.callables[handle].run_options.trace_level and metadata:
            cls.traced.append(handle)
            metadata.content = run_metadata_of(start)
        return arguments
    @classmethod
    def TF_SessionReleaseCallable(cls, session, handle): cls.released.append(handle)
class BaseSession:
    _closed, _session = False, 'session'
    def __init__(self): self.graph = self._graph = Graph()
    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        swig = tf_session
        asked = swig.TF_NewBufferFromString(options.SerializeToString()) if options else None
        told = swig.TF_NewBuffer() if run_metadata else None
        try:
            result = self._call_tf_sessionrun(asked, feed_dict, fetches, [], told)
            if run_metadata: run_metadata.ParseFromString(swig.TF_GetBuffer(told))
        finally:
            for buffer in (asked, told):
                if buffer: swig.TF_DeleteBuffer(buffer)
        return result
    def partial_run(self, handle, fetches, feed_dict=None): return self._call_tf_sessionprun(handle, {}, fetches)
    def _call_tf_sessionprun(self, handle, feed_dict, fetch_list):
        time.sleep(1e-3)
        return fetch_list
    class _Callable:
        def __init__(self, session, callable_options):
            self._session = session
            buffer = tf_session.TF_NewBufferFromString(callable_options.SerializeToString())
            self._handle = tf_session.TF_SessionMakeCallable(session._session, buffer)
            tf_session.TF_DeleteBuffer(buffer)
        def __call__(self, *args, **kwargs):
            told = kwargs.get('run_metadata')
            buffer = tf_session.TF_NewBuffer() if told else None
            result = tf_session.TF_SessionRunCallable(self._session._session, self._handle, args, buffer)
            if told:
                told.ParseFromString(tf_session.TF_GetBuffer(buffer))
                tf_session.TF_DeleteBuffer(buffer)
            return result
        def __del__(self): tf_session.TF_SessionReleaseCallable(self._session._session, self._handle)
    def _make_callable_from_options(self, options): return BaseSession._Callable(self, options)
    def _call_tf_sessionrun(self, options, feed_dict, fetch_list, target_list, run_metadata):
        start = time.time()
        if fetch_list == 'wrong': raise ValueError(fetch_list)
        time.sleep(2e-3)
        if options and config_pb2.RunOptions.FromString(options.content).trace_level and run_metadata:
            run_metadata.content = run_metadata_of(start)
        return fetch_list
    def close(self): pass
run_metadata_of = run_metadata
'''
STAND_INS = {
    "tensorflow/__init__.py": "__version__ = '9.7'\nfrom tensorflow.python.framework import ops\n"
                              "from tensorflow.python.client import session",
    "tensorflow/core/__init__.py": "",
    "tensorflow/core/profiler/__init__.py": "",
    "tensorflow/core/profiler/tfprof_log_pb2.py": """
from tensorflow.python.client.session import integer, message, text
class Traces(list):
    def add(self, file_id, lineno, function_id, line_id, func_start_line):
        self.append(integer(2, lineno) + integer(6, file_id) + integer(7, function_id) + integer(8, line_id))
class Entry:
    def __init__(self, name):
        self.name, self.types, self.float_ops = name, [], 0
        self.code_def = type("CodeDef", (), {"traces": Traces()})
class Entries(list):
    def add(self, name):
        self.append(Entry(name))
        return self[-1]
class OpLogProto:
    def __init__(self): self.log_entries, self.id_to_string = Entries(), {}
    def SerializeToString(self):
        entries = b"".join(message(1, text(1, one.name) + message(4, b"".join(message(1, t)
            for t in one.code_def.traces))) for one in self.log_entries)
        return entries + b"".join(message(2, integer(1, n) + text(2, s)) for n, s in self.id_to_string.items())
""",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/client/__init__.py": "",
    "tensorflow/python/client/session.py": SESSION,
    "tensorflow/python/framework/__init__.py": "",
    "tensorflow/python/framework/ops.py": "def inside_function(): return False\n"
                                          "class GraphKeys: TRAINABLE_VARIABLES = 't'",
}
PROGRAM = """
import sys; sys.path.insert(0, %r)
import tensorflow as tf
from tensorflow.python.client.session import *
session = BaseSession()
train = Operation(session.graph, 'Adam', 'ResourceApplyAdam')
for number in range(10):
    fetches = [Tensor('loss:0'), train]
    assert session.run(fetches=fetches, feed_dict={'x': number}) is fetches
    if number == 6:  # as MonitoredSession has it: nothing is traced, and the program finds nothing
        told = RunMetadata()
        session.run([train], None, config_pb2.RunOptions(), told)
        assert told.content == b"", told.content
    if number == 7:  # the program traces the run itself
        session.run([train], None, config_pb2.RunOptions(3), told)
        assert len(told.content) > 100
    if number == 8:
        session.run([train], None, config_pb2.RunOptions(0, True), RunMetadata())
try:
    session.run('wrong')
except ValueError as problem: assert str(problem) == 'wrong'
session.close()
assert not tf_session.buffers, tf_session.buffers
print('done')
"""

# Two runs in a step, callables made of options, partial runs.
OTHER_RUNS = """
import sys; sys.path.insert(0, %r)
import tensorflow as tf
from tensorflow.python.client.session import *
session = BaseSession()
train = Operation(session.graph, 'Adam', 'ResourceApplyAdam')
session.run([train])
for number in range(4):
    session.run([Tensor('loss:0')])
    session.run([train])
call = session._make_callable_from_options(config_pb2.CallableOptions(['Adam']))
own = session._make_callable_from_options(config_pb2.CallableOptions(['Adam'], 1))
told = RunMetadata()
for number in range(4):
    assert call(number) == (number,)
assert call(5, run_metadata=told) == (5,) and told.content == b"", told.content
assert own(6, run_metadata=told) == (6,) and len(told.content) > 100
own(7)  # traced, and nobody takes it
try:
    call('wrong')
except ValueError as problem: assert str(problem) == 'wrong'
assert tf_session.traced == [2] * 5 + [1], tf_session.traced
del call, own
assert sorted(tf_session.released) == [0, 1, 2], tf_session.released
session.partial_run('handle', [Tensor('loss:0')])
session.run([train])
session.close()
assert not tf_session.buffers, tf_session.buffers
print('done')
"""


def made(directory):
    packages = os.path.join(directory, "packages")
    for name, content in STAND_INS.items():
        os.makedirs(os.path.dirname(os.path.join(packages, name)), exist_ok=True)
        with open(os.path.join(packages, name), "w") as file:
            file.write(content)
    return packages


def test_stand_in():
    with capturing.Directory() as directory:
        program = PROGRAM % made(directory)
        for name, settings in (("all", {"ops": "all"}), ("none", {"ops": "none"})):
            run = os.path.join(directory, name)
            os.mkdir(run)
            out, error = capturing.run(run, ["-c", program], **settings)
            assert out == "done\n" and "incomplete" not in error, (out, error)
        records = capturing.query(run, "SELECT count(*) AS n FROM session_records")
        assert records == [{"n": 0}], records
        launched = os.path.join(directory, "launched")
        _, error = capturing.launch(launched, [capturing.PYTHON, "-c", program], ["--ops=all"])
        assert "recorded 13 steps and 13 ranges, and the ops of 12 session runs into " in error, error
        run = os.path.join(directory, "all")
        records = "SELECT kind, count(*) AS n, count(left_out) AS left_out FROM session_records GROUP BY 1 ORDER BY 1"
        records = [tuple(row.values()) for row in capturing.query(run, records)]
        assert records == [("graph", 1, 0), ("op_log", 1, 0), ("run", 13, 1)], records
        names = capturing.query(run, "SELECT DISTINCT name FROM ranges")
        assert names == [{"name": "SessionRun(Adam)"}], names
        nodes = "SELECT name, op_type FROM nodes WHERE NOT is_scope ORDER BY 1"
        nodes = [tuple(row.values()) for row in capturing.query(run, nodes)]
        assert nodes == [("net/mm", "MatMul"), ("w", "VariableV2"), ("x", "Placeholder")], nodes
        costs = capturing.query(run, "SELECT number, run_count, cpu_ns FROM steps LEFT JOIN node_steps ON step_id = "
                                     "steps.id AND node_id = (SELECT id FROM nodes WHERE name = 'net/mm') ORDER BY 1")
        twice = [row["number"] for row in costs if row["run_count"] != 2 or row["cpu_ns"] != 400000]
        assert len(costs) == 13 and twice == [11], costs  # the run that asked for its partition graphs
        ops = "SELECT name, op_type, count(*) AS n, sum(dur_ns) AS ns FROM ops WHERE category = 'op' GROUP BY 1"
        ops = [tuple(row.values()) for row in capturing.query(run, ops)]
        assert ops == [("net/mm", "MatMul", 24, 12 * 400000), ("w", "VariableV2", 12, 12 * 5000)], ops
        unrecorded = capturing.query(run, "SELECT number FROM steps WHERE NOT ops_recorded")
        assert unrecorded == [{"number": 11}], unrecorded
        lines = capturing.query(run, "SELECT DISTINCT file, line FROM code_frames")
        assert lines == [{"file": "train.py", "line": 7}], lines
    print("runs of a stand-in")


def test_other_runs():
    with capturing.Directory() as directory:
        run = os.path.join(directory, "run")
        os.mkdir(run)
        out, error = capturing.run(run, ["-c", OTHER_RUNS % made(directory)], ops="all")
        assert out == "done\n" and "incomplete" not in error, (out, error)
        left_out = "SELECT left_out, count(*) AS n FROM session_records WHERE kind = 'run' GROUP BY 1 ORDER BY 1"
        left_out = [tuple(row.values()) for row in capturing.query(run, left_out)]
        assert left_out == [(None, 16), ("TensorFlow traces no partial runs", 1),
                            ("the program has it traced, and takes nothing of it", 1)], left_out
        told = capturing.query(run, "SELECT count FROM diagnostics WHERE message LIKE '%session_records.left_out%'")
        assert told == [{"count": 2}], told
        # Step by step: a run alone, four times two, seven calls, and what a partial run is part of.
        steps = capturing.query(run, "SELECT ops_recorded, run_count, cpu_ns FROM steps LEFT JOIN node_steps ON "
                                     "step_id = steps.id AND node_id = (SELECT id FROM nodes WHERE name = 'net/mm') "
                                     "ORDER BY number")
        counts = [(row["ops_recorded"], row["run_count"]) for row in steps]
        assert counts == [(1, 2)] + [(1, 4)] * 4 + [(1, 2)] * 6 + [(0, None), (0, 2)], counts
        assert all(row["cpu_ns"] == (row["run_count"] or 0) * 200000 for row in steps if row["cpu_ns"]), steps
        runs = capturing.query(run, "SELECT count(*) AS n, sum(run_count) AS runs FROM node_runs JOIN nodes ON "
                                    "nodes.id = node_id WHERE name = 'net/mm'")
        assert runs == [{"n": 16, "runs": 32}], runs
        report = capturing.query(run, "SELECT occurrence, micros FROM op_view WHERE selected = 'micros,occurrence' "
                                      "AND name = 'MatMul'")
        assert [row["occurrence"] for row in report] == [2], report  # on average of 12 steps: 32 runs
    print("two runs in a step, callables, partial runs")


def test_damage():
    """Files that are gone, or end early: what is there is shown, and the rest told."""
    with capturing.Directory() as directory:
        run = os.path.join(directory, "run")
        os.mkdir(run)
        capturing.run(run, ["-c", PROGRAM % made(directory)], ops="all")
        file, = [os.path.join(run, name) for name in os.listdir(run) if name.endswith(".sessions")]
        with open(file, "rb") as content:
            content = content.read()
        for kept, whole in ((len(content) - 10, 11), (200, 1), (0, 0), (None, 0)):  # runs
            with open(file, "wb") as shorter:
                shorter.write(content[:kept or 0])
            if kept is None:
                os.remove(file)
            steps = capturing.query(run, "SELECT count(*) AS n FROM steps")
            ops = capturing.query(run, "SELECT count(*) AS n FROM ops WHERE category = 'op'")[0]["n"]
            told = "SELECT count(*) AS n FROM diagnostics WHERE reason IN ('session_records', 'unopened_file')"
            assert steps == [{"n": 13}] and ops == 3 * whole, (kept, steps, ops)
            assert capturing.query(run, told)[0]["n"], kept
    print("files that are damaged")


REAL = """
import os, json, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, tensorflow as tf
from tensorflow.core.protobuf import config_pb2
v1 = tf.compat.v1
v1.disable_eager_execution()
v1.set_random_seed(1)
x = v1.placeholder(tf.float32, [None, 32])
w = v1.get_variable("w", [32, 8])
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
noise = tf.reduce_mean(tf.nn.dropout(x, rate=0.5, seed=3))  # of a kernel with a state
train = v1.train.AdamOptimizer().minimize(loss)
data, told, losses = np.random.RandomState(0).rand(16, 32), v1.RunMetadata(), []
with v1.train.MonitoredTrainingSession() as session:
    for number in range(20):
        losses.append(float(session.run(fetches=[loss, train], feed_dict={x: data})[0]))
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    options = v1.RunOptions(trace_level=v1.RunOptions.SOFTWARE_TRACE)
    session.run([loss, train], {x: data}, options, told)
    session.make_callable(train, [x])(data)
    session.make_callable(loss.graph.get_operation_by_name("w/Assign"))()
    options = config_pb2.CallableOptions()
    options.feed.append(x.name)
    options.fetch.append(noise.name)
    options.target.append(train.name)
    call = session._make_callable_from_options(options)
    losses += [float(call(data.astype("float32"))[0]) for _ in range(3)]
    handle = session.partial_run_setup([loss], [x])
    losses.append(float(session.partial_run(handle, loss, {x: data})))
stats = [(one.node_name, one.all_start_micros, one.op_end_rel_micros)
         for device in told.step_stats.dev_stats for one in device.node_stats]
print(json.dumps([losses, stats]))
"""


def test_tensorflow():
    python = os.environ.get("TFPROF_TENSORFLOW_PYTHON")
    if not python:
        print("TensorFlow: not tried, TFPROF_TENSORFLOW_PYTHON names no Python that has it")
        return
    with capturing.Directory() as directory:
        run = os.path.join(directory, "run")
        out, _ = capturing.launch(run, [python, "-c", REAL], ["--ops=all", "-q"])
        losses, stats = json.loads(out)
        plain = capturing.bounded.run([python, "-c", REAL], capturing.SECONDS, stdout=-1, stderr=-1, text=True)
        assert json.loads(plain.stdout)[0] == losses, losses
        micros = "(start_ns + 500) / 1000"  # of clocks that are read one after the other
        rows = capturing.query(run, "SELECT name, %s AS start, dur_ns / 1000 AS micros FROM ops "
                                    "WHERE category = 'op' ORDER BY 2" % micros)
        ran = {}
        for row in rows:
            ran.setdefault((row["name"], row["micros"]), []).append(row["start"])
        for name, start, length in stats:
            if name == "_SOURCE":
                continue
            starts = ran.get((name, max(length, 1)), [])
            assert any(abs(start - one) <= 200 for one in starts), (name, start, length, starts)
        left_out = capturing.query(run, "SELECT left_out FROM session_records WHERE left_out IS NOT NULL")
        assert left_out == [{"left_out": "TensorFlow traces no partial runs"}], left_out
        nodes = capturing.query(run, "SELECT op_type, code_trace_id FROM nodes WHERE name = 'MatMul'")
        assert nodes[0]["op_type"] == "MatMul" and nodes[0]["code_trace_id"] is not None, nodes
        steps = capturing.query(run, "SELECT steps.number, count(node_id) AS n FROM steps LEFT JOIN node_steps ON "
                                     "step_id = steps.id GROUP BY 1")
        assert len(steps) == 25 and all(row["n"] > 20 for row in steps), steps
    print("runs of TensorFlow")


capturing.main(globals())
