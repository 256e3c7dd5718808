"""bombs.py: small files that claim, repeat or nest as much as their format lets them.

    everything()        Bombs
    bombs.py FOLDER     writes them there, each in a folder of its own
"""

import gzip
import json
import os
import struct
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from exchange_formats import message  # noqa: E402
from mutations import checkpoints, dumps  # noqa: E402
from mutations.dumps import FRAME_ROWS, Dump, constant, frame_of_rows, frame_of_texts, integers  # noqa: E402

TABLES = dumps.table_ids()


class Bomb:
    """A file, and those that must lie beside it: {ending: bytes}."""

    def __init__(self, name, ending, data, beside=None):
        self.name, self.ending, self.data, self.beside = name, ending, data, beside or {}

    def size(self):
        return len(self.data) + sum(map(len, self.beside.values()))

    def write(self, folder):
        """The path of the file, whose name says nothing: what it is must be found in it."""
        os.makedirs(os.path.join(folder, self.name), exist_ok=True)
        path = os.path.join(folder, self.name, "file")
        for ending, data in {self.ending: self.data, **self.beside}.items():
            with open(path + ending, "wb") as file:
                file.write(data)
        return path + self.ending


# ---- dumps ----


def gap(table, first_row):
    """A few rows behind a gap that the format allows."""
    number, columns = TABLES[table]
    blocks = {columns["start_ns"][0]: integers([1000 * i for i in range(10)]), columns["dur_ns"][0]: constant(500)}
    before = {columns["start_ns"][0]: constant(1), columns["dur_ns"][0]: constant(1)}
    return Dump().add(frame_of_rows(number, 0, 10, before), frame_of_rows(number, first_row, 10, blocks)).write()


def gaps_everywhere(step):
    """Single rows of every table, each behind a gap."""
    dump = Dump()
    for number, _ in TABLES.values():
        for i in range(20):
            dump.add(frame_of_rows(number, i * step, 1, {}))
    return dump.write()


def rows_of_nothing(tables, frames):
    """Rows without any column: 48 bytes for 65536 of them."""
    dump = Dump()
    for table in tables:
        for i in range(frames):
            dump.add(frame_of_rows(TABLES[table][0], i * FRAME_ROWS, FRAME_ROWS, {}))
    return dump.write()


def column(type_, target, kind, rows, row_counts):
    """The block of one column; `kind` says what its values are like."""
    if type_ in ("TEXT", "JSON"):
        return constant(1) if kind == "same" else integers([1 + row % 5000 for row in range(rows)], True)
    if type_ == "BOOLEAN":
        return constant(1)
    if type_ == "REFERENCE":
        most = row_counts.get(target, 0)
        if not most:
            return None
        if kind == "same":
            return constant(0)
        return integers([min(row, most - 1) if kind == "spread" else (row * 7919) % most for row in range(rows)], True)
    if type_ == "REAL":
        return constant(1)
    return constant(1) if kind == "same" else integers([row % 1000 for row in range(rows)], True)


def times(kind, rows):
    """The blocks of starts and durations."""
    if kind == "same":
        return constant(1000), constant(1000)
    if kind == "nested":
        return integers(list(range(rows)), True), integers([2 * (rows - row) for row in range(rows)], True)
    if kind == "spread":
        return integers([1000 * row for row in range(rows)], True), constant(900)
    return integers([1000 * row for row in range(rows)], True), constant(1000 * rows)  # each overlaps all that follow


def full(tables, kind, rows, parents="same"):
    """Rows of these tables with all their columns."""
    row_counts = {table: rows for table in tables}
    dump = Dump().add(frame_of_texts(1, [b"name %d" % i for i in range(5000)]))
    for table in tables:
        number, columns = TABLES[table]
        for first in range(0, rows, FRAME_ROWS):
            count, blocks = min(FRAME_ROWS, rows - first), {}
            for name, (column_number, type_, target) in columns.items():
                if name in ("start_ns", "end_ns", "dur_ns"):
                    continue
                block = column(type_, target, kind, count, row_counts)
                if target == table:
                    block = None
                    if parents != "none":
                        block = integers([row - 1 if row else None for row in range(count)], True)
                if block:
                    blocks[column_number] = block
            if "dur_ns" in columns:
                blocks[columns["start_ns"][0]], blocks[columns["dur_ns"][0]] = times(kind, count)
            dump.add(frame_of_rows(number, first, count, blocks))
    return dump.write()


def parameters(count):
    """A module of so many parameters of one shape, and as many ops of it that all have inputs of other shapes."""
    number, columns = TABLES["nodes"]
    dump = Dump().add(frame_of_texts(1, [b"module", b"Linear", b"3x3", b"aten::mm", b"op",
                                         json.dumps([[2, 2]] * 20).encode(), json.dumps([[3, 3]]).encode()] +
                                     [b"parameter%d" % i for i in range(count)]))
    dump.add(frame_of_rows(number, 0, count + 1, {
        columns["name"][0]: integers([1] + [8 + i for i in range(count)], True), columns["op_type"][0]: constant(2),
        columns["parent_id"][0]: integers([None] + [0] * count, True), columns["param_count"][0]: constant(9),
        columns["is_scope"][0]: integers([1] + [0] * count, True),
        columns["shape"][0]: integers([None] + [3] * count, True)}))
    number, columns = TABLES["ops"]
    return dump.add(frame_of_rows(number, 0, count, {
        columns["name"][0]: integers([8 + i for i in range(count)], True), columns["category"][0]: constant(5),
        columns["node_id"][0]: constant(0), columns["start_ns"][0]: integers([10 * i for i in range(count)], True),
        columns["dur_ns"][0]: constant(5),
        columns["input_shapes"][0]: integers([6 + i % 2 for i in range(count)], True)})).write()


def of_dumps():
    for table in ("ops", "kernels", "ranges", "allocations", "nodes", "code_traces", "threads", "steps"):
        if "dur_ns" in TABLES[table][1]:
            yield "gap-%s" % table, gap(table, 2**31)
    yield "gaps-small", gaps_everywhere(70000)
    yield "gaps-large", gaps_everywhere(2**31)
    yield "nothing", rows_of_nothing(["ops"], 2000)
    yield "nothing-of-each", rows_of_nothing([table for table in TABLES if table not in ("runs", "profiles")], 50)
    yield "parameters", parameters(15000)
    yield "deep-ops", full(["ops", "threads"], "same", 10000)
    yield "deep-nodes", full(["nodes", "ops"], "spread", 2000)
    yield "deep-traces", full(["code_traces", "code_frames", "ops"], "mixed", 5000)


# ---- pickles ----

MEMO = b"".join(b"X" + struct.pack("<I", len(text)) + text + b"q" + bytes([i]) + b"0" for i, text in enumerate(
    (b"segments", b"device_traces", b"action", b"alloc", b"addr", b"size", b"frames", b"filename", b"line", b"name",
     b"segment_free", b"blocks", b"address", b"total_size", b"device", b"state", b"active_allocated")))
SEGMENTS, TRACES, ACTION, ALLOC, ADDRESS, SIZE, FRAMES, FILE, LINE, NAME, *_ = (b"h" + bytes([i]) for i in range(17))


def snapshot(traces, more=b""):
    """A pickle of these traces, which are opcodes."""
    return b"\x80\x02" + MEMO + b"}(" + SEGMENTS + b"]" + TRACES + b"](" + traces + b"e" + more + b"u."


def event(address, more=b""):
    return b"}(" + ACTION + ALLOC + ADDRESS + b"J" + struct.pack("<i", address) + SIZE + b"K\x08" + more + b"u"


def of_pickles():
    members = b"".join(b"X\x03\0\0\0m%02d]q\xf0(" % i + b"h\xee" * 996 + b"e" for i in range(90))
    yield "attributes", snapshot(b"", b"X\x01\0\0\0tX" + struct.pack("<I", 4096) + b"\x01" * 4096 + b"q\xee" + members)
    yield "lists", snapshot(b"]" * 500000)
    yield "marks", snapshot(b"(" * 500000)
    yield "copies", snapshot(b"]" + b"2" * 500000)
    yield "one-event", snapshot(b"](" + event(1) + b"q\xf0" + b"h\xf0" * 150000 + b"e")
    yield "events", snapshot(b"](" + b"".join(event(i) for i in range(40000)) + b"e")
    yield "one-trace", snapshot(b"](" + event(1) + b"q\xf1" + b"h\xf1" * 10000 + b"eq\xf0" + b"h\xf0" * 10000)
    unknown = b"}q\xf1" + ACTION + LINE + b"s"
    yield "nothing", snapshot(b"](" + unknown + b"h\xf1" * 100000 + b"eq\xf0" + b"h\xf0" * 100000)
    frame = b"}(" + FILE + b"X" + struct.pack("<I", 300000) + b"f" * 300000 + b"u" + b"q\xf2"
    yield "one-text", snapshot(b"](" + event(0, FRAMES + b"]" + frame + b"a") + b"".join(
        event(i, FRAMES + b"]h\xf2a") for i in range(10000)) + b"e")
    deep = b"](" + b"".join(b"}" + LINE + b"J" + struct.pack("<i", i) + b"s" for i in range(30000)) + b"e"
    yield "deep", snapshot(b"](" + event(1, FRAMES + deep) + event(2) + b"e")
    yield "circles", snapshot(b"]q\xf0h\xf0ah\xf0(" + b"h\xf0" * 100000 + b"e")


def records(entries):
    """A dump of the Flight Recorder with these entries, which are opcodes."""
    def word(text):
        return b"X" + struct.pack("<I", len(text)) + text

    memo = b"".join(word(text) + b"q" + bytes([i]) + b"0" for i, text in enumerate(
        (b"profiling_name", b"input_sizes", b"process_group", b"frames", b"name", b"collective_seq_id", b"line")))
    return b"\x80\x02}" + word(b"version") + word(b"2.10") + b"s" + memo + word(b"entries") + b"](" + entries + b"es."


def of_flights():
    def entry(number, more=b""):
        return b"}(h\0X\3\0\0\0a:bh\5J" + struct.pack("<i", number) + more + b"u"

    yield "entries", records(b"".join(entry(i) for i in range(40000)))
    yield "one-entry", records(entry(1) + b"q\xf0" + b"h\xf0" * 300000)
    yield "groups", records(b"".join(entry(1, b"h\2X\x05\0\0\0%05d" % i) for i in range(20000)))
    yield "shapes", records(entry(1, b"h\1](]q\xf1(" + b"J\xff\xff\xff\x7f" * 20000 + b"eq\xf2h\xf1e") + b"".join(
        entry(i, b"h\1](h\xf1h\xf1e") for i in range(3000)))
    yield "deep", records(entry(1, b"h\3](" + b"".join(b"}h\6J" + struct.pack("<i", i) + b"s" for i in range(30000))
                                + b"e"))
    yield "stacks", records(entry(1, b"h\3](" + b"}h\6K\1s" * 200 + b"eq\xf3") + b"".join(
        entry(i, b"h\3h\xf3") for i in range(10000)))
    yield "circles", records(b"]q\xf0h\xf0ah\xf0(" + b"h\xf0" * 100000 + b"e")


# ---- traces ----


def trace(count, make):
    return json.dumps({"schemaVersion": 1, "traceEvents": [make(i) for i in range(count)]}).encode()


def span(i, **more):
    return {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": i, "dur": 1, **more}


def of_traces():
    one = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},'
    begin = b'{"schemaVersion":1,"traceEvents":['
    yield "deep", begin + one[:-2] + b',"args":' + b"[" * 300000 + b"]" * 300000 + b"}]}"
    yield "zeros", gzip.compress(begin + b" " * (100 << 20) + b"{}]}", mtime=0)
    yield "same", gzip.compress(begin + one * 100000 + b"{}]}", mtime=0)
    kernel = one.replace(b"cpu_op", b"kernel").replace(b'"dur":1', b'"dur":1,"args":{"device":0,"stream":7}')
    yield "same-kernels", gzip.compress(begin + kernel * 150000 + b"{}]}", mtime=0)
    yield "steps", trace(12000, lambda i: span(i * 10) if i % 2 else
                         span(0, cat="user_annotation", name="ProfilerStep#1", dur=10**9))
    yield "threads", trace(12000, lambda i: span(i, tid=i))
    yield "nested", trace(20000, lambda i: span(i, dur=40000 - 2 * i))
    yield "flows", trace(20000, lambda i: {"ph": "s" if i % 2 else "f", "id": 1, "cat": "ac2g", "name": "ac2g",
                                           "pid": 1, "tid": 1, "ts": 1, "bp": "e"})
    yield "streams", trace(12000, lambda i: span(i, cat="kernel", pid=0, tid=i,
                                                 args={"device": 0, "stream": i, "correlation": i}))
    yield "devices", trace(12000, lambda i: span(i, tid=i) if i % 2 else span(
        i, cat="kernel", pid=i, tid=7, args={"device": i, "stream": 7, "correlation": i}))
    yield "npus", trace(12000, lambda i: {"ph": "X", "name": "MatMul", "pid": i, "tid": 7, "ts": i, "dur": 1,
                                           "args": {"Task Type": "AI_CORE", "Physic Stream Id": 7}})
    yield "names-of-processes", b'{"traceEvents":["/host:",' + b'"process_name",' * 69000 + b"{}]}"
    yield "collectives", trace(12000, lambda i: span(
        10 * i, cat="kernel", pid=0, tid=7, name="ncclDevKernel_AllReduce",
        args={"device": 0, "stream": 7, "correlation": i, "Collective name": "allreduce", "In msg nelems": i,
              "dtype": "Float", "Group size": 2, "Process Group Name": "0"}))
    yield "backward-threads", trace(12000, lambda i: span(i * 10, tid=i, name="autograd::engine::evaluate_function: A",
                                                          args={"Sequence number": i}) if i % 4 else
                                    span(i * 10, dur=40, cat="user_annotation", name="ProfilerStep#%d" % i))


# ---- TensorFlow's files ----


def node(name, op=b"NoOp", inputs=(), attributes=()):
    """A NodeDef within its GraphDef."""
    return message((1, message((1, name), (2, op), *((3, name_) for name_ in inputs), *((5, a) for a in attributes))))


def run(name, start, device_lanes, per_lane):
    lanes = (message((1, lane), *((2, stats) for stats in per_lane)) for lane in device_lanes)
    return message((1, message(*((1, lane) for lane in lanes))))


def stats(name, start=1, memory=(), label=b""):
    """A NodeExecStats."""
    return message((1, name), (2, start), (4, 1), (5, 2), *((6, m) for m in memory), (8, label))


def run_metadata(lanes):
    """{device: [NodeExecStats]}"""
    told = (message((1, lane), *((2, one) for one in items)) for lane, items in lanes.items())
    return message((1, message(*((1, lane) for lane in told))))


REAL = node(b"x", b"Placeholder") + node(b"y", b"MatMul", [b"x", b"x"])  # by which the files are known


def of_graphs():
    chain = b"".join(node(b"n%d" % i, inputs=[b"n%d" % (i - 1)] if i else []) for i in range(30000))
    yield "chain", chain
    # As deep as it is long: in front of the lines of the graph view would stand blanks by the square of that.
    yield "long-chain", b"".join(node(b"n%d" % i, inputs=[b"n%d" % (i - 1)] if i else []) for i in range(175000))
    yield "reversed-chain", b"".join(node(b"n%d" % (9 * 10**6 - i), inputs=[b"n%d" % (9 * 10**6 - i + 1)])
                                     for i in range(30000))
    yield "cycle", b"".join(node(b"n%d" % i, inputs=[b"n%d" % ((i + 1) % 30000)]) for i in range(30000))
    yield "slashes", REAL + node(b"a/" * 300000)
    yield "scopes", b"".join(node(b"%d" % i + b"/abcdefghijklmn" * 250) for i in range(150))
    yield "scopes-shared", b"".join(node(b"a/" * 250 + b"%d" % i) for i in range(1500))
    yield "fan-in", b"".join(node(b"n%d" % i) for i in range(1000)) + node(
        b"sink", inputs=[b"n%d" % (i % 1000) for i in range(60000)])
    yield "all-to-all", b"".join(node(b"n%d" % i, inputs=[b"n%d" % k for k in range(300)]) for i in range(300))
    shapes = message(*((7, message((2, message((1, 5))))) for _ in range(30000)))
    output_shapes = message((1, b"_output_shapes"), (2, message((1, shapes))))
    yield "outputs", node(b"source", attributes=[output_shapes]) + b"".join(
        node(b"n%d" % i, inputs=[b"source:%d" % (29999 - i)]) for i in range(20000))
    yield "one-name", node(b"n") * 60000
    yield "long-names", REAL + b"".join(node(b"x" * 30000 + b"%d" % i, inputs=[b"x" * 30000 + b"%d" % (i + 1)])
                                 for i in range(15))
    yield "empty", REAL + node(b"") + b"\n\0" * 200000
    yield "attributes", node(b"n", attributes=[message((1, b"%d" % i), (2, message((5, 1)))) for i in range(30000)])
    yield "deep-text", b'node { name: "a" op: "b" }' + b"node { " * 100000 + b"}" * 100000
    yield "deep-braces", b'node { name: "a" op: "b" attr { key: "k" value { ' + b"func { attr { value { " * 50000 + \
        b"}" * 150003
    yield "list-text", b'node { name: "a" op: "b" attr { key: "k" value { list { b: [' + b"true," * 60000 + \
        b"true] } } } }"


def of_steps():
    cpu = b"/job:w/replica:0/task:0/device:CPU:0"
    gpu, stream = b"/job:w/replica:0/task:0/device:GPU:0", b"/device:GPU:0/stream:all"
    yield "one-node", run_metadata({cpu: [stats(b"n")] * 20000})
    yield "nodes", run_metadata({cpu: [stats(b"n%d" % i, i + 1) for i in range(10000)]})
    yield "lanes", run_metadata({b"/device:GPU:%d/stream:%d" % (i, i): [stats(b"n")] for i in range(8000)})
    yield "devices", run_metadata({b"/job:w/replica:0/task:%d/device:GPU:0" % i: [stats(b"n")] for i in range(8000)})
    memory = message((1, b"GPU_0_bfc"), (2, 100), (3, 100), (5, 1000),
                     *((6, message((1, i + 1), (2, 100 - 200 * (i % 2)))) for i in range(30)))
    yield "allocations", run_metadata({gpu: [stats(b"n%d" % (i % 7), i + 1, [memory]) for i in range(1500)],
                                       stream: [stats(b"n%d" % (i % 7), i + 1) for i in range(1500)]})
    yield "labels", run_metadata({cpu: [stats(b"n%d" % i, 1, label=b"n = Op(" + b"a, " * 2000 + b")")
                                        for i in range(60)]})
    yield "transfers", run_metadata({cpu: [stats(b"RecvTensor", i + 1, label=b"[1.0MB] edge_%d from a to b" % i)
                                           for i in range(8000)]})


def of_logs():
    types = message((1, b"n"), *((3, b"t%d" % i) for i in range(20000)))
    yield "types", message((1, types)) * 2
    frames = [message((6, i), (2, i), (7, i)) for i in range(3000)]
    known = message((1, message((1, b"a/n"), (2, 100), (3, b"MatMul"))))
    strings = known + b"".join(message((2, message((1, i), (2, b"file%d" % i)))) for i in range(3000))
    yield "deep-traces", strings + b"".join(message((1, message((1, b"n%d" % k), (4, message(
        *((1, frame) for frame in frames[k:])))))) for k in range(8))
    trace = message(*((1, message((6, 1), (2, i), (7, 1), (8, 1))) for i in range(100)))
    yield "one-string", known + message((2, message((1, 1), (2, b"x" * 100000)))) + b"".join(
        message((1, message((1, b"n%d" % k), (4, trace)))) for k in range(100))


def of_profiles():
    def profile_node(i, **more):
        told = message((1, b"n%d" % i), (13, i), (9, b"Op"), *more.get("fields", ()))
        return message((1, message((1, i), (2, told))))

    yield "inputs", b"".join(profile_node(i, fields=[(2, message((1, k), (2, k))) for k in range(200)])
                             for i in range(200)) + message((2, 1), (3, 0))
    execs = [(12, message((1, step), (2, message((1, 1), (2, step + 1), (3, step + 2))))) for step in range(10000)]
    yield "steps", profile_node(0, fields=execs) + message((2, 1), *((3, step) for step in range(10000)))
    lanes = message((1, 1), (2, 1), (3, 2), *((5, message((1, b"/device:CPU:%d" % i), (2, message(
        (1, message((1, b"\1\1"))))))) for i in range(10000)))
    yield "lanes", profile_node(0, fields=[(12, message((1, 0), (2, lanes)))]) + message((2, 1), (3, 0))


# ---- checkpoints ----


def entry(dtype=1, dimensions=(1,), offset=0, size=4, slices=()):
    """A BundleEntryProto."""
    shape = message(*((2, message((1, length))) for length in dimensions))
    return message((1, dtype), (2, shape), (4, offset), (5, size), *((7, one) for one in slices))


HEAD = (b"", message((1, 1)))


def packed_names(count):
    """Entries whose keys are as long as the one before and share all but its end, in a block that is packed."""
    beginning = b"x" * 2000
    entries = checkpoints.varint(0) + checkpoints.varint(len(beginning) + 3) + checkpoints.varint(0)
    entries += beginning + b"\0\0\0"
    entries += b"".join(checkpoints.varint(len(beginning)) + b"\3\0" + (i).to_bytes(3, "big") for i in range(1, count))
    return checkpoints.table([checkpoints.sealed(entries + struct.pack("<II", 0, 1))], [0])


def of_checkpoints(names):
    """(name, index, bytes of the data file); so many names stand for the same bytes."""
    block = checkpoints.sealed(checkpoints.block_of([(b"a%d" % i, entry()) for i in range(50)]))
    yield "one-block", checkpoints.table([block], [0] * 5000), b"\0" * 4
    empty = checkpoints.pack_repeated(b"\0\0\0", 1 << 20)
    yield "empty-entries", checkpoints.table([checkpoints.sealed(empty, checkpoints.SNAPPY)], [0] * 2000), b""
    yield "forged-length", checkpoints.table([checkpoints.sealed(checkpoints.varint(1 << 29) + b"\0a",
                                                                 checkpoints.SNAPPY)], [0]), b""
    yield "long-names", packed_names(200000), b""
    everything_ = b"\1" * 300000
    same = [(b"n%07d" % i, entry(4, (len(everything_),), 0, len(everything_))) for i in range(names)]
    yield "same-bytes", checkpoints.write([[HEAD] + same]), everything_
    yield "slices", checkpoints.write([[HEAD, (b"a", entry(4, (10,), 0, 10, [b""] * 200000))]]), b"\0" * 10
    many = [message((1, message((1, i), (2, 1)))) for i in range(20000)]
    yield "many-slices", checkpoints.write([[HEAD, (b"a", entry(4, (1 << 30,), 0, 10, many))]]), b"\0" * 10
    yield "elements", checkpoints.write([[HEAD] + [(b"n%05d" % i, entry(4, (1 << 40,), 0, 1, [b""]))
                                                   for i in range(3000)]]), b"\0"
    yield "brackets", checkpoints.write([[HEAD, (b"a", entry(4, (300000,) + (1,) * 253, 0, 300000))]]), b"\1" * 300000
    meta = message((1, message(*((1, message((1, b"n%d" % i), (2, message((2, message((1, 1 << 28))))), (3, 1)))
                                 for i in range(10000)))))
    data = [(b"k%07d" % i, message((2, message((1, b"n%d" % i), (3, message((1, 1), (5, b"\0\0\0\0"))))))) for i in
            range(10000)]
    yield "v1-elements", checkpoints.write([[(b"", meta)] + data]), None


def from_checkpoints(names=5000):
    for name, index, data in of_checkpoints(names):
        yield Bomb("checkpoint-" + name, ".index" if data is not None else "", index,
                   {} if data is None else {".data-00000-of-00001": data})


def everything():
    for name, data in of_dumps():
        yield Bomb("dump-" + name, ".tfprof", data)
    for name, data in of_pickles():
        yield Bomb("pickle-" + name, ".pickle", data)
    for name, data in of_flights():
        yield Bomb("flight-" + name, "_0", data)
    for name, data in of_traces():
        yield Bomb("trace-" + name, ".json.gz" if data[:1] == b"\x1f" else ".json", data)
    for make in (of_graphs, of_steps, of_logs, of_profiles):
        for name, data in make():
            ending = ".pbtxt" if "text" in name or "braces" in name else ""
            yield Bomb("%s-%s" % (make.__name__[3:], name), ending, data)
    yield from from_checkpoints()


if __name__ == "__main__":
    for bomb in everything():
        bomb.write(sys.argv[1])
