"""python_summary tells at which lines the time between the ops passes, as the program's own clock does.
"""

import json
import os

import capturing

PROGRAM = """
import collections, gc, json, os, sys, threading, time, torch, without_dynamo
torch.set_num_threads(1)
took = collections.Counter()
def loop():
    total = 0
    for i in range(20000): total += i * i
    return total
def words(): return [hash(word) for word in text.split(" ")]
text = " ".join(map(str, range(9000)))
gc.freeze()
garbage = [[number] for number in range(4000)]
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def timed(name, work):
    start = time.perf_counter()
    work()
    took[name] += time.perf_counter() - start
def step(is_counted):
    took_before = dict(took)
    timed("loop", lambda: loop())
    timed("words", lambda: words())
    timed("sleep", lambda: time.sleep(0.004))
    if number % 16 == 0: timed("collect", lambda: gc.collect())
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if not is_counted:
        took.clear()
end = time.time() + 6
number = 0
while time.time() < end:
    step(number > 3)
    number += 1
print(json.dumps(took))
"""
MARKS = {"range(20000)": "loop", "hash(word)": "words", "time.sleep(": "sleep", "gc.collect(": "collect"}
LINES = {
    number: name
    for number, line in enumerate(PROGRAM.split("\n"), 1)
    for mark, name in MARKS.items()
    if mark in line
}


def test_lines():
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", PROGRAM], ops="all")
        assert "tfprof" not in error, error
        took = json.loads(out)
        rows = capturing.query(directory, "SELECT * FROM python_summary")
        seen = {}
        for row in rows:
            name = LINES.get(row["line"])
            if name:
                seen[name] = seen.get(name, 0) + row["self_ratio"]
        total = sum(took.values())
        for name, seconds in took.items():
            assert abs(seen.get(name, 0) - seconds / total) < 0.15, (name, seen, took)
        assert sum(seen.values()) > 0.8, (seen, rows)
        (count,) = capturing.query(directory, """SELECT count(*) AS n, count(step_id) AS inside FROM python_samples
            WHERE time_ns BETWEEN (SELECT min(start_ns) FROM steps) AND (SELECT max(end_ns) FROM steps)""")
        assert count["n"] > 50 and count["inside"] > 0.8 * count["n"], count
        (advice,) = capturing.query(directory, "SELECT suggestion FROM advise WHERE check_name = 'host_bound'")
        assert "Between the ops Python is at" in advice["suggestion"], advice
        (line,) = [number for number, name in LINES.items() if name == "sleep"]
        parts = capturing.query(directory, "SELECT line, part, waits_for, self_ns FROM python_parts")
        asleep = [row["self_ns"] for row in parts if row["waits_for"] == "sleep"]
        assert {row["line"] for row in parts if row["waits_for"] == "sleep"} == {line}, parts
        # Each step told it to sleep for 4 ms. Where it took twice as long it waited for a processor.
        (steps,) = capturing.query(directory, "SELECT count(*) AS n FROM steps WHERE is_warmup = 0")
        if took["sleep"] < 2 * 0.004 * steps["n"]:
            assert sum(asleep) > 0.5 * sum(row["self_ns"] for row in parts if row["line"] == line), parts
        assert {row["part"] for row in parts if LINES.get(row["line"]) == "loop"} == {"python"}, parts
        assert sum(row["self_ns"] for row in parts) > 0.99 * sum(row["self_ns"] for row in rows), (parts, rows)
        (waits,) = capturing.query(directory, "SELECT message FROM advise WHERE check_name = 'host_waits'"
                                   " AND message GLOB '*told to sleep*'")
        assert waits["message"].endswith(f":{line}"), waits  # no text of code that python -c was given
        print("%d samples: %s" % (count["n"], {name: round(share, 2) for name, share in sorted(seen.items())}))


WAITS = """
import ctypes, os, subprocess, threading, time, torch, without_dynamo
hold_the_gil = ctypes.PyDLL(None).usleep
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
ends, starts, held = os.pipe(), os.pipe(), threading.Lock()
def other():
    while os.read(starts[0], 1):
        with held:
            os.write(ends[1], b"1")
            time.sleep(0.03)
        time.sleep(0.02)
        os.write(ends[1], b"1")
wanted = threading.Event()
def holder():
    while wanted.wait():
        hold_the_gil(30000)
        wanted.clear()
threading.Thread(target=other, daemon=True).start()
threading.Thread(target=holder, daemon=True).start()
for _ in range(60):
    os.write(starts[1], b"1")
    os.read(ends[0], 1)
    with held: pass  # lock
    os.read(ends[0], 1)  # pipe
    subprocess.run(["sleep", "0.02"])  # process
    wanted.set()
    while wanted.is_set(): sum(range(1000))  # GIL
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
"""


def test_what_is_waited_for():
    """Each kind of waiting is told by its word, at its line: sixty waits of 20 ms or more, whatever the machine."""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", WAITS], ops="all")
        words = {number: line.split("# ")[1] for number, line in enumerate(WAITS.split("\n"), 1) if "# " in line}
        rows = capturing.query(directory, """SELECT line, waits_for, count(*) AS n FROM python_samples AS samples
            JOIN code_traces AS traces ON traces.id = samples.code_trace_id
            JOIN code_frames AS frames ON frames.id = traces.line_frame_id
            WHERE waits_for IS NOT NULL AND step_id IS NOT NULL GROUP BY 1, 2""")
        for line, word in words.items():
            seen = {row["waits_for"]: row["n"] for row in rows if row["line"] == line}
            # Whatever takes Python's lock may wait for it, too.
            assert seen.get(word) and set(seen) <= {word, "GIL", "pipe", "processor"}, (word, seen, rows)


CALLED = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Identity(), torch.nn.Linear(4, 4))
for _ in range(7): model[2](model(torch.ones(2, 4)))
"""


def test_module_calls():
    """Where calls are recorded it is known how often each module was called."""
    with capturing.Directory() as directory:
        capturing.launch(directory, [capturing.PYTHON, "-c", CALLED], ["--python=calls"])
        rows = capturing.query(directory, "SELECT module, call_count, call_ns FROM module_summary")
        assert {row["module"]: row["call_count"] for row in rows} == {"Sequential": 7, "0": 7, "2": 14}, rows
        assert all(row["call_ns"] > 0 for row in rows), rows


def test_threads_that_come_and_go():
    """Stacks are read while threads run and end: nothing breaks, and what is told is a line of the program."""
    program = """
import threading, torch
def work(depth):
    return work(depth - 1) if depth else sum(hash(eval(compile("lambda: %d" % i, "made", "eval"))) for i in range(30))
def run():
    for number in range(60):
        torch.ones(3).add(1)
        work(number)
for _ in range(25):
    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(program)
        out, error = capturing.run(directory, [path], ops="all")
        assert not out and not error, (out, error)
        rows = capturing.query(directory, "SELECT DISTINCT file, line FROM python_summary WHERE NOT is_library")
        lines = {row["line"] for row in rows if row["file"] == path}
        assert lines and lines <= set(range(3, 9)), rows  # where a function begins another thread may take over
        assert all(row["file"] in (path, "made") for row in rows), rows


def test_generated_code():
    """What is made at run time counts for the line that calls it."""
    program = """
import torch, time, without_dynamo
names = {"time": time}
exec(compile("def spin(until):\\n    while time.perf_counter() < until: pass\\n", "<made>", "exec"), names)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(100):
    names["spin"](time.perf_counter() + 0.02)  # here
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    here = [i for i, line in enumerate(program.split("\n"), 1) if "# here" in line]
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(program)
        capturing.run(directory, [path], ops="all")
        rows = capturing.query(directory, "SELECT file, line FROM python_summary ORDER BY sample_count DESC")
        assert rows and (rows[0]["file"], rows[0]["line"]) == (path, here[0]), rows
        assert all(not row["file"].startswith("<made") for row in rows), rows


GENERATORS = """
import time, torch
torch.set_num_threads(1)
def leaves(count):
    for number in range(count): yield number
def trees(count):
    for _ in range(count):
        yield from leaves(2)
        yield 1
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(60):
    end = time.perf_counter() + 0.04
    while time.perf_counter() < end: sum(trees(300))
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_generators():
    """A generator that yields while its stack is read has no caller then: it is looked at again."""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", GENERATORS], ops="all")
        rows = capturing.query(directory, """SELECT frames.function AS outermost, count(*) AS n
            FROM python_samples AS samples JOIN code_traces AS traces ON traces.id = samples.code_trace_id
            JOIN code_traces AS outer ON outer.depth = 1 AND outer.id IN (
              WITH RECURSIVE up(id) AS (SELECT traces.id UNION SELECT t.parent_id FROM up JOIN code_traces AS t
                ON t.id = up.id WHERE t.parent_id IS NOT NULL) SELECT id FROM up)
            JOIN code_frames AS frames ON frames.id = outer.leaf_frame_id GROUP BY 1""")
        assert {row["outermost"] for row in rows} == {"<module>"} and sum(row["n"] for row in rows) > 20, rows


capturing.main(globals())
