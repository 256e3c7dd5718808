"""Advice on real recordings: two ranks of which one is slow, workers of a DataLoader, and how many steps had ops."""

import math
import os
import re
import socket
import subprocess

import capturing

NEEDS_CLASSIC = {"test_workers"}  # tests/parts.py
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0", "--rdzv-backend", "c10d"]
TORCHRUN += ["--rdzv-endpoint", "localhost:0"]
SHELL = os.path.join(capturing.BUILD, "tfprof")

RANKS = """
import time, torch, torch.distributed as dist, without_dynamo
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
torch.set_num_threads(1)
layers = [torch.nn.Linear(64, 64) for _ in range(4)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.randn(8, 64)
for _ in range(15):
    model(x).square().mean().backward()
    if rank == 1:
        time.sleep(0.25)
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
"""

WORKERS = """
import torch, without_dynamo
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, i):
        return torch.full((8,), float(i))
if __name__ == "__main__":
    model = torch.nn.Linear(8, 8)
    torch.nn.init.uniform_(torch.empty(2000, 2000)) # takes longest, but before the first step
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2):
        model(x).sum().backward()
        optimizer.step()
"""

LONG_STEPS = """
import time, torch, without_dynamo
torch.set_num_threads(1)
model = torch.nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.randn(32, 64)
def report():
    end = time.thread_time() + 0.3 # what it waits for a processor beside that is not counted
    while time.thread_time() < end:
        sum(i * i for i in range(100))  # here
for i in range(60):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if i % 20 == 10:
        report()
"""

# What no loop needs, or with a word on the command line: all of it.
# Of three faults at a time each is far above its threshold, also where the machine is busy with something else.
GRADIENTS = """
import sys, torch, without_dynamo
from torch.utils.checkpoint import checkpoint
FAULT = len(sys.argv) > 1
torch.manual_seed(0)
torch.set_num_threads(1)
small = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(14)])
table = torch.nn.Embedding(6000, 256)
optimizer = torch.optim.SGD([*small.parameters(), *table.parameters()], 0.01)
rows = torch.tensor([1, 2])
x = torch.randn(96, 256)
def passed(x):
    return small(x)
def evaluate():
    small.eval()
    with torch.set_grad_enabled("all" in sys.argv):
        total = 0
        for _ in range(2):
            total = total + passed(x).square().mean()
    small.train()
    return total
for i in range(30):
    hidden = checkpoint(passed, x, use_reentrant=False) if FAULT else passed(x)
    optimizer.zero_grad(set_to_none=not FAULT)
    (hidden.square().mean() + table(rows).mean()).backward()
    optimizer.step()
    evaluate()
"""

NUMBERS = """
import sys, torch, without_dynamo
FAULT = len(sys.argv) > 1
torch.manual_seed(0)
torch.set_num_threads(1)
small = torch.nn.Linear(256, 256)
wide = torch.nn.Linear(256, 512)
wide = wide.double() if FAULT else wide
optimizer = torch.optim.SGD([*small.parameters(), *wide.parameters()], 0.01)
x = torch.randn(96, 256)
square = torch.randn(512, 512)
def right(scores):
    if not FAULT:
        return (scores.argmax(-1) == 1).sum().item()
    count = 0
    for row in range(scores.shape[0]):
        if scores[row].argmax().item() == 1:
            count += 1
    return count
for i in range(30):
    hidden = small(x)
    y = wide(hidden.double() if FAULT else hidden)
    z = square
    for _ in range(8 if FAULT else 0):
        z = z.t().contiguous()
    count = sum(right(hidden.detach()) for _ in range(4))
    optimizer.zero_grad()
    y.square().mean().backward()
    optimizer.step()
"""

SINGLE_SAMPLES = """
import sys, torch, without_dynamo
FAULT = len(sys.argv) > 1
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.randn(8, 256)
kept = torch.tril(torch.ones(768, 768))
for i in range(30):
    mask = torch.tril(torch.ones(768, 768)) if FAULT else kept
    optimizer.zero_grad()
    for sample in x.split(1 if FAULT else 8):
        loss = (model(sample).square().mean() + mask[0, 0]) / 8
        loss.backward()
    optimizer.step()
"""

# One line that trains and evaluates.
ONE_LINE = """
import sys, torch, without_dynamo
FAULT = len(sys.argv) > 1
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)])
optimizer = torch.optim.SGD(model.parameters(), 0.01)
batches = torch.randn(8, 32, 256)
for epoch in range(8):
    for phase in ("train", "validate"):
        for x in batches:
            with torch.set_grad_enabled(FAULT or phase == "train"):
                loss = model(x).square().mean()
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""

# Without the fault actions are chosen for one sample at a time; times of the data are multiplied by frequencies.
ONE_SAMPLE = """
import sys, torch, without_dynamo
FAULT = len(sys.argv) > 1
torch.manual_seed(0); torch.set_num_threads(1)
sizes = [256, 768, 768, 768, 768]
layers = [torch.nn.Linear(*pair) for pair in zip(sizes, sizes[1:])]
model = torch.nn.Sequential(layers[0], *(part for layer in layers[1:] for part in (torch.nn.ReLU(), layer)))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x, times = torch.randn(640, 256), torch.rand(2048)
kept = torch.ones(384, 384)
for batch in range(40):
    samples = slice(batch, batch + 1) if FAULT else slice(16 * batch, 16 * batch + 16)
    with torch.no_grad():
        for _ in range(0 if FAULT else 40): model(x[:1]).argmax().item()
    steps = torch.arange(384)
    near = (steps[:, None] - steps).abs() if FAULT else kept
    powers = torch.arange(256) / 256
    angles = times[:, None] * powers
    optimizer.zero_grad()
    loss = model(x[samples]).square().mean() + near[0, 0] + angles[0, 0]
    loss.backward()
    optimizer.step()
"""

# Constants of statements over several lines, and of several statements with two sizes; the last batch is smaller.
TABLES = """
import math, sys, torch, without_dynamo
FAULT = len(sys.argv) > 1
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
data = torch.randn(16 * 200 + 9, 64)
def near(size):
    return (
        torch.arange(size)  # (
        .unsqueeze(0)
        .sub(torch.arange(size).unsqueeze(1))

        .abs()
        .mul(0.1)
        .exp()
    )
def literal():
    kernel = torch.tensor([
        [1.0, 4.0, 6.0, 4.0, 1.0, 1e0, 4.0, 6.0] * 128,
        [4.0, 16.0, 24.0, 16.0, 4.0, 4.0, -16.0, 24.0] * 128,
        [4.0, 16.0, 24.0, 16.0, 4.0, 4.0, -16.0, 24.0] * 128,
    ])
    return kernel
def positions(size):
    place = torch.arange(size).unsqueeze(1)
    rate = torch.exp(torch.arange(0, 128, 2) * (-math.log(10000.0) / 128))
    table = torch.zeros(size, 128)
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    return table
def of_data(x):
    places = torch.arange(x.shape[1])
    scaled = x * 2 + places
    weights = (x[:, 0, None] * places).abs().exp()
    return scaled * weights
kept = near(512), literal(), positions(1024)
for i in range(201):
    x = data[16 * i:16 * i + 16]
    tables = (near(32 * len(x)), literal(), positions(64 * len(x))) if FAULT else kept
    optimizer.zero_grad()
    loss = model(x).square().mean() + sum(table[0, 0] for table in tables)
    (loss + of_data(x)[0, 0]).backward()
    optimizer.step()
"""

COPIES = """
import copy, sys, torch, without_dynamo
FAULT = len(sys.argv) > 1
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.randn(8, 512)
places = torch.zeros(256)
best = None
for i in range(30):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if FAULT:
        best = copy.deepcopy(model.state_dict())
        for row in range(256):
            places[row] = row * 2
"""


def recorded(directory, program, *launcher, options=(), words=()):
    path = os.path.join(directory, "program.py")
    with open(path, "w") as file:
        file.write(program)
    run = os.path.join(directory, "run")
    _, error = capturing.launch(run, [capturing.PYTHON, *launcher, path, *words], options)
    return run, error


def advice(run):
    result = {}
    for row in capturing.query(run, "SELECT check_name, subject, message, saves_ns, evidence FROM advise"):
        result.setdefault(row["check_name"], []).append(row)
    return result


def test_a_slow_rank():
    """The one that sleeps is named, with its host and what it does; the one that waits has nothing to improve."""
    with capturing.Directory() as directory:
        run, _ = recorded(directory, RANKS, *TORCHRUN, options=["--ops=all", "-q"])
        found = advice(run)
        (late,) = [row for row in found["stragglers"] if row["subject"].startswith("rank 1")]
        assert late["subject"] == "rank 1 on " + socket.gethostname(), late
        assert "meanwhile it runs Python, or waits for locks or files, outside any op, for " in late["message"], late
        assert late["saves_ns"] > 12 * 0.12e9, late
        (asleep,) = [row for row in found["host_waits"] if "that it is told to sleep" in row["message"]]
        line = next(number for number, text in enumerate(RANKS.split("\n"), 1) if "time.sleep" in text)
        assert asleep["message"].startswith("rank 1: ") and f"program.py:{line}: " in asleep["message"], asleep
        assert 12 * 0.12e9 < asleep["saves_ns"], asleep
        assert all(row["saves_ns"] < 0.5 * asleep["saves_ns"] for row in found.get("host_bound", [])), found
        shares = capturing.query(run, "SELECT rank, outside_ratio, in_wait_ratio FROM step_summary ORDER BY rank")
        assert shares[0]["in_wait_ratio"] > shares[0]["outside_ratio"], shares
        assert shares[1]["outside_ratio"] > shares[1]["in_wait_ratio"], shares
        assert len(found["job"]) == 1 and "3 processes" in found["job"][0]["message"], found["job"]
    print("a slow rank: %s" % late["message"])


def test_workers():
    """Those of a DataLoader have no findings of their own, and no list of checkers each."""
    with capturing.Directory() as directory:
        run, _ = recorded(directory, WORKERS, options=["--ops=all", "-q"])
        assert capturing.query(run, "SELECT count(*) AS n FROM _process_names WHERE is_helper")[0]["n"] == 2
        assert all(len(rows) == 1 for name, rows in advice(run).items() if name == "job"), advice(run)
        shown = subprocess.run([SHELL, run, "advise -checkers ExpensiveOperationChecker"],
                               capture_output=True, text=True)
        assert shown.stdout.count("top 1 operation type") == 1, shown.stdout
        # What is shown is in whole microseconds of a step.
        (most,) = capturing.query(run, """SELECT name, sum(self_ns * sample_weight) / (1000 * step_count) AS micros,
            sum(sum(self_ns * sample_weight)) OVER () / (1000 * step_count) AS all_micros
            FROM ops JOIN (SELECT count(*) AS step_count FROM steps)
            WHERE category IN ('op', 'autograd') AND profile_id IN (SELECT profile_id FROM steps)
            GROUP BY name ORDER BY 2 DESC LIMIT 1""")
        told = re.search(r"type: %s, .* \(([\d.]+)%%\)" % re.escape(most["name"]), shown.stdout)
        share = 100 * math.floor(most["micros"]) / most["all_micros"]
        assert abs(float(told[1]) - share) < 0.011, (most, shown.stdout)
        plain = subprocess.run([SHELL, run, "advise"], capture_output=True, text=True).stdout
        assert "uniform_" not in plain and "accelerator" not in plain, plain
        assert not re.search(r"(?m)^\w+Checker:$", plain), plain


def test_faults_of_loops():
    """Each is found with its line; the same loops without them have none."""
    check_faults(GRADIENTS, {
        "unused_graphs": "total = total + passed(x)", "zeroed_gradients": "optimizer.zero_grad(",
        "needless_checkpoints": "hidden = checkpoint("})
    with capturing.Directory() as directory:  # What a checkpoint computes again is of no evaluation
        found = advice(recorded(directory, GRADIENTS, words=["checkpoints"], options=["--ops=all", "-q"])[0])
        assert "needless_checkpoints" in found and "unused_graphs" not in found, found
    check_faults(ONE_LINE, {"unused_graphs": "loss = model(x)"})
    check_faults(NUMBERS, {
        "double_precision": "y = wide(", "scalar_loop": "if scores[row].argmax().item() == 1:",
        "tensor_conversions": "z = z.t().contiguous()"})
    check_faults(SINGLE_SAMPLES, {
        "repeated_constants": "mask = torch.tril(torch.ones(768, 768))", "single_samples": "loss.backward()"})
    check_faults(ONE_SAMPLE, {"repeated_constants": "near = (steps[:, None]", "single_samples": "loss.backward()"},
                 unwanted="scalar_loop")  # each number is of a call of the model
    check_tables()
    check_faults(COPIES, {"tensor_conversions": "best = copy.deepcopy(", "scalar_loop": "places[row] = row * 2"})


def check_faults(program, wanted, unwanted=None):
    """`wanted`: by the name of the check how the line begins that it names, when the program gets a word."""
    lines = program.split("\n")
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(program)
        for words in (["all"], []):
            run = os.path.join(directory, "run" + "".join(words))
            capturing.launch(run, [capturing.PYTHON, path, *words], ["--ops=all", "-q"])
            found = advice(run)
            assert unwanted not in found, found
            if not words:
                assert not wanted.keys() & found.keys(), found
                continue
            (all_ns,) = capturing.query(run, "SELECT sum(dur_ns) AS ns FROM steps WHERE is_warmup = 0")
            for name, text in wanted.items():
                assert name in found, (name, found)
                (row,) = found[name]
                (line,) = [i for i, each in enumerate(lines, 1) if each.lstrip().startswith(text)]
                named = re.search(rf"program\.py:{line}[:,] {re.escape(text)}", row["message"])
                assert named, (name, line, row)
                if name == "unused_graphs":  # what it would save is not known; what an evaluation's own line holds is
                    holds = re.search(r"; they hold [\d.]+ [KM]iB at most$", row["message"]) is not None
                    assert row["saves_ns"] is None and holds == (program is GRADIENTS), row
                else:
                    assert 0 < row["saves_ns"] < 0.8 * all_ns["ns"], (name, row, all_ns)
                assert len(row["evidence"]) <= 160 and capturing.query(run, row["evidence"]), row


def check_tables():
    """Each function's is a finding of its own, at the line where the statement begins that takes most."""
    for words in (["all"], []):
        with capturing.Directory() as directory:
            run, _ = recorded(directory, TABLES, options=["--ops=all", "-q"], words=words)
            found = advice(run).get("repeated_constants", [])
            lines = TABLES.split("\n")
            # Where the model's times are small, what of_data() makes is found, but none of what it does with data.
            places = f"program.py:{1 + next(i for i, line in enumerate(lines) if 'arange(x.shape[1])' in line)}"
            assert not any("; and at " in row["message"] for row in found if row["subject"] == places), found
            found = [row for row in found if row["subject"] != places]
            begins = [lines[int(row["subject"].split(":")[1]) - 1].strip() for row in found]
            if not words:
                assert not found, found
                continue
            assert "return (" in begins and "kernel = torch.tensor([" in begins, found
            filled = [f"program.py:{i}" for i, line in enumerate(lines, 1) if line.lstrip().startswith("table[:, ")]
            assert any(all(place in row["message"] for place in filled) for row in found) and len(found) == 3, found
            (row,) = [row for row, begin in zip(found, begins) if begin == "return ("]
            text = "torch.arange(size) .unsqueeze(0) .sub(torch.arange(size).unsqueeze(1)) .abs() .mul(0.1) .exp()"
            assert row["message"].endswith(f": return ( {text} )"), row
            # All ops of the functions, but for what Python does between them.
            (ops,) = capturing.query(run, """SELECT sum(dur_ns) AS ns FROM ops JOIN code_traces
                ON code_traces.id = ops.code_trace_id JOIN code_frames ON code_frames.id = line_frame_id
                WHERE function IN ('near', 'positions') AND outermost_id = ops.id AND is_measured = 1""")
            promised = sum(row["saves_ns"] for row, begin in zip(found, begins) if not begin.startswith("kernel"))
            assert 0.8 * ops["ns"] < promised < 1.25 * ops["ns"], (promised, ops)


def test_the_closing_line():
    """It says in how many of the steps ops were recorded."""
    for options in (["--steps", "3-5"], ["--ops=all"]):
        with capturing.Directory() as directory:
            run, error = recorded(directory, WORKERS, options=options)
            ((steps, recorded_steps),) = [tuple(row.values()) for row in capturing.query(
                run, "SELECT count(*) AS steps, sum(ops_recorded) AS recorded FROM steps")]
            assert (steps, recorded_steps) == (20, 3 if len(options) > 1 else 20), (steps, recorded_steps)
            wanted = f"{steps}" if steps == recorded_steps else f"{recorded_steps} of {steps}"
            assert f" ops in {wanted} optimizer steps " in error, (wanted, error)


def test_lines_of_long_steps():
    """What a long step does outside ops is told by its line."""
    with capturing.Directory() as directory:
        run, _ = recorded(directory, LONG_STEPS, options=["--ops=all"])
        line = next(number for number, text in enumerate(LONG_STEPS.splitlines(), 1) if "# here" in text)
        (found,) = capturing.query(run, "SELECT message FROM advise WHERE check_name = 'step_time_outliers'")
        named = re.search(r"each spends more on Python at program\.py:(\d+) ", found["message"])
        assert named and abs(int(named[1]) - line) <= 1, (found, line)  # the loop's own line is seen, too


capturing.main(globals())
