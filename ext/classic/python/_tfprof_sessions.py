"""What sessions of TensorFlow ran, node by node: runs in the steps whose ops are recorded are traced by TensorFlow
itself, and what it tells of them (RunMetadata) is handed to the library, with the graph and its call stacks.

A run is traced by RunOptions.SOFTWARE_TRACE, which changes no result and opens no profiler: those of the higher levels
would raise into the program while another one is open.  What the program asks of a run itself stays: where it has it
traced, it gets all of that and the recording a copy; where it has not, its RunMetadata stays as empty as without us;
and where it asks for more than can be told apart, such as its graph as it was partitioned, the run is left out.

A callable made of CallableOptions has its RunOptions from the beginning: runs that are to be traced go through a second
one, made of the same options with tracing when the first of them comes.  Of a partial run TensorFlow traces nothing, by
whatever options: it is left out.

A graph is told once it may cost so much: after the first run that was traced, by what --overhead allows for the time
since the process began, else when a session is closed or the program ends; and again where it has grown since.
"""

import itertools
import os
import sys
import threading
import time
import weakref

load_beside = None  # set by _tfprof_hooks
RUN, GRAPH, OP_LOG = range(3)  # kinds of session_records.h
OP_SECONDS = 100e-6  # of telling a graph, for each of its ops, before the first one was told
LONGEST_AT_END = 1.0  # seconds
MOST_BYTES = 64 << 20  # of a graph
PARTIAL = b"TensorFlow traces no partial runs"
UNREAD = b"the program has it traced, and takes nothing of it"


class Graph:
    """number: as they first ran; version: that of the graph when it was told, None: it was not."""

    def __init__(self, number):
        self.number, self.version, self.is_refused = number, None, False


class Callable:
    """What is known of one. options: encoded; handle: of the second one; left_out: why there is none."""

    handle = left_out = None
    is_prepared = is_traced = False

    def __init__(self, swig, session, options):
        self.swig, self.session, self.options = swig, session, options

    def __del__(self):
        try:
            if self.handle is not None and self.session._session is not None and not self.session._closed:
                self.swig.TF_SessionReleaseCallable(self.session._session, self.handle)
        except Exception:  # at the end of the interpreter anything may be gone
            pass


class Traces:
    def __init__(self, process, session_class, swig, config_pb2):
        library = process.holding_gil
        ctypes = process.ctypes
        self.process, self.swig, self.options_class = process, swig, config_pb2.RunOptions
        self.callable_class = getattr(config_pb2, "CallableOptions", None)
        self.callables = weakref.WeakKeyDictionary()  # what is known of each
        self.step, self.add = library.tfprof_capture_session_step, library.tfprof_capture_add_session
        self.step.restype = ctypes.c_int64
        self.add.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64, ctypes.c_char_p,
                             ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]
        self.begin = process.marks.begin
        self.software = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.SOFTWARE_TRACE).SerializeToString()
        self.here = threading.local()  # .runs: those of the thread that go on and are traced
        self.graphs = weakref.WeakKeyDictionary()
        self.lock = threading.Lock()
        self.numbers = itertools.count()
        self.began = time.monotonic()
        self.spent, self.op_seconds = 0.0, OP_SECONDS
        self.overhead = overhead()
        hooks = process.hooks
        hooks.change(session_class, "_call_tf_sessionrun", self.begins, self.ends, self.failed)
        hooks.around(session_class, "_call_tf_sessionprun", self.partial_begins, self.partial_ends, self.failed)
        hooks.around(session_class, "close", first=self.closes)
        process.at_end.append(self.program_ends)

    # ---- Runs.

    def begins(self, session, options, feeds, fetches, targets, metadata):
        if self.step() < 0:
            return None
        step = next(self.numbers)  # each run by itself: the recorder may take something else for steps at first
        swig, own_options, own_metadata, left_out = self.swig, None, None, None
        if options is None:
            own_options = swig.TF_NewBufferFromString(self.software)
        else:
            own_options, left_out = self.changed(session, swig.TF_GetBuffer(options))
        if options is None and metadata is not None:
            left_out = self.is_not_empty(session)
        if own_options is not None and not left_out:
            own_metadata = swig.TF_NewBuffer()
        elif own_options is not None:
            swig.TF_DeleteBuffer(own_options)
            own_options = None
        self.opened(session, (step, self.begin(), own_options, own_metadata, left_out))
        if own_options is None:
            return None
        return session, own_options, feeds, fetches, targets, own_metadata

    def opened(self, of, run):
        self.here.__dict__.setdefault("runs", []).append((of, run))

    def changed(self, session, asked):
        """Options as the program has them, with tracing: a buffer, or None where they have it or it would be seen, and
        why then."""
        asked = self.options_class.FromString(asked)
        if asked.trace_level:
            return None, None
        left_out = self.more_is_asked(asked) or self.is_not_empty(session)
        if left_out:
            return None, left_out
        asked.trace_level = self.options_class.SOFTWARE_TRACE
        return self.swig.TF_NewBufferFromString(asked.SerializeToString()), None

    @staticmethod
    def more_is_asked(asked):
        if asked.output_partition_graphs or asked.report_tensor_allocations_upon_oom or (
                asked.debug_options.debug_tensor_watch_opts):
            return b"the program asks for what could not be told from the trace"
        return None

    @staticmethod
    def is_not_empty(session):
        """Whether the program's RunMetadata has something in it without a trace, too."""
        config = getattr(session, "_config", None)
        if config is not None and (config.graph_options.build_cost_model
                                   or config.experimental.HasField("session_metadata")):
            return b"the session is configured to tell the program more of its runs"
        return None

    def take(self, of):
        runs = getattr(self.here, "runs", None)
        if not runs or runs[-1][0] is not of:
            return None
        return runs.pop()[1]

    def ends(self, session, options, feeds, fetches, targets, metadata):
        run = self.take(session)
        if run is not None:
            self.has_run(session, run, metadata)

    def has_run(self, session, run, metadata):
        """`metadata`: the buffer of the program, or None."""
        step, start, own_options, own_metadata, left_out = run
        message = None
        try:
            used = metadata if own_metadata is None else own_metadata
            if left_out is None and used is not None:
                message = self.swig.TF_GetBuffer(used)
        finally:
            self.give_back(own_options, own_metadata)
        if message is None and left_out is None:
            left_out = UNREAD
        graph = self.graph_of(session.graph)
        self.add(RUN, graph.number, step, start, message, len(message or b""), own_metadata is not None, left_out)
        if message:
            self.tell_graph(session.graph, graph, self.allowance())

    def failed(self, session, *_):
        run = self.take(session)
        if run is not None:
            self.give_back(run[2], run[3])

    def partial_begins(self, session, *_):
        if self.step() >= 0:
            self.opened(session, (next(self.numbers), self.begin(), None, None, PARTIAL))

    def partial_ends(self, session, *_):
        self.ends(session, None, None, None, None, None)

    # ---- Callables.

    def watch_callables(self, its_class):
        """Which one is called is told by the call; what it is called with, by the function of C that it hands it to."""
        hooks = self.process.hooks
        hooks.around(its_class, "__init__", last=self.callable_made)
        hooks.around(its_class, "__call__", self.callable_begins, self.callable_over, self.callable_over)
        hooks.change(self.swig, "TF_SessionRunCallable", self.call_begins, self.call_ends, self.call_failed)

    def callable_made(self, callable, session, options):
        self.callables[callable] = Callable(self.swig, session, options.SerializeToString())

    def callable_begins(self, callable, *_):
        self.here.__dict__.setdefault("called", []).append(callable)

    def callable_over(self, callable, *_):
        called = getattr(self.here, "called", None)
        if called and called[-1] is callable:
            called.pop()

    def call_begins(self, c_session, handle, arguments, metadata):
        called = getattr(self.here, "called", None)
        if not called or self.step() < 0:
            return None
        callable = called[-1]
        known = self.callables.get(callable)
        if known is None or known.session._session is not c_session:
            return None
        step, traced, own_metadata, left_out = next(self.numbers), None, None, None
        if not self.prepare(known):
            left_out = known.left_out or (self.is_not_empty(known.session) if metadata is not None else None)
        if known.handle is not None and left_out is None:
            traced, own_metadata = known.handle, self.swig.TF_NewBuffer()
        self.opened(callable, (step, self.begin(), None, own_metadata, left_out))
        return None if traced is None else (c_session, traced, arguments, own_metadata)

    def prepare(self, known):
        """Makes the second one; whether the program has its own traced."""
        if known.is_prepared:
            return known.is_traced
        known.is_prepared = True
        options = self.callable_class.FromString(known.options)
        known.is_traced = bool(options.run_options.trace_level)
        asked = self.options_class()
        asked.CopyFrom(options.run_options)
        if not known.is_traced:
            known.left_out = self.more_is_asked(asked)
        if known.is_traced or known.left_out:
            return known.is_traced
        began = time.monotonic()
        options.run_options.trace_level = self.options_class.SOFTWARE_TRACE
        buffer = self.swig.TF_NewBufferFromString(options.SerializeToString())
        try:
            known.handle = self.swig.TF_SessionMakeCallable(known.session._session, buffer)
        except Exception as problem:
            known.left_out = self.kept("it cannot be made anew with tracing: %s" % problem)
        finally:
            self.swig.TF_DeleteBuffer(buffer)
            self.spent += time.monotonic() - began
        return False

    def call_ends(self, c_session, handle, arguments, metadata):
        callable = (getattr(self.here, "called", None) or [None])[-1]
        run = self.take(callable)
        if run is not None:
            self.has_run(self.callables[callable].session, run, metadata)

    def call_failed(self, *_):
        self.failed((getattr(self.here, "called", None) or [None])[-1])

    # ---- What was traced.

    def give_back(self, options, metadata):
        for buffer in (options, metadata):
            if buffer is not None:
                self.swig.TF_DeleteBuffer(buffer)

    # ---- Graphs.

    def graph_of(self, graph):
        with self.lock:
            if graph not in self.graphs:
                self.graphs[graph] = Graph(len(self.graphs) + 1 if not self.graphs else
                                           max(one.number for one in self.graphs.values()) + 1)
            return self.graphs[graph]

    def allowance(self):
        """How long telling graphs may take now, in seconds."""
        return (time.monotonic() - self.began) * self.overhead - self.spent

    def tell_graph(self, graph, known, seconds):
        """Where it is new, or has grown by a tenth since."""
        version = graph.version
        if known.is_refused or (known.version is not None and version <= known.version * 1.1):
            return
        if version * self.op_seconds > seconds:
            return
        with self.lock:
            if known.version is not None and version <= known.version * 1.1:
                return
            known.version = version
        began = time.monotonic()
        try:
            self.tell(graph, known)
        except Exception as problem:  # a graph beyond 2 GB, ops of a library that cannot be asked
            known.is_refused = True
            reason = "%s: %s" % (type(problem).__name__, problem)
            self.keep_reason(GRAPH, known, reason)
        took = time.monotonic() - began
        self.spent += took
        self.op_seconds = max(took / max(version, 1), OP_SECONDS / 10)

    def tell(self, graph, known):
        sources = load_beside("_tfprof_sources")
        message = graph.as_graph_def(add_shapes=True).SerializeToString()
        log = sources.op_log_of(graph, says_what_is_missing=False, add_flops=False).SerializeToString()
        if len(message) > MOST_BYTES:
            known.is_refused = True
            self.keep_reason(GRAPH, known, "it is larger than %d MB" % (MOST_BYTES >> 20))
            return
        self.add(GRAPH, known.number, -1, 0, message, len(message), 0, None)
        if len(log) <= MOST_BYTES:
            self.add(OP_LOG, known.number, -1, 0, log, len(log), 0, None)

    reasons = []  # which the library has pointers to

    def kept(self, reason):
        self.reasons.append(reason.encode("utf-8", "replace")[:200])
        return self.reasons[-1]

    def keep_reason(self, kind, known, reason):
        self.add(kind, known.number, -1, 0, None, 0, 0, self.kept(reason))

    def tell_all(self, seconds, only=None):
        for graph, known in list(self.graphs.items()):
            if only is None or graph is only:
                self.tell_graph(graph, known, seconds)

    def closes(self, session, *_):
        graph = getattr(session, "_graph", None)
        if graph is not None and graph in self.graphs:
            self.tell_all(max(self.allowance(), LONGEST_AT_END / 2), graph)

    def program_ends(self, time_left, _):
        self.tell_all(min(LONGEST_AT_END, time_left() / 2000.0))


def overhead():
    """That --overhead allows: 0.02; all of the time where every step is recorded."""
    if os.environ.get("TFPROF_OPS") == "all":
        return 1.0
    try:
        return max(float(os.environ.get("TFPROF_OVERHEAD", "2")) / 100, 0.001)
    except ValueError:
        return 0.02


def watch(process, session_class):
    """false: this TensorFlow runs sessions in another way."""
    session = sys.modules[session_class.__module__]
    swig, config_pb2 = getattr(session, "tf_session", None), getattr(session, "config_pb2", None)
    names = ("TF_NewBuffer", "TF_NewBufferFromString", "TF_GetBuffer", "TF_DeleteBuffer")
    if "_call_tf_sessionrun" not in vars(session_class) or not all(hasattr(swig, name) for name in names):
        return False
    if not hasattr(getattr(config_pb2, "RunOptions", None), "SOFTWARE_TRACE"):
        return False
    traces = Traces(process, session_class, swig, config_pb2)
    its_callable = getattr(session_class, "_Callable", None)
    names = ("TF_SessionMakeCallable", "TF_SessionRunCallable", "TF_SessionReleaseCallable")
    if traces.callable_class and its_callable and all(hasattr(swig, name) for name in names):
        traces.watch_callables(its_callable)
    return True
