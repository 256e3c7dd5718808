"""Random small graphs with random options: the classic views against TensorFlow's own engine, byte for byte from the
legend on; some of them as timelines, as profiles of pprof and as the objects of the Python module; and their advice.

    test_classic.py [CASES [SEED]]

Needs a Python with TensorFlow: this one, or the one that TFPROF_TENSORFLOW_PYTHON names.  Graphs, run metadata and op
logs are made up, so nothing is run: nodes within scopes of the same name, several outputs, control edges, unknown
shapes, a library of functions, stats on several devices, of unknown nodes and of nodes within functions, user-defined
types, call stacks with gradients, inline and by number.  Every third program is read from the ProfileProto that
TensorFlow writes of it.
"""

import contextlib
import glob
import importlib.util
import io
import mmap
import os
import random
import subprocess
import sys
import tempfile

if importlib.util.find_spec("tensorflow") is None:
    if os.environ.get("TFPROF_TENSORFLOW_PYTHON"):
        os.execv(os.environ["TFPROF_TENSORFLOW_PYTHON"], [os.environ["TFPROF_TENSORFLOW_PYTHON"], *sys.argv])
    print("not compared: TFPROF_TENSORFLOW_PYTHON names no Python with TensorFlow's profiler")
    sys.exit(77)

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.framework import graph_pb2  # noqa: E402
from tensorflow.core.profiler import tfprof_log_pb2, tfprof_options_pb2, tfprof_output_pb2  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402
from tensorflow.python.util import _pywrap_tfprof  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, ".."), os.path.join(HERE, "..", "golden")]
from exchange_formats import Pprof  # noqa: E402
from test_tf_goldens import canonical, difference  # noqa: E402
from test_tf_goldens import graph_node, multi_graph_node, python_profiler  # noqa: E402

TFPROF = os.path.join(os.environ.get("TFPROF_BUILD", os.path.join(HERE, "..", "..", "build")), "tfprof")
OPS = ["Add", "MatMul", "Conv2D", "Relu", "VariableV2", "Identity", "Const", "NoOp", "Split"]
PARTS = ["a", "b", "net", "conv_1", "W", "gradients"]
METRICS = ["bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "accelerator_micros", "cpu_micros",
           "params", "float_ops", "occurrence"]
CHECKERS = ["AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "OperationChecker"]
SELECTS = METRICS + ["device", "op_types", "input_shapes"]
DEVICES = ["/job:a/replica:0/task:0/device:CPU:0", "/job:a/replica:0/task:0/device:GPU:0"]
TYPES = [*OPS, ".*gpu:.*", ".*cpu:.*", "heavy|light", ".*d.*", "first", ".*"]
LANES = [*DEVICES, DEVICES[1] + "/stream:all", DEVICES[1] + "/stream:3", "/job:a/replica:0/task:0/device:GPU:1",
         "/JOB:a/task:1/cpu:0",
         "/job:a/replica:0/task:0/device:GPU:1/stream:all", "CPU", "/host:CPU", "/device:CPU:0", "/gpu:0"]
PATTERNS = [".*", "a.*", ".*b.*", "net/.*", "MatMul|Add", "Const", "VariableV2", ".*W", "heavy", ".*gpu:0",
            "gradients.*", "f.py.*", "[bad",
            ".*:7:.*", ".*:Op", "f/.*", "_TFProfRoot", "a|b", "(net|a)/.*", ".*cpu:0", ".*W{1,2}", ""]


class Engine:
    """TensorFlow's engine.  is_running tells the parent process who crashed."""

    def __init__(self):
        self.is_running = mmap.mmap(-1, 1)

    def __getattr__(self, name):
        def call(*arguments):
            self.is_running[0] = 1
            result = getattr(_pywrap_tfprof, name)(*arguments)
            self.is_running[0] = 0
            return result
        return call


engine = Engine()


def shape(message, sizes):
    if sizes is None:
        message.unknown_rank = True
    for size in sizes or ():
        message.dim.add(size=size)


def some_shape(r):
    return r.choice([None, [], [3], [2, 3], [-1, 4], [2, 2, 5]])


def make_graph(r):
    graph, names = graph_pb2.GraphDef(), []
    for _ in range(r.randint(1, 14)):
        name = "/".join(r.choice(PARTS) for _ in range(r.randint(1, 3)))
        if names and r.random() < 0.2:
            name = "gradients/%s_grad/%s" % (r.choice(names), r.choice(PARTS))
        if name in names:
            continue
        node = graph.node.add(name=name, op=r.choice(OPS))
        for other in r.sample(names, min(len(names), r.randint(0, 3))):
            node.input.append(r.choice([other, other, other + ":1", "^" + other]))
        node.input.sort(key=lambda text: text.startswith("^"))
        if r.random() < 0.6:
            shapes = node.attr["_output_shapes"].list
            for _ in range(2):
                shape(shapes.shape.add(), some_shape(r))
        if node.op == "VariableV2" or r.random() < 0.1:
            shape(node.attr["shape"].shape, some_shape(r))
        names.append(name)
    for _ in range(r.choice([0, 0, 1, 2])):
        function = graph.library.function.add()
        function.signature.name = r.choice(["f", "f", *names])
        for part in r.sample(PARTS, 3):
            node = function.node_def.add(name=part, op=r.choice(OPS), input=r.sample(names, min(len(names), 2)))
            shape(node.attr["shape"].shape, some_shape(r))
        if r.random() < 0.5 and "f" not in names:
            names.append("f")
            graph.node.add(name="f", op="PartitionedCall").attr["f"].func.name = "f"
    return graph, names


def make_op_log(r, names):
    log = tfprof_log_pb2.OpLogProto()
    log.log_entries.add(name=names[0], types=["first"])
    texts = ["none", "dir/f.py", "g.py", "main", "a_function_with_a_long_name", "x = 1"]
    for number, text in enumerate(texts):
        log.id_to_string[number] = text
    for name in names[1:]:
        if r.random() < 0.7:
            entry = log.log_entries.add(name=name)
            if r.random() < 0.4:
                entry.types.append(r.choice(["heavy", "light"]))
            if r.random() < 0.4:
                entry.float_ops = r.choice([1, 7, 1000, 123456, 2500000000])
            for _ in range(r.randint(0, 3)):
                entry.code_def.traces.add(file_id=r.randint(1, 2), lineno=r.randint(5, 8), function_id=r.randint(3, 4),
                                          line_id=5, func_start_line=r.choice([-1, 4]))
    return log


def make_run_meta(r, names):
    meta = config_pb2.RunMetadata()
    meta.step_stats.SetInParent()  # the engine ends where a message is empty
    for device in r.sample(LANES[:4] if r.random() < 0.6 else LANES, r.randint(0 if r.random() < 0.1 else 1, 4)):
        stats = meta.step_stats.dev_stats.add(device=device)
        others = ["unknown", "RecvTensor", "_SOURCE", "MEMCPYHtoD", "f/a", "f/a/b:Mul", "_arg_x_0_0", "edge_3_MEMCPY"]
        for name in r.sample(names, r.randint(1, len(names))) + (r.sample(others, 3) if r.random() < 0.3 else []):
            for _ in range(r.choice([1, 1, 2])):
                node = stats.node_stats.add(node_name=name + r.choice(["", "", ":Op"]),
                                            all_start_micros=r.choice([0, 105, 1000, 1007]),
                                            op_end_rel_micros=r.choice([0, 2, 30, 2345, 7654321]))
                node.all_end_rel_micros = node.op_end_rel_micros + 1
                if r.random() < 0.6:
                    memory = node.memory.add(allocator_name=r.choice(["cpu", "GPU_0_bfc"]),
                                             total_bytes=r.choice([0, 4, 5000]),
                                             peak_bytes=r.choice([0, 8, 2000000]), live_bytes=r.choice([0, 16]))
                    memory.allocator_bytes_in_use = r.choice([0, 20000000, 40000000, 60000000])
                    for _ in range(r.choice([0, 0, 1, 3])):
                        memory.allocation_records.add(alloc_micros=r.choice([4, 50, 900, 1200]),
                                                      alloc_bytes=r.choice([-4096, 4096, 60000000]))
                if r.random() < 0.4:
                    output = node.output.add(slot=r.choice([0, 0, 1, 5]))
                    output.tensor_description.allocation_description.requested_bytes = r.choice([0, 12, 4096])
                    output.tensor_description.allocation_description.allocated_bytes = r.choice([0, 64, 4096])
                if r.random() < 0.2:
                    node.memory_stats.temp_memory_size = 100
                    node.memory_stats.persistent_memory_size = 28
    return meta


def make_options(r, steps):
    def patterns(chance):
        return [".*"] if r.random() < chance else r.sample(PATTERNS, r.randint(0, 2))

    def types():
        return patterns(0.6) if r.random() < 0.7 else r.sample(TYPES, r.randint(1, 3))

    view = r.choice(["scope", "graph", "op", "code"])
    options = {"max_depth": r.choice([0, 1, 2, 3, 10, 100]), "step": r.choice([-1, -1, *steps]),
               "order_by": r.choice(["name", *METRICS]),
               "account_type_regexes": types(), "start_name_regexes": patterns(0.8), "show_name_regexes": patterns(0.7),
               "trim_name_regexes": [] if r.random() < 0.8 else r.sample(PATTERNS[1:], 1),
               "hide_name_regexes": [] if r.random() < 0.8 else r.sample(PATTERNS[1:], 1),
               "account_displayed_op_only": r.random() < 0.3, "select": r.sample(SELECTS, r.randint(0, 5))}
    for name in METRICS:
        options["min_" + name] = r.choice([0, 1, 100, 5000]) if r.random() < 0.1 else 0
    if view == "code" and options["max_depth"] == 0:
        options["max_depth"] = 1  # there TensorFlow's engine crashes
    return view, options


def theirs(view, options, output):
    """The message that the engine returns."""
    message = tfprof_options_pb2.OptionsProto()
    for name, value in options.items():
        # As its command line has it: there is no empty expression.
        getattr(message, name).extend(filter(None, value)) if isinstance(value, list) else setattr(message, name, value)
    message.output = output
    return engine.Profile(view.encode(), message.SerializeToString())


def command(view, options, output, is_compat):
    words = [view] + ["-compat"] * is_compat
    for name, value in options.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, list):
            text = ",".join(value)
        words += ["-" + name, '"%s"' % text]
    return " ".join(words + ["-output", output])


def check_advice(opening):
    """What -compat has of all advice but the engine's JobChecker, which never says anything."""
    options = tfprof_options_pb2.AdvisorOptionsProto()
    for name in CHECKERS:
        options.checkers[name].SetInParent()
    message = tfprof_output_pb2.AdviceProto.FromString(engine.Profile(b"advise", options.SerializeToString()))
    theirs = {name: list(message.checkers[name].reports) for name in CHECKERS}
    text = "".join("\n%s:\n%s" % (name, "".join(report + "\n" for report in theirs[name])) for name in theirs)
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        advice = python_profiler().run_advise(opening + ", tfprof_set('compat', 1)", {name: {} for name in CHECKERS})
    return difference({name: checker.reports for name, checker in advice.checkers.items()}, theirs, "advice") or \
        difference(printed.getvalue(), text, "advice as text")


def report(path):
    """The lines of a report from the legend on, of a profile of pprof, or of timelines."""
    if path.endswith("pprof"):
        return "\n".join(map(str, canonical(Pprof(path)))) if os.path.exists(path) else "no profile"
    lines = []
    for name in glob.glob(path + "_*") if path.endswith("timeline") else glob.glob(path):
        with open(name, encoding="utf-8") as file:
            lines += [name[len(path):] + file.read()]
    text = "\n".join(sorted(lines))
    return text[text.index("node name |"):] if "node name |" in text else text or "no report"


def check_message(view, options, is_compat, opening):
    """The objects of the Python module, which are made of the rows of the tables, against the engine's message."""
    message = theirs(view, options, "none")
    options = {**options, "output": "none", "compat": is_compat or len(options["account_type_regexes"]) > 1}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        ours = python_profiler().run_view(opening, view, options)
    parse = graph_node if view in ("scope", "graph") else multi_graph_node
    return difference(parse(ours.SerializeToString()), parse(message), "message")


def compare(seed, folder, views):
    """How many reports were compared, how many differ, and how many lines they have."""
    r = random.Random(seed)
    graph, names = make_graph(r)
    # In any order; some have two files.
    steps = [step for step in r.sample([0, 1, 2, 5, 1000000, 2**40], r.randint(0, 3))
             for _ in range(r.choice([1, 1, 1, 2]))]
    log = make_op_log(r, names)
    metas = [make_run_meta(r, names) for _ in steps]

    def write(name, content):
        path = os.path.join(folder, "%d-%s" % (seed, name))
        with open(path, "wb") as file:
            file.write(content)
        return path

    # Where an input is not the first output of its source, the engine's release builds
    # still show the shape of the first.
    is_compat = any(":" in text for node in graph.node for text in node.input)
    ran = {node.node_name.partition(":")[0] for meta in metas for stats in meta.step_stats.dev_stats
           for node in stats.node_stats}
    # Without compat, nodes that the graph has not have the op that a label tells, and flops are counted without a log.
    is_compat |= bool(ran - set(names)) or seed % 7 == 3 or not any(entry.float_ops for entry in log.log_entries)
    as_text = seed % 5 == 4
    opening = ["'graph_path'", "'%s'" % write("graph", str(graph).encode() if as_text else graph.SerializeToString()),
               "'op_log_path'", "'%s'" % write("log", log.SerializeToString())]
    is_without_graph = seed % 7 == 3 and ran & set(names)
    if is_without_graph:
        # What ran makes the graph, of which the op log tells more.
        graph, opening = graph_pb2.GraphDef(), opening[2:]
    engine.NewProfiler(graph.SerializeToString(), b"" if is_without_graph else log.SerializeToString())
    for number, (step, meta) in enumerate(zip(steps, metas)):
        path = write("meta%d" % number, str(meta).encode() if as_text and str(meta) else meta.SerializeToString())
        opening += ["'run_meta_path'", "'%s'" % path, "'step'", str(step)]
        has_log = is_without_graph and number == len(steps) - 1
        engine.AddStep(step, b"", meta.SerializeToString(), log.SerializeToString() if has_log else b"")
    if seed % 3 == 2:
        profile = write("profile", engine.SerializeToString())
        engine.DeleteProfiler()
        engine.ProfilerFromFile(profile.encode())
        opening = ["'profile_path'", "'%s'" % profile]
    opening = "SELECT tfprof_open(%s)" % ", ".join(opening)
    cases, differ, lines = [], 0, 0
    for number in range(views):
        view, options = make_options(r, steps)
        if view == "code" and not any(entry.code_def.traces for entry in log.log_entries):
            continue
        if number == 0:
            for trouble in (check_message(view, options, is_compat, opening), check_advice(opening)):
                if trouble:
                    differ += 1
                    print("seed %d: %s: %s" % (seed, view, trouble))
        form = "file"
        if number % 4 == 1 and view == "code":
            form = "pprof"
        elif number % 4 == 1 and view != "op" and steps:
            form = "timeline"
        if form == "pprof":
            options["select"] = [r.choice(METRICS[:-1])]
        paths = [os.path.join(folder, "%d-%d-%s-%s" % (seed, number, side, form)) for side in ("theirs", "ours")]
        theirs(view, options, form + ":outfile=" + paths[0])
        # Of op and code, for TensorFlow's engine a node is there once for each expression that matches a type of it.
        counts_twice = view in ("op", "code") and len(options["account_type_regexes"]) > 1
        as_theirs = is_compat or counts_twice or form == "pprof"
        cases.append((command(view, options, form + ":outfile=" + paths[1], as_theirs), paths))
    engine.DeleteProfiler()
    done = subprocess.run([TFPROF, opening, *(case[0] for case in cases)], capture_output=True, text=True)
    if done.returncode not in (0, 1) or "tfprof_open" in done.stderr or "must be" in done.stderr:
        print("seed %d: %s" % (seed, done.stderr[:500]))
        return len(cases), len(cases), 0
    for line, paths in cases:
        one, other = report(paths[0]), report(paths[1])
        lines += one.count("\n")
        if one != other:
            differ += 1
            print("seed %d: %s" % (seed, line))
            for a, b in zip(one.split("\n"), other.split("\n")):
                if a != b:
                    print("  theirs: %s\n  ours:   %s" % (a, b))
                    break
            else:
                print("  lines: theirs %d, ours %d %s" % (one.count("\n"), other.count("\n"), done.stderr[-300:]))
    return len(cases), differ, lines


def compare_apart(seed, folder, views):
    """In a process of its own, as TensorFlow's engine crashes on some: (0, 0, 0) then."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        result = compare(seed, folder, views)
        os.write(ends[1], ("%d %d %d" % result).encode())
        sys.stdout.flush()
        os._exit(0)
    os.close(ends[1])
    answer = os.read(ends[0], 100).decode()
    os.close(ends[0])
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        was_engine = engine.is_running[0]
        engine.is_running[0] = 0
        print("seed %d: %s ended by signal %d" %
              (seed, "TensorFlow's engine" if was_engine else "tfprof", os.WTERMSIG(status)))
        return (0, 0, 0) if was_engine else (1, 1, 0)
    assert status == 0 and answer, "seed %d failed" % seed
    return tuple(map(int, answer.split()))


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    compared = differ = lines = 0
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
        while compared < wanted:
            count, wrong, more = compare_apart(seed, folder, 12)
            compared, differ, lines, seed = compared + count, differ + wrong, lines + more, seed + 1
    print("%d reports of random graphs compared with TensorFlow's, %d lines; %d differ" % (compared, lines, differ))
    assert lines > compared, "most reports are empty"
    sys.exit(1 if differ else 0)


main()
