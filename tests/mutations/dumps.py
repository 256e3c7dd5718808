"""Dumps (proto/FORMAT.md) as objects that can be changed, and written again with right checksums.

    dump = Dump(bytes)          dump.header, dump.frames
    dump.write()                bytes; the index is left out, the trailer is made anew
    mutate(bytes, random)       a changed copy
    frame_of_rows(table, first_row, rows, {column: block}, sequence)
                                a frame of one's own; blocks are made by constant() and integers()
    table_ids()                 {name: (dump id, {column: (dump id, type, target)})}, from proto/schema/tables.def
"""

import os
import re
import struct
import zlib

import exchange_formats
from mutations import numbers

MAGIC, FRAME_MAGIC = b"\x89TFPROF\n", 0x9A5054F5
PROFILE, STRINGS, ROWS, CLOCK, DROPPED, INDEX, TRAILER = range(1, 8)
CONSTANT, VARINT, DELTA, REAL, DICTIONARY, RUNS, BYTES = range(7)
FRAME_ROWS = 65536  # at most
HEADER = struct.Struct("<IHHQQIII")


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    value, at = exchange_formats.varint(data, at)
    return value & 2**64 - 1, at


def zigzag(value):
    return (value << 1 ^ value >> 63) & 2**64 - 1


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


class Block:
    """A column of a frame: its entry in the directory and its bytes."""

    def __init__(self, encoding=CONSTANT, flags=0, raw_bytes=0, low_bytes=0, minimum=0, spread=0, stored=b""):
        self.encoding, self.flags, self.raw_bytes, self.low_bytes = encoding, flags, raw_bytes, low_bytes
        self.minimum, self.spread, self.stored = minimum, spread, stored

    def entry(self, column):
        out = varint(column) + varint(self.encoding) + varint(self.flags) + varint(self.raw_bytes)
        out += varint(len(self.stored)) + (varint(self.low_bytes) if self.flags >> 2 & 3 else b"")
        out += struct.pack("<I", zlib.crc32(self.stored)) + varint(zigzag(self.minimum)) + varint(self.spread)
        return varint(len(out)) + out


def constant(value):
    """The block of a column that has the same value in each row."""
    return Block(minimum=value)


def integers(values, packed=False):
    """The block of a column with these values; None is NULL."""
    known = [value for value in values if value is not None]
    if not known:
        return Block(flags=2, **raw(bitmap(values), packed))
    low, high = min(known), max(known)
    flags = 2 if len(known) < len(values) else 0
    content = (bitmap(values) if flags else b"") + b"".join(varint(value - low) for value in known)
    return Block(VARINT, flags | packed, minimum=low, spread=high - low, **raw(content, packed))


def bitmap(values):
    out = bytearray((len(values) + 7) // 8)
    for row, value in enumerate(values):
        out[row // 8] |= (value is None) << row % 8
    return bytes(out)


def raw(content, packed):
    return {"raw_bytes": len(content), "stored": zlib.compress(content, 9) if packed else content}


class Frame:
    def __init__(self, type_, table=0, first_row=0, row_count=0, head=b"", body=b"", blocks=None):
        self.type, self.table, self.first_row, self.row_count = type_, table, first_row, row_count
        self.head, self.body, self.blocks = head, body, blocks  # blocks: {column: Block}, then no head and body

    def write(self, sequence, salt):
        head, body = self.head, self.body
        if self.blocks is not None:
            columns = sorted(self.blocks)
            head = varint(len(columns)) + b"".join(self.blocks[column].entry(column) for column in columns)
            body = b"".join(self.blocks[column].stored for column in columns)
        fields = (FRAME_MAGIC, self.type, self.table, sequence, self.first_row, self.row_count, len(head), len(body))
        header = HEADER.pack(*(field & 2**64 - 1 if i in (3, 4) else field & 2**32 - 1 if i > 4 else field
                               for i, field in enumerate(fields)))
        out = header + struct.pack("<I", zlib.crc32(head, zlib.crc32(header, salt))) + head + body
        return out + bytes(-len(out) % 8)


def frame_of_rows(table, first_row, row_count, blocks):
    return Frame(ROWS, table, first_row, row_count, blocks=blocks)


def frame_of_texts(first_id, texts):
    """The frame that gives these texts (bytes) the ids from first_id on."""
    content = b"".join(texts)
    blocks = {1: integers([len(text) for text in texts]), 2: Block(BYTES, raw_bytes=len(content), stored=content)}
    return Frame(STRINGS, 0, first_id, len(texts), blocks=blocks)


def read_blocks(head, body):
    """{column: Block}; None: the directory is not one that this knows."""
    blocks, used = {}, 0
    try:
        count, at = read_varint(head, 0)
        for _ in range(count):
            length, at = read_varint(head, at)
            end = at + length
            column, at = read_varint(head, at)
            block = Block()
            block.encoding, at = read_varint(head, at)
            block.flags, at = read_varint(head, at)
            block.raw_bytes, at = read_varint(head, at)
            stored, at = read_varint(head, at)
            if block.flags >> 2 & 3:
                block.low_bytes, at = read_varint(head, at)
            minimum, at = read_varint(head, at + 4)
            block.minimum = unzigzag(minimum)
            block.spread, at = read_varint(head, at)
            block.stored = body[used:used + stored]
            used += stored
            blocks[column] = block
            at = end
    except IndexError:
        return None
    return blocks


class Dump:
    def __init__(self, data=None, pid=1):
        self.header = bytearray(data[:64] if data else
                                MAGIC + struct.pack("<HHIIIiI16sQII", 1, 64, 0, 0, pid, -1, 0, bytes(16), 0, 0, 0))
        self.frames = [] if data else [Frame(PROFILE, head=b"\x3a\x08realtime")]
        at = 64
        while data and at + 40 <= len(data):
            magic, type_, table, _, first_row, row_count, head_length, body_length = HEADER.unpack_from(data, at)
            if magic != FRAME_MAGIC:
                break
            head = data[at + 40:at + 40 + head_length]
            body = data[at + 40 + head_length:at + 40 + head_length + body_length]
            at += 40 + head_length + body_length
            at += -at % 8
            if type_ in (INDEX, TRAILER):
                continue
            blocks = read_blocks(head, body) if type_ in (STRINGS, ROWS) else None
            self.frames.append(Frame(type_, table, first_row, row_count, head, body, blocks))

    def rows(self):
        return [frame for frame in self.frames if frame.type == ROWS and frame.blocks is not None]

    def add(self, *frames):
        self.frames.extend(frames)
        return self

    def write(self):
        struct.pack_into("<I", self.header, 60, zlib.crc32(bytes(self.header[:60])))
        salt = zlib.crc32(bytes(self.header[:60]))
        parts = [bytes(self.header)] + [frame.write(i, salt) for i, frame in enumerate(self.frames)]
        size = sum(map(len, parts)) + 80
        rows = sum(frame.row_count for frame in self.frames if frame.type == ROWS)
        texts = sum(frame.row_count for frame in self.frames if frame.type == STRINGS)
        head = struct.pack("<QQQQQ", 0, len(self.frames) + 1, rows & 2**64 - 1, texts & 2**64 - 1, size)
        parts.append(Frame(TRAILER, head=head).write(len(self.frames), salt))
        return b"".join(parts)


def frames_of(data):
    """Where each frame with a body begins and how long it is, header and body: [(start, bytes)]."""
    found, at = [], 64
    while at + 40 <= len(data) and HEADER.unpack_from(data, at)[0] == FRAME_MAGIC:
        *_, head_length, body_length = HEADER.unpack_from(data, at)
        length = 40 + head_length + body_length
        if body_length:
            found.append((at, length))
        at += length + -length % 8
    return found


def table_ids():
    definitions = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto", "schema", "tables.def")
    with open(definitions, encoding="utf-8") as file:
        text = file.read()
    tables = {}
    for name, number in re.findall(r"^(?:TABLE|CACHE)\((\w+), (\d+),", text, re.M):
        tables[name] = (int(number), {"attributes": (3, "JSON", None)})
    for table, name, number, type_ in re.findall(r"^(?:COLUMN|INTERNAL)\((\w+), (\w+), (\d+),\s+([A-Z]+)", text, re.M):
        tables[table][1][name] = (int(number), type_, None)
    for table, name, number, target in re.findall(r"^REFERENCE\((\w+), (\w+), (\d+),\s+(\w+)", text, re.M):
        tables[table][1][name] = (int(number), "REFERENCE", target)
    for table, start, end, duration in re.findall(r"^SPAN\((\w+), (\d+), (\d+), (\d+)\)", text, re.M):
        tables[table][1].update({"start_ns": (int(start), "TIME", None), "end_ns": (int(end), "TIME", None),
                                 "dur_ns": (int(duration), "DURATION", None)})
    return tables


# ---- mutations ----


def values_of_column(random, rows):
    """Values that a column may have, in an order that is hard on someone."""
    kind, first = random.randrange(7), numbers.number(random)
    if kind == 0:
        return list(range(rows))  # references to each row, a depth that grows
    if kind == 1:
        return list(range(-1, rows - 1)) if random.randrange(2) else list(range(rows - 1, -1, -1))
    if kind == 2:
        step = random.choice((1, 10**6, 2**40))
        return [min(2**63 - 1, first + step * row) for row in range(rows)]
    if kind == 3:
        return [numbers.number(random) for _ in range(rows)]
    if kind == 4:
        return [random.randrange(rows) for _ in range(rows)]
    if kind == 5:
        return [None if random.randrange(2) else random.randrange(2) for _ in range(rows)]
    return [first if random.randrange(100) else numbers.number(random) for _ in range(rows)]


def change_frame(dump, random):
    frame = random.choice(dump.frames)
    field = random.choice(("first_row", "row_count", "table", "type"))
    most = {"first_row": 64, "row_count": 32, "table": 16, "type": 16}[field]
    old = getattr(frame, field)
    value = random.randrange(1, 40) if field == "table" else numbers.number(random, old) & 2**most - 1
    setattr(frame, field, value)


def change_entry(dump, random):
    frames = [frame for frame in dump.frames if frame.blocks]
    if not frames:
        return
    frame = random.choice(frames)
    block = frame.blocks[random.choice(list(frame.blocks))]
    field = random.choice(("encoding", "flags", "raw_bytes", "low_bytes", "minimum", "spread", "stored"))
    if field == "stored":
        block.stored = changed_bytes(block.stored, random)
    elif field in ("encoding", "flags"):
        setattr(block, field, random.randrange(8))
    else:
        value = numbers.number(random, getattr(block, field))
        setattr(block, field, value if field == "minimum" else abs(value))


def change_column(dump, random):
    """Another column of values for one that is there, or that is not."""
    frames = dump.rows()
    if not frames:
        return
    frame = random.choice(frames)
    columns = next((ids for number, ids in table_ids().values() if number == frame.table), None)
    ids = [number for number, _, _ in columns.values()] if columns else list(range(3, 40))
    column = random.choice(list(frame.blocks) if frame.blocks and random.randrange(3) else ids)
    kind = random.randrange(4)
    if kind == 0:
        frame.blocks.pop(column, None)
    elif kind == 1:
        frame.blocks[column] = constant(numbers.number(random))
    else:
        frame.blocks[column] = integers(values_of_column(random, min(frame.row_count, FRAME_ROWS) or 1),
                                        packed=bool(random.randrange(2)))


def many_rows(dump, random):
    """A frame that is as long as frames can be, of constants that take no bytes."""
    frames = dump.rows()
    if not frames:
        return
    frame = random.choice(frames)
    frame.row_count = random.choice((FRAME_ROWS, FRAME_ROWS // 2, 20000))
    frame.blocks = {column: constant(block.minimum) for column, block in frame.blocks.items()}
    if random.randrange(2):
        column = random.choice(list(frame.blocks) or [4])
        frame.blocks[column] = integers(values_of_column(random, frame.row_count), packed=True)
    renumber(dump)


def repeat_frame(dump, random):
    frame = random.choice(dump.frames)
    at = dump.frames.index(frame)
    for i in range(numbers.length(random, 300)):
        copy = Frame(frame.type, frame.table, frame.first_row, frame.row_count, frame.head, frame.body, frame.blocks)
        dump.frames.insert(at + i, copy)
    if random.randrange(4):
        renumber(dump)


def move_frame(dump, random):
    frame = dump.frames.pop(random.randrange(len(dump.frames)))
    if random.randrange(2) or not dump.frames:
        dump.frames.insert(random.randrange(len(dump.frames) + 1), frame)


def change_texts(dump, random):
    frames = [frame for frame in dump.frames if frame.type == STRINGS]
    first = max((frame.first_row + frame.row_count for frame in frames), default=1)
    texts = [numbers.text(random).encode("utf-8", "surrogatepass") for _ in range(numbers.length(random, 200))]
    if frames and random.randrange(2):
        frame = random.choice(frames)
        at, first = dump.frames.index(frame), frame.first_row
        texts = (texts * (frame.row_count // len(texts) + 1))[:frame.row_count]
        dump.frames[at] = frame_of_texts(first, texts)
    else:
        dump.frames.insert(1, frame_of_texts(first, texts))


def renumber(dump):
    """Rows and texts one after the other, as if they had been written so."""
    following = {}
    for frame in dump.frames:
        if frame.type in (ROWS, STRINGS):
            key = (frame.type, frame.table)
            frame.first_row = following.get(key, 1 if frame.type == STRINGS else 0)
            following[key] = frame.first_row + frame.row_count


def changed_bytes(data, random):
    if not data:
        return data
    out, at = bytearray(data), random.randrange(len(data))
    kind = random.randrange(4)
    if kind == 0:
        out[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        del out[at:at + numbers.length(random, len(data))]
    elif kind == 2:
        part = data[at:at + numbers.length(random, len(data))]
        out[at:at] = part * numbers.length(random, 100)
    else:
        out[at:at + 8] = (numbers.number(random) & 2**64 - 1).to_bytes(8, "little")
    return bytes(out)


def change_head(dump, random):
    frame = random.choice(dump.frames)
    if frame.blocks is None:
        frame.head = changed_bytes(frame.head, random)


MUTATIONS = [change_frame, change_entry, change_column, change_column, many_rows, repeat_frame, move_frame,
             change_texts, change_head]


def mutate(data, random):
    dump = Dump(data)
    for _ in range(numbers.length(random, 8)):
        if dump.frames:
            random.choice(MUTATIONS)(dump, random)
    out = dump.write()
    return changed_bytes(out, random) if random.randrange(8) == 0 else out
