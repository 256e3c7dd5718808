"""How often modules were called, and for how long, is what the program itself counts: where every step is recorded
exactly, and where some are within the error that is stated.
"""

import json
import os

import capturing

PANELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sql", "panels")
# Calls that are hard to tell apart: from one line, within each other, in a backward pass, on several threads, ended by
# an exception, switched between by generators.
PROGRAM = """
import collections, json, sys, threading, torch, without_dynamo
import torch.utils.checkpoint
torch.set_num_threads(1)
torch.manual_seed(0)

class Repeated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.nothing = torch.nn.Identity()
    def forward(self, x, times=1):
        for _ in range(times): x = self.nothing(self.linear(x))
        return x

class Recursive(torch.nn.Module):
    def forward(self, x, depth):
        return self(x, depth - 1) + 1 if depth else x * 2

class Failing(torch.nn.Module):
    def forward(self, x):
        x.relu()
        raise ValueError

class Through(torch.autograd.Function):
    @staticmethod
    def forward(context, x, module):
        context.module = module
        return module(x)
    @staticmethod
    def backward(context, gradient):
        return context.module(gradient), None

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.repeated = torch.nn.ModuleList([Repeated() for _ in range(3)])
        self.shared = torch.nn.Linear(8, 8)
        self.same = self.shared
        self.recursive, self.failing = Recursive(), Failing()
        self.within, self.again = torch.nn.Tanh(), torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        self.drawn, self.scripted = torch.nn.GELU(), torch.jit.script(torch.nn.Sigmoid())
    def values(self, x):
        for _ in range(3): yield self.drawn(x)
    def forward(self, x, number=0):
        for i, block in enumerate(self.repeated): x = block(x, times=i + 1 + number % 3)
        x = self.same(self.shared(x))
        x = self.recursive(x, 2)
        try: self.failing(x)
        except ValueError: pass
        x = Through.apply(x, self.within)
        first, second = self.values(x), self.values(x)
        for one, other in zip(first, second): x = x + one + other
        return self.scripted(torch.utils.checkpoint.checkpoint(self.again, x, use_reentrant=False))

model, alone = Model(), torch.nn.Softplus()
count = collections.Counter()
steps, is_counted = int(sys.argv[1]), len(sys.argv) > 2
if is_counted:
    names = {module: name or "Model" for name, module in model.named_modules()}
    names[alone] = "Softplus"
    for module in names:
        if not isinstance(module, torch.jit.ScriptModule):
            module.register_forward_pre_hook(lambda module, inputs: count.update([names[module]]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(steps):
    threads = [threading.Thread(target=lambda: alone(torch.ones(8))) for _ in range(2)] if number % 10 == 0 else []
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    model(torch.ones(4, 8, requires_grad=True), number=number).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if number == 2: print(json.dumps(count))  # the warm-up ends
print(json.dumps(count))
"""


def expected(steps):
    """By module how often the program says that it was called, in a run of its own; those that run no op left out. Of
    all steps, and without those of the warm-up."""
    counted = capturing.subprocess.run(
        [capturing.PYTHON, "-c", PROGRAM, str(steps), "count"], check=True, stdout=capturing.subprocess.PIPE, text=True
    )
    first, every = map(json.loads, counted.stdout.splitlines())
    every = {name: n for name, n in every.items() if "nothing" not in name}
    return every, {name: n - first.get(name, 0) for name, n in every.items()}


def recorded(directory):
    rows = capturing.query(
        directory,
        """SELECT nodes.name AS name, count(*) AS n
        FROM module_calls AS calls LEFT JOIN nodes ON nodes.id = calls.node_id GROUP BY 1""",
    )
    return {row["name"]: row["n"] for row in rows}


def test_every_call():
    """Where all steps are recorded each call of a module in which an op ran has its row."""
    steps = 40
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", PROGRAM, str(steps)], ops="all")
        assert not error and out == "{}\n{}\n", (out, error)
        (counted, _), seen = expected(steps), recorded(directory)
        counted["scripted"] = steps
        # A module whose first op passes before anybody could look at it stays without a name until the next one.
        missing = seen.pop(None, 0)
        assert set(seen) == set(counted) and all(seen[name] <= counted[name] for name in seen), (seen, counted)
        assert sum(seen.values()) + missing == sum(counted.values()) and missing < 40, (seen, counted, missing)
        (row,) = capturing.query(
            directory,
            """SELECT count(*) AS n, count(step_id) AS inside, min(dur_ns) AS shortest,
            (SELECT count(*) FROM module_calls AS inner JOIN module_calls AS outer ON outer.thread_id = inner.thread_id
              AND outer.depth = inner.depth - 1 AND outer.start_ns <= inner.start_ns AND inner.end_ns <= outer.end_ns
              WHERE inner.depth > 0) AS within, sum(depth > 0) AS nested,
            (SELECT count(*) FROM diagnostics WHERE table_name = 'module_calls') AS lost FROM module_calls""",
        )
        assert row["n"] == row["inside"] and row["shortest"] > 0 and row["lost"] == 0, row
        assert row["within"] == row["nested"] > 0, row
        # The page draws them within the model, and what is outside of it beside it.
        with open(os.path.join(PANELS, "module_tree.sql"), encoding="utf-8") as file:
            rows = capturing.query(directory, file.read().replace(":profile_id", "NULL"))
        assert {row["place"]: row["module"] for row in rows} == {
            name if name in ("Model", "Softplus") else f"Model.{name}": name for name in (row["module"] for row in rows)
        } and len(rows) > 5, rows
        # The first op begins with the call, the last one ends with it.
        rows = capturing.query(
            directory,
            """SELECT count(*) AS n, sum(EXISTS (SELECT 1 FROM ops WHERE thread_id = calls.thread_id
                AND start_ns = calls.start_ns)) AS began, sum(EXISTS (SELECT 1 FROM ops
                WHERE thread_id = calls.thread_id AND end_ns = calls.end_ns)) AS ended FROM module_calls AS calls""",
        )
        assert rows[0]["n"] == rows[0]["began"] == rows[0]["ended"], rows
        print("%d calls of %d modules" % (row["n"], len(seen)))


def test_calls_of_python():
    """Where calls of Python are recorded those of modules are as long as they, and all of them are there."""
    with capturing.Directory() as directory:
        capturing.launch(directory, [capturing.PYTHON, "-c", PROGRAM, "6"], ["--python=calls", "--ops=all"])
        is_call = "category = 'python' AND ops.name = 'Module._wrapped_call_impl'"
        (row,) = capturing.query(
            directory,
            """SELECT count(*) AS n, (SELECT count(*) FROM module_calls) AS all_calls, (SELECT count(*) FROM ops
              JOIN module_calls AS calls ON calls.thread_id = ops.thread_id AND calls.start_ns = ops.start_ns
                AND calls.end_ns = ops.end_ns WHERE %s) AS same
            FROM ops WHERE %s"""
            % (is_call, is_call),
        )
        assert row["n"] == row["all_calls"] == row["same"] > 200, row


SUMMARY = """SELECT module, call_count, call_count_error, call_ns, call_error_ns FROM module_summary
    WHERE call_count IS NOT NULL"""


def sampled(directory, steps):
    """Records some of the steps, and so many that each module's calls can be told; how many that takes depends on what
    ops cost here."""
    for overhead in 5, 2, 10, 1, 20:
        run = capturing.os.path.join(directory, str(overhead))
        capturing.os.mkdir(run)
        capturing.run(run, ["-c", PROGRAM, str(steps)], ops="sampled", overhead=overhead)
        (share,) = capturing.query(run, "SELECT recorded_count AS recorded, drawn_count AS drawn FROM sampling_summary")
        if share["drawn"] >= 25 and share["recorded"] < 0.9 * steps:
            return run, share["recorded"]
    assert False, "at no overhead some of the steps were recorded"


def test_some_steps():
    """Where ops are recorded in some steps the calls of all are estimated."""
    steps = 400
    _, counted = expected(steps)
    with capturing.Directory() as directory, capturing.Directory() as whole:
        some, recorded_steps = sampled(directory, steps)
        capturing.run(whole, ["-c", PROGRAM, str(steps)], ops="all")
        (share,) = capturing.query(some, "SELECT count(*) AS n, sum(is_warmup) AS warmup FROM steps")
        assert share["n"] == steps and share["warmup"] == 3, share
        truth = {row["module"]: row for row in capturing.query(whole, SUMMARY)}
        seen = {row["module"]: row for row in capturing.query(some, SUMMARY)}
        for name, row in truth.items():
            assert row["call_count_error"] == 0 and row["call_error_ns"] == 0, row
            if name != "scripted":
                assert row["call_count"] == counted[name], (row, counted)
        for name, row in seen.items():
            calls = truth[name]["call_count"]
            assert row["call_ns"] > 0 and row["call_error_ns"] > 0, row
            # Twice the error is where 95 % lie. Softplus is called in so few steps that none of them may be recorded.
            assert name == "Softplus" or abs(row["call_count"] - calls) <= 5 * row["call_count_error"] + 1, (row, calls)
            assert name == "Softplus" or row["call_count_error"] < 0.25 * calls, (row, calls)
        assert set(truth) - set(seen) <= {"Softplus"}, (set(truth), set(seen))
        told = {name: seen[name]["call_count"] for name in seen}
        print("%d of %d steps: %s" % (recorded_steps, steps, told))


capturing.main(globals())
