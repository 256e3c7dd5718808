"""What is recorded of TensorFlow: calls of functions that tf.function made and that write variables, and runs of
sessions, which are its steps where neither Keras nor the program marks these.  What sessions ran in their runs is
recorded by _tfprof_sessions.

Concrete functions are seen where each call of one comes by, whoever calls it; what of them belongs to one function of
the program, which is traced anew for other shapes, is told by the tf.function around it.  Calls in a graph that is
being made run nothing.
"""

import re
import sys
import threading
import weakref

EAGER = "tensorflow.python.eager."
LIBRARIES = ("keras.", "tf_keras.", "tensorflow.", "_tfprof_")
MOST_NAMES = 4096  # of fetches that are kept
WITH_FUNCTIONS = ("While", "If", "Case", "ReduceDataset", "ScanDataset")  # ops; the last two: `for batch in dataset`
load_beside = None  # set by _tfprof_hooks


def begin(module, finder):
    version = str(getattr(module, "__version__", "?"))
    recorded = TensorFlow()
    if not finder.hooks.begin_framework(recorded, "tensorflow", version):
        return
    process = finder.hooks.the_process()
    missing = recorded.watch(process, finder)
    sessions = finder.hooks.load_beside("_tfprof_profilers").begin_tensorflow(process, finder.hooks)
    finder.say(
        "TensorFlow %s is recorded: steps (tfprof.step(), batches of Keras, steps of its optimizers, else calls of "
        "what tf.function made, runs of sessions), ranges of tfprof, processor and memory, %s"
        % (version, finder.ops(sessions)))
    finder.say_missing("TensorFlow", missing)


class Here(threading.local):
    """What goes on on a thread."""

    function = None  # the tf.function that is called
    start = of = None  # of the call of a concrete function, or of the run of a session
    over = None  # of a call of a concrete function that has ended: its range, and when it began


class TensorFlow:
    def watch(self, process, finder):
        """Returns what cannot be seen in this version."""
        self.process, self.marks, self.name_of, self.finder = process, process.marks, finder.name_of, finder
        self.here = Here()
        self.context = sys.modules.get(EAGER + "context")
        missing = []
        for watch, what in ((self.watch_functions, "calls of tf.function"), (self.watch_sessions, "runs of sessions"),
                            (self.watch_traces, "steps of tf.profiler.experimental.Trace"),
                            (self.watch_ranks, finder.RANK)):
            try:
                if not watch(missing):
                    missing.append(what)
            except Exception as problem:
                process.say_problem(problem)
        return missing

    def is_traced(self):
        """Whether a tf.function is being traced."""
        ops = sys.modules.get("tensorflow.python.framework.ops")
        return ops is not None and ops.inside_function()

    def is_inside(self):
        """Whether a batch of Keras is going on, of which all else is a part."""
        return self.process.batches is not None and self.process.batches.is_within()

    # ---- Functions.

    def watch_functions(self, _):
        functions = sys.modules.get(EAGER + "polymorphic_function.polymorphic_function")
        concrete = sys.modules.get(EAGER + "polymorphic_function.atomic_function")
        function, atomic = getattr(functions, "Function", None), getattr(concrete, "AtomicFunction", None)
        has_calls = "call_preflattened" in vars(atomic or object) and "__call__" in vars(function or object)
        if self.context is None or not has_calls:
            return False
        self.names = {}  # what tells apart functions of one name
        self.known = {}  # by name of a concrete function: that of the ranges of its calls; b"": it writes no variable
        around = self.process.hooks.around
        around(function, "__call__", self.function_begins, self.function_ends, self.function_ends)
        around(atomic, "call_preflattened", self.call_begins, self.call_ends, self.call_failed)
        return True

    def function_begins(self, function, *_):
        here = self.here
        if here.function is None:
            here.function = function

    def function_ends(self, function, *_):
        here = self.here
        if here.function is function:
            here.function = None
            if here.over is not None:
                self.end_call()

    def call_begins(self, atomic, *_):
        """This runs in each step of the program, and is written to take little of it."""
        here = self.here
        if here.start or not self.context.executing_eagerly() or (self.process.batches and self.is_inside()):
            return
        name = atomic.name
        known = self.known.get(name)
        if known is None:
            text = self.range_of(atomic) if writes_variables(atomic) else ""
            known = self.known[name] = text.encode("utf-8", "replace")
            if known:
                self.process.lead("tensorflow")
        if here.over is not None:
            self.end_call()
        if known:
            here.of, here.start = atomic, self.marks.begin()

    def call_ends(self, atomic, *_):
        here = self.here
        if here.of is atomic and here.start:
            here.over, here.start, here.of = (self.known[atomic.name], here.start), None, None
            if here.function is None:
                self.end_call()

    def end_call(self):
        """With the tf.function around it: what that does at its end is of this step, and not of the next."""
        (name, start), self.here.over = self.here.over, None
        if self.marks.end_mark(name, 0, start) == 2:
            self.marks.ended(name.decode(), 2)

    def call_failed(self, atomic, *_):
        if self.here.of is atomic:
            self.here.start = self.here.of = None

    def range_of(self, atomic):
        name = atomic.name.decode("utf-8", "replace") if isinstance(atomic.name, bytes) else str(atomic.name)
        name = re.sub(r"^__[a-z]+_(.*)_\d+$", r"\1", name)
        function = getattr(self.here.function, "_python_function", None)
        return "tf.function(%s)" % (self.name_of(name, function, self.names) if function else name)[:500]

    # ---- Steps that the program marks: Trace("train", step_num=7).

    def watch_traces(self, _):
        trace = getattr(sys.modules.get("tensorflow.python.profiler.trace"), "Trace", None)
        if trace is None:
            return False
        self.finder.watch_annotation(trace, self.process, self.is_traced, self.number_of_trace)
        return True

    @staticmethod
    def number_of_trace(keywords, following):
        """Keras marks its own batches so, too, from 0 in each epoch, and those that it evaluates."""
        maker = sys._getframe(2).f_globals.get("__name__", "")
        return int(keywords["step_num"]) if "step_num" in keywords and not maker.startswith(LIBRARIES) else None

    # ---- Processes of one job.

    def watch_ranks(self, _):
        """MultiWorkerMirroredStrategy counts its workers so, the chief first, whatever told it of them (TF_CONFIG)."""
        strategies = sys.modules.get("tensorflow.python.distribute.collective_all_reduce_strategy")
        extended = getattr(strategies, "CollectiveAllReduceExtended", None)
        if "_initialize_multi_worker" not in vars(extended or object):
            return False

        def tell(extended, *_, **__):
            self.process.set_rank(extended._id_in_cluster, extended._num_workers)

        self.process.hooks.named(extended, "_initialize_multi_worker", last=tell)
        return True

    # ---- Sessions.

    def watch_sessions(self, missing):
        sessions = sys.modules.get("tensorflow.python.client.session")
        session = getattr(sessions, "BaseSession", None)
        if session is None or "run" not in vars(session):
            return False
        self.fetched = {}  # by the graph and the names of fetches: that of the range, and whether they train
        self.has_trained = False
        hooks = self.process.hooks
        hooks.named(session, "run", self.run_begins, self.run_ends, self.run_failed)
        hooks.named(session, "partial_run", self.run_begins, self.partial_run_ends, self.run_failed)
        its_callable = getattr(session, "_Callable", None)
        if its_callable is not None:
            self.callables = weakref.WeakKeyDictionary()  # what each fetches
            hooks.around(its_callable, "__init__", last=self.callable_made)
            hooks.around(its_callable, "__call__", self.run_begins, self.callable_ends, self.run_failed)
        has_runs = load_beside("_tfprof_profilers").has_runs(sys.modules["_tfprof_hooks"])
        if has_runs and not load_beside("_tfprof_sessions").watch(self.process, session):
            missing.append("what runs of sessions do")
        return True

    def run_begins(self, session, *_, **__):
        if not self.here.start and not self.is_inside():
            self.process.lead("tensorflow")
            self.here.start, self.here.of = self.marks.begin(), session

    def run_ends(self, session, fetches=None, *_, **__):
        if self.here.of is session:
            self.end_run(session.graph, fetches)

    def partial_run_ends(self, session, handle=None, fetches=None, *_, **__):
        self.run_ends(session, fetches)

    def callable_made(self, callable, session, options):
        graph, fetches = session.graph, list(options.fetch)
        for name in options.target:
            try:
                fetches.append(graph.as_graph_element(name, allow_tensor=False))
            except (KeyError, ValueError):
                fetches.append(name)
        self.callables[callable] = graph, fetches

    def callable_ends(self, callable, *_):
        if self.here.of is callable:
            self.end_run(*self.callables.get(callable, (None, ())))

    def end_run(self, graph, fetches):
        start, self.here.start, self.here.of = self.here.start, None, None
        found = flattened(fetches)
        key = (id(graph), tuple(getattr(one, "name", one) for one in found))
        if key not in self.fetched:
            if len(self.fetched) == MOST_NAMES:
                self.fetched.clear()
            trained = [one.name for one in found if trains(one)]
            name = ", ".join(trained or sorted(str(name) for name in key[1])) or "?"
            self.fetched[key] = ("SessionRun(%s)" % name[:200], bool(trained))
        name, is_training = self.fetched[key]
        self.has_trained = self.has_trained or is_training
        if is_training or not self.has_trained:
            self.marks.end(name, start)

    def run_failed(self, session, *_, **__):
        if self.here.of is session:
            self.here.start = self.here.of = None


def writes_variables(atomic):
    """Of a concrete function, whose graph is looked through once."""
    graph = atomic.graph
    types = {op.type for op in graph.get_operations()}
    if any(map(is_write, types)):
        return True
    if any("PartitionedCall" in one or one.endswith(WITH_FUNCTIONS) for one in types):
        for function in graph.as_graph_def().library.function:
            if any(is_write(node.op) for node in function.node_def):
                return True
    return False


def is_write(op_type):
    return op_type.startswith("Assign") and op_type.endswith("VariableOp") or (
        op_type.startswith("Resource") and ("Apply" in op_type or "Scatter" in op_type))


def flattened(fetches):
    """What a run fetches: tensors, operations and names."""
    if isinstance(fetches, (list, tuple)):
        return [one for part in fetches for one in flattened(part)]
    if isinstance(fetches, dict):
        return [one for part in fetches.values() for one in flattened(part)]
    return [] if fetches is None else [fetches]


def trains(fetch):
    """Whether it is an operation that an optimizer made, or a group of such."""
    if not hasattr(fetch, "control_inputs"):
        return False
    if fetch in fetch.graph.get_collection_ref("train_op"):
        return True
    level = [fetch]
    for _ in range(3):
        if any("Apply" in op.type for op in level):
            return True
        level = [before for op in level for before in op.control_inputs]
    return False
