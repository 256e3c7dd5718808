"""What sessions of TensorFlow ran, node by node: runs in the steps whose ops are recorded are traced by TensorFlow
itself, and what it tells of them (RunMetadata) is handed to the library, with the graph and its call stacks.

A run is traced by RunOptions.SOFTWARE_TRACE, which changes no result and opens no profiler: those of the higher levels
would raise into the program while another one is open.  What the program asks of a run itself stays: where it has it
traced, it gets all of that and the recording a copy; where it has not, its RunMetadata stays as empty as without us;
and where it asks for more than can be told apart, such as its graph as it was partitioned, the run is left out.

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


class Graph:
    """number: as they first ran; version: that of the graph when it was told, None: it was not."""

    def __init__(self, number):
        self.number, self.version, self.is_refused = number, None, False


class Traces:
    def __init__(self, process, session_class, swig, config_pb2):
        library = process.holding_gil
        ctypes = process.ctypes
        self.process, self.swig, self.options_class = process, swig, config_pb2.RunOptions
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
        run = (step, self.begin(), own_options, own_metadata, left_out)
        self.here.__dict__.setdefault("runs", []).append((session, run))
        if own_options is None:
            return None
        return session, own_options, feeds, fetches, targets, own_metadata

    def changed(self, session, asked):
        """Options as the program has them, with tracing: a buffer, or None where they have it or it would be seen, and
        why then."""
        asked = self.options_class.FromString(asked)
        if asked.trace_level:
            return None, None
        left_out = self.is_not_empty(session)
        if asked.output_partition_graphs or asked.report_tensor_allocations_upon_oom or (
                asked.debug_options.debug_tensor_watch_opts):
            left_out = b"the program asks for what could not be told from the trace"
        if left_out:
            return None, left_out
        asked.trace_level = self.options_class.SOFTWARE_TRACE
        return self.swig.TF_NewBufferFromString(asked.SerializeToString()), None

    @staticmethod
    def is_not_empty(session):
        """Whether the program's RunMetadata has something in it without a trace, too."""
        config = getattr(session, "_config", None)
        if config is not None and (config.graph_options.build_cost_model
                                   or config.experimental.HasField("session_metadata")):
            return b"the session is configured to tell the program more of its runs"
        return None

    def take(self, session):
        runs = getattr(self.here, "runs", None)
        if not runs or runs[-1][0] is not session:
            return None
        return runs.pop()[1]

    def ends(self, session, options, feeds, fetches, targets, metadata):
        run = self.take(session)
        if run is None:
            return
        step, start, own_options, own_metadata, left_out = run
        message = None
        try:
            used = metadata if own_metadata is None else own_metadata
            if left_out is None and used is not None:
                message = self.swig.TF_GetBuffer(used)
        finally:
            self.give_back(own_options, own_metadata)
        if message is None and left_out is None:
            left_out = b"the program has it traced, and takes nothing of it"
        graph = self.graph_of(session.graph)
        self.add(RUN, graph.number, step, start, message, len(message or b""), own_options is not None, left_out)
        if message:
            self.tell_graph(session.graph, graph, self.allowance())

    def failed(self, session, *_):
        run = self.take(session)
        if run is not None:
            self.give_back(run[2], run[3])

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

    def keep_reason(self, kind, known, reason):
        reason = reason.encode("utf-8", "replace")[:200]
        self.reasons.append(reason)
        self.add(kind, known.number, -1, 0, None, 0, 0, reason)

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
    Traces(process, session_class, swig, config_pb2)
    return True
