"""Pickles: mutate(bytes, random) changes opcodes and what they say: numbers, lengths, memo entries, repetitions."""

import pickletools
import struct

from mutations import numbers
from mutations.dumps import changed_bytes

NUMBERS = {"K": 1, "M": 2, "J": 4, "h": 1, "q": 1, "j": 4, "r": 4, "\x8c": 1, "X": 4, "\x8d": 8, "\x95": 8}


def pieces(data):
    """The opcodes with what they say, as bytes; what comes behind what can be read is the last."""
    starts = []
    try:
        starts = [at for _, _, at in pickletools.genops(data)]
    except Exception:  # whatever a damaged pickle makes of it
        pass
    starts.append(len(data))
    return [data[begin:end] for begin, end in zip(starts, starts[1:])] or [data]


def change_number(parts, random):
    places = [i for i, part in enumerate(parts) if part and chr(part[0]) in NUMBERS]
    if not places:
        return
    at = random.choice(places)
    width = NUMBERS[chr(parts[at][0])]
    value = numbers.number(random) & 2 ** (8 * width) - 1
    if random.randrange(3) == 0:  # a larger one than there is room for
        parts[at] = b"\x8a\x08" + struct.pack("<q", numbers.number(random))
    else:
        parts[at] = parts[at][:1] + value.to_bytes(width, "little") + parts[at][1 + width:]


def repeat(parts, random):
    at = random.randrange(len(parts))
    some = parts[at:at + numbers.length(random, 60)]
    parts[at:at] = some * numbers.length(random, 40000 // max(1, len(b"".join(some))) + 1)


def point_elsewhere(parts, random):
    """Memo entries: the same list at many places, a list within itself."""
    places = [i for i, part in enumerate(parts) if part[:1] in b"hj" and part]
    if places:
        number = random.randrange(200)
        for at in random.sample(places, min(len(places), numbers.length(random, 500))):
            parts[at] = b"j" + struct.pack("<I", number)


def nest(parts, random):
    at, count = random.randrange(len(parts)), numbers.length(random, 20000)
    parts[at:at] = [random.choice((b"(", b"]", b"}", b"(l", b")\x85", b"2"))] * count


def remove(parts, random):
    at = random.randrange(len(parts))
    del parts[at:at + numbers.length(random, 20)]


def change_text(parts, random):
    places = [i for i, part in enumerate(parts) if part[:1] in (b"\x8c", b"X")]
    if places:
        text = numbers.text(random).encode("utf-8", "surrogatepass")
        parts[random.choice(places)] = b"X" + struct.pack("<I", len(text)) + text


MUTATIONS = [change_number, change_number, repeat, point_elsewhere, nest, remove, change_text]


def mutate(data, random):
    parts = pieces(data)
    for _ in range(numbers.length(random, 8)):
        if parts:
            random.choice(MUTATIONS)(parts, random)
    out = b"".join(parts)
    return changed_bytes(out, random) if random.randrange(8) == 0 else out
