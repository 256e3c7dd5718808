"""tfprof.ProfileContext around fit() of Keras: each batch is a step, on the backends TensorFlow and JAX by what their
own profilers see, doubles of which tell of the ops that ran meanwhile.  With Pythons that have them, so it is with the
real ones: TFPROF_TENSORFLOW_PYTHON, TFPROF_JAX_PYTHON.
"""

import os
import subprocess
import tempfile

import capturing
import stand_ins

TESTS = os.path.join(capturing.HERE, "..")
DOUBLES = {
    "doubles.py": """
import time
from xplane_files import Unsigned, event, line, plane, space
current = []
class TraceMe:
    def __init__(self, name, **about): self.name, self.about, self.start = name, about, time.time_ns()
    def __enter__(self): return self
    def Stop(self, *_): did(self.name, self.start, **self.about)
    __exit__ = Stop
def did(name, start, **about):
    for session in current: session.events.append((name, start, time.time_ns() - start, about))
class Session:
    def began(self):
        if current: raise RuntimeError('Another profiling session active.')
        current.append(self)
        self.events, self.at = [], time.time_ns()
    def ended(self):
        if self not in current: raise RuntimeError('No profiling session active.')
        current.remove(self)
        rows = [event(name, (start - self.at) * 1000, ns * 1000, **about) for name, start, ns, about in self.events]
        facts = {'profile_start_time': Unsigned(self.at), 'profile_stop_time': Unsigned(time.time_ns())}
        return space(plane('/host:CPU', [line(7, 'python', rows, 0)]), plane('Task Environment', [], facts),
                     plane('/host:metadata', [], {'compiled': 1}))
""",
    "jax/__init__.py": "__version__ = '9.8'\nfrom jax._src import profiler\ndef live_arrays(): return []",
    "jax/_src/__init__.py": "",
    "jaxlib/__init__.py": "",
    "jaxlib/_profiler.py": """
import doubles
class ProfileOptions: pass
class ProfilerSession(doubles.Session):
    def __init__(self, options): self.began()
    def stop(self): return self.ended()
def start_server(port): return port
TraceMe = doubles.TraceMe
""",
    "jax/_src/profiler.py": "from jaxlib import _profiler",
    "tensorflow/__init__.py": """
__version__ = '9.7'
class compat: pass
def executing_eagerly(): return True
from tensorflow.python.profiler.internal import _pywrap_profiler
""",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/profiler/__init__.py": "",
    "tensorflow/python/profiler/internal/__init__.py": "",
    "tensorflow/python/profiler/internal/_pywrap_traceme.py": "from doubles import TraceMe",
    "tensorflow/python/profiler/internal/_pywrap_profiler.py": """
import doubles, os
class ProfilerSession(doubles.Session):
    def start(self, directory, options):
        self.directory = directory
        self.began()
    def stop(self): return self.ended()
    def export_to_tb(self):
        os.makedirs(self.directory + '/plugins/profile/run')
        with open(self.directory + '/plugins/profile/run/host.xplane.pb', 'wb') as file: file.write(self.ended())
def start_server(port): return port
""",
    "keras/__init__.py": """
import time
from keras.src.callbacks import callback_list
import doubles
import keras.src.last  # there is always more to import
class backend:
    name = 'jax'
    @classmethod
    def backend(cls): return cls.name
def fit(batches, steps_per_execution=1, epochs=1, on_batch=lambda batch: None):
    class Model: pass
    callbacks = callback_list.CallbackList()
    callbacks._model, callbacks.params = Model(), {'steps': batches}
    callbacks._model.steps_per_execution = steps_per_execution
    for epoch in range(epochs):
        for batch in range(0, batches, steps_per_execution):
            callbacks.on_train_batch_begin(batch)
            on_batch(batch)
            for _ in range(2):
                start = time.time_ns()
                while time.time_ns() < start + 20000: pass
                doubles.did('dense/MatMul:MatMul', start)
            mark = doubles.TraceMe('train', step_num=batch, _r=1)  # as Keras does
            mark.Stop()
            callbacks.on_train_batch_end(batch + steps_per_execution - 1)
""",
    "keras/src/__init__.py": "",
    "keras/src/last.py": "",
    "keras/src/callbacks/__init__.py": "",
    "keras/src/callbacks/callback_list.py": stand_ins.CALLBACKS,
}
PROGRAM = """
import contextlib, io, os, sys
sys.path[:0] = sys.argv[1:4]
import tfprof
folder, backend = sys.argv[4:]
if backend == "tensorflow":
    import tensorflow
else:
    import jax
# Keras is imported within the context.
with tfprof.ProfileContext(folder, trace_steps=range(3, 6), dump_steps=[5, 9]) as context:
    import keras
    keras.backend.name = backend
    before = vars(keras.callback_list.CallbackList)["on_train_batch_begin"]
    keras.fit(4, epochs=3)
assert vars(keras.callback_list.CallbackList)["on_train_batch_begin"] is before.__wrapped__
assert context.profiler._source.steps == {3, 4, 5}, context.profiler._source.steps
assert sorted(os.listdir(folder)) == ["profile_5", "profile_9"], os.listdir(folder)
silent = tfprof.ProfileOptionBuilder().with_empty_output().select(["micros", "occurrence"]).build()
row, rows = context.profiler.profile_operations(dict(silent, step=4, max_depth=100)), {}
while row.children:
    row = row.children[0]
    rows[row.name] = row
assert sum(node.run_count for node in rows["MatMul"].graph_nodes) == 2 and rows["MatMul"].exec_micros >= 40, rows
# Several batches in a call are one step; the last call of an epoch has fewer.
with tfprof.ProfileContext(folder, trace_steps=[5, 13], dump_steps=[14]) as context:
    keras.fit(10, steps_per_execution=4, epochs=2)
assert context.profiler._source.steps == {4, 10}, context.profiler._source.steps
# The program's own profiler wins, and marks of its own.
own, said = [], io.StringIO()
def begin_own(batch):
    if batch == 2:
        from tensorflow.python.profiler.internal import _pywrap_profiler as module
        own.append(module.ProfilerSession())
        own[0].start(folder + "/own", {})
    elif batch == 4:
        own[0].export_to_tb()
def begin_own_of_jax(batch):
    if batch == 2:
        from jaxlib import _profiler
        own.append(_profiler.ProfilerSession(None))
    elif batch == 4:
        assert own[0].stop()
with contextlib.redirect_stderr(said):
    with tfprof.ProfileContext(folder, trace_steps=range(10), dump_steps=[]) as context:
        keras.fit(6, on_batch=begin_own if backend == "tensorflow" else begin_own_of_jax)
assert context.profiler._source.steps == {0, 1, 5}, (context.profiler._source.steps, said.getvalue())
assert said.getvalue().count("tracing a step failed") == 1, said.getvalue()
with tfprof.ProfileContext(folder, trace_steps=range(200), dump_steps=[]) as context:
    for number in range(2):
        with tfprof.step(number + 70):
            keras.fit(3)
assert context.profiler._source.steps == {70, 71}, context.profiler._source.steps
# What raises in fit() is the program's.
def fails(batch): raise KeyError(batch)
try:
    with tfprof.ProfileContext(folder, trace_steps=range(200)):
        keras.fit(3, on_batch=fails)
except KeyError as problem:
    assert problem.args == (0,), problem
import doubles
assert not doubles.current
with tfprof.ProfileContext(folder, trace_steps=range(200), dump_steps=[199]) as context:
    keras.fit(20, epochs=10)
assert context.profiler._source.steps == set(range(200))
print("done")
"""
REAL = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, sys.argv[1])
import numpy, keras, tfprof
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
data = numpy.random.RandomState(0).rand(640, 32).astype("float32"), numpy.zeros(640, "int32")
with tfprof.ProfileContext(sys.argv[2], trace_steps=range(10, 15), dump_steps=[15]) as context:
    model.fit(*data, batch_size=32, verbose=0)
assert context.profiler._source.steps == set(range(10, 15)), context.profiler._source.steps
print("done")
"""


def run(python, code, *words, backend=None):
    environment = {name: value for name, value in os.environ.items() if name != "TFPROF_RUN_DIRECTORY"}
    if backend:
        environment["KERAS_BACKEND"] = backend
    done = subprocess.run([python, "-c", code, *words], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout[-2000:] + done.stderr[-4000:]


def test_doubles():
    with tempfile.TemporaryDirectory() as directory:
        packages = os.path.join(directory, "packages")
        for name, text in DOUBLES.items():
            os.makedirs(os.path.dirname(os.path.join(packages, name)), exist_ok=True)
            with open(os.path.join(packages, name), "w") as file:
                file.write(text)
        for backend in ("tensorflow", "jax"):
            folder = os.path.join(directory, backend)
            run(capturing.PYTHON, PROGRAM, os.path.join(capturing.BUILD, "python"), packages, TESTS, folder, backend)
            dumped = os.path.join(folder, "profile_199")
            steps = "SELECT count(*) AS n, min(number) AS first, max(number) AS last FROM steps"
            assert capturing.query(dumped, steps) == [{"n": 200, "first": 0, "last": 199}]
            ops = capturing.query(dumped, "SELECT count(*) AS n, count(DISTINCT step_id) AS steps, count(DISTINCT "
                                          "thread_id) AS threads FROM ops WHERE op_type = 'MatMul'")
            assert ops == [{"n": 400, "steps": 200, "threads": 1}], ops
            report = subprocess.run([os.path.join(capturing.BUILD, "tfprof"), "op", "--profile_path=" + dumped,
                                     "-select", "micros,occurrence", "-step", "7"], capture_output=True, text=True)
            assert report.returncode == 0 and "MatMul" in report.stdout and "2|1" in report.stdout, report


def test_functions():
    """What the profiler saw of nodes, as RunMetadata; all that is no op of TensorFlow is left out."""
    with tempfile.TemporaryDirectory() as directory:
        program = """
import os, sys
sys.path[:0] = sys.argv[1:3]
import tfprof
import xplane_files as xplane
tfprof.ProfileContext
functions = sys.modules["tfprof"]._load_beside("_tfprof_functions")
events = [xplane.event("net/mm:_MklMatMul", 5000, 40000000), xplane.event("net/mm:_MklMatMul", 50000000, 20000000),
          xplane.event("Iterator::Map", 0, 1000), xplane.event("ExecutorState::Process", 0, 1000),
          xplane.event("x#step_num=3#", 0, 1000)]
content = xplane.space(xplane.plane("/host:CPU", [xplane.line(7, "python", events, 100)]))
message, names = functions.run_metadata(content, 1700000000 * 10 ** 9)
assert names == {"net/mm"} and not functions.has_devices(content), names
assert functions.has_devices(xplane.space(xplane.plane("/device:GPU:0", [])))
os.mkdir(sys.argv[3])
with open(sys.argv[3] + "/run_meta_4", "wb") as file: file.write(message)
print("done")
"""
        folder = os.path.join(directory, "steps")
        run(capturing.PYTHON, program, os.path.join(capturing.BUILD, "python"), TESTS, folder)
        answer = subprocess.run([os.path.join(capturing.BUILD, "tfprof"), "op", "--run_meta_path=" + folder,
                                 "-select", "micros,occurrence", "-step", "4"], capture_output=True, text=True)
        assert "MatMul" in answer.stdout and "60us" in answer.stdout and "2|1" in answer.stdout, answer


def check_functions(dumped):
    """Of TensorFlow: parameters, lines, and floating point operations."""
    def views(view, *options):
        return subprocess.run([os.path.join(capturing.BUILD, "tfprof"), view, "--profile_path=" + dumped, *options],
                              capture_output=True, text=True, check=True).stdout

    scope = views("scope", "-account_type_regexes", "_trainable_variables", "-select", "params")
    assert "_TFProfRoot (--/2.76k params)" in scope and "32x64" in scope, scope
    code = views("code", "-select", "micros", "-max_depth", "3")
    assert "<string>:11:<module>" in code, code
    flops = capturing.query(dumped, "SELECT min(flops) AS flops FROM nodes WHERE op_type = 'MatMul' AND name LIKE "
                                    "'%dense%' AND flops IS NOT NULL")
    assert flops == [{"flops": 2 * 32 * 64 * 10}], flops


def test_real():
    for name, backend in (("TFPROF_TENSORFLOW_PYTHON", "tensorflow"), ("TFPROF_JAX_PYTHON", "jax")):
        python = os.environ.get(name)
        if not python or subprocess.run([python, "-c", "import keras"], capture_output=True,
                                        env={**os.environ, "KERAS_BACKEND": backend}).returncode:
            print("Keras on %s: not tried, %s names no Python that has it" % (backend, name))
            continue
        with tempfile.TemporaryDirectory() as directory:
            run(python, REAL, os.path.join(capturing.BUILD, "python"), directory, backend=backend)
            dumped = os.path.join(directory, "profile_15")
            if backend == "tensorflow":
                check_functions(dumped)
            of = "ops.name LIKE '%dense%/MatMul%'" if backend == "tensorflow" else "ops.op_type = 'dot_general'"
            ops = capturing.query(dumped, "SELECT steps.number, count(*) AS n FROM ops JOIN steps ON steps.id = "
                                          "step_id WHERE category = 'op' AND %s GROUP BY 1 ORDER BY 1" % of)
            assert [row["number"] for row in ops] == list(range(10, 15)) and min(row["n"] for row in ops) >= 3, ops


capturing.main(globals())
