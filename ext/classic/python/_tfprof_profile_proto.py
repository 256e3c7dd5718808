"""A ProfileProto, the message that TensorFlow's profiler keeps in files, from what the engine has open."""

import json
import struct
import sys

load_beside = None  # set by the module tfprof


def varint(number):
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def integer(field, number):
    return varint(field << 3) + varint(number) if number else b""


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field, content):
    return message(field, content.encode("utf-8", "surrogateescape")) if content else b""


def entry(field, key, value):
    """Of a map whose keys are numbers; `value` is its encoded second field. The key is always there, as protobuf's own
    writers have it."""
    return message(field, varint(1 << 3) + varint(key) + value)


def numbers(field, values):
    return message(field, b"".join(varint(value) for value in values)) if values else b""


def tuple_of(field, values):
    return message(field, numbers(1, values))


def attribute(field, key, value):
    """AttrValue: s = 2, i = 3, f = 4, b = 5."""
    if isinstance(value, bool):
        content = varint(5 << 3) + varint(int(value))
    elif isinstance(value, int):
        content = varint(3 << 3) + varint(value)
    elif isinstance(value, float):
        content = varint(4 << 3 | 5) + struct.pack("<f", value)
    elif isinstance(value, str):
        content = message(2, value.encode())
    else:
        return b""
    return message(field, text(1, key) + message(2, content))


_SQL = """
SELECT json_object(
  'steps', (SELECT json_group_array(json_array(id, number)) FROM steps),
  'nodes', (SELECT json_group_array(json_array(id, name, op_type, canonical_device, host_device, shape, flops,
    code_trace_id, json(output_shapes), json(attributes), data_format)) FROM nodes WHERE is_scope = 0),
  'inputs', (SELECT json_group_array(json_array(node_id, position, source_node_id, source_output, shape))
    FROM node_inputs),
  'types', (SELECT json_group_array(json_array(node_id, type)) FROM node_types),
  'costs', (SELECT json_group_array(json_array(node_id, step_id, run_count, start_ns / 1000, end_ns / 1000,
    requested_bytes, peak_bytes, residual_bytes, output_bytes)) FROM node_steps),
  'runs', (SELECT json_group_array(json_array(node_id, step_id, 0, threads.name, start_ns / 1000, dur_ns / 1000))
    FROM ops JOIN threads ON threads.id = thread_id WHERE node_id IS NOT NULL),
  'device_runs', (SELECT json_group_array(json_array(node_id, step_id, 1, threads.name, start_ns / 1000, dur_ns / 1000))
    FROM kernels JOIN threads ON threads.id = thread_id WHERE node_id IS NOT NULL),
  'traces', (SELECT json_group_array(json_array(id, parent_id, leaf_frame_id)) FROM code_traces),
  'frames', (SELECT json_group_array(json_array(id, file, line, function, first_line, text)) FROM code_frames)
) AS tables"""


def _sizes(shape):
    return [int(size) for size in shape.split("x")] if shape and shape[0] in "-0123456789" else []


class _Encoder:
    def __init__(self, tables):
        self.tables = tables
        self.number_of_step = dict(tables["steps"])
        self.number_of_node = {row[0]: number for number, row in enumerate(tables["nodes"])}
        self.texts = {"none": 0}  # a number that is 0 is not written: as in TensorFlow it stands for no text
        self.traces = {row[0]: row[1:] for row in tables["traces"]}
        self.frames = {row[0]: row[1:] for row in tables["frames"]}
        self.groups = {}
        for name in ("inputs", "types", "costs", "runs", "device_runs"):
            groups = self.groups.setdefault("runs" if name == "device_runs" else name, {})
            for row in tables[name]:
                groups.setdefault(row[0], []).append(row[1:])

    def text_number(self, content):
        return self.texts.setdefault(content or "none", len(self.texts))

    def code(self, trace):
        frames = []
        while trace in self.traces:
            trace, frame = self.traces[trace]
            frames.append(self.frames.get(frame, ("", -1, "", -1, "")))
        content = b""
        for file, line, function, first_line, source in reversed(frames):
            content += message(1,
                               integer(2, -1 if line is None else line)
                               + integer(5, -1 if first_line is None else first_line)
                               + integer(6, self.text_number(file)) + integer(7, self.text_number(function))
                               + integer(8, self.text_number(source)))
        return content

    def execs(self, node):
        steps = {}
        for step, runs, start, end, requested, peak, residual, output in self.groups["costs"].get(node, ()):
            memory = (integer(6, requested or 0) + integer(7, peak or 0) + integer(8, residual or 0)
                      + integer(9, output or 0))
            steps[step] = [integer(1, runs or 0) + integer(2, start or 0) + integer(3, end or 0), memory, {}]
        for step, is_accelerator, device, start, length in self.groups["runs"].get(node, ()):
            if step in steps:
                key = (is_accelerator or "stream:" in device.lower(), device.lower())
                steps[step][2].setdefault(key, []).append((start, length))
        content = b""
        for step, (head, memory, devices) in steps.items():
            if step not in self.number_of_step:
                continue
            for (is_accelerator, device), times in devices.items():
                time = b"".join(tuple_of(1, pair) for pair in times)
                head += message(4 if is_accelerator else 5, text(1, device) + message(2, time)) + text(6, device)
            content += entry(12, self.number_of_step[step], message(2, head + message(7, memory)))
        return content

    def node(self, row):
        node, name, op, device, host, shape, flops, trace, outputs, attributes, data_format = row
        content = text(1, name) + text(9, op) + text(6, device) + text(7, host) + integer(8, flops or 0)
        content += integer(13, self.number_of_node[node]) + numbers(4, _sizes(shape))
        for position, source, output, _ in self.groups["inputs"].get(node, ()):
            if source in self.number_of_node:
                content += entry(2, position, integer(2, self.number_of_node[source]))
                content += entry(14, self.number_of_node[source], integer(2, output or 0))
        for position, _, _, input_shape in self.groups["inputs"].get(node, ()):
            if _sizes(input_shape):
                content += entry(16, position, tuple_of(2, _sizes(input_shape)))
        for position, sizes in enumerate(outputs or ()):
            if sizes is not None:
                content += entry(15, position, tuple_of(2, sizes or [1]))
        content += b"".join(text(5, kind) for kind, in self.groups["types"].get(node, ()))
        if data_format:
            content += attribute(11, "data_format", data_format)
        for key, value in (attributes or {}).items():
            content += attribute(11, key, value)
        if trace is not None:
            content += message(10, self.code(trace))
        return content + self.execs(node)

    def encode(self):
        nodes = b"".join(entry(1, self.number_of_node[row[0]], message(2, self.node(row)))
                         for row in self.tables["nodes"])
        has_trace = any(row[7] is not None for row in self.tables["nodes"])
        texts = b"".join(entry(4, number, text(2, content)) for content, number in self.texts.items())
        return nodes + integer(2, int(has_trace)) + numbers(3, sorted(self.number_of_step.values())) + texts


def profile_proto(opening):
    _, rows, errors = load_beside("_tfprof_profiler").ask([opening], _SQL)
    sys.stderr.write(errors)
    return _Encoder(json.loads(rows[0]["tables"])).encode()
