"""XSpaces, as profilers of TensorFlow and JAX write them: made by hand, and read in Python, independently of tfprof.

    space(plane("/host:CPU", [line(7, "main", [event("matmul:MatMul", 10, 5, id=3)])]))    bytes of a file
    decode(data)    {"planes": [...]} as the file has it: names and references resolved, nothing interpreted
"""

import gzip
import os
import struct


class Ref(str):
    """A text that the file holds as the name of a stat."""


class Compressed(bytes):
    """Bytes that the file holds made smaller by gzip."""


class Unsigned(int):
    """A number that is written as uint64."""


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def message(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


class Names:
    """The event_metadata or stat_metadata of a plane: numbered from 1 as they come."""

    def __init__(self, base=1):
        self.ids, self.base = {}, base

    def id(self, name):
        return self.ids.setdefault(name, len(self.ids) + self.base)


def stat(stats, name, value):
    out = number(1, stats.id(name))
    if isinstance(value, Ref):
        return out + varint(7 << 3) + varint(stats.id(str(value)))
    if isinstance(value, str):
        return out + message(5, value)
    if isinstance(value, Compressed):
        return out + message(8, gzip.compress(value))
    if isinstance(value, bytes):
        return out + message(6, value)
    if isinstance(value, float):
        return out + varint(2 << 3 | 1) + struct.pack("<d", value)
    return out + varint((3 if isinstance(value, Unsigned) else 4) << 3) + varint(value)


def event(name, offset_ps, dur_ps, occurrences=None, **stats):
    """Names of stats that Python has no words for: a_ is _a, and id_ is id."""
    return name, offset_ps, dur_ps, occurrences, {key: value for key, value in stats.items()}


def line(id_, name, events, timestamp_ns=1000):
    return id_, name, timestamp_ns, events


def plane(name, lines, stats=None, inherited=None, names_base=1, displays=None):
    """inherited: {name of event: stats of all its events}; displays: {name of event: its display name}."""
    events, keys, body = Names(names_base), Names(), b""
    for id_, line_name, timestamp, items in lines:
        out = number(1, id_) + message(2, line_name) + number(3, timestamp)
        for event_name, offset, duration, occurrences, own in items:
            inner = number(1, events.id(event_name))
            inner += number(2, offset) if occurrences is None else number(5, occurrences)
            inner += number(3, duration)
            inner += b"".join(message(4, stat(keys, key, value)) for key, value in own.items())
            out += message(4, inner)
        body += message(3, out)
    metadata = b""
    for event_name, id_ in events.ids.items():
        shared = (inherited or {}).get(event_name, {})
        value = number(1, id_) + message(2, event_name)
        if (displays or {}).get(event_name):
            value += message(4, displays[event_name])
        value += b"".join(message(5, stat(keys, key, of_all)) for key, of_all in shared.items())
        metadata += message(4, number(1, id_) + message(2, value))
    of_plane = b"".join(message(6, stat(keys, key, value)) for key, value in (stats or {}).items())
    for key, id_ in keys.ids.items():
        metadata += message(5, number(1, id_) + message(2, number(1, id_) + message(2, key)))
    return message(2, name) + body + metadata + of_plane


def program(name, instructions, files=(), functions=(), locations=(), frames=()):
    """An HloProto. instructions: [(name, op_type, op_name, source file, line, stack frame)], fusions, or [(name,
    opcode)] without metadata; locations: [(file, function, line)]; frames: [(location, parent)]; numbers count from 1,
    0 is none."""
    body = b""
    for own, *metadata in instructions:
        if len(metadata) == 1:
            body += message(2, message(1, own) + message(2, metadata[0]))
            continue
        op_type, op_name, source, line_number, frame = metadata
        metadata = message(1, op_type) + message(2, op_name) + message(3, source) + number(4, line_number)
        body += message(2, message(1, own) + message(2, "fusion") + message(7, metadata + number(15, frame)))
    stacks = b"".join(message(1, each) for each in files) + b"".join(message(2, each) for each in functions)
    stacks += b"".join(message(3, number(1, a) + number(2, b) + number(3, c)) for a, b, c in locations)
    stacks += b"".join(message(4, number(1, a) + number(2, b)) for a, b in frames)
    return message(1, message(1, name) + message(3, message(1, "main") + body) + message(17, stacks))


def hlo_shape(*sizes, element_type=11, parts=()):
    """Of float32, or of a tuple of parts."""
    if parts:
        return number(2, 13) + b"".join(message(4, part) for part in parts)
    return number(2, element_type) + message(3, b"".join(map(varint, sizes)))


def hlo_instruction(id_, name, opcode, shape, operands=(), called=(), more=b""):
    """What it is made of stands in `more`: other fields of an HloInstructionProto."""
    out = message(1, name) + message(2, opcode) + message(3, shape) + more + number(35, id_)
    out += message(36, b"".join(map(varint, operands))) if operands else b""
    return out + (message(38, b"".join(map(varint, called))) if called else b"")


def hlo_module(computations, name="made", entry=1):
    """An HloProto. computations: {id: (instructions, id of the root)}"""
    out = message(1, name) + number(6, entry)
    for id_, (instructions, root) in computations.items():
        body = message(1, f"c{id_}") + b"".join(message(2, one) for one in instructions)
        out += message(3, body + number(5, id_) + number(6, root))
    return message(1, out)


def programs(protos):
    """The plane of {"module(program id)": HloProto}."""
    return plane("/host:metadata", [line(1, "", [event(name, 0, 0) for name in protos])],
                 inherited={name: {"Hlo Proto": proto} for name, proto in protos.items()})


def space(*planes, errors=(), warnings=(), host="host-a"):
    out = b"".join(message(1, each) for each in planes)
    out += b"".join(message(2, text) for text in errors) + b"".join(message(3, text) for text in warnings)
    return out + (message(4, host) if host else b"")


def written(directory, data, name="host-a.xplane.pb"):
    """The path of a file of these bytes; the folders in its name are made."""
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def example():
    """A small training run: two steps with input, a GPU, memory, a counter, and all kinds of stats."""
    host, device = [], []
    for i in range(2):
        at = 50_000_000 * i
        host += [
            event("train", at, 40_000_123, _r=1, step_num=i + 10, _pt=2, _p=Unsigned(2**63 + i)),
            event("mul_1:Mul", at + 1_000_500, 9_000_000, id=5),
            event("cuLaunchKernel", at + 2_000_000, 1_000_000, correlation_id=100 + i, device_id=0),
            event("MemoryAllocation", at + 1_500_000, 0, allocator_name=Ref("GPU_0_bfc"), bytes_allocated=4096,
                  bytes_available=8192, bytes_reserved=0, peak_bytes_in_use=4096, requested_bytes=4000,
                  allocation_bytes=4096, addr=Unsigned(2**63 + 64 * (i + 1)), fragmentation=0.25 if i else 0,
                  tf_op=Ref("mul_1"), region_type=Ref("temp"), data_type=1, shape=Ref("[10,100]")),
            event("MemoryDeallocation", at + 9_500_000, 0, allocator_name=Ref("GPU_0_bfc"), allocation_bytes=4096,
                  addr=Unsigned(2**63 + 64 * (i + 1)), bytes_allocated=0),
            event("Iterator::Root::Prefetch", at + 20_000_000, 3_000_000, id=Unsigned(2**64 - 7), parent_id=3,
                  buffer_limit=4, odd=b"\x08\x96\x01", text="a \"quoted\" text", real=float("nan")),
        ]
        device += [
            event("sgemm", at + 5_000_000, 2_000_999, correlation_id=100 + i, tf_op=Ref("mul_1:Mul#a=1#"),
                  kernel_details=Ref("regs:32 static_shared:16 dynamic_shared:64 grid:3,2,1 block:64,1,1 occ_pct:50")),
            event("MemcpyH2D", at + 8_000_000, 1_000_000, correlation_id=7,
                  memcpy_details="kind_src:pinned kind_dst:device size:2048 dest:0 async:1"),
        ]
    aggregated = event("summed:Sum", 0, 5_000_000, occurrences=9)
    return space(
        plane("/host:CPU", [line(7, "main", host + [aggregated]),
                            line(-(2**62), "python", [event("$a.py:3 f", 0, 1000)])],
              inherited={"mul_1:Mul": {"flops": 64, "id": 99}}, names_base=2**40),
        plane("/device:GPU:0", [line(3, "Stream #3(Compute)", device, 0),
                                line(0xdeadbeef, "Steps", [event("0", 0, 10)], 0),
                                line(2**63 - 1, "_counters_", [event("power_mw", 4000, 0, counter_value=250000)], 0)],
              {"gpu_device_name": "NVIDIA H100", "core_count": 132, "clock_rate": 1980000, "compute_cap_major": 9,
               "memory_size": 85520809984, "memory_bandwidth": Unsigned(3352320000000), "device_vendor": "Nvidia"}),
        plane("Task Environment", [], {"profile_start_time": Unsigned(1700000000000000000),
                                       "profile_stop_time": Unsigned(1700000000100000000)}),
        errors=["the collector dropped events"])


# ---- reading ----


def signed(value):
    return value - 2**64 if value >> 63 else value


def fields(data):
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = read()
        kind = key & 7
        if kind == 0:
            value = read()
        else:
            length = read() if kind == 2 else {1: 8, 5: 4}[kind]
            value = data[at:at + length]
            at += length
        yield key >> 3, value


def read_stat(data, names):
    name = value = None
    for field, content in fields(data):
        if field == 1:
            name = names.get(signed(content), "")
        elif field == 2:
            value = struct.unpack("<d", content)[0]
        elif field in (3, 4):
            value = content if field == 3 else signed(content)
        elif field == 5:
            value = content.decode("utf-8", "replace")
        elif field == 6:
            value = content
        elif field == 7:
            value = Ref(names.get(content, ""))
    return name, value


def read_entry(data):
    key, value = 0, b""
    for field, content in fields(data):
        if field == 1:
            key = signed(content)
        elif field == 2:
            value = content
    return key, value


def read_plane(data):
    parts = list(fields(data))
    out = {"name": "", "lines": [], "stats": {}}
    names = {}
    for key, value in (read_entry(content) for field, content in parts if field == 5):
        names[key] = next((text.decode("utf-8", "replace") for field, text in fields(value) if field == 2), "")
    events = {}
    for key, value in (read_entry(content) for field, content in parts if field == 4):
        inner = list(fields(value))
        events[key] = (next((text.decode("utf-8", "replace") for field, text in inner if field == 2), ""),
                       dict(read_stat(content, names) for field, content in inner if field == 5))
    for field, content in parts:
        if field == 2:
            out["name"] = content.decode()
        elif field == 3:
            out["lines"].append(read_line(content, events, names))
        elif field == 6:
            out["stats"].update([read_stat(content, names)])
    return out


def read_line(data, events, names):
    out = {"id": 0, "name": "", "timestamp_ns": 0, "events": []}
    for field, content in fields(data):
        if field == 1:
            out["id"] = signed(content)
        elif field == 2:
            out["name"] = content.decode()
        elif field == 3:
            out["timestamp_ns"] = signed(content)
        elif field == 4:
            one = {"name": "", "offset_ps": 0, "duration_ps": 0, "occurrences": None, "stats": {}}
            own = {}
            for part, value in fields(content):
                if part == 1:
                    one["name"], one["stats"] = events.get(signed(value), ("", {}))
                elif part == 2:
                    one["offset_ps"] = signed(value)
                elif part == 3:
                    one["duration_ps"] = signed(value)
                elif part == 4:
                    own.update([read_stat(value, names)])
                elif part == 5:
                    one["occurrences"] = signed(value)
            one["stats"] = {**one["stats"], **own}
            out["events"].append(one)
    return out


def decode(data):
    return {"planes": [read_plane(content) for field, content in fields(data) if field == 1],
            "hosts": [content.decode() for field, content in fields(data) if field == 4]}


def write_step_program(path):
    """A file with the program jit_step, of two instructions, and nothing that ran."""
    value = hlo_shape(8)
    body = ([hlo_instruction(1, "x", "parameter", value), hlo_instruction(2, "twice", "add", value, (1, 1))], 2)
    with open(path, "wb") as file:
        file.write(space(plane("/host:CPU", []), programs({"jit_step(24)": hlo_module({1: body}, "jit_step", 1)})))
