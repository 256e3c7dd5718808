"""Checkpoints: sorted string tables of LevelDB, whose entries hold messages of protobuf.

    entries, places = read(bytes)       those of all blocks, and per block of the index
    write(blocks)                       a table of blocks of entries, with right checksums
    mutate(bytes, random)
"""

import struct

from mutations import messages, numbers
from mutations.dumps import changed_bytes, read_varint, varint

MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
FOOTER = 48
NONE, SNAPPY = 0, 1
TABLE = []


def crc32c(data):
    if not TABLE:
        for value in range(256):
            for _ in range(8):
                value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
            TABLE.append(value)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def unpack_snappy(data):
    length, at = read_varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            count = tag >> 2
            if count >= 60:
                size = count - 59
                count, at = int.from_bytes(data[at:at + size], "little"), at + size
            out += data[at:at + count + 1]
            at += count + 1
            continue
        if tag & 3 == 1:
            count, offset, at = (tag >> 2 & 7) + 4, tag >> 5 << 8 | data[at], at + 1
        else:
            size = 2 if tag & 3 == 2 else 4
            count, offset, at = (tag >> 2) + 1, int.from_bytes(data[at:at + size], "little"), at + size
        for _ in range(count):
            out.append(out[-offset])
    assert len(out) == length
    return bytes(out)


def pack_repeated(part, length):
    """Snappy's form of `part` said over and over, `length` bytes in all: 64 of them take three."""
    out = varint(length) + bytes([60 << 2, len(part) - 1]) + part if len(part) > 60 else \
        varint(length) + bytes([(len(part) - 1) << 2]) + part
    left = length - len(part)
    copy = struct.pack("<BH", 63 << 2 | 2, len(part))
    out += copy * (left // 64)
    return out + (struct.pack("<BH", (left % 64 - 1) << 2 | 2, len(part)) if left % 64 else b"")


def read_entries(content):
    restarts = struct.unpack_from("<I", content, len(content) - 4)[0]
    end, at, key, entries = len(content) - 4 - 4 * restarts, 0, b"", []
    while at < end:
        shared, at = read_varint(content, at)
        own, at = read_varint(content, at)
        length, at = read_varint(content, at)
        key = key[:shared] + content[at:at + own]
        entries.append((key, content[at + own:at + own + length]))
        at += own + length
    return entries


def read_block(data, offset, size):
    content = data[offset:offset + size]
    return read_entries(unpack_snappy(content) if data[offset + size] == SNAPPY else content)


def read(data):
    """[[(key, value)]]: the entries of each block."""
    at = len(data) - FOOTER
    _, at = read_varint(data, at)
    _, at = read_varint(data, at)
    offset, at = read_varint(data, at)
    size, _ = read_varint(data, at)
    blocks = []
    for _, handle in read_block(data, offset, size):
        begin, at = read_varint(handle, 0)
        blocks.append(read_block(data, begin, read_varint(handle, at)[0]))
    return blocks


def block_of(entries):
    out = b"".join(varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in entries)
    return out + struct.pack("<II", 0, 1)


def sealed(content, kind=NONE):
    return content + bytes([kind]) + struct.pack("<I", masked(crc32c(content + bytes([kind]))))


def table(parts, named):
    """A table of sealed blocks; `named`: which of them the index names, one after the other."""
    out, handles = b"", []
    for part in parts:
        handles.append(varint(len(out)) + varint(len(part) - 5))
        out += part
    index = sealed(block_of([(b"%08d" % i, handles[place]) for i, place in enumerate(named)]))
    footer = varint(0) + varint(0) + varint(len(out)) + varint(len(index) - 5)
    return out + index + footer.ljust(FOOTER - 8, b"\0") + MAGIC


def write(blocks):
    return table([sealed(block_of(entries)) for entries in blocks], range(len(blocks)))


def mutate(data, random):
    try:
        blocks = read(data)
    except (IndexError, struct.error, AssertionError):
        return changed_bytes(data, random)
    named = list(range(len(blocks)))
    for _ in range(numbers.length(random, 6)):
        kind, entries = random.randrange(6), random.choice(blocks)
        at = random.randrange(len(entries)) if entries else 0
        if kind == 0 and entries:
            entries[at] = (entries[at][0], messages.mutate(entries[at][1], random))
        elif kind == 1 and entries:
            entries[at:at] = [entries[at]] * numbers.length(random, 2000)
        elif kind == 2 and entries:
            name = numbers.text(random).encode("utf-8", "surrogatepass")
            entries[at] = (name, entries[at][1])
        elif kind == 3:
            named += [random.randrange(len(blocks))] * numbers.length(random, 3000)
        elif kind == 4:
            entries.sort(reverse=bool(random.randrange(2)))
        elif entries:
            del entries[at]
    out = table([sealed(block_of(entries)) for entries in blocks], named)
    return changed_bytes(out, random) if random.randrange(8) == 0 else out
