"""Steps of TensorFlow 2 as its sessions tell theirs: the graph of the functions that ran, and what each of their nodes
took, from what its profiler saw (_tfprof_spaces).

Functions that functions call stand in the place of each call, named as TensorFlow names what runs of them:
StatefulPartitionedCall/dense/MatMul.  The op log has the lines that made the ops, and which variables are trained; the
engine counts floating point operations by the shapes.
Device planes of GPUs are not read here: steps with such stay spaces.
"""

import os
import re
import sys

load_beside = None  # set by the module tfprof

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
MOST_WITHIN = 16  # calls within another
OP = re.compile(rb"([A-Za-z0-9.][\w./>-]*):([A-Z_]\w*)\Z")
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
ATOMIC = "tensorflow.python.eager.polymorphic_function.atomic_function"


class Watch:
    """Which functions are called, until it ends: `functions`, in the order of their first calls."""

    def __init__(self):
        self.functions = []
        self.its_class = getattr(sys.modules.get(ATOMIC), "AtomicFunction", None)
        self.before = vars(self.its_class or object).get("call_preflattened")
        if self.before is None:
            return
        before, functions = self.before, self.functions

        def call_preflattened(function, *arguments, **keywords):
            if not any(function is one for one in functions):
                functions.append(function)
            return before(function, *arguments, **keywords)

        self.ours = self.its_class.call_preflattened = call_preflattened

    def end(self):
        if self.before is not None and vars(self.its_class).get("call_preflattened") is self.ours:
            self.its_class.call_preflattened = self.before


def has_devices(content):
    spaces = load_beside("_tfprof_spaces")
    return any(number == 1 and kind == 2 and (spaces.first(plane, 2) or b"").startswith(b"/device:")
               for number, kind, plane, _, _ in spaces.fields(content))


class Graph:
    """All functions so far. nodes: by name, (op, NodeDef); variables: by name."""

    def __init__(self):
        self.nodes, self.variables, self.known = {}, {}, []

    def add(self, function):
        graph = function.graph
        if any(graph is one for one in self.known):
            return
        self.known.append(graph)
        self.add_graph(graph, "", 0)
        for variable in getattr(graph, "variables", ()):
            self.variables.setdefault(variable.name.partition(":")[0], variable)

    def add_graph(self, graph, prefix, depth):
        defined = {node.name: node for node in graph.as_graph_def(add_shapes=True).node}
        for op in graph.get_operations():
            node = defined.get(op.name)
            if node is None or prefix + op.name in self.nodes:
                continue
            node.name = prefix + op.name
            for place, source in enumerate(node.input):
                node.input[place] = "^" + prefix + source[1:] if source.startswith("^") else prefix + source
            self.nodes[node.name] = (op, node)
            if op.type in CALLS and depth < MOST_WITHIN:
                inner = graph._get_function(op.get_attr("f").name)
                if inner is not None:
                    self.add_graph(inner.graph, node.name + "/", depth + 1)

    def graph_def(self):
        from tensorflow.core.framework import graph_pb2

        graph = graph_pb2.GraphDef(node=[node for _, node in self.nodes.values()])
        for name, variable in self.variables.items():
            if name not in self.nodes:
                node = graph.node.add(name=name, op="VarHandleOp")
                node.attr["dtype"].type = variable.dtype.as_datatype_enum
                node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
        return graph

    def op_log(self):
        from tensorflow.core.profiler import tfprof_log_pb2

        log, numbers, frames = tfprof_log_pb2.OpLogProto(), {"none": 0}, {}
        trace_of_frame = load_beside("_tfprof_sources").trace_of_frame

        def number_of(text):
            return numbers.setdefault(text, len(numbers)) if text else 0

        for name, (op, _) in self.nodes.items():
            entry = log.log_entries.add(name=name)
            for frame in op.traceback or ():
                if frame not in frames:
                    frames[frame] = trace_of_frame(frame, number_of)
                entry.code_def.traces.add(**frames[frame])
        for name, variable in self.variables.items():
            if variable.trainable:
                log.log_entries.add(name=name, types=["_trainable_variables"])
        for text, number in numbers.items():
            log.id_to_string[number] = text
        return log


def run_metadata(content, began):
    """What ran, as an encoded RunMetadata, and the names of its nodes."""
    spaces, encode = load_beside("_tfprof_spaces"), load_beside("_tfprof_profile_proto")
    start, stats, names = spaces.start_in(content) or began, [], set()
    for number, kind, plane, _, _ in spaces.fields(content):
        if number != 1 or kind != 2 or spaces.first(plane, 2) != b"/host:CPU":
            continue
        lines, known = [], {}
        for part, _, value, _, _ in spaces.fields(plane):
            if part == 3:
                lines.append(value)
            elif part == 4:
                its_name = spaces.first(spaces.first(value, 2, b""), 2, b"").partition(b"#")[0]
                found = OP.match(its_name)
                if found:
                    known[spaces.first(value, 1, 0)] = found.groups()
        for line in lines:
            at = 0
            for part, _, value, _, _ in spaces.fields(line):
                if part == 3:
                    at = value if value >= spaces.ABSOLUTE else value + start
                if part != 4:
                    continue
                facts = {field: number for field, _, number, _, _ in spaces.fields(value) if field in (1, 2, 3)}
                op = known.get(facts.get(1, 0))
                if op is None:
                    continue
                begins, took = at + facts.get(2, 0) // 1000, facts.get(3, 0) // 1000
                names.add(op[0])
                stats.append(encode.message(2, b"".join((
                    encode.message(1, op[0]), encode.integer(2, begins // 1000), encode.integer(4, took // 1000),
                    encode.integer(5, took // 1000), encode.message(8, op[0] + b" = " + op[1] + b"()"),
                    encode.integer(13, begins), encode.integer(15, took), encode.integer(16, took)))))
    device = encode.message(1, encode.text(1, CPU) + b"".join(stats))
    return encode.message(1, device), {name.decode() for name in names}
