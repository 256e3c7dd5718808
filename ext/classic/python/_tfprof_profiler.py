"""Profiler, profile(), advise() and write_op_log(), as TensorFlow's profiler has them, over tfprof's engine.

Reports are printed (or written to files) by the program tfprof, which is also asked for the rows that make the results.
Results are TensorFlow's messages where the program uses TensorFlow, else objects with the same fields. As there, a view
that cannot be made (a step that was not traced, a report without a file) says so on stderr and is an empty result.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys

load_beside = None  # set by the module tfprof

ALL_ADVICE = {"ExpensiveOperationChecker": {}, "AcceleratorUtilizationChecker": {}, "JobChecker": {},
              "OperationChecker": {}}

_METRICS = {
    "exec_micros": "micros",
    "accelerator_exec_micros": "accelerator_micros",
    "cpu_exec_micros": "cpu_micros",
    "requested_bytes": "bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "parameters": "params",
    "float_ops": "float_ops",
}
_VALUES = ("micros", "bytes", "peak_bytes", "residual_bytes", "output_bytes", "params", "float_ops", "occurrence",
           "accelerator_micros", "cpu_micros", "device", "op_types", "input_shapes", "tensor_value")
_INTEGERS = ("max_depth", "min_bytes", "min_peak_bytes", "min_residual_bytes", "min_output_bytes", "min_micros",
             "min_accelerator_micros", "min_cpu_micros", "min_params", "min_float_ops", "min_occurrence", "step")
_PATTERNS = ("account_type_regexes", "start_name_regexes", "trim_name_regexes", "show_name_regexes",
             "hide_name_regexes")


class _Message:
    def __repr__(self):
        fields = ((name, value) for name, value in vars(self).items() if value not in (0, "", [], {}, None))
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % field for field in fields))

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None


class _Messages(list):
    """A list of messages of one kind, which makes them, as protobuf's does."""

    __slots__ = ("_kind",)

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def add(self, **fields):
        self.append(self._kind())
        for name, value in fields.items():
            setattr(self[-1], name, value)
        return self[-1]


class _MessageMap(dict):
    __slots__ = ("_kind",)

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def __missing__(self, key):
        return self.setdefault(key, self._kind())


class _Dimension(_Message):
    def __init__(self):
        self.size = 0


class Shape(_Message):
    """dim: a list of objects with a size, -1 where it is not known."""

    def __init__(self):
        self.dim = _Messages(_Dimension)


class GraphNodeProto(_Message):
    """A node of the scope and graph views, with all that is shown below it in children. Times in microseconds."""

    def __init__(self):
        self.name = self.tensor_value = ""
        self.run_count = self.total_run_count = self.total_definition_count = 0
        self.devices, self.shapes, self.input_shapes = [], _Messages(Shape), _MessageMap(Shape)
        _take_metrics(self, {})
        self.children = _Messages(GraphNodeProto)


class MultiGraphNodeProto(_Message):
    """A line of source or an op type of the code and op views, with its graph_nodes, and what
    comes below it in children."""

    def __init__(self):
        self.name = ""
        _take_metrics(self, {})
        self.graph_nodes = _Messages(GraphNodeProto)
        self.children = _Messages(MultiGraphNodeProto)


class Checker(_Message):
    def __init__(self):
        self.reports = []


class AdviceProto(_Message):
    """checkers: by name, objects with a list of reports: texts, of several lines where several belong together."""

    def __init__(self):
        self.checkers = _MessageMap(Checker)


def message_class(name):
    """TensorFlow's class of that name where the program uses TensorFlow, else ours."""
    if "tensorflow" in sys.modules:
        try:
            from tensorflow.core.profiler import tfprof_output_pb2

            return getattr(tfprof_output_pb2, name)
        except (ImportError, AttributeError):
            pass
    return globals()[name]


def _take_metrics(message, row):
    for name, column in _METRICS.items():
        setattr(message, name, int(row.get(column) or 0))
        setattr(message, "total_" + name, int(row.get("total_" + column) or 0))


def _take_shape(message, text):
    is_shape = re.fullmatch(r"-?\d+(x-?\d+)*", text or "")
    for size in text.split("x") if is_shape else ():
        message.dim.add(size=int(size))


def _fill_graph_node(message, row):
    message.name = row.get("name") or ""
    message.run_count = row.get("occurrence") or 0
    message.total_run_count = row.get("total_occurrence") or 0
    message.total_definition_count = row.get("total_defined") or 0
    message.devices.extend(row["device"].split("|") if row.get("device") else ())
    for part in (row.get("input_shapes") or "").split("|"):
        position, colon, shape = part.partition(":")
        if colon:
            _take_shape(message.input_shapes[int(position)], shape)
    if isinstance(message, _Message):  # what TensorFlow's engine leaves empty
        message.tensor_value = row.get("tensor_value") or ""
        if row.get("shape"):
            _take_shape(message.shapes.add(), row["shape"])
    _take_metrics(message, row)


def _fill_multi_graph_node(message, row):
    message.name = row.get("name") or ""
    _take_metrics(message, row)
    for member in json.loads(row.get("graph_nodes") or "[]"):
        member.update({"total_" + name: member[name] for name in (*_METRICS.values(), "occurrence", "defined")})
        _fill_graph_node(message.graph_nodes.add(), member)


# ---- The engine.


def program():
    """The program tfprof: TFPROF_PROGRAM, the one that this file was built or installed with, the one of the virtual
    environment, or the one on PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    chosen = os.environ.get("TFPROF_PROGRAM")
    candidates = [chosen] if chosen else [os.path.join(here, "..", "tfprof"),
                                          os.path.join(here, "..", "..", "..", "bin", "tfprof"),
                                          os.path.join(here, "..", "..", "..", "..", "bin", "tfprof"),
                                          os.path.join(sys.prefix, "bin", "tfprof"), shutil.which("tfprof")]
    for path in filter(None, candidates):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.normpath(path)
    if chosen:
        raise FileNotFoundError("TFPROF_PROGRAM names %s, which is no program that can be run" % chosen)
    raise FileNotFoundError("the program tfprof, which makes the views, is found neither beside %s nor in %s nor on "
                            "PATH; set the variable TFPROF_PROGRAM to its path"
                            % (here, os.path.join(sys.prefix, "bin")))


_MARK = "tfprof.rows.follow"


def ask(commands, sql=None):
    """Runs commands of tfprof's prompt; returns what they print, the rows of `sql`, and what they say on stderr."""
    words = [program(), *commands]
    if sql:
        words = [program(), "--format", "json", *commands, "SELECT '%s'" % _MARK, sql]
    environment = {name: value for name, value in os.environ.items() if name not in ("TFPROF_OPEN", "LD_PRELOAD")}
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment)
    text, errors = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.returncode:
        raise ValueError(errors.strip() or "tfprof ended with %d" % done.returncode)
    if not sql:
        return text, [], errors
    report, rows = re.split(r"\[\{[^\n]*%s[^\n]*\}\]\n" % re.escape(_MARK), text, maxsplit=1)
    return report, json.loads(rows or "[]"), errors


def _without_commas(pattern):
    """The same expression for a list that commas part, which are known in repetitions only, as in x{1,2}."""
    return re.sub(r"(\{\d+,\d*\})|,", lambda found: found[1] or r"\x2c", pattern)


def _option_values(options):
    """As text, with TensorFlow's defaults for what the dictionary lacks; what is no value of -select is ignored. Of our
    own there is `compat`: True does as TensorFlow's engine does where that is a mistake of it."""
    values = {name: str(int(options.get(name, {"max_depth": 10, "step": -1}.get(name, 0)))) for name in _INTEGERS}
    values.update({name: ",".join(map(_without_commas, options.get(name, ()))) for name in _PATTERNS})
    values["order_by"] = options.get("order_by", "name") if options.get("order_by", "name") in _VALUES else "name"
    values["account_displayed_op_only"] = "true" if options.get("account_displayed_op_only") else "false"
    values["compat"] = "true" if options.get("compat") else "false"
    values["select"] = ",".join(name for name in options.get("select", ()) if name in _VALUES)
    return values


def _command(view, values, options):
    output = options.get("output", "stdout")
    if options.get("dump_to_file"):
        output = "file:outfile=%s" % options["dump_to_file"]
    words = [view]
    for name, value in dict(values, output=output).items():
        if '"' in value:
            raise ValueError("the value of %s holds a quotation mark: %s" % (name, value))
        words += ["-" + name, '"%s"' % value]
    return " ".join(words)


def _tree(root, fill, rows):
    made = {}
    for row in rows:
        parent = row["parent_position"]
        if parent is not None:
            message = made[row["position"]] = made[parent].children.add()
            fill(message, row)
        elif row["position"] == 0 and row["name"] == "_TFProfRoot":
            made[0] = root
            fill(root, row)
        else:
            made[row["position"]] = message_class(type(root).__name__)()
    return root


def _chain(root, fill, rows):
    """Rows of the op view, each the child of the one before; the first is the one whose
    totals are those of the root."""
    root.name = "_TFProfRoot"
    for row in rows[:1]:
        for name, column in _METRICS.items():
            setattr(root, "total_" + name, row.get("total_" + column) or 0)
    last = root
    for row in rows[1:]:
        last = last.children.add()
        fill(last, row)
    return root


# What hides rows of the op view without changing what the others count.
_HIDING = {"max_depth": "0", "start_name_regexes": ".*", "trim_name_regexes": "", "show_name_regexes": ".*",
           "hide_name_regexes": "",
           **{name: "0" for name in _INTEGERS if name.startswith("min_")}}


def _rows_of_view(view, values):
    """SELECT of the rows of a view; of op, before them, the first row of the list without what hides rows."""
    def select(values):
        quoted = {name: "'" + value.replace("'", "''") + "'" for name, value in values.items()}
        quoted["selected"] = quoted.pop("select")
        where = " AND ".join("%s = %s" % item for item in quoted.items())
        return "SELECT * FROM %s_view WHERE %s" % (view, where)

    rows = select(values)
    if view != "op":
        return rows
    whole = values if values["account_displayed_op_only"] == "true" else {**values, **_HIDING}
    return "SELECT * FROM (%s LIMIT 1) UNION ALL %s" % (select(whole), rows)


def run_view(opening, view, options):
    """Prints or writes the report, and returns the rows as messages."""
    is_graph = view in ("scope", "graph")
    result = message_class("GraphNodeProto" if is_graph else "MultiGraphNodeProto")()
    try:
        values = _option_values(options)
        text, rows, errors = ask([opening + " AS opened", _command(view, values, options)], _rows_of_view(view, values))
    except ValueError as problem:
        sys.stderr.write("tfprof: %s\n" % re.sub(r"\Atfprof: ", "", str(problem)))
        return result
    sys.stderr.write(errors)
    sys.stdout.write(re.sub(r"\A\[\{\"opened\":[^\n]*\}\]\n", "", text))
    sys.stdout.flush()
    fill = _fill_graph_node if is_graph else _fill_multi_graph_node
    return _chain(result, fill, rows) if view == "op" else _tree(result, fill, rows)


def _reports(name, lines):
    """The lines below a checker's heading as its reports. As in TensorFlow, those of ExpensiveOperationChecker are one
    for all op types, one for all nodes and one for all lines of source; of others, what to do belongs to the finding
    above it."""
    if name == "ExpensiveOperationChecker":
        def kind(line):
            found = re.search(r"(?:\A|: )top \d+ (operation type|graph node): ", line)
            return found[1] if found else "line"
        return ["\n".join(group) for _, group in itertools.groupby(lines, kind)]
    return re.split(r"\n(?!  )", "\n".join(lines)) if lines else []


def run_advise(opening, options):
    words = ["advise", "-checkers", "all" if options is None else ",".join(options) or "''"]
    if options is not None:
        for checker_options in options.values():
            for name, value in (checker_options or {}).items():
                words += ["-" + name, str(value)]
    try:
        text, _, errors = ask([opening + " AS opened", " ".join(words)])
    except ValueError as problem:
        sys.stderr.write("tfprof: %s\n" % re.sub(r"\Atfprof: ", "", str(problem)))
        return message_class("AdviceProto")()
    found = re.search(r"\n\w+Checker:\n", text)
    text = text[found.start():] if found else ""
    sys.stderr.write(errors)
    sys.stdout.write(text)
    sys.stdout.flush()
    advice = message_class("AdviceProto")()
    for name, reports in re.findall(r"\n(\w+Checker):\n((?:(?!\n\w+Checker:\n)[^\n]*\n)*)", text):
        advice.checkers[name].reports.extend(_reports(name, reports.split("\n")[:-1]))
    return advice


# ---- TensorFlow's names.


def _sources():
    return load_beside("_tfprof_sources")


class Profiler:
    """Several steps of a program. graph: a tf.Graph, or a torch.nn.Module, whose parameters are known then (None: the
    default graph where TensorFlow is used in graph mode, else no graph: then the steps are traces, of torch.profiler or
    ProfileContext). op_log: an OpLogProto with types of one's own.
    """

    def __init__(self, graph=None, op_log=None):
        sources = _sources()
        graph = graph if graph is not None else sources.default_graph()
        self._source = sources.source_of(graph, op_log)

    def _made(self):
        if self._source is None:
            raise ValueError("there is nothing to profile: no graph and no step")
        return self._source

    def add_step(self, step, run_meta):
        """run_meta: RunMetadata of tf.Session.run; or a torch.profiler.profile that has ended, or the path of a trace.
        Several with the number of one step belong together."""
        if self._source is None:
            sources = _sources()
            is_of_graph = hasattr(run_meta, "step_stats") or isinstance(run_meta, bytes)
            is_space = hasattr(run_meta, "content")  # _tfprof_spaces.Space
            self._source = (sources.GraphSource(None) if is_of_graph else
                            sources.source_of_space(run_meta) if is_space else sources.TraceSource())
        self._source.add_step(step, run_meta)

    @property
    def _coverage(self):
        return self._source.coverage if self._source else 0.0

    def _profile(self, view, options):
        return run_view(self._made().opening(), view, options)

    def profile_python(self, options):
        return self._profile("code", options)

    def profile_operations(self, options):
        return self._profile("op", options)

    def profile_name_scope(self, options):
        return self._profile("scope", options)

    def profile_graph(self, options):
        return self._profile("graph", options)

    def advise(self, options=None):
        """options: the checkers to run, each with its own options: {"ExpensiveOperationChecker": {}}; None: all, {}:
        none, as in TensorFlow."""
        return run_advise(self._made().opening(), options)

    def serialize_to_string(self):
        """What --profile_path opens: a ProfileProto of TensorFlow's sessions, an XSpace of steps of TensorFlow 2 and
        JAX, or the gzipped trace of others."""
        source = self._made()
        if hasattr(source, "serialize"):
            return source.serialize()
        return load_beside("_tfprof_profile_proto").profile_proto(source.opening())

    def _write_profile(self, filename):
        content = self.serialize_to_string()
        with open(filename, "wb") as file:
            file.write(content)


def _of_one_step(graph, run_meta, op_log):
    profiler = Profiler(graph, op_log)
    if run_meta is not None:
        profiler.add_step(0, run_meta)
    return profiler


def profile(graph=None, run_meta=None, op_log=None, cmd="scope", options=0):
    """One view of one step; without options the trainable parameters. cmd: scope, graph, code or op."""
    if cmd not in ("scope", "graph", "code", "op"):
        raise ValueError("unknown cmd: %s; there are scope, graph, code and op" % cmd)
    if options == 0:
        options = load_beside("_tfprof_options").ProfileOptionBuilder.trainable_variables_parameter()
    return _of_one_step(graph, run_meta, op_log)._profile(cmd, options)


def advise(graph=None, run_meta=None, options=0):
    return _of_one_step(graph, run_meta, None).advise(ALL_ADVICE if options == 0 else options)


def write_op_log(graph, log_dir, op_log=None, run_meta=None, add_trace=True):
    """Writes log_dir/tfprof_log: op_log, and for each op of the graph floating point operations, call stack and types;
    of a model of PyTorch, which needs no TensorFlow, the parameters that training changes."""
    sources = _sources()
    if sources.is_module(graph):
        # Messages of one kind that follow each other are one message.
        log = (sources.bytes_of(op_log) if op_log is not None else b"") + sources.op_log_of_module(graph)
    else:
        graph = graph if graph is not None else sources.default_graph()
        log = sources.op_log_of(graph, op_log, run_meta, add_trace).SerializeToString()
    with open(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(log)


def print_model_analysis(graph, run_meta=None, op_log=None, tfprof_cmd="scope", tfprof_options=0):
    """The name that profile() had in 0.12."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)
