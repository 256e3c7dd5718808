"""Marks in programs of TensorFlow, Keras and JAX: the module tfprof beside several frameworks, its callback of Keras,
the names of tf.profiler.experimental; and that nothing which fails in the recorder's hooks reaches the program.
"""

import os
import shutil
import subprocess

import capturing
from stand_ins import StandIns, counts_of_ranges, steps_of

HEARD = """
import sys, IMPORTED, tfprof
ended = sys.modules['_tfprof_hooks'].process.marks.steps
assert ended() == 0
for number in range(4, 9):
    with tfprof.step(number), tfprof.range('augment'):
        pass
print(ended())
"""


def test_steps_are_heard():
    """By what counts them for windows, whichever other framework is there."""
    with StandIns() as here:
        for name in ("jax", "tensorflow", "jax, torch, tensorflow"):
            directory, out, _ = here.run(name.replace(", ", "-"), HEARD.replace("IMPORTED", name))
            assert out == "5\n", (name, out)
            steps = steps_of(directory)
            assert [step["number"] for step in steps] == [4, 5, 6, 7, 8] and steps[0]["origin"] == "user", (name, steps)
            assert counts_of_ranges(directory)["augment"] == 5, name
    print("steps of the module tfprof beside other frameworks")


EXPERIMENTAL = """
import sys, IMPORTED
import tfprof.experimental as profiler
from tfprof.experimental import Profile, Trace, client, server
try:
    profiler.stop()
except Exception as problem:
    print(type(problem).__name__, problem)
profiler.start('here', profiler.ProfilerOptions(host_tracer_level=3))
try:
    profiler.start('there')
except Exception as problem:
    print(type(problem).__name__, type(problem).__module__, problem)
for number in range(7, 10):
    with Trace('train', step_num=number, _r=1) as trace:
        trace.set_metadata(of=number)
with Trace('other'):
    pass
profiler.stop()
try:
    client.trace('grpc://localhost:1', 'here', 0)
except Exception as problem:
    print(type(problem).__name__, problem)
with Profile('again', profiler.ProfilerOptions()):
    pass
"""


def test_experimental():
    already, none = "Another profiler is running.", "Cannot export profiling results. No profiler is running."
    with StandIns() as here:
        for name, its_module, started in (
            ("tensorflow", "tensorflow.errors", "print(tensorflow.profiler.experimental.started)"),
            ("jax", "_tfprof_experimental", "print(jax.profiler.started)"),
            ("torch", "_tfprof_experimental", ""),
        ):
            program = EXPERIMENTAL.replace("IMPORTED", name) + started
            directory, out, error = here.run(name, program)
            lines = out.splitlines()
            assert lines[:3] == ["UnavailableError " + none, "AlreadyExistsError %s %s" % (its_module, already),
                                 "InvalidArgumentError duration_ms must be greater than zero."], (name, out)
            assert lines[3:] == [str([("here", 3), "stopped", ("again", 2), "stopped"])] * bool(started), (name, out)
            steps, ranges = steps_of(directory), counts_of_ranges(directory)
            assert [(step["number"], step["origin"]) for step in steps] == [(n, "user") for n in (7, 8, 9)], steps
            assert ranges.pop("tfprof.experimental.start") == 2 and ranges.pop("other") == 1, ranges
            assert len(ranges) == 3 and "incomplete" not in error, (ranges, error)
        # Every op of the stretch, though none are recorded besides.
        program = "import torch\nx = torch.ones(3)\nfrom tfprof import experimental\nx.neg()\n"
        program += "with experimental.Profile('a'):\n    x.exp()\nx.neg()\n"
        directory, _, _ = here.run("ops", program, ops="none")
        ops = capturing.query(directory, "SELECT name FROM ops WHERE category = 'op'")
        assert [op["name"] for op in ops] == ["aten::exp"], ops
        # A copy of the module alone, in a recorded program and in one that is not.
        shutil.copy(os.path.join(capturing.HOOKS, "tfprof.py"), here.packages)
        program = "import torch, tfprof\nprint(tfprof.__file__.endswith('packages/tfprof.py'))\n"
        program += "with tfprof.experimental.Profile('a'): pass\nprint(tfprof.is_recording())\n"
        assert here.run("copied", program)[1] == "True\nTrue\n"
        bare = "import sys; sys.path.insert(0, %r)\nimport tfprof\n" % here.packages
        bare += "with tfprof.range('a'), tfprof.step(): tfprof.experimental.start('here')\n"
        result = subprocess.run([capturing.PYTHON, "-c", bare], capture_output=True, text=True)
        assert "this needs _tfprof_experimental.py, which lies beside tfprof.py" in result.stderr, result
        os.remove(os.path.join(here.packages, "tfprof.py"))
        # Who has no server says what serves; client.trace asks by tfprof-capture.
        program = "import torch\nfrom tfprof.experimental import client, server\n"
        program += "for call in (lambda: server.start(1), lambda: client.trace('grpc://localhost:1,b:2', 'd', 10)):\n"
        program += "    try:\n        call()\n    except Exception as problem: print(type(problem).__name__, problem)\n"
        _, out, _ = here.run("servers", program)
        lines = out.splitlines()
        assert lines[0].startswith("RuntimeError tfprof.experimental.server.start: ") and "--dormant" in lines[0], out
        assert lines[1].startswith("UnavailableError ") and "--attach localhost:1,b:2 --for 10ms -o d" in lines[1], out
    print("names of tf.profiler.experimental")


CALLS = """
import torch, keras
from keras.src.callbacks import CallbackList
x, callbacks = torch.ones(3), CallbackList()
callbacks.params = {'epochs': 1, 'steps': 20}
for batch in range(0, 20, 4):
    callbacks.on_train_batch_begin(batch)
    x.neg()
    callbacks.on_train_batch_end(batch + 3)
"""


def test_steps_of_calls():
    """Steps that are chosen are meant by their numbers, where several of them run in one call, too."""
    with StandIns() as here:
        directory, _, _ = here.run("chosen", CALLS, steps="9-12")
        ops = "SELECT min(number) AS first, max(number) AS last FROM steps WHERE ops_recorded = 1"
        assert len(steps_of(directory)) == 20
        assert capturing.query(directory, ops) == [{"first": 8, "last": 15}]
        directory, _, _ = here.run("first", CALLS, steps="4")
        assert capturing.query(directory, ops) == [{"first": 4, "last": 7}]
    print("chosen steps of several in a call")


TRACE = """
import tensorflow
from tensorflow.profiler.experimental import Trace
for number in range(3, 7):
    with Trace('train', step_num=number, _r=1) as trace:
        assert trace.name == 'train'
    with Trace('no step'):
        pass
library = {'__name__': 'keras.trainer', 'Trace': Trace}
exec("with Trace('test', step_num=0, _r=1): pass", library)
"""


def test_trace():
    with StandIns() as here:
        directory, _, _ = here.run("trace", TRACE)
        steps = [(step["name"], step["origin"]) for step in steps_of(directory)]
        assert steps == [("StepTraceAnnotation %d" % number, "user") for number in range(3, 7)], steps
    print("steps that TensorFlow's Trace marks")


FIT = """
import IMPORTED tfprof, keras
from keras.src.callbacks import CallbackList
x = torch.ones(3)
mine = tfprof.KerasCallback(BATCHES)
assert isinstance(mine, keras.callbacks.Callback)
class Both(CallbackList):
    pass
callbacks = Both()
mine.params = callbacks.params = {'epochs': 2, 'steps': 10}
def tell(what, *arguments):
    getattr(callbacks, 'on_' + what)(*arguments)
    getattr(mine, 'on_' + what, lambda *_: None)(*arguments)
tell('train_begin')
for epoch in range(2):
    tell('epoch_begin', epoch)
    for batch in range(10):
        tell('train_batch_begin', batch)
        x.neg()
        tell('train_batch_end', batch)
    tell('test_begin')
    tell('test_end')
    tell('epoch_end', epoch)
tell('train_end')
tell('predict_begin'), tell('predict_end')
x.exp()
"""


def test_keras_callback():
    with StandIns() as here:
        stretches = {"keras.fit": 1, "keras.epoch#0": 1, "keras.epoch#1": 1, "keras.evaluate": 2, "keras.predict": 1}
        for batches, count in (("(9, 12)", 4), ("'20,20'", 1)):
            program = FIT.replace("IMPORTED", "torch,").replace("BATCHES", batches)
            directory, _, error = here.run("fit%s" % len(os.listdir(here.packages + "/..")), program, ops="none")
            steps, ranges = steps_of(directory), counts_of_ranges(directory)
            assert [step["number"] for step in steps] == list(range(20)) and steps[0]["origin"] == "keras", steps
            assert {name: ranges.get(name) for name in stretches} == stretches, ranges
            epochs = capturing.query(directory, "SELECT epoch, step_count, evaluation_ns > 0 AS evaluates, "
                                                "input_phase_ns, dur_ns >= evaluation_ns AS is_whole "
                                                "FROM epoch_summary ORDER BY 1")
            assert epochs == [{"epoch": epoch, "step_count": 10, "evaluates": 1, "input_phase_ns": None, "is_whole": 1}
                              for epoch in range(2)], epochs
            evaluation = ("WITH measured AS (SELECT start_ns, net_ns FROM steps WHERE NOT is_warmup), evaluated AS ("
                          "SELECT total(dur_ns) AS ns FROM ranges WHERE name IN ('keras.evaluate', 'keras.predict') "
                          "AND start_ns > (SELECT min(start_ns) FROM measured)) SELECT evaluation_ratio > 0 AND abs("
                          "evaluation_ratio - ns / (ns + (SELECT sum(net_ns) FROM measured))) < 1e-9 AS is_right "
                          "FROM step_summary, evaluated")
            assert capturing.query(directory, evaluation) == [{"is_right": 1}]
            assert ranges.get("tfprof.KerasCallback", 0) == (count > 0) and "incomplete" not in error, (ranges, error)
            ops = capturing.query(directory, "SELECT steps.number FROM ops JOIN steps ON steps.id = ops.step_id "
                                             "WHERE ops.name = 'aten::neg' ORDER BY 1")
            assert len(ops) == count and (batches != "(9, 12)" or [op["number"] for op in ops] == [8, 9, 10, 11]), ops
        # Of a Keras that cannot be watched the callback tells all of it by itself.
        with open(os.path.join(here.packages, "keras/src/callbacks/callback_list.py"), "w") as file:
            file.write("class CallbackList:\n    def __getattr__(self, name): return lambda *_: None\n")
        program = FIT.replace("IMPORTED", "torch,").replace("BATCHES", "(9, 12)")
        directory, _, error = here.run("alone", program, ops="none")
        steps, ranges = steps_of(directory), counts_of_ranges(directory)
        assert "batches cannot be seen" in error and len(steps) == 20 and steps[0]["origin"] == "user", (error, steps)
        stretches.pop("keras.fit")
        assert {name: ranges.get(name) for name in stretches} == stretches, ranges
        wrong = "import keras, tfprof\nfor one in ('a', (3, 2), -1, (1, 2, 3), None):\n    try:\n"
        wrong += "        tfprof.KerasCallback(one)\n    except ValueError as problem: print(problem)\n"
        _, out, _ = here.run("wrong", wrong)
        assert out.count("profile_batch is a batch or a pair of them") == 5, out
    print("the callback of Keras")


PROBLEMS = """
import sys, jax, tensorflow, keras, tfprof
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
from tensorflow.python.client.session import BaseSession
from keras.src.callbacks import CallbackList
calls = []
class Broken:
    def __getattr__(self, name): raise ZeroDivisionError(name)
    def __str__(self): raise ZeroDivisionError
def work(x):
    calls.append(x)
    return x + 1
step = jax.jit(work)
jax.core.trace_ctx.trace = jax.core.EvalTrace
jax.core.trace_ctx = Broken()
assert [step(n) for n in range(20)] == list(range(1, 21)) and calls == list(range(20))
broken = jax.pjit._jax.pjit(Broken(), work, None)
assert broken(5) == 6
for number in ('x', None, Broken()):
    with jax.profiler.StepTraceAnnotation('train', step_num=number) as mark:
        assert mark.name == 'train'
class Other(jax.profiler.StepTraceAnnotation):
    def __init__(self): pass
with Other(): pass
for listener in jax.monitoring.listeners:
    listener(None, 'long'), listener('/jax/core/compile/x', 'long')
atomic = AtomicFunction(None, 'AssignVariableOp')
assert atomic.call_preflattened([1]) == [1]
session = BaseSession()
assert session.run(Broken) is Broken
del session.graph
assert session.run('loss') == 'loss'
assert CallbackList().on_train_batch_begin('no number') == ('begin', 'no number')
callbacks = CallbackList()
callbacks.params = 7
callbacks.on_train_batch_begin(0)
assert callbacks.on_train_batch_end(0) == ('end', 0)
def listener(mark): raise KeyError('listener')
marks = sys.modules['_tfprof_hooks'].process.marks
marks.windows = listener
marks.step_begins()
tensorflow.ops.inside_function = Broken()
with tfprof.step(3), tfprof.range('mine'): calls.append('mine')
print(tfprof.is_recording(), calls[-1])
"""


def test_problems():
    with StandIns() as here:
        directory, out, error = here.run("problems", PROBLEMS)
        assert out == "True mine\n", (out, error)
        lines = [line for line in error.splitlines() if "recording is incomplete" in line]
        assert 3 <= len(lines) <= 8 and len(set(lines)) == len(lines) and "Traceback" not in error, error
        told = capturing.query(directory, "SELECT message FROM diagnostics WHERE reason = 'capture_hook_failed'")
        assert len(told) == len(lines) and any("ZeroDivisionError" in row["message"] for row in told), (told, lines)
        assert counts_of_ranges(directory)["mine"] == 1
        _, out, error = here.run("quiet", PROBLEMS, quiet=1)
        assert out == "True mine\n" and not error, (out, error)
    print("what fails of ours stays ours")


capturing.main(globals())
