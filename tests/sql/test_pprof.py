#!/usr/bin/env python3
"""test_pprof.py: memory profiles in pprof's format: what is held, by device and by line; and bad ones.

Files are made here by hand; the one of JAX among the shared traces is read in Python, independently of tfprof, and
where the program `go` is installed by `go tool pprof`, which must say the same.
"""

import collections
import gzip
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import BUILD, check, rows, run_tests
from xplane_files import fields, message, number, signed, varint

SHARED = os.environ.get("TFPROF_SHARED", "")


class Profile:
    """types: [(name, unit)]; a frame is (function, file, line)."""

    def __init__(self, types):
        self.strings, self.functions, self.locations, self.samples = {"": 0}, {}, {}, b""
        self.types = b"".join(message(1, number(1, self.text(name)) + number(2, self.text(unit)))
                              for name, unit in types)
        self.more = b""

    def text(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def location(self, *frames):
        """Of inlined functions the innermost first. The number of a location that there is already is that again."""
        return self.locations.setdefault(frames, len(self.locations) + 1)

    def sample(self, locations, values, **labels):
        body = message(1, b"".join(map(varint, locations))) + message(2, b"".join(map(varint, values)))
        for key, value in labels.items():
            told = number(2, self.text(value)) if isinstance(value, str) else number(3, value)
            body += message(3, number(1, self.text(key)) + told)
        self.samples += message(2, body)

    def bytes(self):
        places = b""
        for frames, id_ in self.locations.items():
            inner = b""
            for name, file, line in frames:
                function = self.functions.setdefault((name, file), len(self.functions) + 1)
                inner += message(4, number(1, function) + number(2, line))
            places += message(4, number(1, id_) + number(3, 0x1000 + id_) + inner)
        for (name, file), id_ in self.functions.items():
            places += message(5, number(1, id_) + number(2, self.text(name)) + number(4, self.text(file)) +
                              number(5, 3))
        strings = b"".join(message(6, text) for text in self.strings)
        return self.types + self.samples + places + strings + self.more


def example():
    profile = Profile([("allocations", "count"), ("space", "bytes")])
    main, step = profile.location(("main", "train.py", 40)), profile.location(("step", "train.py", 12))
    inlined = profile.location(("inner", "model.py", 7), ("outer", "model.py", 9))
    profile.sample([step, main], [3, 3000], kind="buffer", device="gpu:1")
    profile.sample([step, main], [1, 500], kind="buffer", device="cpu:0")
    profile.sample([inlined, step, main], [2, 70], kind="executable")
    profile.sample([profile.location()], [1, 11], kind="buffer", device="gpu:1", donated=1)
    profile.sample([], [1, 5], device="gpu:1")
    profile.more = message(13, varint(profile.text("made by hand"))) + number(9, 1_700_000_000_000_000_000)
    return profile.bytes()


def written(folder, data, name="memory.pprof"):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_example(folder):
    for data in (example(), gzip.compress(example())):
        run = written(folder, data)
        check(rows(run, "SELECT format, framework, complete, start_ns, attributes FROM profiles"),
              [("pprof", "jax", 1, 1_700_000_000_000_000_000, '{"comments":["made by hand"]}')], "profile")
        check(rows(run, "SELECT name, kind, ordinal FROM devices"),
              [("gpu:1", "gpu", 1), ("cpu:0", "cpu", 0)], "devices")
        check(rows(run, "SELECT bytes, occurrence_count, (SELECT name FROM devices WHERE id = device_id), region, "
                   "attributes, allocated_ns, released_ns FROM allocations"),
              [(3000, 3, "gpu:1", None, '{"kind":"buffer"}', None, None),
               (500, 1, "cpu:0", None, '{"kind":"buffer"}', None, None), (70, 2, None, "executable", None, None, None),
               (11, 1, "gpu:1", None, '{"kind":"buffer","donated":1}', None, None),
               (5, 1, "gpu:1", None, None, None, None)], "allocations")
        check(rows(run, "WITH RECURSIVE up(of, trace, depth) AS ("
                   "SELECT bytes, code_trace_id, 0 FROM allocations UNION ALL "
                   "SELECT of, parent_id, up.depth + 1 "
                   "FROM up JOIN code_traces ON code_traces.id = trace) "
                   "SELECT of, function, file, line FROM up JOIN code_traces ON code_traces.id = trace "
                   "JOIN code_frames ON code_frames.id = leaf_frame_id WHERE of IN (70, 11) "
                   "ORDER BY of DESC, up.depth"),
              [(70, "inner", "model.py", 7), (70, "outer", "model.py", 9), (70, "step", "train.py", 12),
               (70, "main", "train.py", 40), (11, "0x1004", None, None)], "stacks")
        check(rows(run, "SELECT device, location, name, count, bytes, live_count, live_bytes, peak_bytes "
                   "FROM memory_by_line ORDER BY bytes DESC"),
              [("gpu:1", "train.py:12", "train.py:12", 3, 3000, 3, 3000, 3000),
               ("cpu:0", "train.py:12", "train.py:12", 1, 500, 1, 500, 500),
               (None, "model.py:7", "model.py:7", 2, 70, 2, 70, 70), ("gpu:1", None, "0x1004", 1, 11, 1, 11, 11),
               ("gpu:1", None, "no line", 1, 5, 1, 5, 5)],
              "lines, and what has none")
        check(rows(run, "SELECT device, count, bytes, max_bytes, live_count, live_bytes FROM memory_by_op "
                   "ORDER BY bytes DESC"),
              [("gpu:1", 5, 3016, 1000, 5, 3016), ("cpu:0", 1, 500, 500, 1, 500), (None, 2, 70, 35, 2, 70)], "by op")
        check(rows(run, "SELECT device, allocation_count, deallocation_count, peak_bytes, heap_bytes, peak_time_ns "
                   "FROM memory_summary ORDER BY peak_bytes DESC"),
              [("gpu:1", 5, 0, 3016, 3016, None), ("cpu:0", 1, 0, 500, 500, None), (None, 2, 0, 70, 70, None)],
              "summary")
        check(rows(run, "SELECT location, region, count, bytes FROM memory_breakdown ORDER BY bytes DESC"),
              [("train.py:12", "unknown", 3, 3000), ("train.py:12", "unknown", 1, 500),
               ("model.py:7", "executable", 2, 70), (None, "unknown", 2, 16)], "breakdown")
        check(rows(run, "SELECT count(*) FROM memory_timeline"), [(0,)], "no moments")
        check(rows(run, "SELECT reason FROM diagnostics"), [], "diagnostics")


def test_heap_of_go(folder):
    """What is in use counts, not what was ever allocated."""
    profile = Profile([("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                       ("inuse_space", "bytes")])
    profile.sample([profile.location(("main.f", "main.go", 3))], [90, 9000, 4, 400], bytes=100)
    run = written(folder, profile.bytes())
    check(rows(run, "SELECT bytes, occurrence_count, attributes FROM allocations"), [(400, 4, '{"bytes":100}')], "Go")


def decoded(data):
    """[(bytes, count, innermost (file, line))] of each sample."""
    strings, functions, locations, samples = [], {}, {}, []
    for field, content in fields(data):
        parts = list(fields(content)) if isinstance(content, bytes) and field in (2, 4, 5) else []
        if field == 6:
            strings.append(content.decode())
        elif field == 5:
            functions[dict(parts)[1]] = dict(parts)
        elif field == 4:
            locations[dict(parts)[1]] = [dict(fields(line)) for part, line in parts if part == 4]
        elif field == 2:
            samples.append({part: list(numbers_of(packed)) for part, packed in parts if part < 3})
    out = collections.Counter(), collections.Counter()
    for sample in samples:
        line = locations[sample[1][0]][0]
        key = (strings[functions[line[1]][4]], line[2])
        out[0][key] += sample[2][0]
        out[1][key] += sample[2][1]
    return out


def numbers_of(packed):
    at = value = shift = 0
    while at < len(packed):
        value |= (packed[at] & 127) << shift
        shift += 7
        if packed[at] < 128:
            yield signed(value)
            value = shift = 0
        at += 1


def test_of_jax(folder):
    if not SHARED:
        return
    run = os.path.join(SHARED, "traces/xplane/jax_a.memory.pprof")
    with gzip.open(run) as file:
        counts, sizes = decoded(file.read())
    leaves = rows(run, "SELECT file, line, sum(occurrence_count), sum(bytes) FROM allocations JOIN code_traces ON "
                  "code_traces.id = code_trace_id JOIN code_frames ON code_frames.id = leaf_frame_id "
                  "GROUP BY 1, 2")
    check({row[:2]: row[2:] for row in leaves}, {key: (counts[key], sizes[key]) for key in counts}, "by line")
    held = rows(run, "SELECT sum(live_count), sum(live_bytes) FROM memory_by_line")
    check(held[0], (sum(counts.values()), sum(sizes.values())), "in all")
    if shutil.which("go"):
        said = subprocess.run(["go", "tool", "pprof", "-raw", run], capture_output=True, text=True,
                              env={**os.environ, "HOME": folder}).stdout
        samples = [list(map(int, line.split(":")[0].split()))
                   for line in said.split("Locations")[0].splitlines() if re.match(r"\s*\d+\s+\d+:", line)]
        told = rows(run, "SELECT sum(occurrence_count), sum(bytes) FROM allocations "
                    "GROUP BY code_trace_id, device_id, region")  # as pprof does, too
        check(sorted(samples), sorted(map(list, told)), "go tool pprof")


def answer(run):
    """(exit status, what it said)"""
    command = [os.path.join(BUILD, "tfprof"), "--format", "json", run,
               "SELECT (SELECT count(*) FROM allocations), (SELECT count(*) FROM memory_by_line), "
               "(SELECT complete FROM profiles), (SELECT group_concat(reason) FROM diagnostics)"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=600)
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    return done.returncode, done.stdout + done.stderr


def test_damaged(folder):
    """Cut off, or with a byte changed, it is told, and what was good stays."""
    data, at, whole = example(), 0, set()
    for field, content in fields(data):
        at += len(message(field, content) if isinstance(content, bytes) else number(field, content))
        whole.add(at)
    assert at == len(data)
    for length in range(1, len(data), 5):
        status, said = answer(written(folder, data[:length]))
        assert status == 3 or '"damaged"' in said or length in whole, (length, said)
    choose = random.Random(5)
    for _ in range(60):
        changed = bytearray(data)
        changed[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        answer(written(folder, bytes(changed)))
    packed = gzip.compress(data)
    for length in (len(packed) // 2, len(packed) - 4):
        status, said = answer(written(folder, packed[:length]))
        assert status == 3 or "gzip" in said, said
        assert status != 3 or ("copy it anew" in said and folder in said and f"at byte {length}" in said), said
    run = written(folder, data + b"\x12\xff\x01")
    check(rows(run, "SELECT complete, (SELECT count(*) FROM allocations), (SELECT reason FROM diagnostics) "
               "FROM profiles"), [(0, 5, "damaged")], "a torn end")


def test_other_kinds(folder):
    cpu = Profile([("samples", "count"), ("cpu", "nanoseconds")])
    cpu.sample([cpu.location(("f", "a.c", 1))], [1, 10])
    run = written(folder, cpu.bytes(), "cpu.pb")
    status, said = answer(run)
    assert status == 3 and "not of memory" in said and f"`go tool pprof -http : {run}` shows it" in said, said
    assert "can be opened" not in said, said
    written(folder, b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}', "cpu.json")
    status, said = answer(run)  # what our own export was made of
    assert status == 3 and f"; {os.path.join(folder, 'cpu.json')} can be opened" in said, said


def test_odd_samples(folder):
    """Numbers missing or below 0, places that are not there."""
    profile = Profile([("allocations", "count"), ("space", "bytes")])
    profile.sample([], [1])
    profile.sample([], [1, -5])
    profile.sample([77, 78], [1, 8])
    profile.samples += message(2, message(1, varint(99)) + message(2, varint(1) + varint(2)) +
                               message(3, number(1, 5000)))
    run = written(folder, profile.bytes())
    check(rows(run, "SELECT bytes, code_trace_id FROM allocations"), [(8, None), (2, None)], "allocations")
    check(rows(run, "SELECT reason, count FROM diagnostics"), [("number_out_of_range", 2)], "told")


def test_repeated_places(folder):
    """A small file cannot ask for more frames than a larger one names."""
    profile = Profile([("allocations", "count"), ("space", "bytes")])
    large = profile.location(*[("f", "a.py", i + 1) for i in range(3000)])
    for _ in range(10):
        profile.sample([large] * 3000, [1, 8])
    run = written(folder, profile.bytes())
    check(rows(run, "SELECT complete, (SELECT reason FROM diagnostics) FROM profiles"), [(0, "limit")], "limit")


if __name__ == "__main__":
    run_tests(globals())
