"""Messages of protobuf, which TensorFlow's files are, in bytes and as text: mutate(), mutate_text().

A field of bytes is taken for a message of its own where all of it reads as one; its length is right again when it is
written.
"""

import re

from mutations import numbers
from mutations.dumps import changed_bytes, read_varint, varint


def read(data, depth=0):
    """[[number, type, value]]; of messages within it the value is such a list. None: it is none."""
    fields, at = [], 0
    try:
        while at < len(data):
            key, at = read_varint(data, at)
            number, type_ = key >> 3, key & 7
            if number == 0 or number > 2**29 or type_ not in (0, 1, 2, 5):
                return None
            if type_ == 0:
                value, at = read_varint(data, at)
            else:
                length, at = read_varint(data, at) if type_ == 2 else (8 if type_ == 1 else 4, at)
                if length > len(data) - at:
                    return None
                value, at = data[at:at + length], at + length
                if type_ == 2 and depth < 12 and value:
                    inner = read(value, depth + 1)
                    value = inner if inner is not None else value
            fields.append([number, type_, value])
    except IndexError:
        return None
    return fields


def write(fields):
    out = []
    for number, type_, value in fields:
        out.append(varint(number << 3 | type_))
        if type_ == 0:
            out.append(varint(value & 2**64 - 1))
        else:
            content = write(value) if isinstance(value, list) else value
            out.append((varint(len(content)) if type_ == 2 else b"") + content)
    return b"".join(out)


def lists(fields):
    found, open_ = [], [fields]
    while open_:
        item = open_.pop()
        found.append(item)
        open_.extend(value for _, _, value in item if isinstance(value, list))
    return [item for item in found if item]


def change_value(fields, random):
    field = random.choice(random.choice(lists(fields)))
    if field[1] == 0:
        field[2] = numbers.number(random, field[2] if field[2] < 2**63 else field[2] - 2**64)
    elif field[1] == 2 and not isinstance(field[2], list):
        field[2] = numbers.text(random).encode("utf-8", "surrogatepass") if random.randrange(2) else \
            changed_bytes(field[2], random)
    elif field[1] == 2:
        field[2] = field[2] * 2 if random.randrange(2) else b""


def repeat(fields, random):
    item = random.choice(lists(fields))
    at = random.randrange(len(item))
    some = item[at:at + numbers.length(random, 5)]
    size = max(1, len(write(some)))
    item[at:at] = some * numbers.length(random, 60000 // size + 1)


def move(fields, random):
    """A field of one message into another."""
    everywhere = lists(fields)
    number, type_, value = random.choice(random.choice(everywhere))
    value = write(value) if isinstance(value, list) else value
    random.choice(everywhere).append([number, type_, value])


def nest(fields, random):
    """A message within itself, some hundred times."""
    item = random.choice(lists(fields))
    field = random.choice(item)
    inner = write([field])
    for _ in range(numbers.length(random, 400)):
        inner = write([[field[0], 2, inner]])
    field[1], field[2] = 2, inner


def remove(fields, random):
    item = random.choice(lists(fields))
    del item[random.randrange(len(item))]


def change_number(fields, random):
    random.choice(random.choice(lists(fields)))[0] = random.randrange(1, 40)


MUTATIONS = [change_value, change_value, repeat, move, nest, remove, change_number]


def mutate(data, random):
    fields = read(data)
    if not fields:
        return changed_bytes(data, random)
    for _ in range(numbers.length(random, 8)):
        if lists(fields):
            random.choice(MUTATIONS)(fields, random)
    out = write(fields)
    return changed_bytes(out, random) if random.randrange(8) == 0 else out


def mutate_text(data, random):
    """Messages written as text: numbers, texts, and parts in braces once more or within each other."""
    text = data.decode("utf-8", "replace")
    for _ in range(numbers.length(random, 8)):
        kind, parts = random.randrange(4), list(re.finditer(r"\w+\s*\{[^{}]*\}|-?\d+|\"[^\"]*\"", text))
        if not parts:
            break
        part = random.choice(parts)
        found, begin, end = part.group(), part.start(), part.end()
        if "{" in found:
            count = numbers.length(random, 60000 // len(found) + 1)
            name = found.split("{")[0]
            new = found * count if kind else (name + "{") * count + found + "}" * count
        elif found[0] == '"':
            new = '"%s"' % numbers.text(random).replace("\\", "\\\\").replace('"', '\\"')
        else:
            new = str(numbers.number(random, int(found[:19])))
        text = text[:begin] + new + text[end:]
    out = text.encode("utf-8", "surrogatepass")
    return changed_bytes(out, random) if random.randrange(8) == 0 else out
