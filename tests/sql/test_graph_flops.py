"""Floating point operations of TensorFlow's graphs: by shapes that the graph tells, that follow from constants, or that
ran; in functions, as often as these are called.
"""

import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engines import run_tests
from exchange_formats import message
from made_graphs import graph_with_steps, node_def, opened, run_meta


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


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
