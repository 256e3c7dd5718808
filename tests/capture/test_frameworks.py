"""TensorFlow, Keras and JAX: steps and marks of programs that do not use PyTorch.  Stand-ins have the modules, classes
and functions that the hooks look for.
"""

import os

import capturing
from stand_ins import StandIns, counts_of_ranges, steps_of

MARKS = """
import jax, tfprof
assert tfprof.is_recording()
for number in range(3, 8):
    tfprof.step(number)
    with tfprof.range("augment"):
        pass
tfprof.end_step()
TRACED  # a function is being traced
assert not tfprof.is_recording()
tfprof.step(99)
tfprof.range("traced").__enter__()
ENDED
tfprof.stop(); tfprof.start()
with tfprof.Profile("profiled"):
    pass
"""


def test_marks():
    with StandIns() as here:
        for framework, name, version in (("jax", "JAX", "9.8"), ("tensorflow", "TensorFlow", "9.7")):
            program = MARKS.replace("import jax", "import %s as jax" % framework)
            program = program.replace("TRACED", "jax.core.trace_ctx.trace = jax.core.DynamicJaxprTrace()"
                                      if framework == "jax" else "jax.ops.inside = True")
            program = program.replace("ENDED", "jax.core.trace_ctx.trace = jax.core.EvalTrace()"
                                      if framework == "jax" else "jax.ops.inside = False")
            directory, out, error = here.run(framework, program)
            assert error.count("\n") == 1 and error.startswith("tfprof: %s %s is recorded" % (name, version)), error
            steps = steps_of(directory)
            assert [step["number"] for step in steps] == [3, 4, 5, 6, 7] and steps[0]["origin"] == "user", steps
            ranges = counts_of_ranges(directory)
            assert ranges["augment"] == 5 and ranges["profiled"] == 1 and len(ranges) == 2 + len(steps), ranges
            profile = capturing.query(directory, "SELECT framework, framework_version AS version FROM profiles")
            assert profile == [{"framework": framework, "version": version}], profile
            counters = capturing.query(directory, "SELECT count(*) AS n FROM counters")
            assert counters[0]["n"] > 0, counters
            _, _, error = here.run(framework + "-quiet", program, quiet=1)
            assert not error, error
    print("marks of JAX and TensorFlow")


FIT = """
import tensorflow, keras, tfprof
from keras.src.callbacks import CallbackList
callbacks = CallbackList()
callbacks.params = {'epochs': 2, 'steps': 10}
assert CallbackList.on_train_batch_begin.__doc__ == 'Doc.'
for epoch in range(2):
    for batch in range(0, 10, SIZE):
        last = batch + SIZE - 1  # also where fewer are left
        assert callbacks.on_train_batch_begin(batch) == ('begin', batch)
        assert callbacks.on_train_batch_end(last, {'loss': 1}) == ('end', last)
    callbacks.on_test_batch_begin(0)
callbacks.on_train_batch_end(3)  # of none that has begun
"""


def test_keras():
    with StandIns() as here:
        for size in (1, 4):
            directory, _, error = here.run("fit%d" % size, FIT.replace("SIZE", str(size)))
            assert "Keras 9.6 (jax) is recorded: each batch of fit() is a step" in error, error
            steps = steps_of(directory)
            assert [step["number"] for step in steps] == list(range(20)), steps
            assert steps[7]["origin"] == "keras" and steps[7]["name"] == "keras.step 7", steps
            assert all(one["end_ns"] <= other["start_ns"] for one, other in zip(steps, steps[1:])), steps
            told = capturing.query(directory, "SELECT message FROM diagnostics WHERE reason = 'batches_at_once'")
            assert [row["message"].split(":")[0] for row in told] == (
                ["20 batches ran in 6 calls (steps_per_execution)"] if size == 4 else []), told
    print("batches of Keras, one and several at once")


def test_marks_win_over_keras():
    program = "import tfprof\n" + FIT.replace("SIZE", "1")
    program = program.replace("    for batch", "    tfprof.step(epoch)\n    for batch")
    with StandIns() as here:
        directory, _, _ = here.run("marked", program + "tfprof.end_step()\n")
        steps = steps_of(directory)
        assert [(step["number"], step["origin"]) for step in steps] == [(0, "user"), (1, "user")], steps
    print("marks win over batches")


JAX = """
import jax, time, sys
def work(x, fails=False):
    if fails: raise ValueError(x)
    time.sleep(x)
    return 2
def named(name, function):
    function.__name__ = name
    return jax.jit(function)
step, other, evaluate = named('step', work), named('step', lambda x: x), named('evaluate', lambda x: step(x))
before = type(step), step.func, step.args
for number in range(12):
    assert step(1e-3) == 2
    if number % 4 == 0:
        assert evaluate(1e-6) == 2
other(1)
jax.pjit.own()
mapped = jax.pmap(lambda x: x)
for number in range(3): mapped(1)
try:
    step(1, fails=True)
except ValueError as problem:
    assert problem.__traceback__.tb_next.tb_frame.f_code.co_name == 'work' and str(problem) == '1'
jax.core.trace_ctx.trace = jax.core.DynamicJaxprTrace()
step(1e-3)
jax.core.trace_ctx.trace = jax.core.JVPTrace()  # a gradient by itself runs what it is asked of
step(1e-3)
jax.core.trace_ctx.trace = jax.core.EvalTrace()
assert before == (type(step), step.func, step.args)
if 'marked' in sys.argv:
    for number in range(3):
        with jax.profiler.StepTraceAnnotation('train', step_num=number + 5) as mark:
            assert mark.name == 'train'
for listener in jax.monitoring.listeners:
    listener('/jax/core/compile/backend_compile_duration', 0.001, fun_name='step')
    listener('/jax/compilation_cache/other', 1.0)
"""


def test_jax():
    with StandIns() as here:
        directory, _, _ = here.run("calls", JAX)
        steps, ranges = steps_of(directory), counts_of_ranges(directory)
        assert {step["origin"] for step in steps} == {"repetition"} and len(steps) == 13, steps
        assert ranges.pop("PjitFunction(step)") == 13 and ranges.pop("PjitFunction(evaluate)") == 3, ranges
        assert ranges.pop("PjitFunction(<lambda>)") == 3, ranges  # what jax.pmap makes of it is JAX' own
        assert ranges == {"PjitFunction(step 2)": 1, "backend_compile: step (jax.monitoring)": 1}, ranges
        candidates = "SELECT origin, name, count(*) AS n FROM candidate_steps GROUP BY 1, 2 ORDER BY 2"
        candidates = [tuple(row.values()) for row in capturing.query(directory, candidates)]
        assert candidates == [("call", "PjitFunction(<lambda>)", 3), ("call", "PjitFunction(evaluate)", 3),
                              ("call", "PjitFunction(step)", 13)], candidates
        told = capturing.query(directory, "SELECT reason, message FROM diagnostics")
        assert not any("ops" in row["message"] for row in told if row["reason"] == "capture_interval"), told
        compiled = capturing.query(directory, "SELECT name, kind, dur_ns / 1e6 AS ms FROM compilations")
        assert [(row["name"], row["kind"]) for row in compiled] == [("backend_compile: step", "xla")], compiled
        assert 0.5 < compiled[0]["ms"] < 2, compiled
        unknown = capturing.query(directory, "SELECT input_ratio AS input, ops_per_step AS ops FROM step_summary")
        assert unknown == [{"input": None, "ops": None}], unknown
        directory, _, _ = here.run("marked", JAX.replace("'marked' in sys.argv", "True"))
        steps = steps_of(directory)
        assert [(step["number"], step["name"]) for step in steps] == [
            (number, "StepTraceAnnotation %d" % number) for number in (5, 6, 7)], steps
        assert steps[0]["origin"] == "user", steps
    print("calls, annotations and compilations of JAX")


def test_several():
    """PyTorch's loader before steps of JAX: the one that runs the steps comes first, and the loader's time is input."""
    program = """
import torch, jax, time
from torch.utils.data import DataLoader
def work(x): time.sleep(1e-3)
step = jax.jit(work)
for batch in DataLoader(torch.ones(24, 3), batch_size=2):
    step(batch)
"""
    with StandIns() as here:
        directory, _, _ = here.run("several", program)
        profile = "SELECT framework, framework_version LIKE '9.8, _%' AS has_both, has_framework(framework, 'pytorch') "
        profile = capturing.query(directory, profile + "AS has_pytorch FROM profiles")
        assert profile == [{"framework": "jax, pytorch", "has_both": 1, "has_pytorch": 1}], profile
        assert [step["origin"] for step in steps_of(directory)] == ["repetition"] * 12
        phases = {row["phase"]: row["n"] for row in capturing.query(
            directory, "SELECT phase, count(DISTINCT step_id) AS n FROM step_phases GROUP BY 1")}
        assert phases["input"] >= 11 and set(phases) <= {"input", "forward", "other"}, phases
        recorded = "SELECT DISTINCT ops_recorded AS r FROM steps"  # the steps' own ops are not
        assert capturing.query(directory, recorded) == [{"r": 0}]
    print("PyTorch's loader and JAX")


def test_ranks():
    """Which process of its job one is, says the framework; it counts for more than what the environment has."""
    of_jax = """
import jax
state = jax._src.distributed.State()
try: state.initialize('host:1')
except ValueError as problem: print(problem)
state.initialize('host:1', process_id=2, num_processes=4)
"""
    of_tensorflow = """
from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended
CollectiveAllReduceExtended((2, 4))
"""
    with StandIns() as here:
        for name, program in (("jax", of_jax), ("tensorflow", of_tensorflow)):
            directory, out, _ = here.run(name, "import os; os.environ['RANK'] = '7'\n" + program)
            assert out == ("The process id of the current process must be defined.\n" if name == "jax" else ""), out
            ranks = capturing.query(directory, "SELECT rank, world_size FROM profiles")
            assert ranks == [{"rank": 2, "world_size": 4}], (name, ranks)
    print("ranks of JAX and TensorFlow")


def test_hangs_without_pytorch():
    """Python's stacks are believed, and read, in a process that has no PyTorch."""
    program = """
import jax, threading, time
step = jax.jit(lambda x: x)
for i in range(12): step(i)
ended = threading.Event()
threading.Thread(target=lambda: ended.wait(30), name='the keeper').start()
def waits(): time.sleep(2.5)
waits()
ended.set()
"""
    with StandIns() as here:
        directory, _, _ = here.run("hangs", program, hang_after=1)
        rows = capturing.query(directory, """SELECT threads.name, waits_for, function FROM hang_threads
            JOIN threads ON threads.id = thread_id JOIN _code_trace_lines AS lines
            ON lines.code_trace_id = hang_threads.code_trace_id ORDER BY waits_for""")
        found = [(row["waits_for"], row["function"]) for row in rows]
        assert found == [("lock", "Condition.wait"), ("sleep", "waits")], rows
        assert rows[0]["name"] == "the keeper", rows
        assert capturing.query(directory, "SELECT * FROM python_samples") == []
    print("stacks of a hang without PyTorch")


def test_ranks_that_hang():
    """Two workers have ended as many steps: the one that is in no call of TensorFlow is waited for."""
    program = """
import sys; sys.path.insert(0, %r)
import tensorflow, time
from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended
from tensorflow.python.eager import execute
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
CollectiveAllReduceExtended((%d, 2))
step = Function(lambda: 0, AtomicFunction(b'__inference_step_3', 'AssignVariableOp'))
for i in range(12): step(0, 1)
def hangs(): time.sleep(3)
%s()
"""
    with StandIns() as here:
        directory = os.path.join(os.path.dirname(here.packages), "hang")
        os.mkdir(directory)
        with open(os.path.join(here.packages, "tensorflow/python/eager/execute.py"), "w") as file:
            file.write("import time\ndef quick_execute(): time.sleep(3)\n")
        programs = [program % (here.packages, rank, what) for rank, what in enumerate(
            ("execute.quick_execute", "hangs"))]
        one, other = [capturing.started(directory, ["-c", text], hang_after=1) for text in programs]
        with one as first, other as second:
            for child in (first, second):
                child.communicate(timeout=capturing.SECONDS)
        rows = capturing.query(directory, "SELECT rank, role, function FROM hang_summary ORDER BY rank")
        assert rows == [{"rank": 0, "role": "waiting", "function": "<module>"},
                        {"rank": 1, "role": "missing", "function": "hangs"}], rows
    print("who of two workers hangs")


def test_many_short_calls():
    """Of a function that is called all the time, and is not the step, only the first have ranges."""
    program = """
import jax, time
def work(x): time.sleep(x)
def short(x): return x
step, short = jax.jit(work), jax.jit(short)
for number in range(12):
    step(5e-3)
    for _ in range(1000): short(1)
"""
    with StandIns() as here:
        directory, _, _ = here.run("short", program)
        ranges = counts_of_ranges(directory)
        assert ranges == {"PjitFunction(work)": 12, "PjitFunction(short)": 1024}, ranges
        assert len(steps_of(directory)) == 12
    print("short calls are thinned")


TENSORFLOW = """
import tensorflow as tf, keras, time
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
def python_step(): pass
writes = [AtomicFunction(b'__inference_step_%d' % n, 'Const', 'AssignVariableOp') for n in (3, 17)]
step = Function(python_step, *writes)
other = Function(lambda: 0, AtomicFunction(b'__inference_step_4', 'ResourceApplyAdam'))
reads = Function(python_step, AtomicFunction(b'__inference_reads_5', 'ReadVariableOp'))
optimizer, second = keras.src.optimizers.base_optimizer.Adam(), keras.src.optimizers.base_optimizer.Adam()
for number in range(8):
    assert step(number % 2, [number]) == [number]  # traced anew for another shape
    assert reads(0, 1) == 1
    if EAGER:
        assert optimizer.apply([1]) == [1] == second.apply([1])
writes[0].call_preflattened([1])  # by its concrete function
other(0, 1)
for function, wrong in ((step, 'wrong'), (reads, 'at once')):
    try:
        function(0, wrong)
    except (ValueError, IndexError) as problem: assert str(problem) == wrong
    other(0, 1)
tf.context.eager = False  # a graph is being made
step(0, 1), optimizer.apply([1])
"""


def test_tensorflow():
    with StandIns() as here:
        directory, _, _ = here.run("functions", TENSORFLOW.replace("EAGER", "False"))
        steps, ranges = steps_of(directory), counts_of_ranges(directory)
        assert ranges == {"tf.function(step)": 9, "tf.function(step 2)": 3}, ranges
        assert len(steps) == 9 and steps[0]["origin"] == "repetition", steps
        directory, _, _ = here.run("eager", TENSORFLOW.replace("EAGER", "True"))
        steps = steps_of(directory)
        assert len(steps) == 8 and steps[0]["origin"] == "optimizer", steps
        optimizers = capturing.query(directory, "SELECT optimizer, count(*) AS n FROM ops WHERE name = "
                                                "'Optimizer.step#Adam.apply' GROUP BY 1 ORDER BY 1")
        assert optimizers == [{"optimizer": 1, "n": 8}, {"optimizer": 2, "n": 8}], optimizers
        legacy = ("import keras.src.optimizers.legacy.optimizer_v2 as v2, colorsys\nadam = v2.Adam()\n"
                  "for number in range(8): assert adam.apply_gradients(number) == number\n")
        directory, _, _ = here.run("legacy", "import tensorflow, keras\n" + legacy)
        steps = steps_of(directory)
        assert len(steps) == 8 and steps[0]["origin"] == "optimizer", steps
        program = "import sys; sys.path.insert(0, %r)\n" % here.packages + TENSORFLOW.replace("EAGER", "True")
        launched = os.path.join(os.path.dirname(here.packages), "launched")
        _, error = capturing.launch(launched, [capturing.PYTHON, "-c", program])
        assert "recorded 8 optimizer steps and 28 ranges into " in error, error
    print("functions of TensorFlow, optimizers of Keras")


FAILURES = """
import tensorflow as tf, keras
from keras.src.callbacks import CallbackList
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
try:
    keras.src.models.model.Model().fit(CallbackList(), 9, fails=True)
except ValueError as problem: assert str(problem) == 'in a batch'
step = Function(lambda: 0, AtomicFunction(b'__inference_step_3', 'ReduceDataset'))  # for batch in dataset: ...
for number in range(8): step(0, 1)
"""


def test_after_a_failure():
    """After a fit() that has raised, a loop of the program's own is no part of its last batch."""
    with StandIns() as here:
        directory, _, _ = here.run("failed", FAILURES)
        assert counts_of_ranges(directory) == {"tf.function(step)": 8} and len(steps_of(directory)) == 8
    print("a loop after a fit() that has failed")


SESSIONS = """
import tensorflow as tf
from tensorflow.python.client.session import BaseSession, Operation, Tensor
assert BaseSession.run.__doc__ == 'Doc.'
session = BaseSession()
loss = Tensor('loss:0')
update = Operation(session.graph, 'update', 'ResourceApplyAdam')
train = Operation(session.graph, 'Adam', 'NoOp', Operation(session.graph, 'group', 'NoOp', update))
init = Operation(session.graph, 'init', 'NoOp', Operation(session.graph, 'assign', 'AssignVariableOp'))
session.run(init)
for number in range(20):
    if 'train' in CASE:
        fetches = [loss, {'train': train}]
        assert session.run(fetches, {'x': number}) is fetches
        session.run([loss], {'x': 3}), session.run([loss], {'x': 3})
    else:
        session.run('loss:0')
try:
    session.run('wrong')
except ValueError as problem: assert str(problem) == 'wrong'
"""


def test_sessions():
    with StandIns() as here:
        for case, name in (("train", "SessionRun(Adam)"), ("infer", "SessionRun(loss:0)")):
            directory, _, _ = here.run(case, SESSIONS.replace("CASE", repr(case)))
            steps, ranges = steps_of(directory), counts_of_ranges(directory)
            assert len(steps) == 20 and steps[0]["origin"] == "repetition", steps
            assert ranges == {"SessionRun(init)": 1, name: 20}, ranges
    print("sessions")


def test_other_versions():
    """What the hooks look for is not there: the program goes on, and its marks are recorded."""
    with StandIns() as here:
        for name in ("keras/src/callbacks/callback_list.py", "jax/_src/core.py", "jax/_src/pjit.py",
                     "jax/_src/profiler.py", "jax/_src/monitoring.py", "jax/_src/distributed.py",
                     "tensorflow/python/framework/ops.py",
                     "tensorflow/python/distribute/collective_all_reduce_strategy.py",
                     "tensorflow/python/client/session.py", "keras/src/optimizers/base_optimizer.py",
                     "tensorflow/python/eager/polymorphic_function/polymorphic_function.py"):
            with open(os.path.join(here.packages, name), "w") as file:
                file.write("class CallbackList: pass\ndef inside_function(): return False\njit = 1\n")
        program = "import jax, tensorflow, keras, tfprof\nwith tfprof.step(): pass\nprint('done')\n"
        directory, out, error = here.run("other", program)
        assert out == "done\n" and len(steps_of(directory)) == 1, (out, error)
        for text in ("of this JAX calls of jax.jit and StepTraceAnnotation and what is compiled and which process of "
                     "its job this is cannot be seen",
                     "of this TensorFlow calls of tf.function and runs of sessions and which process of its job this "
                     "is cannot be seen",
                     "of this Keras batches cannot be seen"):
            assert text in error and "problem" not in error, error
        profile = capturing.query(directory, "SELECT framework, framework_version AS version FROM profiles")
        assert profile == [{"framework": "tensorflow, jax", "version": "9.7, 9.8"}], profile
        # An import that fails, and is tried again.
        program = """
import sys
for works in (0, 1):
    with open(%r, "w") as file: file.write("__version__ = '1.2'\\n" + ("" if works else "import no_such_module\\n"))
    try:
        import jax
    except ImportError: print("failed")
import os, tfprof
print(tfprof.is_recording())
""" % os.path.join(here.packages, "jax/__init__.py")
        _, out, error = here.run("fails", "sys.dont_write_bytecode = True\n" + program)
        assert out == "failed\nTrue\n" and "JAX 1.2 is recorded" in error, (out, error)
    print("versions without what is looked for")


capturing.main(globals())
