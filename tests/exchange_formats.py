"""The formats in which profiles are handed to other programs, read strictly: the Trace Event Format of Chrome and
Perfetto, and profile.proto of pprof.

    check_events(json.load(file))       raises AssertionError on whatever the format does not allow
    Pprof(path).samples                 [(stack, values, labels), ...]

And messages of protobuf: message() writes one, fields() reads one.
"""

import collections
import gzip
import math

# ---- trace events ----

# Of each phase: what an event must have, and what it may have besides.
# https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
LANE = {"name", "ph", "pid", "tid", "ts"}
PHASES = {
    "B": ({"name", "ph", "pid", "tid", "ts"}, {"cat", "args", "stack", "sf", "tts"}),
    "E": ({"ph", "pid", "tid", "ts"}, {"name", "cat", "args", "stack", "sf", "tts"}),
    "X": (LANE | {"dur"}, {"cat", "args", "tts", "tdur", "sf", "stack", "esf", "estack"}),
    "i": (LANE, {"cat", "args", "s", "sf", "stack"}),
    "I": (LANE, {"cat", "args", "s", "sf", "stack"}),
    "C": ({"name", "ph", "pid", "ts", "args"}, {"tid", "cat", "id"}),
    "b": (LANE | {"cat", "id"}, {"args", "scope", "id2"}),
    "n": (LANE | {"cat", "id"}, {"args", "scope", "id2"}),
    "e": (LANE | {"cat", "id"}, {"args", "scope", "id2"}),
    "s": (LANE | {"cat", "id"}, {"args", "scope", "bp"}),
    "t": (LANE | {"cat", "id"}, {"args", "scope", "bp"}),
    "f": (LANE | {"cat", "id"}, {"args", "scope", "bp"}),
    "M": ({"name", "ph", "pid", "args"}, {"tid", "ts", "cat"}),
    "N": (LANE | {"id"}, {"cat", "args"}),
    "O": (LANE | {"id", "args"}, {"cat"}),
    "D": (LANE | {"id"}, {"cat", "args"}),
    "P": (LANE, {"cat", "args", "sf", "stack"}),
    "c": (LANE | {"args"}, {"cat"}),
}
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
TOP = {
    "traceEvents", "displayTimeUnit", "systemTraceEvents", "otherData", "stackFrames", "samples", "schemaVersion",
    "baseTimeNanoseconds", "tfprofSource",
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_event(event):
    assert isinstance(event, dict), event
    phase = event.get("ph")
    assert phase in PHASES, f"no phase: {event}"
    needed, allowed = PHASES[phase]
    assert needed <= set(event) <= needed | allowed, f"members: {event}"
    for key in ("pid", "tid"):
        assert key not in event or (isinstance(event[key], int) and not isinstance(event[key], bool)), event
    for key in ("name", "cat"):
        assert key not in event or isinstance(event[key], str), event
    for key in ("ts", "dur", "tts", "tdur"):
        assert key not in event or (is_number(event[key]) and event[key] >= 0), event
    assert "id" not in event or isinstance(event["id"], (int, str)), event
    assert "args" not in event or isinstance(event["args"], dict), event
    assert "bp" not in event or event["bp"] == "e", event
    assert "s" not in event or phase not in "iI" or event["s"] in ("g", "p", "t"), event
    if phase == "M":
        assert event["name"] in METADATA, event
        key, kind = METADATA[event["name"]]
        assert set(event["args"]) == {key} and isinstance(event["args"][key], kind), event


def check_nesting(events):
    """B and E of a lane pair up; the X of a lane lie inside or beside each other."""
    begun = collections.defaultdict(list)
    for event in sorted((event for event in events if event["ph"] in "BE"), key=lambda event: event["ts"]):
        lane = begun[event["pid"], event["tid"]]
        if event["ph"] == "B":
            lane.append(event)
        else:
            assert lane, f"an end without a beginning: {event}"
            start = lane.pop()
            assert "name" not in event or event["name"] == start["name"], (start, event)
    assert not any(begun.values()), "a beginning without an end"


def check_arrows(events):
    """An arrow starts once, before it goes on; its ends lie at an X of their lane. What is
    asynchronous begins and ends."""
    runs = collections.defaultdict(set)
    for event in events:
        if event["ph"] == "X":
            runs[event["pid"], event["tid"]].update((event["ts"], round(event["ts"] + event["dur"], 3)))
    arrows, spans = collections.defaultdict(list), collections.Counter()
    for event in events:
        if event["ph"] in "stf":
            arrows[event["cat"], event["id"]].append(event)
        elif event["ph"] in "be":
            spans[event["cat"], event["id"]] += 1 if event["ph"] == "b" else -1
    for parts in arrows.values():
        assert parts[0]["ph"] == "s" and all(part["ph"] != "s" for part in parts[1:]) and len(parts) > 1, parts
        assert len({part["name"] for part in parts}) == 1, parts
        for part in parts:
            assert round(part["ts"], 3) in runs[part["pid"], part["tid"]], f"an arrow from or to nothing: {part}"
    assert not any(spans.values()), "something asynchronous does not end"


def check_counters(events):
    """A counter keeps its series; a value is a number, or a text, which viewers show as it is."""
    for event in events:
        if event["ph"] == "C":
            assert event["args"], event
            assert all(is_number(value) or isinstance(value, str) for value in event["args"].values()), event


def check_events(trace):
    assert isinstance(trace, dict) and set(trace) <= TOP and isinstance(trace["traceEvents"], list), list(trace)
    for event in trace["traceEvents"]:
        check_event(event)
    check_nesting(trace["traceEvents"])
    check_arrows(trace["traceEvents"])
    check_counters(trace["traceEvents"])


# ---- messages of protobuf ----


ONE_BYTE = [bytes([value]) for value in range(128)]


def written_varint(value, padding=0):
    """With more bytes than it needs, which mean nothing, where there is padding; ten at most."""
    if 0 <= value < 128 and not padding:
        return ONE_BYTE[value]
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    padding = min(padding, 9 - len(out))
    return bytes(out) + (bytes([value | 128]) + bytes([128] * (padding - 1)) + b"\0" if padding else bytes([value]))


def message(*fields, padding=0):
    """Protobuf: (number, whole number) and (number, bytes or text) one after the other."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += written_varint(number << 3, padding) + written_varint(value, padding)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += written_varint(number << 3 | 2, padding) + written_varint(len(value), padding) + value
    return out


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value - (1 << 64) if value >> 63 else value), at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            yield tag >> 3, data[at : at + value]
            at += value
        else:
            assert tag & 7 == 0
            yield tag >> 3, value


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


# ---- pprof ----


class Pprof:
    """types: [(name, unit)]; samples: [([(function, file, line), ... leaf first], [values], {label: text})]; functions:
    {(name, file, first line)}; preferred: the type that a viewer begins with, or None"""

    def __init__(self, path):
        with gzip.open(path, "rb") as file:
            parts = list(fields(file.read()))
        self.strings = [value.decode() for number, value in parts if number == 6]
        assert self.strings[0] == ""
        read = {}
        for kind in (4, 5):
            for number, value in parts:
                if number == kind:
                    members = dict(fields(value))
                    assert members[1] > 0 and (kind, members[1]) not in read, members
                    read[kind, members[1]] = members
        self.types = [
            tuple(self.strings[members[field]] for field in (1, 2))
            for members in (dict(fields(value)) for number, value in parts if number == 1)
        ]
        self.preferred = next((self.strings[value] for number, value in parts if number == 14), None)
        self.functions = {
            (self.strings[members[2]], self.strings[members.get(4, 0)], members.get(5, 0))
            for (kind, _), members in read.items() if kind == 5
        }
        self.samples = []
        for number, value in parts:
            if number != 2:
                continue
            members = dict(fields(value))
            labels = [dict(fields(part)) for field, part in fields(value) if field == 3]
            stack = []
            for location in packed(members.get(1, b"")):
                line = dict(fields(read[4, location][4]))
                function = read[5, line[1]]
                stack.append((self.strings[function[2]], self.strings[function.get(4, 0)], line.get(2, 0)))
            values = packed(members[2])
            assert len(values) == len(self.types), (values, self.types)
            self.samples.append((stack, values, {self.strings[label[1]]: self.strings[label[2]] for label in labels}))

    def total(self, metric):
        index = [name for name, _ in self.types].index(metric)
        return sum(values[index] for _, values, _ in self.samples)
