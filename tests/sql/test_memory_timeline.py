#!/usr/bin/env python3
"""test_memory_timeline.py: raw memory timelines of PyTorch, and memory by category from them.

A hand-made one whose sums are known; every way to damage it; and one that torch.profiler writes of a small training
loop, where its own sums by category (the other file that export_memory_timeline() writes) are what memory_timeline must
give.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests

CATEGORIES = ["parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail",
              "unknown"]
T = 1_760_000_000_000_000_000
EVENTS = [  # time, action, bytes, category
    [-1, 1, 4096, 0],
    [-1, 1, 64, 7],
    [T + 5, 2, 1000, 4],
    [T + 5, 2, 200, 3],
    [T + 9, 3, -1000, 4],
    [T + 9, 3, 1000, 5],
    [T + 20, 4, -200, 3],
    [T + 21, 4, -64, 7],
    [T + 30, 2, 7, 6],
    [T + 31, 2, 8, 1],
    [T + 32, 2, 9, 2],
]

PROGRAM = """
import sys, warnings, torch
warnings.simplefilter("ignore")
model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))
optimizer = torch.optim.Adam(model.parameters())
with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(64, 20)).square().mean().backward()
        optimizer.step()
profile.export_memory_timeline(sys.argv[1] + "/run.raw.json.gz", device="cpu")
profile.export_memory_timeline(sys.argv[1] + "/sums.json", device="cpu")
"""


def opened(engine, directory, text, name="run.raw.json"):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(text)
    connection = engine()
    return connection, connection.query(f"SELECT tfprof_open('{path}')")[1]


def expected_sums(events):
    """Bytes by category after each time, as PyTorch counts them."""
    first = min(time for time, *_ in events if time >= 0)
    sums, after = [0] * 8, {}
    for time, _, size, category in events:
        sums[category] += size
        after[first if time < 0 else time] = list(sums)
    return after


def sums_by_category(connection):
    rows = connection.values("SELECT time_ns, category, bytes, device_bytes FROM memory_timeline")
    sums, after = [0] * 8, {}
    for time, category, size, total in rows:
        sums[CATEGORIES.index(category)] = size
        after[time] = list(sums)
        assert total == sum(sums) or category not in CATEGORIES, (time, category, total, sums)
    return after


def test_sums(engine):
    with tempfile.TemporaryDirectory() as directory:
        text = json.dumps(EVENTS).encode()
        for form in (text, gzip.compress(text), gzip.compress(text[:50]) + gzip.compress(text[50:])):
            connection, error = opened(engine, directory, form)
            assert not error, error
            assert sums_by_category(connection) == expected_sums(EVENTS)
            (profile,) = connection.values("SELECT format, framework, complete FROM profiles")
            assert profile == ("memory_timeline", "pytorch", 1), profile
            # What cannot be paired is no allocation.
            assert connection.values("SELECT count(*) FROM allocations") == [(0,)]
            assert connection.values("SELECT count(*) FROM diagnostics") == [(0,)]
            in_use = [row[0] for row in connection.values("SELECT in_use_bytes FROM memory_events ORDER BY id")]
            assert in_use == [4096, 4160, 5160, 5360, None, None, 5160, 5096, 5103, 5111, 5120], in_use
            saved = os.path.join(directory, "saved")
            connection.values(f"SELECT tfprof_save('{saved}')")
            copy = engine()
            copy.values(f"SELECT tfprof_open('{saved}')")
            every = "SELECT * FROM memory_timeline"
            assert copy.values(every) == connection.values(every)
            connection.close(), copy.close()
            os.remove(saved)


def test_damage(engine):
    text = json.dumps(EVENTS).encode()
    with tempfile.TemporaryDirectory() as directory:
        for cut in range(1, len(text), 9):
            connection, error = opened(engine, directory, text[:cut])
            if not error:  # the good part is served
                rows = connection.values("SELECT count(*) FROM memory_events")[0][0]
                assert rows == text[:cut].count(b"]"), (cut, rows)
                assert connection.values("SELECT reason, offset FROM diagnostics") == [("truncated", cut)], cut
                assert connection.values("SELECT complete FROM profiles") == [(0,)]
            connection.close()
        for odd, rows in (([T, 2, 2**63, 0], 11), ([T, 9, 1, 0], 11), ([T, 2, 1, 8], 11), ([-7, 2, 1, 0], 11),
                          ([-(2**200), 2, 1, 0], 11)):
            connection, error = opened(engine, directory, json.dumps(EVENTS + [odd]).encode())
            assert not error, error
            assert connection.values("SELECT count(*) FROM memory_events") == [(rows,)]
            assert connection.values("SELECT reason, count FROM diagnostics") == [("number_out_of_range", 1)], odd
            connection.close()
        for tail in (b"x", b", NaN]", b", [1.5, 2, 3, 0]]", b", [1, 2, 3]]", b", [1, 2, 3, 4, 5]]", b", {}]", b"]]",
                     b", []]"):
            connection, error = opened(engine, directory, text[:-1] + tail)
            assert not error, error
            assert connection.values("SELECT count(*) FROM memory_events") == [(11,)], tail
            assert connection.values("SELECT reason FROM diagnostics") == [("malformed_json",)], tail
            connection.close()


def test_panel(engine):
    """The page draws of each stretch of time the moment with most, never what no moment had; each process by itself."""
    events = [[T, 2, 1000, 4], [T + 1, 4, -1000, 4], [T + 2, 2, 900, 5], [T + 3, 2, 50, 3], [T + 4, 4, -900, 5],
              [T + 5, 4, -50, 3], [T + 999_000, 2, 7, 3], [T + 1_000_000, 2, 8, 4]]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    with open(os.path.join(root, "sql", "panels", "memory_over_time.sql"), encoding="utf-8") as file:
        panel = file.read().replace(":profile_id", "NULL").replace(":origin_ns", str(T))
    with tempfile.TemporaryDirectory() as directory:
        for name in ("one", "other"):
            with open(os.path.join(directory, f"{name}.raw.json"), "w", encoding="utf-8") as file:
                json.dump(events, file)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{directory}/*.raw.json')")
        rows = connection.values(f"SELECT device, at_ns, category, bytes FROM ({panel})")
        names = [name for name, in connection.values("SELECT name FROM _memory_names")]
        assert len(names) == 2 and names[0] != names[1] and {row[0] for row in rows} == set(names), (names, rows)
        wanted = [(0, "activation", 1000), (5, "activation", 0), (5, "gradient", 0), (5, "temporary", 0),
                  (999_000, "temporary", 7), (1_000_000, "activation", 8)]
        for name in names:
            assert [row[1:] for row in rows if row[0] == name] == wanted, rows


def test_pytorch_once(engine):
    python = os.environ.get("TFPROF_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        print("left out: PyTorch's own timeline, since PyTorch (torch) is missing")
        return
    with tempfile.TemporaryDirectory() as directory:
        made = subprocess.run([python, "-c", PROGRAM, directory], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        with open(os.path.join(directory, "sums.json")) as file:
            times, sizes = json.load(file)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{directory}/run.raw.json.gz')")
        ours = {}
        for time, sums in sums_by_category(connection).items():
            ours[int(time / 1000)] = sums  # rounded as PyTorch does it
        # Its first row is for what was there before, the first of each row is 0.
        theirs = {time: row[1:] for time, row in zip(times, sizes)}
        assert len(theirs) > 100 and set(ours) == set(theirs), sorted(set(ours) ^ set(theirs))
        differing = [(time, ours[time], theirs[time]) for time in ours if ours[time] != theirs[time]]
        assert not differing, differing[:3]
        assert sum(any(row[i] for row in theirs.values()) for i in range(8)) >= 5  # else little is tested


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
