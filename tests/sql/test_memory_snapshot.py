#!/usr/bin/env python3
"""test_memory_snapshot.py: snapshots of CUDA memory, pickled as torch.cuda.memory._dump_snapshot() does it.

A model of the caching allocator runs a random program, keeps its own accounts, and leaves a snapshot in the documented
form; tfprof must find the same accounts in it, in every protocol, with and without trace.  Then what is wrong with a
pickle: cut off at every length, bytes flipped, code in it, lists that hold themselves.
"""

import collections
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests

# PyTorch makes a snapshot of a profile of the host (it has a plot for that), and counts what is held at the end.
PROGRAM = """
import copy, json, pickle, sys, warnings, torch
warnings.simplefilter("ignore")
from torch.cuda import _memory_viz
model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))
optimizer = torch.optim.Adam(model.parameters())
kept = []
with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
    for _ in range(3):
        optimizer.zero_grad()
        out = model(torch.rand(64, 20))
        kept.append(out.detach() + 1)
        out.square().mean().backward()
        optimizer.step()
snapshot = _memory_viz._profile_to_snapshot(profile)
with open(sys.argv[1], "wb") as file:
    pickle.dump(snapshot, file)
trace, categories = snapshot["device_traces"][0], {}
for entry in trace:
    if entry["action"] == "alloc":
        categories[entry["category"]] = categories.get(entry["category"], 0) + entry["size"]
left = _memory_viz.filter_alloc_free_pairs(copy.deepcopy(snapshot))["device_traces"][0]
left = sorted(entry["size"] for entry in left if entry["action"] == "alloc")
blocks = [block["requested_size"] for segment in snapshot["segments"] for block in segment["blocks"]
          if block["state"] == "active_allocated"]
allocated = next(line.split(": ")[1] for line in _memory_viz.segsum(snapshot).splitlines() if "total_allocated" in line)
print(json.dumps([categories, left, sorted(blocks), allocated, len(trace)]))
"""

START_US = 1_760_000_000_000_000
MEGABYTE = 1 << 20


class Allocator:
    """One device: segments are cut into blocks of 512 bytes; every action is in the trace and in the accounts."""

    def __init__(self, seed, device):
        self.random = random.Random(seed)
        self.device = device
        self.now = START_US
        self.trace, self.segments, self.live, self.events = [], [], {}, []
        self.in_use = self.reserved = 0
        self.stacks = [
            [{"filename": "a.py", "line": 10 + i, "name": "step"}, {"filename": "a.py", "line": 3, "name": "main"}]
            for i in range(4)
        ]

    def note(self, action, address, size, stack):
        self.now += self.random.randint(1, 50)
        self.trace.append(
            {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.now, "frames": stack}
        )
        if action != "free_requested":
            self.events.append((self.now * 1000, self.in_use, self.reserved))

    def new_segment(self, size):
        address = 0x7F0000000000 + self.device * (1 << 36) + len(self.segments) * 64 * MEGABYTE
        self.segments.append({"address": address, "size": size, "used": {}})
        self.reserved += size
        self.note("segment_alloc", address, size, self.stacks[0])
        return self.segments[-1]

    def allocate(self, requested):
        size = (requested + 511) // 512 * 512
        for segment in self.segments:
            at = segment["address"]
            for address in sorted(segment["used"]):
                if address - at >= size:
                    break
                at = address + segment["used"][address][0]
            if at + size <= segment["address"] + segment["size"]:
                break
        else:
            segment = self.new_segment(max(2 * MEGABYTE, size))
            at = segment["address"]
        stack = self.random.choice(self.stacks)
        segment["used"][at] = (size, requested, stack)
        self.live[at] = segment
        self.in_use += requested
        self.note("alloc", at, requested, stack)

    def release(self, address):
        segment = self.live.pop(address)
        size, requested, stack = segment["used"].pop(address)
        self.note("free_requested", address, requested, stack)
        self.in_use -= requested
        self.note("free_completed", address, requested, stack)

    def run(self, count):
        for _ in range(count):
            if self.live and self.random.random() < 0.45:
                self.release(self.random.choice(sorted(self.live)))
            else:
                self.allocate(self.random.choice((1, 100, 512, 5000, 700_000, 3 * MEGABYTE)))

    def blocks(self, segment):
        at, blocks = segment["address"], []
        for address in sorted(segment["used"]):
            size, requested, stack = segment["used"][address]
            if address > at:
                blocks.append({"address": at, "size": address - at, "requested_size": 0, "state": "inactive"})
            block = {"address": address, "size": size, "requested_size": requested, "state": "active_allocated"}
            blocks.append({**block, "frames": stack})
            at = address + size
        if at < segment["address"] + segment["size"]:
            size = segment["address"] + segment["size"] - at
            blocks.append({"address": at, "size": size, "requested_size": 0, "state": "inactive"})
        return blocks

    def described(self):
        return [
            {
                "device": self.device,
                "address": segment["address"],
                "total_size": segment["size"],
                "allocated_size": sum(size for size, _, _ in segment["used"].values()),
                "stream": 0,
                "segment_type": "large" if segment["size"] > 2 * MEGABYTE else "small",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": [],
                "blocks": self.blocks(segment),
            }
            for segment in self.segments
        ]


def snapshot(seed=1, devices=2, count=300, skipped=0):
    """The dict, and the allocators. The first `skipped` entries of the traces are missing: recording began late."""
    allocators = [Allocator(seed + i, i) for i in range(devices)]
    for allocator in allocators:
        allocator.run(count)
    return {
        "segments": [segment for allocator in allocators for segment in allocator.described()],
        "device_traces": [allocator.trace[skipped:] for allocator in allocators],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False},
        "external_annotations": [],
    }, allocators


def opened(engine, data, has_views=True):
    connection = engine(extension=None)
    # Making the views takes six times as long as all else, and does not happen where nothing may be written.
    connection.values(f"PRAGMA query_only = {int(not has_views)}")
    error = connection.load()
    assert not error, error
    connection.values("PRAGMA query_only = 0")
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(data)
        file.flush()
        _, error = connection.query(f"SELECT tfprof_open('{file.name}')")
    return connection, error


def check_accounts(connection, allocators, skipped):
    for allocator in allocators:
        of_device = f"device_id IN (SELECT id FROM devices WHERE ordinal = {allocator.device})"
        kept = [entry for entry in allocator.trace[skipped:] if entry["action"] != "free_requested"]
        events = connection.values(
            f"SELECT time_ns, in_use_bytes, reserved_bytes FROM memory_events WHERE {of_device} ORDER BY id"
        )
        assert events == allocator.events[len(allocator.events) - len(kept) :]
        live = connection.values(
            "SELECT address, bytes, requested_bytes, function, line, depth FROM allocations JOIN code_traces ON "
            f"code_traces.id = code_trace_id JOIN code_frames ON code_frames.id = leaf_frame_id WHERE {of_device} AND "
            "released_ns IS NULL ORDER BY address"
        )
        assert live == [
            (address, *segment["used"][address][:2], "step", segment["used"][address][2][0]["line"], 2)
            for address, segment in sorted(allocator.live.items())
        ]
        lifetimes = collections.Counter()
        begun = {}
        for entry in kept:
            if entry["action"] == "alloc":
                begun[entry["addr"]] = entry["time_us"] * 1000
            elif entry["action"] == "free_completed":
                lifetimes[begun.pop(entry["addr"], None), entry["time_us"] * 1000] += 1
        for address in allocator.live:
            lifetimes[begun.get(address), None] += 1
        rows = connection.values(f"SELECT allocated_ns, released_ns FROM allocations WHERE {of_device}")
        assert collections.Counter(rows) == lifetimes
        assert connection.values(
            f"SELECT count(*), sum(bytes) FROM memory_segments WHERE {of_device} AND released_ns IS NULL"
        ) == [(len(allocator.segments), sum(segment["size"] for segment in allocator.segments))]


def check_whole(connection):
    """What was there before the recording counts, too: lines and parts add up to what was in use at the peak.

    The trace tells what was asked for, and blocks what was given, which may be 511 bytes more each.
    """
    whole = connection.values("SELECT heap_bytes FROM memory_summary ORDER BY device_id")
    lines = connection.values("SELECT device_id, name, peak_bytes, peak_ratio, bytes_ratio FROM memory_by_line")
    devices = sorted({row[0] for row in lines})
    more = [sum(row[2] for row in lines if row[0] == device) - heap for device, (heap,) in zip(devices, whole)]
    assert len(more) == len(whole) and all(0 <= bytes < 512 * 300 for bytes in more), (lines, whole)
    for device in devices:
        for column in (3, 4):
            assert abs(sum(row[column] for row in lines if row[0] == device) - 1) < 1e-9, (device, column, lines)
    parts = connection.values("SELECT sum(bytes) FROM memory_breakdown GROUP BY device_id ORDER BY device_id")
    assert [row[0] for row in parts] == [heap + rest for (heap,), rest in zip(whole, more)], (parts, whole)


def test_other_members(engine):
    """What is too large for attributes, or goes round, is told; the list of segments alone opens as well."""
    content, _ = snapshot()
    content["external_annotations"] = [
        {"name": "forward", "device": 0, "stage": "START", "time_us": i} for i in range(1000)]
    content["round"] = content
    connection, error = opened(engine, pickle.dumps(content, 4))
    assert not error, error
    assert json.loads(connection.values("SELECT attributes FROM profiles")[0][0]).keys() == {"allocator_settings"}
    told = connection.values("SELECT message FROM diagnostics WHERE reason = 'unused_member' ORDER BY 1")
    assert [row[0].split()[0] for row in told] == ["round"], told
    rows = connection.values("SELECT count(*) FROM memory_segments WHERE released_ns IS NULL")
    connection.close()
    connection, error = opened(engine, pickle.dumps(content["segments"], 4))
    assert not error and connection.values("SELECT count(*) FROM memory_segments") == rows
    connection.close()


def test_accounts(engine):
    for skipped in (0, 100):
        for protocol in (2, 3, 4, 5):
            content, allocators = snapshot(skipped=skipped)
            connection, error = opened(engine, pickle.dumps(content, protocol))
            assert not error, error
            check_accounts(connection, allocators, skipped)
            profiles = connection.values("SELECT format, framework, complete FROM profiles")
            assert profiles == [("memory_snapshot", "pytorch", 1)]
            attributes = json.loads(connection.values("SELECT attributes FROM profiles")[0][0])
            assert attributes == {"allocator_settings": content["allocator_settings"]}, attributes
            assert connection.values("SELECT severity, reason FROM diagnostics") == [("info", "free_requested")]
            check_whole(connection)
            connection.close()


def test_without_trace(engine):
    content, allocators = snapshot()
    content["device_traces"] = []
    connection, error = opened(engine, pickle.dumps(content))
    assert not error, error
    for allocator in allocators:
        ((count, requested),) = connection.values(
            "SELECT count(*), sum(requested_bytes) FROM allocations JOIN devices ON devices.id = device_id "
            f"WHERE ordinal = {allocator.device} AND allocated_ns IS NULL AND released_ns IS NULL"
        )
        assert (count, requested) == (len(allocator.live), allocator.in_use)
        held = connection.values(
            "SELECT memory_events.kind, in_use_bytes, reserved_bytes FROM memory_events "
            f"JOIN devices ON devices.id = device_id WHERE ordinal = {allocator.device}")
        assert held == [("snapshot", allocator.in_use, sum(segment["size"] for segment in allocator.segments))], held
    # Devices without a segment have no row.
    ((severity, message),) = connection.values("SELECT severity, message FROM diagnostics")
    assert severity == "warning" and message.startswith("recorded without history: "), message
    rows = connection.values("SELECT heap_bytes, reserved_bytes FROM memory_summary ORDER BY device_id")
    assert rows == connection.values("SELECT in_use_bytes, reserved_bytes FROM memory_events ORDER BY device_id"), rows
    lines = connection.values("SELECT sum(peak_bytes), sum(live_bytes), total(peak_ratio) FROM memory_by_line "
                              "GROUP BY device_id ORDER BY device_id")
    live = [sum(segment["used"][at][0] for at, segment in allocator.live.items()) for allocator in allocators]
    assert [row[0] for row in lines] == [max(heap, held) for (heap, _), held in zip(rows, live)], (lines, rows, live)
    assert [row[1] for row in lines] == live and all(abs(row[2] - 1) < 1e-9 for row in lines), lines
    connection.close()


def test_marks(engine):
    """What the program marked in the trace and beside it are ranges and steps, and nothing that is lost."""
    content, _ = snapshot(devices=2)
    def entry(text, at):
        return {"action": "user_defined", "addr": 0, "size": 0, "stream": 0, "time_us": START_US + at, "frames": [],
                "user_metadata": text}

    content["device_traces"][0] += [entry("START: gloo:broadcast", 1), entry("END: gloo:broadcast", 6),
                                    entry("here", 7), entry("START: open", 8), entry("END: other", 9)]
    content["external_annotations"] = [
        {"stage": stage, "name": f"ProfilerStep#{step}", "device": 1, "time_us": START_US + 20 * step + at}
        for step in range(3) for stage, at in (("START", 0), ("END", 10))]
    connection, error = opened(engine, pickle.dumps(content))
    assert not error, error
    rows = connection.values(f"SELECT name, (start_ns - {START_US}000) / 1000, dur_ns FROM ranges ORDER BY 1, 2")
    assert rows == [("ProfilerStep#0", 0, 10_000), ("ProfilerStep#1", 20, 10_000), ("ProfilerStep#2", 40, 10_000),
                    ("gloo:broadcast", 1, 5000), ("here", 7, 0), ("open", 8, None), ("other", None, None)], rows
    assert connection.values("SELECT number, dur_ns FROM steps ORDER BY 1") == [(i, 10_000) for i in range(3)]
    assert connection.values("SELECT * FROM diagnostics WHERE severity <> 'info'") == []
    connection.close()


def test_out_of_memory(engine):
    content, _ = snapshot(devices=1)
    frames = [{"filename": "a.py", "line": 99, "name": "attention"}, {"filename": "a.py", "line": 3, "name": "main"}]
    failure = {"action": "oom", "device_free": 123456, "size": 1 << 40, "stream": 0, "time_us": START_US + 10**9,
               "frames": frames}
    content["device_traces"][0].append(failure)
    connection, error = opened(engine, pickle.dumps(content))
    assert not error, error
    rows = connection.values("SELECT bytes, free_bytes, allocation_id FROM memory_events WHERE kind = 'out_of_memory'")
    assert rows == [(1 << 40, 123456, None)]
    assert connection.values("SELECT bytes, location FROM memory_failures") == [(1 << 40, "a.py:99")]
    connection.close()


def test_annotations_without_times(engine):
    """Annotations have times of a clock, the events beside them none: both together would be a run of decades."""
    trace = [{"action": "alloc", "addr": 4096 + i, "size": MEGABYTE, "stream": 0} for i in range(3)]
    marks = [{"stage": stage, "name": "ProfilerStep#1", "device": 0, "time_us": START_US + at}
             for stage, at in (("START", 0), ("END", 10))]
    connection, error = opened(engine, pickle.dumps({"segments": [], "device_traces": [trace],
                                                     "external_annotations": marks}))
    assert not error, error
    assert connection.values("SELECT max(end_ns) - min(start_ns) < 1000 FROM profiles") == [(1,)]
    told = connection.values("SELECT count FROM diagnostics WHERE reason = 'no_time' AND severity = 'warning'")
    assert told == [(2,)], told
    connection.close()


def test_pages(engine):
    """Expandable segments: pages are mapped and given back; what else a trace may hold is counted."""
    actions = [("segment_map", 0, 4), ("alloc", 0, 3), ("segment_map", 4, 2), ("of_tomorrow", 0, 0),
               ("free_requested", 0, 3),
               ("free_completed", 0, 3), ("segment_unmap", 4, 2), ("snapshot", 0, 0)]
    trace = [{"action": action, "addr": 4096 + at * MEGABYTE, "size": size * MEGABYTE, "stream": 0,
              "time_us": START_US + i}
             for i, (action, at, size) in enumerate(actions)]
    blocks = [{"address": 4096, "size": 4 * MEGABYTE, "requested_size": 0, "state": "inactive"}]
    segment = {"device": 0, "address": 4096, "total_size": 4 * MEGABYTE, "is_expandable": True, "blocks": blocks}
    connection, error = opened(engine, pickle.dumps({"segments": [segment], "device_traces": [trace]}))
    assert not error, error
    rows = connection.values(f"SELECT kind, in_use_bytes / {MEGABYTE}, reserved_bytes / {MEGABYTE} FROM memory_events "
                             f"ORDER BY id")
    assert rows == [("segment_allocate", 0, 4), ("allocate", 3, 4), ("segment_allocate", 3, 6), ("release", 0, 6),
                    ("segment_release", 0, 4)], rows
    reasons = connection.values("SELECT reason, count FROM diagnostics ORDER BY 1")
    assert reasons == [("free_requested", 1), ("unknown_action", 1)], reasons
    connection.close()


def test_pytorch_once(engine):
    """What PyTorch itself writes, which has no times: its own counts by category, and of what is held at the end."""
    python = os.environ.get("TFPROF_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        print("left out: PyTorch's own snapshot, since PyTorch (torch) is missing")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.pickle")
        made = subprocess.run([python, "-c", PROGRAM, path], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        categories, left, blocks, allocated, count = json.loads(made.stdout)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        rows = connection.values("SELECT region, sum(bytes) FROM memory_events WHERE kind = 'allocate' GROUP BY 1")
        assert dict(rows) == categories and len(rows) > 3, (rows, categories)
        rows = connection.values("SELECT requested_bytes FROM allocations WHERE released_ns IS NULL")
        held = sorted(size for (size,) in rows)
        assert held == left == blocks and len(held) > 5, (held, left, blocks)
        assert allocated == f"{sum(held) / 1024:.1f}KiB", (allocated, sum(held))
        assert connection.values("SELECT in_use_bytes FROM memory_events ORDER BY id DESC LIMIT 1") == [(sum(held),)]
        assert connection.values("SELECT max(time_ns) + 1 FROM memory_events") == [(count,)]
        reasons = connection.values("SELECT reason FROM diagnostics ORDER BY 1")
        assert reasons == [("free_requested",), ("no_time",)], reasons
        connection.close()


def test_saved(engine):
    """A dump saved from a snapshot answers the same."""
    content, allocators = snapshot()
    connection, error = opened(engine, pickle.dumps(content))
    assert not error, error
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "saved")
        connection.values(f"SELECT tfprof_save('{path}')")
        copy = engine()
        copy.values(f"SELECT tfprof_open('{path}')")
        check_accounts(copy, allocators, 0)
        copy.close()
    connection.close()


def test_cut_off(engine):
    """Wherever it is cut: an error that says so, or the part that is there and a diagnostic."""
    content, _ = snapshot(devices=1, count=20)
    whole = pickle.dumps(content)
    served = 0
    for length in range(2, len(whole), 7):
        connection, error = opened(engine, whole[:length], has_views=False)
        if error:
            assert "ends" in error or "this is no profile" in error, error
        else:
            reasons = [row[0] for row in connection.values("SELECT reason FROM diagnostics")]
            assert "damaged" in reasons, length
            served += connection.values("SELECT count(*) FROM allocations")[0][0]
        connection.close()
    assert served > 0


def test_flipped_once(engine):
    content, _ = snapshot(devices=2, count=40)
    whole = pickle.dumps(content)
    generator = random.Random(4)
    connection = engine()
    with tempfile.TemporaryDirectory() as directory:
        for i in range(100):
            damaged = bytearray(whole)
            for _ in range(generator.randint(1, 4)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            path = os.path.join(directory, f"{i}.pickle")
            with open(path, "wb") as file:
                file.write(damaged)
            _, error = connection.query(f"SELECT tfprof_close(tfprof_open('{path}'))")
            assert not error or path in error or "pickle" in error, error


class Code:
    def __reduce__(self):
        return os.system, ("touch /tmp/tfprof-pickle-was-run",)


def test_code_is_not_run(engine):
    content, _ = snapshot(devices=1, count=5)
    content["segments"].append(Code())
    for protocol in (2, 4):
        connection, error = opened(engine, pickle.dumps(content, protocol))
        if error:
            assert "never done" in error, error
        else:
            assert [("error", 1)] == connection.values(
                "SELECT severity, message LIKE '%never done%' FROM diagnostics WHERE reason = 'damaged'"
            )
        connection.close()
    assert not os.path.exists("/tmp/tfprof-pickle-was-run")


def test_shapes_of_attacks(engine):
    """Lists that hold themselves, and few bytes that stand for many rows."""
    segment = {"address": 4096, "total_size": 1 << 20, "device": 0, "blocks": []}
    segment["blocks"].extend([{"size": 512, "address": 4096, "state": "active_allocated", "frames": []}] * 5000)
    connection, error = opened(engine, pickle.dumps({"segments": [segment] * 5000, "device_traces": []}))
    assert not error, error
    assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'limit'") == [(1,)]
    connection.close()
    circle = []
    circle.append(circle)
    for content in (
        {"segments": circle, "device_traces": circle},
        {"segments": [{"address": 1, "total_size": 1, "blocks": circle, "frames": circle}], "device_traces": [circle]},
        {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1 << 70, "size": 1, "frames": circle}]]},
        {"segments": [{"address": -5, "total_size": 1 << 62, "device": 1 << 40}], "device_traces": [None, 3, "x"]},
    ):
        connection, error = opened(engine, pickle.dumps(content))
        assert not error, error
        connection.values("SELECT count(*) FROM allocations")
        connection.close()
    connection, error = opened(engine, pickle.dumps({"weights": ["segments"]}))
    assert error and "no segments" in error, error
    connection.close()


def test_old_form(engine):
    """Before PyTorch 2.1: a list of segments, frames and sizes in the history of each block."""
    frame = {"filename": "a.py", "line": 7, "name": "f"}
    history = [{"addr": 8192, "real_size": 900, "frames": [frame]}]
    blocks = [{"size": 512, "state": "inactive"}, {"size": 1024, "state": "active_allocated", "history": history}]
    content = [{"device": 0, "address": 8192, "total_size": 4096, "blocks": blocks}]
    buffer = io.BytesIO()
    pickle.dump({"segments": content}, buffer)
    connection, error = opened(engine, buffer.getvalue())
    assert not error, error
    assert connection.values(
        "SELECT address, bytes, requested_bytes, file, line FROM allocations "
        "JOIN code_traces ON code_traces.id = code_trace_id JOIN code_frames ON code_frames.id = leaf_frame_id"
    ) == [(8192 + 512, 1024, 900, "a.py", 7)]
    connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
