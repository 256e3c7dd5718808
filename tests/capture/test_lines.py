"""For which line the time of an op counts: under trainers, through backward passes of all kinds, in generated code."""

import os
import re
import shutil

import capturing

# What a trainer and a library of models are like: the program calls them once, they call everything else.
PACKAGES = {
    "IPython/__init__.py": """
        import linecache

        class Compiler:
            def __init__(self):
                self._filename_map = {}

        class Shell:
            def __init__(self):
                self.compile = Compiler()

            def run_cell(self, text, names):
                number = len(self.compile._filename_map) + 1
                name = "/tmp/ipykernel_71/%d.py" % (number * 1000003)
                self.compile._filename_map[name] = number
                linecache.cache[name] = (len(text), None, text.splitlines(True), name)
                exec(compile(text, name, "exec"), names)

        def get_ipython(shell=Shell()):
            return shell
        """,
    "trainkit/__init__.py": """
        class Trainer:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer(model)

            def train(self, steps):
                import torch
                for _ in range(steps):
                    loss = self.model(torch.randn(4, 8)).sum()  # LINE kit_loss
                    self.go_back(loss)
                    self.optimizer.step()  # LINE kit_step
                    self.optimizer.zero_grad()

            def go_back(self, loss):
                loss.backward()  # LINE kit_backward
        """,
    "modelkit/__init__.py": """
        import torch

        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 2  # LINE kit_scaled_forward

            @staticmethod
            def backward(context, gradient):
                return gradient * 2  # LINE kit_scaled_backward

        class Block(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.first, self.second = torch.nn.Linear(width, 64), torch.nn.Linear(64, 1)

            def forward(self, x):
                h = self.first(x).relu()  # LINE kit_first
                return self.second(h)  # LINE kit_second
        """,
}


def query(run, sql):
    return [tuple(row.values()) for row in capturing.query(run, sql)]


class Run:
    """One way of programs/lines.py, recorded whole; lines are known by their marks."""

    def __init__(self, directory, way):
        program = os.path.join(directory, "lines.py")
        shutil.copy(os.path.join(capturing.PROGRAMS, "lines.py"), program)
        packages = os.path.join(directory, "lib", "site-packages")
        self.marks = marks_of(program)
        for name, text in PACKAGES.items():
            path = os.path.join(packages, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(re.sub(r"(?m)^ {8}", "", text))
            self.marks.update(marks_of(path))
        self.run = os.path.join(directory, "run")
        environment = dict(os.environ, PYTHONPATH=packages + os.pathsep + capturing.WITHIN)
        command = [capturing.PYTHON, program, way]
        capturing.launch(self.run, command, ["--ops=all"], environment=environment)
        self.program, self.library = self.lines("code_summary"), self.lines("library_lines")

    def lines(self, view):
        """{mark: (ops, of them in the backward pass)}; lines without a mark are known by file:line."""
        trace = "line_frame_id" if view == "code_summary" else "library_line_frame_id"
        counts = {
            self.marks.get((file, line), "%s:%s" % (os.path.basename(file or ""), line)): (count, backward)
            for file, line, count, backward in query(
                self.run,
                """SELECT file, line, count(*) AS ops, sum(is_backward) AS backward FROM ops
                JOIN code_traces ON code_traces.id = origin_code_trace_id JOIN code_frames ON code_frames.id = %s
                WHERE is_measured AND category <> 'user' GROUP BY 1, 2""" % trace,
            )
        }
        told = {
            self.marks.get((file, line), "%s:%s" % (os.path.basename(file or ""), line)): (count, backward is not None)
            for file, line, count, backward in query(
                self.run, "SELECT file, line, count, backward_ns FROM %s WHERE count > 0" % view
            )
        }
        assert told == {mark: (count, backward > 0) for mark, (count, backward) in counts.items()}, (view, told, counts)
        return counts

    def advice(self):
        rows = query(self.run, "SELECT subject, message FROM advise WHERE check_name = 'slowest_source_line'")
        return rows[0] if rows else None

    def expect_backward(self, *marks, level="program"):
        lines = getattr(self, level)
        for mark in marks:
            assert lines.get(mark, (0, 0))[1] > 0, (mark, lines)


def marks_of(path):
    with open(path) as file:
        found = [(number, re.search(r"LINE (\w+)$", line)) for number, line in enumerate(file, 1)]
    return {(path, number): match.group(1) for number, match in found if match}


def run(way):
    def decorate(test):
        def tested():
            with capturing.Directory() as directory:
                test(Run(directory, way))
            print("%s: as it should be" % way)

        tested.is_test = True
        return tested

    return decorate


@run("plain")
def test_plain(run):
    assert set(run.program) == {"inner", "outer", "loss", "backward", "optimizer"} | unmarked(run), run.program
    run.expect_backward("inner", "outer", "loss")
    forward, backward = run.program["inner"]
    # What backward() keeps has no forward op: the gradients that parameters sum up, and the first one.
    sums = query(run.run, "SELECT count(*) FROM ops WHERE is_measured AND name = 'torch::autograd::AccumulateGrad'")
    assert run.program["backward"][1] >= sums[0][0] > 0, (run.program, sums)
    assert backward > run.program["backward"][0] / 2 and forward > backward, run.program
    assert run.library == run.program, (run.library, run.program)
    told = dict(query(run.run, "SELECT DISTINCT is_backward, category FROM ops WHERE category = 'autograd'"))
    assert told == {1: "autograd"}, told


def unmarked(run):
    """Calls that clear gradients and the like have no mark."""
    return {mark for mark in run.program if ":" in mark}


@run("one_line")
def test_one_line(run):
    assert run.program["all"][1] > 0
    subject, message = run.advice()
    # Of which line most of the time is depends on what else the machine does: all others run once, and no op in a loop.
    (most,) = query(run.run, "SELECT location, backward_ns FROM code_summary ORDER BY self_ns DESC LIMIT 1")
    assert subject == most[0], (subject, message, most)
    if most[1]:
        found = re.search(r"^\d+ % of the op time comes from (.*) \((.*) forward, (.*) backward\): loss = ", message)
        assert found and found[1] == subject and "0 ns" not in found.groups(), message


@run("trainer")
def test_trainer(run):
    assert set(run.program) - unmarked(run) == {"train"}, run.program
    run.expect_backward("train")
    assert {"kit_first", "kit_second", "kit_loss", "kit_step", "kit_backward"} <= set(run.library), run.library
    assert "train" not in run.library, run.library
    run.expect_backward("kit_first", "kit_second", "kit_loss", level="library")
    subject, message = run.advice()
    # The program's line is named where one line of the library has nearly all of its time, as it may on a busy machine.
    shares = query(
        run.run,
        """SELECT 1.0 * self_ns / sum(self_ns) OVER (), location FROM (SELECT sum(traces.self_ns) AS self_ns,
        replace(file, rtrim(file, replace(file, '/', '')), '') || ':' || line AS location
        FROM code_traces AS traces JOIN code_frames ON code_frames.id = library_line_frame_id
        WHERE line_frame_id IN (SELECT id FROM code_frames WHERE text GLOB 'trainkit.Trainer*') GROUP BY file, line)
        ORDER BY 1 DESC""",
    )
    if shares[0][0] < 0.9:
        assert subject == shares[0][1] and subject.startswith("__init__.py:"), (subject, message, shares)
        words = r" below lines.py:\d+: trainkit.*train.*; the most, \d+ %, comes from __init__.py:\d+ \("
    else:
        words = r" comes from lines.py:\d+ \(.*: trainkit.*train"
    assert re.search(words, message), (message, shares)


@run("trainer_of_own_model")
def test_trainer_of_own_model(run):
    assert {"inner", "outer", "train_own"} <= set(run.program), run.program
    run.expect_backward("inner", "outer", "train_own")
    run.expect_backward("inner", "outer", "kit_loss", level="library")
    assert run.program["inner"] == run.library["inner"] and "train_own" not in run.library, run.library


@run("reentrant")
def test_reentrant_checkpoint(run):
    # The line is run twice, the second time in the backward pass, and differentiated.
    run.expect_backward("inner", "outer", "checkpoint")
    forward = run.program["inner"][0] - run.program["inner"][1]
    assert run.program["inner"][1] > 2 * forward > 0, run.program


@run("not_reentrant")
def test_checkpoint(run):
    run.expect_backward("inner", "outer")
    forward = run.program["inner"][0] - run.program["inner"][1]
    assert run.program["inner"][1] > 2 * forward > 0, run.program
    assert "checkpoint" not in run.program or run.program["checkpoint"][1] == 0, run.program


@run("own_function")
def test_functions_of_ones_own(run):
    run.expect_backward("own_backward", "own", "hook", "library_function", "inner", "outer")
    assert run.program["own_forward"][1] == 0 and run.program["own_backward"] == run.library["own_backward"]
    # A library's function is called by a line of the program, which stands for both of its passes.
    assert "kit_scaled_forward" not in run.program and "kit_scaled_backward" not in run.program
    run.expect_backward("library_function", level="library")
    assert run.library["kit_scaled_forward"][1] == 0 and "kit_scaled_backward" not in run.library, run.library
    for mark in ("own_backward", "hook"):
        assert run.program[mark][0] == run.program[mark][1], (mark, run.program)


@run("gradients")
def test_gradients_of_gradients(run):
    run.expect_backward("inner", "outer", "penalty")
    # What autograd.grad() calls goes on to the lines of the model, and so does what is differentiated once more.
    own = run.program.get("grad", (0, 0))
    assert run.program["inner"][1] > 2 * own[1], run.program


@run("compiled")
def test_compiled(run):
    run.expect_backward("compiled")
    assert "inner" not in run.program and "call" not in run.program and "outer" not in run.program, run.program
    assert not any("eval_with_key" in mark or "def " in mark for mark in run.program), run.program


@run("generated")
def test_generated(run):
    run.expect_backward("string", "inductor", "graph")
    for lines in (run.program, run.library):
        assert not any(mark.startswith("<") or mark.startswith("cab.py") for mark in lines), lines


@run("notebook")
def test_notebook(run):
    rows = query(run.run, "SELECT cell, line, text FROM code_frames WHERE file GLOB '/tmp/ipykernel_*'")
    texts = {(cell, line): text for cell, line, text in rows}
    expected = {
        (1, 1): "model = torch.nn.Linear(8, 1)",
        (1, 2): "optimizer = sgd(model)",
        (2, 2): "loss = model(torch.randn(4, 8)).sum()",
        (2, 3): "loss.backward()",
        (2, 4): "optimizer.step()",
        (3, 1): "for _ in range(STEPS):",
        (3, 2): "step()",
        (4, 1): "total = sum(parameter.sum() for parameter in model.parameters())",
    }
    with_ops = {(1, 1), (2, 2), (2, 3), (2, 4), (3, 2), (4, 1)}
    assert with_ops <= set(texts) and all(expected[place] == text for place, text in texts.items()), rows
    rows = query(run.run, "SELECT text, backward_ns > 0 FROM code_summary WHERE location = 'In[2]:2'")
    assert rows == [("loss = model(torch.randn(4, 8)).sum()", 1)], rows
    rows = query(run.run, "SELECT location FROM code_summary ORDER BY self_ns DESC LIMIT 1")
    assert run.advice()[0] == rows[0][0] and rows[0][0].startswith("In["), (run.advice(), rows)
    rows = query(run.run, "SELECT count(*) FROM code_frames WHERE cell IS NOT NULL "
                          "AND file NOT GLOB '/tmp/ipykernel_*'")
    assert rows == [(0,)], rows


def main():
    capturing.need_torch()
    for name, test in list(globals().items()):
        if name.startswith("test_") and getattr(test, "is_test", False):
            test()


main()
