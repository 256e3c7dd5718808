"""made_graphs.py: files of TensorFlow that tests open, and graphs as TensorFlow's messages."""
import os

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
