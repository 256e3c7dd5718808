"""What a Profiler profiles: the graph and run metadata of TensorFlow, traces of steps of PyTorch and of plain Python,
or what the profilers of TensorFlow 2 and JAX saw of steps.

A source hands the engine files: opening() is the SQL that opens them.
"""

import gc
import gzip
import json
import linecache
import os
import shutil
import sys
import tempfile
import weakref


load_beside = None  # set by the module tfprof


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


class Source:
    """Files in a directory of their own, which goes with the source."""

    coverage = 0.0  # which part of the graph has run in some step; for the automatic choice of steps

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="tfprof-profiler-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.directory, True)
        self.steps = set()

    def write(self, name, content, mode="wb"):
        path = os.path.join(self.directory, name)
        with open(path, mode) as file:
            file.write(content)
        return path


def is_module(graph):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(graph, torch.nn.Module)


def source_of(graph, op_log=None):
    """Of a tf.Graph or a model of PyTorch; None: of neither."""
    if is_module(graph):
        return TraceSource([graph])
    return None if graph is None else GraphSource(graph, op_log)


def bytes_of(message):
    return message if isinstance(message, bytes) else message.SerializeToString()


# ---- TensorFlow.


def default_graph():
    """TensorFlow's, if it is there and builds graphs; else None."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not hasattr(tensorflow, "compat") or tensorflow.executing_eagerly():
        return None
    return tensorflow.compat.v1.get_default_graph()


def _fill_shapes(graph, run_meta):
    """Shapes that the graph does not know, from what ran."""
    from tensorflow.python.framework import tensor_shape

    for device in run_meta.step_stats.dev_stats:
        for stats in device.node_stats:
            try:
                op = graph.get_operation_by_name(stats.node_name)
            except (KeyError, ValueError):
                continue  # of the run time's own
            if len(stats.output) != len(op.outputs):
                continue
            for output, ran in zip(op.outputs, stats.output):
                if output.get_shape().is_fully_defined():
                    continue
                shape = tensor_shape.TensorShape([dimension.size for dimension in ran.tensor_description.shape.dim])
                try:
                    output.set_shape(output.get_shape().merge_with(shape))
                except ValueError as problem:
                    sys.stderr.write("tfprof: shape of %s: %s\n" % (stats.node_name, problem))


def op_log_of(graph, op_log=None, run_meta=None, add_trace=True, add_trainable_var=True, says_what_is_missing=True,
              add_flops=True):
    """An OpLogProto: what `op_log` says, and for all ops of the graph float_ops, call
    stacks and _trainable_variables."""
    from tensorflow.core.profiler import tfprof_log_pb2
    from tensorflow.python.framework import ops

    log, numbers = tfprof_log_pb2.OpLogProto(), {"none": 0}
    if op_log is not None:
        log.CopyFrom(op_log)
    entries = {entry.name: entry for entry in log.log_entries}
    if graph is None:
        return log
    if run_meta is not None:
        _fill_shapes(graph, run_meta)
    own_texts, known_frames = bool(log.id_to_string), {}

    def number_of(text):
        return numbers.setdefault(text, len(numbers)) if text else 0

    trainable, missing = set(), 0
    if add_trainable_var:
        trainable = {variable.op.name for variable in graph.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)}
    for op in graph.get_operations():
        try:
            flops = ops.get_stats_for_node_def(graph, op.node_def, "flops").value if add_flops else None
        except Exception:  # ValueError: a shape that is not known; a formula of the program's may say anything
            flops, missing = None, missing + 1
        traceback = op.traceback if add_trace else None
        if not flops and not traceback and op.name not in trainable:
            continue
        entry = entries.get(op.name)
        if entry is None:
            entry = log.log_entries.add(name=op.name)
        if flops and not entry.float_ops:
            entry.float_ops = int(flops)
        if op.name in trainable:
            entry.types.append("_trainable_variables")
        if traceback and not entry.code_def.traces and not own_texts:
            for frame in traceback:
                if frame not in known_frames:
                    known_frames[frame] = trace_of_frame(frame, number_of)
                entry.code_def.traces.add(**known_frames[frame])
    for text, number in numbers.items():
        if not own_texts:
            log.id_to_string[number] = text
    if missing and run_meta is None and says_what_is_missing:
        sys.stderr.write("tfprof: %d ops have no float_ops, as the graph does not tell their shapes; a traced step "
                         "does\n" % missing)
    return log


def trace_of_frame(frame, number_of):
    file, line, function = frame[0], frame[1], frame[2]
    text = linecache.getline(file, line or 0).strip()  # of cells of notebooks, too
    return {"file_id": number_of(file), "lineno": line or -1, "function_id": number_of(function),
            "line_id": number_of(text), "func_start_line": -1}


def op_log_of_module(module):
    """An encoded OpLogProto with a model's parameters, by the names that named_parameters() gives them: which training
    changes."""
    encode = load_beside("_tfprof_profile_proto")
    return b"".join(encode.message(1, encode.text(1, name) + encode.text(3, "_trainable_variables"))
                    for name, parameter in module.named_parameters() if parameter.requires_grad)


class GraphSource(Source):
    def __init__(self, graph, op_log=None):
        if graph is not None and not hasattr(graph, "as_graph_def"):
            raise TypeError("graph is %s; it can be a tf.Graph or a torch.nn.Module" % type(graph).__name__)
        super().__init__()
        self.graph, self.op_log, self.ran, self.shapes = graph, op_log, set(), {}

    def _look_at_shapes(self, run_meta):
        """What the outputs of nodes were like. Steps that disagree about one tell it step by step only."""
        for device in run_meta.step_stats.dev_stats:
            for stats in device.node_stats:
                for output in stats.output:
                    shape = tuple(size.size for size in output.tensor_description.shape.dim)
                    key = stats.node_name, output.slot
                    if self.shapes.setdefault(key, shape) != shape:
                        self.shapes[key] = None

    def _graph_def(self):
        """The graph, with the shapes of outputs that it does not know itself from the steps; the graph of the program
        stays as it is."""
        graph_def = self.graph.as_graph_def(add_shapes=True)
        for node in graph_def.node if self.shapes else ():
            if "_output_shapes" not in node.attr:
                continue
            for slot, shape in enumerate(node.attr["_output_shapes"].list.shape):
                ran = self.shapes.get((node.name, slot))
                known = [size.size for size in shape.dim]
                is_whole = not shape.unknown_rank and -1 not in known
                if ran is None or is_whole or (not shape.unknown_rank and (
                        len(known) != len(ran) or any(a not in (-1, b) for a, b in zip(known, ran)))):
                    continue
                shape.Clear()
                for size in ran:
                    shape.dim.add(size=size)
        return graph_def

    def add_step(self, step, run_meta):
        step = int(step)
        if step < 0:
            raise ValueError("the number of a step must not be negative, %d is" % step)
        # Messages of one kind that follow each other are one message: steps of one number belong together.
        folder = os.path.join(self.directory, "steps")
        os.makedirs(folder, exist_ok=True)
        self.write(os.path.join("steps", "run_meta_%d" % step), bytes_of(run_meta), "ab")
        self.steps.add(step)
        if self.graph is not None and not isinstance(run_meta, bytes):
            self.ran.update(stats.node_name for device in run_meta.step_stats.dev_stats for stats in device.node_stats)
            self._look_at_shapes(run_meta)
            names = {op.name for op in self.graph.get_operations()}
            self.coverage = len(names & self.ran) / max(1, len(names))

    def opening(self):
        words = []
        if self.graph is not None:
            words += ["graph_path",
                      self.write("graph.pb", self._graph_def().SerializeToString())]
            log = op_log_of(self.graph, self.op_log, says_what_is_missing=not self.steps)
            words += ["op_log_path", self.write("tfprof_log", log.SerializeToString())]
        if self.steps:
            words += ["run_meta_path", os.path.join(self.directory, "steps")]
        if not words:
            raise ValueError("there is nothing to profile: no graph and no step")
        return "SELECT tfprof_open(%s)" % ", ".join(map(quoted, words))


# ---- Spaces.


class SpaceSource(Source):
    """Steps that TensorFlow's or JAX's own profiler saw, in one file of its kind (_tfprof_spaces)."""

    def __init__(self):
        super().__init__()
        self.merging = load_beside("_tfprof_spaces").Merging()

    def add_step(self, step, space):
        self.write("profile", self.merging.part(space), "ab")
        self.steps.add(int(step))

    def serialize(self):
        if not self.steps:
            raise ValueError("there is nothing to write: no step has been traced")
        with open(os.path.join(self.directory, "profile"), "rb") as file:
            return file.read()  # as it is: its reader goes back and forth in it

    def opening(self):
        return "SELECT tfprof_open(%s)" % quoted(self.write("profile", b"", "ab"))


class FunctionsSource(Source):
    """Steps of TensorFlow 2 that ran functions: their graph, and what its nodes took (_tfprof_functions). What was seen
    waits in files until it is asked for, for the program waits as long as a step is added."""

    def __init__(self):
        super().__init__()
        self.functions = load_beside("_tfprof_functions")
        self.graph, self.ran, self.waiting = self.functions.Graph(), set(), []
        os.makedirs(os.path.join(self.directory, "steps"))

    def add_step(self, step, space):
        for function in space.functions:
            self.graph.add(function)
        path = self.write("space_%d" % len(self.waiting), space.content)
        self.waiting.append((int(step), path, space.began))
        self.steps.add(int(step))

    def read(self):
        while self.waiting:
            step, path, began = self.waiting.pop()
            with open(path, "rb") as file:
                content, names = self.functions.run_metadata(file.read(), began)
            os.unlink(path)
            self.write(os.path.join("steps", "run_meta_%d" % step), content, "ab")
            self.ran |= names

    @property
    def coverage(self):
        self.read()
        return len(self.ran & set(self.graph.nodes)) / max(1, len(self.graph.nodes))

    def opening(self):
        self.read()
        words = ["graph_path", self.write("graph.pb", self.graph.graph_def().SerializeToString()),
                 "op_log_path", self.write("tfprof_log", self.graph.op_log().SerializeToString()),
                 "run_meta_path", os.path.join(self.directory, "steps")]
        return "SELECT tfprof_open(%s)" % ", ".join(map(quoted, words))


def source_of_space(space):
    """For it, and those of the same framework that follow."""
    if space.functions and not load_beside("_tfprof_functions").has_devices(space.content):
        return FunctionsSource()
    return SpaceSource()


# ---- Traces.


# torch.profiler writes a trace once: its compressed text, kept for the next time.
exported = weakref.WeakKeyDictionary()


def export(profiler):
    """The trace of a torch.profiler, compressed."""
    if profiler not in exported:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "trace.json")
            try:
                profiler.export_chrome_trace(path)
            except RuntimeError as problem:
                if "already saved" not in str(problem):
                    raise
                raise ValueError("torch.profiler has written this trace already, which it does once: "
                                 "give the path of that file instead") from None
            with open(path, "rb") as file:
                exported[profiler] = gzip.compress(file.read(), 1)
    return exported[profiler]


def trace_of(recorded):
    """A Chrome trace as a dictionary, from a torch.profiler, a path or such a dictionary."""
    if isinstance(recorded, dict):
        return recorded
    if hasattr(recorded, "export_chrome_trace"):
        return json.loads(gzip.decompress(export(recorded)))
    with open(recorded, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return json.loads(content)


def living_models():
    """The modules of PyTorch that have parameters and are part of no other."""
    module_class = sys.modules["torch"].nn.Module
    modules = [one for one in gc.get_objects() if issubclass(type(one), module_class)]
    inside = {id(child) for module in modules for child in module.children()}
    return [module for module in modules if id(module) not in inside and next(module.parameters(), None) is not None]


def rows_of_models(models):
    """Their modules and parameters as rows of the table nodes, which the reader of traces takes from tfprofModules.
    Names are those of a recording: of the first model those of named_parameters(), of others behind the name of the
    model."""
    rows, roots, owners = [], set(), {}
    for model in models:
        root = base = type(model).__name__
        while root in roots:
            root = "%s_%d" % (base, sum(name.partition("_")[0] == base for name in roots) + 1)
        prefix, places = root + "." if rows else "", {}
        roots.add(root)
        for path, module in model.named_modules():
            places[path] = len(rows)
            row = {"name": prefix + path if path else root, "op_type": type(module).__name__, "is_scope": 1,
                   "depth": path.count(".") + 1 if path else 0}
            if path:
                row["parent_id"] = places[path.rpartition(".")[0]]
            rows.append(row)
            for key, parameter in module.named_parameters(recurse=False):
                if hasattr(parameter, "materialize"):  # a lazy one, which has no shape yet
                    continue
                name = prefix + (path + "." if path else "") + key
                owner = owners.setdefault(id(parameter), name)
                count = parameter.numel() if owner == name else 0
                row = {"name": name, "op_type": type(parameter).__name__, "is_scope": 0, "parent_id": places[path],
                       "depth": path.count(".") + 2 if path else 1, "dtype": str(parameter.dtype).rpartition(".")[2],
                       "canonical_device": str(parameter.device), "param_count": count,
                       "param_bytes": count * parameter.element_size(), "trainable": int(parameter.requires_grad)}
                if parameter.dim():
                    row["shape"] = "x".join(map(str, parameter.shape))
                if owner != name:
                    row["attributes"] = json.dumps({"same_as": owner})
                rows.append(row)
    return rows


class TraceSource(Source):
    """Steps of a program without a graph: their traces in one file, each within a mark of its step. models: those whose
    parameters are told; else what lives when steps are added."""

    def __init__(self, models=None):
        super().__init__()
        self.trace, self.models = None, models
        self.modules = [] if models is None else rows_of_models(models)

    def add_step(self, step, recorded):
        trace = trace_of(recorded)
        if "torch" in sys.modules:
            self.look_at_models()
        events = [event for event in trace.get("traceEvents", ())
                  if not str(event.get("name", "")).startswith("ProfilerStep")]
        # Spans of the recorder itself reach beyond what was recorded.
        timed = [event for event in events if event.get("ph") == "X" and event.get("cat") != "Trace"]
        if not timed:
            raise ValueError("step %s: its trace holds no events" % step)
        start = min(event["ts"] for event in timed)
        end = max(event["ts"] + event.get("dur", 0) for event in timed)
        host = min((e for e in timed if e.get("cat") in ("cpu_op", "python_function", "user_annotation")),
                   key=lambda e: e["ts"], default=timed[0])
        mark = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": host["pid"],
                "tid": host["tid"], "ts": start, "dur": end - start}
        if self.trace is None:
            self.trace = dict(trace, traceEvents=[])
        else:
            shift = (trace.get("baseTimeNanoseconds", 0) - self.trace.get("baseTimeNanoseconds", 0)) / 1000
            for event in [mark, *events] if shift else ():
                if "ts" in event:
                    event["ts"] += shift
        self.trace["traceEvents"] += [mark] + self._apart(events)
        self.steps.add(int(step))

    def look_at_models(self):
        try:
            self.modules = rows_of_models(living_models() if self.models is None else self.models)
        except Exception as problem:  # a module's own named_modules() may do anything: no reason to end a training
            sys.stderr.write("tfprof: what parameters the models have is not known: %s\n" % problem)

    def _apart(self, events):
        """Links between events are numbers, which begin anew in each trace."""
        offset = len(self.steps) << 32
        for event in events:
            arguments = event.get("args", {})
            for key in ("External id", "Ev Idx", "Sequence number", "correlation", "Python id", "Python parent id"):
                if isinstance(arguments.get(key), int) and arguments[key] >= 0:
                    arguments[key] += offset
            if event.get("ph") in ("s", "f", "t") and isinstance(event.get("id"), int):
                event["id"] += offset
        return events

    def serialize(self):
        if self.trace is None and not self.modules:
            raise ValueError("there is nothing to write: no step has been traced")
        trace = self.trace or {"schemaVersion": 1, "traceEvents": []}
        return gzip.compress(json.dumps(dict(trace, tfprofModules=self.modules)).encode(), 5)

    def opening(self):
        return "SELECT tfprof_open(%s)" % quoted(self.write("profile", self.serialize()))
