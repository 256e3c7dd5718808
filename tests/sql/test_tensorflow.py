"""TensorFlow's files: each by itself, together, damaged, and given where another one belongs.

The files are those that the fuzz target begins with: a convolution with its variable and its
input, cut out of a real graph.
"""

import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engines import run_tests
from exchange_formats import message, written_varint
from xplane_files import message as field

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "corpus", "tensorflow")
GRAPH, TEXT, RUN, RUN_TEXT, LOG, PROFILE = (
    os.path.join(FILES, name) for name in ("graph.pb", "graph.pbtxt", "run_meta", "run_meta.pbtxt", "op_log",
                                           "profile"))
CONV, VARIABLE = "net/block_1/unit_1/conv", "net/block_1/unit_1/DW"
NODES = ("SELECT name, op_type, shape, param_count, param_bytes, output_shapes FROM nodes WHERE NOT is_scope "
         "ORDER BY name")
COSTS = """SELECT nodes.name, number, run_count, exec_ns, accelerator_ns, cpu_ns, requested_bytes, peak_bytes,
    residual_bytes, output_bytes
    FROM node_steps JOIN nodes ON nodes.id = node_id JOIN steps ON steps.id = step_id ORDER BY 1, 2"""


def opened(engine, *values):
    connection = engine()
    connection.values("SELECT tfprof_open(" + ", ".join(repr(value) for value in values) + ")")
    return connection


def test_graph(engine):
    binary, text = opened(engine, GRAPH), opened(engine, TEXT)
    for connection in (binary, text):
        rows = connection.values(NODES)
        assert [row[0] for row in rows] == ["images", VARIABLE, VARIABLE + "/read", CONV], rows
        assert list(rows[1]) == [VARIABLE, "VariableV2", "3x3x3x8", 216, 864, "[[3,3,3,8]]"], rows
        edges = connection.values("""SELECT node.name, position, source.name, source_output, node_inputs.shape
            FROM node_inputs JOIN nodes AS node ON node.id = node_id JOIN nodes AS source ON source.id = source_node_id
            ORDER BY 1, 2""")
        assert [list(edge) for edge in edges][1:] == [
            [CONV, 0, "images", 0, "-1x12x12x3"], [CONV, 1, VARIABLE + "/read", 0, "3x3x3x8"]], edges
        scopes = connection.values("SELECT name, depth FROM nodes WHERE is_scope ORDER BY name")
        assert [list(scope) for scope in scopes] == [["net", 0], ["net/block_1", 1], ["net/block_1/unit_1", 2]], scopes
        parents = connection.values("SELECT c.name FROM nodes AS c JOIN nodes AS p ON p.id = c.parent_id WHERE p.name "
                                    "= '%s'"
                                    % VARIABLE)
        assert [list(row) for row in parents] == [[VARIABLE + "/read"]], parents
    assert binary.values(NODES) == text.values(NODES)
    assert binary.values("SELECT attributes FROM nodes ORDER BY name") != []


def test_run_metadata(engine):
    alone = opened(engine, RUN)
    costs = {(row[0]): list(row)[1:] for row in alone.values(COSTS)}
    assert costs[CONV] == [0, 1, 118000, 0, 118000, 23040, 23040, 23040, 23040], costs
    assert costs[VARIABLE + "/read"] == [0, 1, 3000, 2000, 1000, 0, 0, 0, 864], costs
    assert alone.values(COSTS) == opened(engine, RUN_TEXT).values(COSTS)
    reasons = dict(alone.values("SELECT reason, count FROM diagnostics"))
    assert reasons.get("runtime_nodes"), reasons
    # As the second and third step of a program.
    together = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN + "," + RUN_TEXT, "step", 7, "op_log_path", LOG)
    assert [list(row) for row in together.values("SELECT number, origin FROM steps ORDER BY number")] == [
        [7, "session"], [8, "session"]]
    both = [list(row) for row in together.values(COSTS) if row[0] == CONV]
    assert [row[1] for row in both] == [7, 8] and both[0][2:] == both[1][2:] == costs[CONV][1:], both
    # Each of the files is open, and is not opened again.
    for path in (GRAPH, RUN_TEXT, LOG):
        assert together.values("SELECT tfprof_open('%s')" % path) == [(1,)], path
    assert together.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 1)]
    # The same step number again adds up.
    twice = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN, "step", 4, "run_meta_path", RUN, "step", 4)
    assert [list(row)[1:4] for row in twice.values(COSTS) if row[0] == CONV] == [[4, 2, 236000]]
    assert twice.values("SELECT count(*), sum(dur_ns) FROM ops WHERE name = '%s'" % CONV)[0][0] == 2
    # Also where another step stands in between.
    parted = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN, "step", 4, "run_meta_path", RUN, "step", 5,
                    "run_meta_path", RUN, "step", 4)
    of_steps = [list(row)[1:4] for row in parted.values(COSTS) if row[0] == CONV]
    assert sorted(of_steps) == [[4, 2, 236000], [5, 1, 118000]], of_steps


def test_time_between_sessions(engine):
    """What passes from session to session is the recorder's work: no finding, and no rate."""
    values = []
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for number in range(12):
            path = os.path.join(directory, f"run_{number}.pbtxt")
            with open(path, "w") as file:
                file.write('step_stats { dev_stats { device: "/job:a/replica:0/task:0/device:CPU:0" node_stats { '
                           'node_name: "mm" all_start_micros: %d op_end_rel_micros: 300 all_end_rel_micros: 300 '
                           'timeline_label: "mm = MatMul(x, w)" } } }' % (1_000_000 + number * 10_000))
            values += ["run_meta_path", path, "step", number]
        connection = opened(engine, *values)
        assert connection.values("SELECT mean_ns, steps_per_second, between_ns FROM step_summary") == [
            (300_000, None, None)]
        assert connection.values("SELECT text FROM run_summary WHERE title = 'steps'") == [
            ("12, median 300 µs, 95 % within 300 µs",)]
        assert connection.values("SELECT message FROM advise WHERE check_name = 'between_steps'") == []


def node_def(name, op, inputs=(), shape=None, attributes=()):
    """A NodeDef as text; shape: of its output, () of a scalar, None: not told."""
    text = 'name: "%s" op: "%s" ' % (name, op) + "".join('input: "%s" ' % one for one in inputs)
    for key, value in attributes:
        text += 'attr { key: "%s" value { %s } } ' % (key, value)
    if shape is not None:
        sizes = "".join("dim { size: %d } " % size for size in shape)
        text += 'attr { key: "_output_shapes" value { list { shape { %s} } } } ' % sizes
    return text


def run_meta(*runs):
    """A RunMetadata as text: of each run its label and the shapes of its outputs by slot."""
    text = 'step_stats { dev_stats { device: "/job:a/replica:0/task:0/device:CPU:0" '
    for start, (label, outputs) in enumerate(runs):
        text += 'node_stats { node_name: "%s" all_start_micros: %d op_end_rel_micros: 1 timeline_label: "%s" ' % (
            label.partition("] ")[2].partition(" = ")[0] or label.partition(" = ")[0], 100 + start, label)
        for slot, shape in outputs.items():
            sizes = "".join("dim { size: %d } " % size for size in shape)
            text += "output { slot: %d tensor_description { shape { %s} } } " % (slot, sizes)
        text += "} "
    return text + "} }"


def graph_with_steps(directory):
    """A graph of which only the runs know the batch, with a function whose nodes run as nodes of their own."""
    nodes = [node_def("x", "Placeholder", shape=(-1, 16)), node_def("w", "Const", shape=(16, 8)),
             node_def("mm", "MatMul", ("x", "w"), (-1, 8)), node_def("known", "Mul", ("w", "w"), (16, 8)),
             node_def("never", "MatMul", ("x", "w"), (-1, 8)), node_def("call", "PartitionedCall", ("mm",))]
    inner = node_def("inner/mm", "MatMul", attributes=[("transpose_a", "b: true")])
    pool = node_def("pool", "MaxPool", attributes=[("ksize", "list { i: 1 i: 2 i: 2 i: 1 }")])
    steps = [run_meta(*[("_arg_x_0_0 = _Arg()", {0: (batch, 16)}), ("w = Const()", {0: (16, 8)}),
                        ("[cpu 1.0MB] mm = _MklMatMul(_arg_x_0_0, w)", {0: (batch, 8)}),
                        ("call/s = Switch(mm, c)", {1: (batch, 8)}),
                        ("call/inner/mm = _MklMatMul(call/s:1, mm, ^w)", {0: (8, 8)}),
                        ("call/s = Switch(mm, c)", {0: (batch, 8)}),  # the other way, as at the end of a loop
                        ("call/inner/mm = _MklMatMul(call/s:1, mm, ^w)", {0: (8, 8)}),
                        ("call/pool = MaxPool(image)", {0: (1, 5, 5, 3)}),
                        ("call/act = _MklNativeFusedConv2D(image, filter, bias)", {0: (2, 4, 4, 6)}),
                        ("filter = Const()", {0: (3, 3, 2, 6)})]) for batch in (32, 7)]
    files = {"graph.pbtxt": "".join("node { %s} " % node for node in nodes)
             + "library { function { node_def { %s} node_def { %s} } }" % (inner, pool)}
    files.update(("run_meta_%d" % (4 + step), text) for step, text in enumerate(steps))
    for name, text in files.items():
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)


def test_warmup_of_sessions(engine):
    """An initializer's run and the first run of a graph are warm-up; what other graphs take tells nothing of one."""
    train = ("x", "mm", "mm_grad", "apply")
    first, again, evaluated = (train, 500), (train, 5), (("x", "loss"), 2)
    initializer = (("w/Assign", "w/zeros"), 1)
    for name, steps, warmup in (
            ("loop", [initializer, first] + [again] * 8, [0, 1]),
            ("window", [again] * 10, []),
            ("slow later", [again, again, first] + [again] * 6, []),
            ("initializer alone", [initializer] + [again] * 3, [0]),
            ("one of two", [initializer, first], [0]),
            ("evaluation", [again, evaluated, again, evaluated, evaluated], []),
            ("train once", [first, evaluated, evaluated, evaluated], []),
            ("untimed", [((), 0), ((), 0)], []),
            ("networks", [(("d", "d_grad"), 400), (("g", "g_grad"), 50), (("d", "d_grad"), 4), (("g", "g_grad"), 9)]
             + [(("d", "d_grad"), 4), (("g", "g_grad"), 9)] * 4, [0, 1])):
        with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as other:
            known = sorted({node for nodes, _ in steps for node in nodes} | {"x"})
            with open(os.path.join(directory, "graph.pbtxt"), "w") as file:
                file.write("".join("node { %s} " % node_def(node, "Op") for node in known))
            for number, (nodes, micros) in enumerate(steps):
                with open(os.path.join(directory, f"run_meta_{number}"), "w") as file:
                    file.write('step_stats { dev_stats { device: "/job:a/replica:0/task:0/device:CPU:0" ' + "".join(
                        'node_stats { node_name: "%s" all_start_micros: %d op_end_rel_micros: %d timeline_label: "%s = '
                        'Op()" } ' % (node, 1000 * (number + 1), micros, node) for node in nodes) + "} }")
            connection, saved = opened(engine, directory), os.path.join(other, "saved.tfprof")
            asked = "SELECT number FROM steps WHERE is_warmup ORDER BY number"
            assert [row[0] for row in connection.values(asked)] == warmup, (name, connection.values(asked))
            connection.values(f"SELECT tfprof_save('{saved}')")
            again_opened = engine()
            again_opened.values(f"SELECT tfprof_open('{saved}')")
            assert [row[0] for row in again_opened.values(asked)] == warmup, name


def test_flops_of_graphs(engine):
    """Without an op log flops are counted: from shapes of the graph, else of what ran, step by step; the types of nodes
    that the graph has not are those that ran."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        graph_with_steps(directory)
        connection = opened(engine, directory)
        expected = {"mm": ("MatMul", "run", 2 * (32 + 7) / 2 * 16 * 8), "known": ("Mul", "graph", 128),
                    "never": ("MatMul", None, None), "call": ("PartitionedCall", None, None),
                    "call/inner/mm": ("MatMul", "run", 2 * (32 + 7) / 2 * 8 * 8),
                    "call/pool": ("MaxPool", "run", 4 * 75),
                    "call/act": ("_FusedConv2D", "run", 2 * 192 * 9 * 2 + 192), "_arg_x_0_0": ("_Arg", None, None)}
        rows = connection.values("SELECT name, op_type, flops_origin, flops FROM nodes")
        nodes = {row[0]: tuple(row[1:]) for row in rows}
        assert {name: nodes[name] for name in expected} == expected, nodes
        types = connection.values("SELECT type FROM node_types JOIN nodes ON nodes.id = node_id "
                                  "WHERE name = 'call/inner/mm' ORDER BY 1")
        assert [row[0] for row in types][1:] == ["MatMul", "_MklMatMul"], types
        steps = connection.values("SELECT number, ran.input_shapes, ran.output_shapes, run_count, ran.flops "
                                  "FROM node_steps AS ran JOIN nodes ON nodes.id = node_id "
                                  "JOIN steps ON steps.id = step_id WHERE nodes.name = 'call/inner/mm' ORDER BY 1")
        assert [list(row) for row in steps] == [[4, "[[32,8],[32,8]]", "[[8,8]]", 2, 2 * 2 * 32 * 64],
                                                [5, "[[7,8],[7,8]]", "[[8,8]]", 2, 2 * 2 * 7 * 64]], steps
        # An op has those of one run of its node; together they are those of all runs, as in the views below.
        assert connection.values("SELECT DISTINCT ops.flops IS nodes.flops FROM ops JOIN nodes ON nodes.id = node_id "
                                 "WHERE ops.category = 'op'") == [(1,)]
        (sums,) = connection.values("SELECT sum(flops), (SELECT sum(flops) FROM node_steps) FROM ops")
        assert sums[0] == sums[1] > 0, sums
        told = dict(connection.values("SELECT reason, count FROM diagnostics"))
        assert told["flops_without_shapes"] == 1 and "flops_without_formula" not in told, told
        select = ("SELECT name, float_ops FROM op_view WHERE step = %d AND order_by = 'name' AND max_depth = 100 "
                  "AND selected = 'float_ops' AND compat = '%s'")
        for step, batch in ((4, 32), (5, 7), (-1, 19.5)):
            rows = dict(connection.values(select % (step, "false")))
            assert rows["MatMul"] == 2 * batch * 16 * 8 + 2 * 2 * batch * 8 * 8, (step, rows)
        # As TensorFlow's engine has it: without an op log nothing, and names as types.
        rows = dict(connection.values(select % (4, "true")))
        assert rows["call/inner/mm"] == 0 and not rows["MatMul"], rows
        # What the op log tells of nodes is what counts; those that it could tell of, and does not, have none.
        with open(os.path.join(directory, "op_log"), "wb") as file:
            file.write(message((1, message((1, b"mm"), (2, 7))), (1, message((1, b"w"), (3, b"kernel")))))
        logged = opened(engine, directory)
        nodes = {row[0]: list(row[1:]) for row in logged.values("SELECT name, flops_origin, flops FROM nodes")}
        assert nodes["mm"] == ["source", 7] and nodes["known"] == [None, None], nodes
        assert nodes["call/inner/mm"] == ["run", 2 * (32 + 7) / 2 * 8 * 8], nodes
        # What was saved answers as what was opened.
        every = "SELECT name, flops, flops_origin, is_runtime FROM nodes ORDER BY 1"
        with tempfile.TemporaryDirectory(prefix="tfprof-test-") as beside:
            connection.values("SELECT tfprof_save('%s')" % os.path.join(beside, "saved"))
            saved = opened(engine, os.path.join(beside, "saved"))
            assert saved.values(every) == connection.values(every)


def sizes_of(shape):
    return "".join("dim { size: %d } " % size for size in shape)


def constant(name, values, dtype="DT_INT32", shape=None, content=None):
    """A Const of whole numbers, written as a list or as the bytes of the tensor; shape: None: a list of them."""
    shape = (len(values),) if shape is None else shape
    told = ("tensor_content: \"%s\" " % "".join("\\%03o" % byte for byte in content) if content is not None
            else "".join("int%s_val: %d " % ("64" if dtype == "DT_INT64" else "", value) for value in values))
    return node_def(name, "Const", attributes=[
        ("dtype", "type: " + dtype),
        ("value", "tensor { dtype: %s tensor_shape { %s} %s}" % (dtype, sizes_of(shape), told))])


def test_shapes_of_constants(engine):
    """A graph that was written without shapes has the flops that TensorFlow 2.21 tells of it: its profiler infers them
    from constants and variables."""
    def given(name, shape, op="Placeholder"):
        return node_def(name, op, attributes=[("shape", "shape { %s}" % sizes_of(shape)), ("dtype", "type: DT_FLOAT")])
    twice, three = ("strides", "list { i: 1 i: 2 i: 2 i: 1 }"), ("strides", "list { i: 1 i: 2 i: 2 i: 2 i: 1 }")
    nodes = [constant("up/sizes", (8, 28, 28, 32), content=struct.pack("<4i", 8, 28, 28, 32)),
             given("x", (8, 14, 14, 16)), constant("w", (), "DT_FLOAT", (3, 3, 32, 16)),
             node_def("up", "Conv2DBackpropInput", ("up/sizes", "w", "x"), attributes=[twice]),
             # What comes before the node that it takes, by an Identity and the handle of a variable.
             node_def("up2", "Conv2DBackpropInput", ("up2/sizes", "v/read", "relu"), attributes=[twice]),
             node_def("relu", "Relu", ("up",)), constant("up2/sizes", (8, 56, 56, 8), "DT_INT64"),
             given("v", (5, 5, 8, 32), "VarHandleOp"), node_def("v/read", "ReadVariableOp", ("v",)),
             constant("up3/sizes", (2, 8, 12, 12, 4)), constant("w3", (), "DT_FLOAT", (3, 3, 3, 4, 8)),
             given("x3", (2, 4, 6, 6, 8)),
             node_def("up3", "Conv3DBackpropInputV2", ("up3/sizes", "w3", "x3"), attributes=[three]),
             constant("flat/sizes", (-1, 25088)), node_def("flat", "Reshape", ("up2", "flat/sizes")),
             constant("fill/sizes", (25088, 10)), constant("one", (1,), "DT_FLOAT", ()),
             node_def("fill", "Fill", ("fill/sizes", "one")), node_def("mm", "MatMul", ("flat", "fill")),
             constant("zeros", (), "DT_FLOAT", (10,)), node_def("ba", "BiasAdd", ("mm", "zeros"))]
    expected = {"up": 14450688, "up2": 80281600, "up3": 2 * 2 * 4 * 6 * 6 * 8 * 4 * 27, "mm": 4014080, "ba": 80}
    # Nothing tells these: sizes that are none, values that are not all there, too many, circles, no constant at all.
    wrong = [constant("negative", (8, -2, 28, 32)), constant("short", (8, 28, 28, 32), content=b"\0\0\0"),
             constant("long", range(9)), constant("matrix", (8, 28, 28, 32), shape=(2, 2)),
             constant("scalar", (8,), shape=()),
             node_def("a", "Identity", ("b",)), node_def("b", "Identity", ("a",)),
             *(node_def("of_" + name, "Conv2DBackpropInput", (name, "w", "x"), attributes=[twice])
               for name in ("negative", "short", "long", "matrix", "scalar", "a", "x", "nowhere"))]
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "graph.pbtxt")
        with open(path, "w") as file:
            file.write("".join("node { %s} " % node for node in nodes + wrong))
        connection = opened(engine, path)
        found = dict(connection.values("SELECT name, flops FROM nodes WHERE flops IS NOT NULL"))
        assert found == expected, found
        told = dict(connection.values("SELECT reason, count FROM diagnostics"))
        assert told["flops_without_shapes"] == 8, told
        # The columns have what the graph says, and a saved copy counts alike.
        assert connection.values("SELECT count(output_shapes) FROM nodes") == [(0,)]
        connection.values("SELECT tfprof_save('%s')" % os.path.join(directory, "saved"))
        saved = opened(engine, os.path.join(directory, "saved"))
        assert dict(saved.values("SELECT name, flops FROM nodes WHERE flops IS NOT NULL")) == expected
        # Nodes of functions count in the places of calls, and so do theirs.
        with open(path, "w") as file:
            file.write("node { %s} library { %s}" % (
                node_def("call", "f"), function_def("f", (), *(node for node in nodes[:4]))))
        inside = opened(engine, path)
        found = inside.values("SELECT name, flops FROM nodes WHERE op_type = 'Conv2DBackpropInput'")
        assert [row[1] for row in found] == [expected["up"]], found


def function_def(name, arguments, *nodes):
    return 'function { signature { name: "%s" %s} %s} ' % (
        name, "".join('input_arg { name: "%s" } ' % one for one in arguments),
        "".join("node_def { %s} " % node for node in nodes))


def calling(key, *functions):
    """An attribute that is a function, or a list of several."""
    if len(functions) == 1:
        return key, 'func { name: "%s" }' % functions
    return key, "list { %s }" % "".join('func { name: "%s" } ' % one for one in functions)


def test_functions_without_steps(engine):
    """Where no step tells what ran the nodes of functions stand in the place of each call: as TensorFlow computes."""
    graph = [node_def("x", "Placeholder", (), (2, 16)), node_def("w", "Const", (), (16, 16)),
             node_def("go", "StatefulPartitionedCall", ("x", "w"), (2, 16), [calling("f", "step")]),
             node_def("data", "MapDataset", ("x",), (), [calling("f", "layer")]),
             node_def("old", "layer", ("go", "w"), (2, 16))]
    step = function_def(
        "step", ("y", "k"),
        node_def("one", "PartitionedCall", ("y", "k"), (2, 16), [calling("f", "layer")]),
        node_def("two", "PartitionedCall", ("one:output:0", "k"), (2, 16), [calling("f", "layer")]),
        'name: "parts" op: "Split" input: "axis" input: "two:output:0" attr { key: "_output_shapes" value { list { '
        'shape { dim { size: 2 } dim { size: 4 } } shape { dim { size: 2 } dim { size: 12 } } } } } ',
        node_def("ones", "Const", (), (12, 8)),
        node_def("last", "MatMul", ("parts:output:1", "ones:output:0"), (2, 8)),
        node_def("i", "Const", (), ()),
        node_def("loop", "While", ("i:output:0", "two:output:0", "k"), (2, 16),
                 [calling("body", "body"), calling("cond", "cond")]),
        node_def("branch", "Case", ("i:output:0", "y", "k"), (2, 16), [calling("branches", "layer", "layer")]))
    layer = function_def("layer", ("a", "b"), node_def("mm", "MatMul", ("a", "b", "^a"), (2, 16)),
                         node_def("act", "Relu", ("mm:product:0",), (2, 16)))
    loop = function_def("cond", ("i", "y", "k"), node_def("go", "Less", ("i", "i"), ())) + function_def(
        "body", ("i", "y", "k"), node_def("mm", "MatMul", ("y", "k"), (2, 16)),
        node_def("no_shape", "MatMul", ("mm:product:0", "nothing"), None))
    unused = function_def("unused", ("a",), node_def("mm", "MatMul", ("a", "a"), (2, 2)))
    each, mm = 2 * 2 * 16 * 16, "SELECT name, flops FROM nodes WHERE op_type = 'MatMul' ORDER BY 1"
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "graph.pbtxt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join("node { %s} " % node for node in graph) + "library { " + step + layer + loop + unused
                       + "}")
        connection = opened(engine, path)
        assert [list(row) for row in connection.values(mm)] == [
            ["go/branch/branches_0/mm", each], ["go/branch/branches_1/mm", each], ["go/last", 2 * 2 * 12 * 8],
            ["go/loop/body/mm", each], ["go/loop/body/no_shape", None], ["go/one/mm", each], ["go/two/mm", each],
            ["old/mm", each]], connection.values(mm)
        functions = connection.values("SELECT name, function FROM nodes WHERE name IN ('go', 'go/one/mm') ORDER BY 1")
        assert [list(row) for row in functions] == [["go", None], ["go/one/mm", "layer"]], functions
        # The classic views and flops() count them alike; with --compat there is only the graph.
        view = "SELECT float_ops FROM op_view WHERE name = 'MatMul' AND selected = 'float_ops'"
        assert connection.values(view) == [(6 * each + 384,)]
        assert connection.values(view + " AND compat = 'true'") == []
        counted = connection.values("""SELECT sum(flops(op_type, (SELECT json_group_array(shape) FROM node_inputs
            WHERE node_id = nodes.id AND NOT is_control), output_shapes, attributes)) FROM nodes
            WHERE op_type = 'MatMul'""")
        assert counted == [(6 * each + 384,)], counted
        told = dict(connection.values("SELECT reason, count FROM diagnostics"))
        numbers = [told.get(reason) for reason in ("function_nodes", "counted_once", "flops_without_shapes")]
        assert numbers == [1, 7, 1], told
        with tempfile.TemporaryDirectory(prefix="tfprof-test-") as beside:
            connection.values("SELECT tfprof_save('%s')" % os.path.join(beside, "saved"))
            saved = opened(engine, os.path.join(beside, "saved"))
            assert saved.values(mm) == connection.values(mm)
        # With a step it tells what ran, under which name.
        with open(os.path.join(directory, "run_meta_1"), "w", encoding="utf-8") as file:
            file.write(run_meta(("one/mm = MatMul(x, w)", {0: (2, 16)})))
        names = [name for name, _ in opened(engine, directory).values(mm)]
        assert names == ["one/mm"], names


def test_signatures_of_one_function(engine):
    """Keras exports a model under two signatures: what they call is there once. Others are there each by itself."""
    graph = [node_def("x", "Placeholder", (), (2, 16))]
    functions = function_def("serve", ("a",), node_def("mm", "MatMul", ("a", "a"), (16, 16)))
    functions += function_def("other", ("a",), node_def("mm", "MatMul", ("a", "a"), (16, 16)))
    for number, called in enumerate(("serve", "serve", "other")):
        name = "__inference_signature_wrapper_%d" % number
        graph.append(node_def("call_%d" % number, "StatefulPartitionedCall", ("x",), (16, 16), [calling("f", name)]))
        functions += function_def(name, ("a",), node_def("in", "StatefulPartitionedCall", ("a",), (16, 16),
                                                         [calling("f", called)]))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "graph.pbtxt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join("node { %s} " % node for node in graph) + "library { " + functions + "}")
        connection = opened(engine, path)
        names = connection.values("SELECT name FROM nodes WHERE op_type = 'MatMul' ORDER BY 1")
        assert [name for name, in names] == ["call_0/in/mm", "call_2/in/mm"], names
        assert dict(connection.values("SELECT reason, count FROM diagnostics"))["repeated_signatures"] == 1


def test_functions_that_never_end(engine):
    """Functions that call themselves, or double at each level, are told, and cost little."""
    doubling = "".join(function_def("f%d" % i, (), *[node_def(name, "Call", (), None, [calling("f", "f%d" % (i + 1))])
                                                     for name in "ab"]) for i in range(60))
    circle = function_def("self", (), node_def("again", "Call", (), None, [calling("f", "self")]))
    for first, library in (("f0", doubling), ("self", circle)):
        with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
            path = os.path.join(directory, "graph.pbtxt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("node { %s} library { %s}" % (node_def("go", "Call", (), None, [calling("f", first)]),
                                                         library))
            connection = opened(engine, path)
            ((count,),) = connection.values("SELECT count(*) FROM nodes")
            told = dict(connection.values("SELECT reason, count FROM diagnostics"))
            assert 60 < count < 100000 and told["calls_too_many"] > 0, (first, count, told)


def test_gradients_count_at_the_forward_line(engine):
    """As in the code view, where they are below the line of the forward node, too."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        paths = [os.path.join(directory, name) for name in ("graph.pbtxt", "run_meta_1", "op_log")]
        nodes = [node_def("mm", "MatMul"), node_def("gradients/mm_grad/MatMul", "MatMul"), node_def("step", "NoOp"),
                 node_def("gradients/gone_grad/Mul", "Mul")]
        log = b"".join(
            message((1, message((1, node["name"]), (4, message((1, message((1, "train.py"), (2, line), (3, "f"),
                                                                           (4, "y = %d" % line))))))))
            for node, line in (({"name": "mm"}, 3), ({"name": "gradients/mm_grad/MatMul"}, 9), ({"name": "step"}, 9),
                               ({"name": "gradients/gone_grad/Mul"}, 9)))
        runs = run_meta(*[(name + " = NoOp()", {}) for name in ("mm", "gradients/mm_grad/MatMul", "step",
                                                                "gradients/gone_grad/Mul")])
        for path, content in zip(paths, ("".join("node { %s} " % node for node in nodes), runs, log)):
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        connection = opened(engine, directory)
        lines = connection.values("SELECT location, text, self_ns, backward_ns FROM code_summary ORDER BY 1")
        assert [list(line) for line in lines] == [["train.py:3", "y = 3", 2000, 1000],
                                                  ["train.py:9", "y = 9", 2000, None]], lines
        forwards = connection.values("SELECT nodes.name, forwards.name FROM nodes JOIN nodes AS forwards "
                                     "ON forwards.id = nodes.forward_node_id")
        assert [list(row) for row in forwards] == [["gradients/mm_grad/MatMul", "mm"]], forwards


def test_reports(engine):
    """Public reports of graphs whose flops were missing, where they are beside the clone."""
    folder = os.path.join(os.environ.get("TFPROF_SHARED", ""), "traces", "reports", "tensorflow")
    if not os.path.isdir(folder):
        return
    for files, expected in ((("graphs/frozen_keras_shapes.pb",), {"Conv2D": 6912, "DepthwiseConv2dNative": 1296,
                                                                  "MatMul": 576, "BiasAdd": 204}),
                            (("graphs/convs.pb",), {"Conv3D": 1143072, "Conv3DBackpropInputV2": 18432,
                                                    "BatchMatMulV2": 14400, "Conv2DBackpropInput": 294912}),
                            (("session_v2",), {"MatMul": 94208}),
                            (("graph_path", "graphs/graph.pb", "run_meta_path", "graphs/run_meta_plain"),
                             {"MatMul": 8192})):
        connection = opened(engine, *[os.path.join(folder, word) if "/" in word or word == "session_v2" else word
                                      for word in files])
        rows = dict(connection.values("SELECT name, float_ops FROM op_view WHERE max_depth = 100 AND order_by = 'name' "
                                      "AND selected = 'float_ops'"))
        assert {name: rows[name] for name in expected} == expected, (files, rows)
    assert connection.values("SELECT count(*) FROM nodes WHERE op_type = name AND is_runtime") == [(0,)]


def test_copies_on_devices(engine):
    """A copy that is told of a device itself, and not of a lane of its own, leaves the device's ops to be ops."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "run_meta.pbtxt")
        with open(path, "w") as file:
            runs = (("", "MEMCPYHtoD", 10), ("", "a", 20), ("/memcpy", "MEMCPYDtoH", 30))
            file.write("step_stats { " + "".join(
                'dev_stats { device: "/device:GPU:0%s" node_stats { node_name: "%s" all_start_micros: %d '
                "op_end_rel_micros: 5 } } " % run for run in runs) + "}")
        profile = opened(engine, path)
    assert [row[0] for row in profile.values("SELECT name FROM ops")] == ["a"]
    assert [row[0] for row in profile.values("SELECT name FROM kernels")] == []
    copies = profile.values("SELECT transfers.name, lanes.kind, lanes.name FROM transfers "
                            "JOIN threads AS lanes ON lanes.id = thread_id ORDER BY 1")
    assert [list(row) for row in copies] == [["MEMCPYDtoH", "stream", "/device:GPU:0/memcpy"],
                                             ["MEMCPYHtoD", "host", "/device:GPU:0"]], copies


def test_op_log(engine):
    alone = opened(engine, LOG)
    frames = alone.values("SELECT file, function, line, text FROM code_frames WHERE file = 'a.py'")
    assert [list(row) for row in frames] == [["a.py", "f", 3, "x"]], frames
    traced = alone.values("""WITH RECURSIVE up(trace, level) AS (SELECT code_trace_id, 0 FROM nodes WHERE name = '%s'
        UNION ALL SELECT parent_id, level + 1 FROM up JOIN code_traces ON id = trace WHERE parent_id IS NOT NULL)
        SELECT function FROM up JOIN code_traces ON code_traces.id = trace
        JOIN code_frames ON code_frames.id = leaf_frame_id ORDER BY level DESC""" % VARIABLE)
    assert [row[0] for row in traced][:2] == ["<module>", "main"], traced
    assert [row[0] for row in alone.values("SELECT trainable FROM nodes WHERE name = '%s'" % VARIABLE)] == [1]
    # Without a graph the nodes are those that ran; of others the op log tells nothing.
    nodes = "SELECT name FROM nodes WHERE NOT is_scope ORDER BY 1"
    logged, ran = [[row[0] for row in profile.values(nodes)]
                   for profile in (alone, opened(engine, "run_meta_path", RUN))]
    both = opened(engine, "run_meta_path", RUN, "op_log_path", LOG)
    assert set(logged) - set(ran) and [row[0] for row in both.values(nodes)] == ran, (logged, ran)
    assert [row[0] for row in both.values("SELECT trainable FROM nodes WHERE name = '%s'" % VARIABLE)] == [1]
    assert both.values("SELECT count(*) FROM diagnostics WHERE reason = 'unknown_node'")[0][0]


def test_profile(engine):
    profile = opened(engine, "profile_path", PROFILE)
    costs = [list(row) for row in profile.values(COSTS) if row[0] == CONV]
    assert costs[0][1:6] == [1, 1, 217000, 85000, 132000] and [row[1] for row in costs] == [1, 5, 9], costs
    assert profile.values("SELECT count(*) FROM kernels")[0][0] > 0
    types = profile.values("SELECT type FROM node_types JOIN nodes ON nodes.id = node_id WHERE name = '%s' ORDER BY 1"
                           % VARIABLE)
    assert [row[0] for row in types] == ["/job:localhost/replica:0/task:0/device:cpu:0", "VariableV2",
                                         "_trainable_variables"]
    assert profile.values("SELECT format FROM runs") == [("tf_profile",)]
    devices = profile.values("SELECT kind, ordinal FROM devices ORDER BY 1")
    assert [list(row) for row in devices] == [["cpu", 0], ["gpu", 0]], devices


def test_nodes_on_devices(engine):
    """Nodes are the ops of a device's side, and the time between steps is none of theirs."""
    if not os.environ.get("TFPROF_SHARED"):
        return
    traces = os.path.join(os.environ["TFPROF_SHARED"], "traces", "tf")
    connection = opened(engine, os.path.join(traces, "profile_gpu"))
    names = "SELECT count(*), count(op_name), sum(op_name = name), count(op_type), sum(1.0 * dur_ns) FROM kernels"
    ((count, named, alike, typed, kernel_ns),) = connection.values(names)
    assert count == named == alike == typed > 1900, (count, named, alike, typed)
    sides = dict(connection.values("SELECT side, sum(sum_ns) FROM op_stats GROUP BY side"))
    assert abs(sides["device"] - kernel_ns) < 1000 and sides["host"] > 0, (sides, kernel_ns)
    ((host, device, utilization),) = connection.values(
        "SELECT host_op_ratio, device_op_ratio, utilization_ratio FROM overview")
    assert 0.5 < device < 0.6 and abs(host + device - 1) < 1e-9, (host, device)
    # Three steps of 4.50, 0.77 and 3.50 ms, 27 ms from the first to the last.
    ((step_ns, busy_ns),) = connection.values(
        "SELECT (SELECT sum(dur_ns) FROM steps), (SELECT 1.0 * union_ns(start_ns, end_ns) FROM kernels "
        "WHERE start_ns < (SELECT max(end_ns) FROM steps))")
    assert abs(utilization - busy_ns / step_ns) < 0.01, (utilization, busy_ns, step_ns)
    assert len(connection.values("SELECT 1 FROM top_device_ops")) == 10
    ((suggestion,),) = connection.values("SELECT suggestion FROM advise WHERE check_name = 'accelerator_utilization'")
    assert suggestion.endswith("from the first to the last node of step 9; device_utilization has the share of all "
                               "steps."), suggestion


def test_profile_whose_first_node_has_no_number(engine):
    """A map entry of protobuf may lack a key that is 0."""
    def node(number, name, key):
        fields = message((1, name.encode()), (9, b"Const"), (13, number))
        return message((1, (message((1, number)) if key else b"") + message((2, fields))))

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "profile_20")
        for keys in ((False, True), (True, False)):
            with open(path, "wb") as file:
                file.write(node(0, "first", keys[0]) + node(1 if keys[1] else 0, "second", keys[1]))
            for words in ((path,), ("profile_path", path)):
                names = opened(engine, *words).values("SELECT name, op_type FROM nodes ORDER BY 1")
                assert [list(row) for row in names] == [["first", "Const"], ["second", "Const"]], (words, names)


def test_missing_step(engine):
    few = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN)
    _, error = few.query("SELECT * FROM scope_view WHERE step = 7")
    assert "there is no step 7; the steps are 0" in error and "more" not in error, error
    many = opened(engine, "graph_path", GRAPH, "run_meta_path", ",".join([RUN] * 300))
    _, error = many.query("SELECT * FROM scope_view WHERE step = 300")
    assert "the steps are 0 1 2 3 " in error and " more, to 299" in error, error
    listed, more = error.split("the steps are ")[1].split(" and ")
    assert len(listed.split()) + int(more.split()[0]) == 300, error


def test_unusual_forms(engine):
    """A file may write its numbers longer than need be, the parts of an entry in any order, several runs of a device,
    and the numbers of a run one by one; it says the same."""
    def profile(padding, is_turned, is_single):
        def say(*fields):
            return message(*fields, padding=padding)

        def entry(key, value):
            return say(*([(2, value), (1, key)] if is_turned else [(1, key), (2, value)]))

        def time(start, micros):
            together = written_varint(start, padding) + written_varint(micros, padding)
            numbers = [(1, start), (1, micros)] if is_single else [(1, together)]
            return (1, say(*numbers))

        def node(number, device):
            execs = []
            for step in range(4):
                start = 1700000000000000 + 1000 * step + 10000 * number
                cost = [(1, 2), (2, start), (3, start + 90),
                        (4, entry(device + "/stream:all",
                                  say(time(start + 9, 20), time(start + 40, 22 + 300 * (step == 3))))),
                        (5, entry("/device:" + device, say(time(start, 7 + step)))), (6, "/device:" + device),
                        (7, say((1, start + 90), (6, 4096), (7, 300 + step), (8, -200 - step), (9, 5000000000),
                                (10, 77),
                                (11, b"\x08\x01"))),
                        (11, say((1, start + 2), (2, 512))), (11, say((1, start + 3), (2, -512)))]
                execs.append((12, entry(step, say(*(cost[::-1] if is_turned else cost)))))
            return (1, entry(number, say((1, f"n{number}"), (6, "/device:" + device), (9, "Add"), *execs)))

        return say(node(1, "gpu:0"), node(2, "gpu:1"), (4, entry(1, "no text")))

    expected = None
    for form in ((0, False, False), (1, False, False), (7, True, False), (0, True, True), (2, False, True)):
        with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
            path = os.path.join(directory, "profile")
            with open(path, "wb") as file:
                file.write(profile(*form))
            connection = opened(engine, "profile_path", path)
            told = [[list(row) for row in connection.values(sql)] for sql in (
                COSTS,
                "SELECT start_ns, dur_ns, threads.name FROM kernels JOIN threads ON threads.id = thread_id "
                "ORDER BY 1, 2",
                "SELECT start_ns, dur_ns FROM ops ORDER BY 1, 2", "SELECT time_ns, value FROM counters ORDER BY 1",
                "SELECT allocated_ns, released_ns, bytes FROM allocations ORDER BY 1",
                "SELECT reason, count FROM diagnostics")]
            expected = expected or told
            assert told == expected, (form, told, expected)
    costs, kernels, ops, counters, allocations, diagnostics = expected
    longer = [300000 * (step == 3) for step in range(4)]
    assert costs == [[f"n{number}", step, 2, 49000 + 1000 * step + longer[step], 42000 + longer[step],
                      7000 + 1000 * step, 4096, 300 + step, -200 - step, 5000000000] for number in (1, 2)
                     for step in range(4)], costs
    starts = [1700000000000000000 + 1000000 * step + 10000000 * number for number in (1, 2) for step in range(4)]
    assert kernels == [[start + after, micros, f"gpu:{i // 4}/stream:all"] for i, start in enumerate(starts)
                       for after, micros in ((9000, 20000), (40000, 22000 + longer[i % 4]))], kernels
    assert ops == [[start, 7000 + 1000 * (i % 4)] for i, start in enumerate(starts)], ops
    assert counters == [[start + 90000, 77.0] for start in starts], counters
    assert allocations == [[start + 2000, start + 3000, 512] for start in starts], allocations
    assert not diagnostics, diagnostics


def test_steps_in_any_order(engine):
    """Nodes, and the steps of a node, come in any order; so do the moments at which memory is told, whose rows are
    made when they are asked for."""
    device = "/job:worker/task:0/device:gpu:0"

    def node(number, name, steps):
        execs = []
        for step, start, in_use in steps:
            memory = message((1, start + 7), (6, 100 * number + step), (10, in_use)) if start else b""
            cost = [(1, 1), (2, start), (3, start + 20)] if start else [(1, 2)]
            runs = message((1, device), (2, message((1, message((1, start), (1, 5 + step))))))
            execs.append((12, message((1, step), (2, message(*cost, (5, runs), *[(7, memory)] * bool(start))))))
        return (1, message((1, number), (2, message((1, name), (6, device), (9, "Add"), *execs, (13, number)))))

    profile = message(node(7, "z", [(3, 5000, 40), (1, 1000, 70)]),
                      node(2, "a/b", [(2, 0, 0), (1, 1010, 60), (3, 4990, 90)]))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "profile")
        with open(path, "wb") as file:
            file.write(profile)
        connection = opened(engine, path)
        costs = connection.values("""SELECT nodes.name, number, run_count, node_steps.start_ns, node_steps.end_ns,
            exec_ns, accelerator_ns, requested_bytes
            FROM node_steps JOIN nodes ON nodes.id = node_id JOIN steps ON steps.id = step_id ORDER BY 1, 2""")
        assert [list(row) for row in costs] == [
            ["a/b", 1, 1, 1010000, 1030000, 6000, 0, 201], ["a/b", 2, 2, None, None, 7000, 0, 0],
            ["a/b", 3, 1, 4990000, 5010000, 8000, 0, 203], ["z", 1, 1, 1000000, 1020000, 6000, 0, 701],
            ["z", 3, 1, 5000000, 5020000, 8000, 0, 703]], costs
        steps = connection.values("SELECT number, start_ns, dur_ns FROM steps ORDER BY id")
        assert [list(row) for row in steps] == [
            [1, 1000000, 30000], [2, None, None], [3, 4990000, 30000]], steps
        span = connection.values("SELECT start_ns, end_ns FROM profiles")
        assert [list(row) for row in span] == [[1000000, 5020000]], span  # the run of step 2 says no time
        ops = connection.values("""SELECT nodes.name, number, ops.dur_ns FROM ops JOIN nodes ON nodes.id = node_id
            JOIN steps ON steps.id = step_id ORDER BY 1, 2""")
        assert [list(row) for row in ops] == [
            ["a/b", 1, 6000], ["a/b", 2, 7000], ["a/b", 3, 8000], ["z", 1, 6000], ["z", 3, 8000]], ops
        expected = [[1007000, 70.0], [1017000, 60.0], [4997000, 90.0], [5007000, 40.0]]
        assert connection.values("SELECT value FROM counters ORDER BY id") == [(row[1],) for row in expected]
        counters = connection.values("SELECT time_ns, value FROM counters ORDER BY id")
        assert [list(row) for row in counters] == expected, counters
        names = connection.values("""SELECT counters.name, devices.name, count(*) FROM counters
            JOIN devices ON devices.id = device_id GROUP BY 1, 2""")
        assert [list(row) for row in names] == [["allocator_bytes_in_use", device, 4]], names
        assert connection.values("SELECT count(*) FROM diagnostics") == [(0,)]


def test_checkpoint(engine):
    index = os.path.join(FILES, "checkpoint.index")
    for path in (index, index[: -len(".index")]):
        connection = opened(engine, "graph_path", GRAPH, "checkpoint_path", path)
        rows = connection.values("""SELECT tensors.shape, tensors.dtype, element_count, bytes, nodes.name, value
            FROM tensors JOIN nodes ON nodes.id = node_id""")
        # The bytes themselves are not beside it.
        assert [list(row) for row in rows] == [["3x3x3x8", "float32", 216, 864, VARIABLE, None]], rows
        assert connection.values("SELECT count(*) FROM tensors WHERE value IS NOT NULL")[0][0] == 0
        assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'tensor_value'")[0][0] == 1
        types = connection.values("SELECT type FROM node_types JOIN nodes ON nodes.id = node_id WHERE name = '%s'"
                                  % VARIABLE)
        assert ("_checkpoint_variables",) in [tuple(row) for row in types], types
    assert opened(engine, index).values("SELECT format FROM runs") == [("tf_checkpoint",)]
    with open(index, "rb") as file:
        whole = file.read()
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        damaged = os.path.join(directory, "damaged.index")
        for place, expected in ((5, "checksum"), (len(whole) // 2, "checksum")):
            with open(damaged, "wb") as file:
                file.write(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1:])
            _, error = engine().query(f"SELECT tfprof_open('checkpoint_path', '{damaged}')")
            assert error and damaged in error and any(word in error for word in expected.split("|")), error


def test_wrong_files(engine):
    for values, expected in (
            (("graph_path", RUN), "graph_path must be a GraphDef, and this is a RunMetadata"),
            (("run_meta_path", LOG), "run_meta_path must be a RunMetadata, and this is an OpLogProto"),
            (("op_log_path", PROFILE), "op_log_path must be an OpLogProto, and this is a ProfileProto"),
            (("profile_path", TEXT), "profile_path must be a ProfileProto, and this is a GraphDef"),
            (("profile_path", PROFILE, "graph_path", GRAPH), "goes with checkpoint_path only"),
            (("graph_path", GRAPH, "steps", 3), "there is no key 'steps'"),
            (("graph_path", GRAPH, "step", "x"), "step must be a number"),
            (("graph_path", GRAPH + ".none"), "No such file"),
            (("graph_path",), "no such file")):
        _, error = engine().query("SELECT tfprof_open(" + ", ".join(repr(value) for value in values) + ")")
        assert error and expected.lower() in error.lower(), (values, error)


def test_damaged_files(engine):
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for path in (GRAPH, RUN, LOG, PROFILE, TEXT):
            with open(path, "rb") as file:
                whole = file.read().strip() if path == TEXT else file.read()
            for cut in (len(whole) - 1, len(whole) // 2, 3):
                short = os.path.join(directory, "cut")
                with open(short, "wb") as file:
                    file.write(whole[:cut])
                connection = engine()
                _, error = connection.query(f"SELECT tfprof_open('{short}')")
                if error:
                    assert short in error, error
                else:
                    rows = connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'damaged_message'")
                    complete = connection.values("SELECT complete FROM profiles")
                    assert rows[0][0] == 1 and complete[0][0] == 0, (path, cut)
                    assert connection.values("SELECT count(*) FROM nodes")[0][0] > 0


def test_files_that_were_cut_off(engine):
    """What nearly all of a file is one part of, as of a RunMetadata, is served up to the last node that is whole; how
    much is missing is told, and each place once, however often it is read."""
    def node_stats(number):
        return message((1, b"node_%d" % number), (2, 1000 + number), (5, 7), (8, b"node_%d = MatMul(a, b)" % number))

    def graph(count):
        node = lambda number: message((1, b"n%d" % number), (2, b"MatMul"))
        inner = message((1, message((1, b"f"))), (3, message((1, b"x"), (2, b"Relu"))))
        return message(*((1, node(number)) for number in range(count)), (2, message((1, inner), (1, inner * 40))))

    run = message((1, message((1, message((1, b"/job:a/replica:0/task:0/device:CPU:0"), *(
        (2, node_stats(number)) for number in range(60)))))))
    saved = message((1, 1), (2, message((1, message((4, b"serve"))), (2, graph(50)))))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for name, whole, sql, last in (("run_meta", run, "SELECT count(*) FROM node_steps", 60),
                                       ("saved_model.pb", saved, "SELECT count(*) FROM nodes WHERE op_type = 'MatMul'",
                                        50)):
            path, before = os.path.join(directory, name), 0
            for cut in [*range(len(whole) // 2, len(whole), 37), len(whole) - 1, len(whole)]:
                with open(path, "wb") as file:
                    file.write(whole[:cut])
                connection = opened(engine, path)
                ((count,),) = connection.values(sql)
                assert count >= before and count >= last * cut // len(whole) - 2, (name, cut, count, before)
                before = count
                told = connection.values("SELECT message, count FROM diagnostics WHERE reason = 'damaged_message'")
                assert [count for _, count in told] == [1] * (cut < len(whole)), (name, cut, told)
                if told:
                    assert f"at least {len(whole) - cut} bytes are missing" in told[0][0], (cut, told)
                connection.close()
            assert before == last, (name, before)


def copied(directory, **files):
    """A directory with copies of the files, by their names there."""
    os.makedirs(directory)
    for name, path in files.items():
        shutil.copy(path, os.path.join(directory, name))
    return directory


def test_directory_of_a_program(engine):
    """What lies beside the only graph is one profile with it, as if it had been named."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as parent:
        folder = copied(os.path.join(parent, "program"), graph=GRAPH, run_meta_3=RUN, run_meta_12=RUN_TEXT, op_log=LOG)
        named = opened(engine, "graph_path", GRAPH, "op_log_path", LOG, "run_meta_path", RUN, "step", 3,
                       "run_meta_path", RUN_TEXT, "step", 12)
        for path in (folder, folder + "/*"):
            found = opened(engine, path)
            assert found.values("SELECT count(*), min(format) FROM profiles") == [(1, "tf_run_metadata")]
            for query in (NODES, COSTS, "SELECT reason, count FROM diagnostics ORDER BY reason",
                          "SELECT nodes.name, type FROM node_types JOIN nodes ON nodes.id = node_id ORDER BY 1, 2"):
                assert found.values(query) == named.values(query), query
            # Each of the files is open, and is not opened again.
            for name in ("", "graph", "run_meta_12", "op_log"):
                again = found.values("SELECT tfprof_open('%s')" % os.path.join(folder, name))
                assert again == [(1,)], (name, again)
            assert found.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 1)]
            # What appears later is by itself.
            shutil.copy(RUN, os.path.join(folder, "run_meta_13"))
            assert found.values("SELECT tfprof_refresh() > 0") == [(1,)]
            assert found.values("SELECT count(*) FROM profiles") == [(2,)]
            os.remove(os.path.join(folder, "run_meta_13"))
        # One that is damaged is told, and leaves the others.
        with open(os.path.join(folder, "run_meta_3"), "r+b") as file:
            file.truncate(40)
        found = opened(engine, folder)
        assert [list(row)[:2] for row in found.values(COSTS) if row[0] == CONV] == [[CONV, 12]], found.values(COSTS)
        assert [os.path.basename(row[0].split(" could")[0]) for row in found.values(
            "SELECT message FROM diagnostics WHERE reason = 'unopened_file'")] == ["run_meta_3"]
        # The parts of several programs are not one.
        for name, files in (("graphs", {"graph": GRAPH, "graph.pbtxt": TEXT, "run_meta": RUN}),
                            ("profiles", {"graph": GRAPH, "profile_3": PROFILE, "op_log": LOG})):
            apart = opened(engine, copied(os.path.join(parent, name), **files))
            assert apart.values("SELECT count(*) FROM profiles") == [(len(files),)], name
        files = {"graph": GRAPH, "a": LOG, "b": LOG, "x": RUN, "y": RUN, "run_4": RUN}
        several = opened(engine, copied(os.path.join(parent, "logs"), **files))
        assert several.values("SELECT count(*), count(DISTINCT run_id) FROM profiles") == [(5, 1)]


META_INFO = field(2, field(1, field(1, b"Conv2D"))) + field(4, b"serve") + field(5, b"2.21.0")


def written(directory, name, data):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_saved_graphs(engine):
    """A MetaGraphDef and a SavedModel open as the graph in them."""
    with open(GRAPH, "rb") as file:
        meta = field(1, META_INFO) + field(2, file.read())
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
        for name, data in (("model.ckpt-4.meta", meta), ("saved_model.pb", b"\x08\x01" + field(2, meta)),
                           ("old.meta", field(1, field(1, b"v1") + META_INFO) + meta[len(field(1, META_INFO)):])):
            found = opened(engine, written(folder, name, data))
            assert found.values(NODES) == opened(engine, GRAPH).values(NODES), name
            assert found.values("SELECT format FROM profiles") == [("tf_graph",)], name
            # As --graph_path, too, with what belongs to it; of a SavedModel its directory.
            paths = [os.path.join(folder, name), *[folder] * (name == "saved_model.pb")]
            for path in paths:
                named = opened(engine, "graph_path", path, "run_meta_path", RUN)
                assert named.values(NODES) == opened(engine, "graph_path", GRAPH, "run_meta_path", RUN).values(NODES)


def test_directory_of_a_saver(engine):
    """The graph counts once, with the checkpoint that the Saver names as its newest; its prefix opens, too."""
    index = os.path.join(FILES, "checkpoint.index")
    with open(GRAPH, "rb") as file:
        meta = field(1, META_INFO) + field(2, file.read())
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as parent:
        names = {"model.ckpt-%d.index" % i: index for i in (2, 3, 10)}
        folder = copied(os.path.join(parent, "run"),
                        **{"graph.pbtxt": TEXT, "graph.pb": GRAPH, "run_meta_3": RUN}, **names)
        for i in (2, 3, 10):
            written(folder, "model.ckpt-%d.meta" % i, meta)
        joined = "SELECT tensors.name, nodes.name IS NOT NULL FROM tensors LEFT JOIN nodes ON nodes.id = node_id"
        left = "SELECT message FROM diagnostics WHERE reason = 'older_files'"
        for state, newest in ((None, 10), ('model_checkpoint_path: "model.ckpt-3"\n', 3),
                              ('model_checkpoint_path: "gone/model.ckpt-7"\nall_model_checkpoint_paths: "a"\n', 10)):
            if state:
                written(folder, "checkpoint", state.encode())
            found = opened(engine, folder)
            assert found.values("SELECT count(*) FROM profiles") == [(1,)], state
            assert found.values(NODES) == opened(engine, GRAPH).values(NODES), state
            assert sum(row[1] for row in found.values(joined)) == 1, state
            assert found.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 1)], state
            assert f"model.ckpt-{newest}.index" not in found.values(left)[0][0], (state, found.values(left))
            assert found.values(f"SELECT tfprof_open('{folder}/model.ckpt-{newest}.index')") == [(1,)], state
        # Without a graph of its own the Saver's is taken.
        for name in ("graph.pb", "graph.pbtxt"):
            os.remove(os.path.join(folder, name))
        found = opened(engine, folder)
        assert found.values("SELECT count(*), min(path) LIKE '%ckpt-10.meta' FROM profiles") == [(1, 1)]
        assert sum(row[1] for row in found.values(joined)) == 1
        for path in ("model.ckpt-3", "model.ckpt-3.index"):
            assert opened(engine, os.path.join(folder, path)).values("SELECT format FROM profiles") == [
                ("tf_checkpoint",)], path
        written(folder, "checkpoint", b'model_checkpoint_path: "model.ckpt-3"')
        assert opened(engine, os.path.join(folder, "checkpoint")).values("SELECT count(*) FROM tensors")[0][0] > 1
        written(folder, "checkpoint", b"model_checkpoint_path: nothing")
        _, error = engine().query(f"SELECT tfprof_open('{folder}/checkpoint')")
        assert error.endswith("checkpoint names no checkpoint"), error


def test_files_without_a_profile(engine):
    """What is told of files that people name and that hold none, with what beside them opens."""
    hlo = field(1, field(1, b"jit_step") + field(2, b"main.4") +
                field(3, field(1, b"main.4") + field(2, b"\x0a\x01a")))
    device = message((1, "/host:CPU"), (2, 701), (3, message((1, 7), (2, message((1, "python"))))))
    trace_events = message((1, message((1, 701), (2, device))), (4, message((1, 701), (2, 7), (3, "MatMul"))))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
        shutil.copy(os.path.join(FILES, "checkpoint.index"), os.path.join(folder, "model.index"))
        for name, data, expected in (
                ("events.out.tfevents.17.vm.v2", bytes(12) + b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2",
                 "event file"),
                ("model.data-00000-of-00001", bytes(range(200)), "values of a TensorFlow checkpoint"),
                ("m.keras", b"PK\x03\x04" + bytes(20) + b"metadata.json", "Keras model"),
                ("w.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(50), "HDF5"),
                ("module_0001.jit_step.txt", b"HloModule jit_step, entry", "HLO"),
                ("module_0001.jit_step.hlo.pb", hlo, "HLO"),
                ("step.stablehlo", b"module @jit_step attributes {mhlo.num_partitions = 1 : i32} {", "StableHLO"),
                ("session.pb", trace_events, "trace events of TensorFlow (tensorflow.profiler.Trace), not an XSpace"),
                ("step.mlir.bc", b"ML\xefR\x0dStableHLO_v1.0", "StableHLO")):
            path = written(folder, name, data)
            error = engine().query(f"SELECT tfprof_open('{path}')")[1]
            assert error and expected in error and error.endswith("model.index can be opened"), (name, error)
        deeper = os.path.join(folder, "train", "plugins", "profile", "2026_01_01_00_00_00")
        os.makedirs(deeper)
        written(deeper, "vm.xplane.pb", b"")
        assert error and deeper in engine().query(f"SELECT tfprof_open('{path}')")[1], "the run below"
        events = os.path.join(folder, "train", "validation")
        os.makedirs(events)
        path = written(events, "events.out.tfevents.17.vm.v2", bytes(12) + b"\x1a\x0dbrain.Event:2")
        assert deeper in engine().query(f"SELECT tfprof_open('{path}')")[1], "the run beside its directory"


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
