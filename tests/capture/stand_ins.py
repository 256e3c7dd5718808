"""Stand-ins of TensorFlow, Keras and JAX for the tests of this directory: packages that have the modules, classes and
functions which the hooks look for.
"""

import os

import capturing

CALLBACKS = """
class CallbackList:
    def on_train_batch_begin(self, batch, logs=None):
        'Doc.'
        return ('begin', batch)
    def on_train_batch_end(self, batch, logs=None):
        return ('end', batch)
    def on_test_batch_begin(self, batch, logs=None):
        pass
    def on_train_begin(self, logs=None): pass
    def on_train_end(self, logs=None): pass
    def on_epoch_begin(self, epoch, logs=None): pass
    def on_epoch_end(self, epoch, logs=None): pass
    def on_test_begin(self, logs=None): pass
    def on_test_end(self, logs=None): pass
    def on_predict_begin(self, logs=None): pass
    def on_predict_end(self, logs=None): pass
"""
STAND_INS = {
    "jax/__init__.py": "__version__ = '9.8'\nfrom jax._src import core, distributed, pjit, pmap, monitoring\n"
    "from jax import profiler\n"
    "jit, pmap = pjit.jit, pmap.pmap",
    "jax/_src/__init__.py": "",
    "jax/_src/core.py": """
class EvalTrace:
    parent_trace = None
class JVPTrace(EvalTrace):
    pass
class DynamicJaxprTrace(EvalTrace):
    pass
class trace_ctx:
    trace = EvalTrace()
""",
    # The class of what jax.jit makes is in C++; objects of functools.partial are called as its are.
    "jax/_src/pjit.py": """
import functools
import jax._src.core
class _jax:
    @staticmethod
    def pjit(name, function, *rest):
        return functools.partial(function)
def jit(function):
    return _jax.pjit(function.__name__, function, None)
def own(): pass
own.__module__ = 'jax._src.numpy'
own = jit(own)
""",
    "jax/_src/pmap.py": """
import functools
from jax._src import pjit
class Wrapped:
    def __init__(self, f): self.f = f
def pmap(function):
    fun = Wrapped(function)
    def _fun(*arguments): return fun.f(*arguments)
    @functools.wraps(_fun)
    def shard_map(*arguments): return _fun(*arguments)
    return pjit.jit(shard_map)
""",
    "jax/_src/profiler.py": """
class TraceAnnotation:
    def __init__(self, name, **about): self.name = name
    def __enter__(self): return self
    def __exit__(self, *problem): return None
class StepTraceAnnotation(TraceAnnotation):
    def __init__(self, name: str, **about):
        super().__init__(name, _r=1, **about)
""",
    "jax/_src/distributed.py": """
class State:
    client, process_id, num_processes = None, 0, 1
    def initialize(self, coordinator_address=None, num_processes=None, process_id=None):
        if process_id is None: raise ValueError('The process id of the current process must be defined.')
        self.client, self.process_id, self.num_processes = object(), process_id, num_processes
global_state = State()
""",
    "jax/profiler.py": """
from jax._src.profiler import *
class ProfileOptions: pass
started = []
def start_trace(log_dir, profiler_options=None): started.append((log_dir, profiler_options.host_tracer_level))
def stop_trace(): started.append('stopped')
""",
    "jax/_src/monitoring.py": """
import jax._src.core
listeners = []
def register_event_duration_secs_listener(listener): listeners.append(listener)
""",
    "tensorflow/__init__.py": """
__version__ = '9.7'
from tensorflow.python.framework import ops
from tensorflow.python.client import session
from tensorflow.python.profiler import trace
from tensorflow import errors, profiler
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import polymorphic_function, atomic_function
from tensorflow.python.distribute import collective_all_reduce_strategy
""",
    "tensorflow/python/distribute/__init__.py": "",
    "tensorflow/python/distribute/collective_all_reduce_strategy.py": """
class CollectiveAllReduceExtended:
    def __init__(self, cluster): self._initialize_multi_worker(cluster)
    def _initialize_multi_worker(self, cluster_resolver):
        self._id_in_cluster, self._num_workers = cluster_resolver
""",
    "tensorflow/errors.py": """
class OpError(Exception):
    def __init__(self, node_def, op, message): super().__init__(message)
class AlreadyExistsError(OpError): pass
class UnavailableError(OpError): pass
class InvalidArgumentError(OpError): pass
""",
    "tensorflow/profiler/__init__.py": "from tensorflow.profiler import experimental",
    "tensorflow/profiler/experimental.py": """
from tensorflow.python.profiler.trace import Trace
started = []
def start(logdir, options=None): started.append((logdir, options.host_tracer_level))
def stop(save=True): started.append('stopped' if save else 'dropped')
class server:
    start = started.append
""",
    "tensorflow/python/client/__init__.py": "",
    "tensorflow/python/client/session.py": """
class Operation:
    def __init__(self, graph, name, kind, *before):
        self.graph, self.name, self.type, self.control_inputs = graph, name, kind, before
class Tensor:
    def __init__(self, name): self.name = name
class Graph:
    def get_collection_ref(self, name): return []
class tf_session:
    TF_NewBuffer = TF_NewBufferFromString = TF_GetBuffer = TF_DeleteBuffer = None
class config_pb2:
    class RunOptions:
        SOFTWARE_TRACE = 1
        def __init__(self, trace_level): pass
        def SerializeToString(self): return b''
class BaseSession:
    def __init__(self): self.graph = Graph()
    def _call_tf_sessionrun(self): pass
    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        'Doc.'
        if fetches == 'wrong': raise ValueError(fetches)
        return fetches
""",
    "tensorflow/python/profiler/__init__.py": "",
    "tensorflow/python/profiler/trace.py": """
class Trace:
    def __init__(self, name, **about): self.name = name
    def __enter__(self): return self
    def set_metadata(self, **about): self.about = about
    def __exit__(self, *problem): return None
""",
    "tensorflow/python/eager/__init__.py": "",
    "tensorflow/python/eager/context.py": "def executing_eagerly(): return eager\neager = True",
    "tensorflow/python/eager/polymorphic_function/__init__.py": "",
    "tensorflow/python/eager/polymorphic_function/atomic_function.py": """
class Op:
    def __init__(self, type): self.type = type
class AtomicFunction:
    def __init__(self, name, *types): self.name, self.graph, self.types = name, self, types
    def get_operations(self): return [Op(type) for type in self.types]
    def as_graph_def(self):
        self.library, self.function, self.node_def, self.op = self, [self], [self], 'AssignSubVariableOp'
        return self
    def call_preflattened(self, args):
        if args == 'wrong': raise ValueError(args)
        return args
""",
    "tensorflow/python/eager/polymorphic_function/polymorphic_function.py": """
class Function:
    def __init__(self, function, *concrete): self._python_function, self.concrete = function, concrete
    def __call__(self, which, args):
        if args == 'at once': raise IndexError(args)
        return self.concrete[which].call_preflattened(args)
""",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/framework/__init__.py": "",
    "tensorflow/python/framework/ops.py": "def inside_function(): return inside\ninside = False",
    "keras/__init__.py": "__version__ = '9.6'\nimport keras.src.callbacks.callback_list\nimport keras.backend\n"
    "import keras.src.optimizers.base_optimizer\nimport keras.src.models.model\nimport keras.callbacks",
    "keras/callbacks.py": """
class Callback:
    params = model = None
    def set_params(self, params): self.params = params
""",
    "keras/src/models/__init__.py": "",
    "keras/src/models/model.py": """
import keras.src.last
class Trainer:
    def fit(self, callbacks, batches, fails=False):
        for batch in range(batches):
            callbacks.on_train_batch_begin(batch)
            if fails: raise ValueError('in a batch')
            callbacks.on_train_batch_end(batch)
class Model(Trainer): pass
""",
    "keras/src/optimizers/__init__.py": "",
    "keras/src/optimizers/base_optimizer.py": """
import keras.src.last
class BaseOptimizer:
    def apply(self, grads, trainable_variables=None):
        return grads
class Adam(BaseOptimizer): pass
""",
    "keras/src/optimizers/legacy/__init__.py": "",
    "keras/src/optimizers/legacy/optimizer_v2.py": """
class OptimizerV2:
    def apply_gradients(self, grads): return grads
class Adam(OptimizerV2): pass
""",
    "keras/backend.py": "def backend(): return 'jax'",
    "keras/src/__init__.py": "",
    "keras/src/callbacks/__init__.py": "from keras.src.callbacks.callback_list import CallbackList\n"
    "import keras.src.last",
    "keras/src/callbacks/callback_list.py": CALLBACKS,
    "keras/src/last.py": "",
}


class StandIns(capturing.Directory):
    """A run directory, and beside it the stand-ins, which the programs find first."""

    def __enter__(self):
        path = super().__enter__()
        self.packages = os.path.join(path, "packages")
        for name, text in STAND_INS.items():
            os.makedirs(os.path.dirname(os.path.join(self.packages, name)), exist_ok=True)
            with open(os.path.join(self.packages, name), "w") as file:
                file.write(text)
        return self

    def run(self, name, program, **settings):
        directory = os.path.join(os.path.dirname(self.packages), name)
        os.mkdir(directory)
        path = "import sys; sys.path.insert(0, %r)\n" % self.packages
        out, error = capturing.run(directory, ["-c", path + program], **settings)
        return directory, out, error


def steps_of(directory):
    columns = "number, name, origin, start_ns, end_ns"
    return capturing.query(directory, "SELECT %s FROM steps ORDER BY start_ns, number" % columns)


def counts_of_ranges(directory):
    rows = capturing.query(directory, "SELECT name, count(*) AS n FROM ranges GROUP BY 1")
    return {row["name"]: row["n"] for row in rows}
