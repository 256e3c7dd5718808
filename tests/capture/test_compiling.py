#!/usr/bin/env python3
"""test_compiling.py: what torch.compile compiles is told phase by phase, with the step that waited for it, and just
what PyTorch itself has counted.
"""

import json
import os
import tempfile

os.environ["WHOLE_TORCH"] = "1"  # see within/sitecustomize.py
import capturing
from capturing import query

# A new shape in the sixth step makes the compiler work once more.
PROGRAM = """
import json, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
compiled = torch.compile(model, backend="BACKEND", dynamic=False)
for step in range(8):
    with PROFILER:
        compiled(torch.randn(6 if step < 5 else 7, 8)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
from torch._dynamo.utils import compilation_time_metrics as phases
print("PHASES" + json.dumps(phases))
"""


def record(folder, backend="aot_eager", options=("--ops=all",), profiler="torch.enable_grad()"):
    program = PROGRAM.replace("BACKEND", backend).replace("PROFILER", profiler)
    output, error = capturing.launch(folder, [capturing.PYTHON, "-c", program], list(options))
    assert "incomplete" not in error, error
    return json.loads(output.split("PHASES")[1])


def check_phases(folder, told):
    """Each phase that PyTorch has marked and counted is a row, which lies within the time that PyTorch took for it."""
    rows = query(folder, "SELECT name, count(*) AS count, sum(dur_ns) AS dur_ns FROM compilations GROUP BY name")
    found = {row["name"]: (row["count"], row["dur_ns"]) for row in rows}
    assert "_compile.compile_inner" in found and len(found) > 5, (found, told)
    # PyTorch counts some small things, too, that it marks for no profiler.
    assert {name: count for name, (count, _) in found.items()} == {
        name: len(told.get(name, ())) for name in found}, (found, told)
    for name, (_, dur_ns) in found.items():
        assert 0 < dur_ns <= sum(told[name]) * 1e9 + 1000 * len(told[name]), (name, dur_ns, told[name])


def test_phases_and_steps():
    """The first step compiles, and the one with a new shape; steps between wait for no compiler."""
    for options in (("--ops=all",), ("--ops=sampled",), ("--ops=none",)):
        with tempfile.TemporaryDirectory() as folder:
            check_phases(folder, record(folder, options=options))
            rows = query(folder, "SELECT number, compile_ns, compile_ratio, count FROM compilation_summary")
            steps = [row["number"] for row in query(folder, "SELECT number FROM steps ORDER BY start_ns")]
            assert [row["number"] for row in rows] == [steps[0], steps[5]], (options, rows, steps)
            assert all(0 < row["compile_ratio"] <= 1 for row in rows), rows
            parts = query(folder, "SELECT number, compile_ns, dur_ns FROM step_breakdown")
            assert {row["number"] for row in parts if row["compile_ns"]} == {steps[0], steps[5]}, (options, parts)
            for row in rows:
                part = [one for one in parts if one["number"] == row["number"]][0]
                assert 0 < part["compile_ns"] <= min(part["dur_ns"], row["compile_ns"]), (options, part, row)


def test_kinds():
    """Each phase is of the compiler that it belongs to."""
    with tempfile.TemporaryDirectory() as folder:
        record(folder)
        kinds = {row["name"]: row["kind"] for row in query(folder, "SELECT DISTINCT name, kind FROM compilations")}
        assert kinds["_compile.compile_inner"] == "dynamo", kinds
        assert "aot" in kinds.values() and "inductor" not in kinds.values(), kinds


def test_profiler_of_the_program():
    """While a profiler of the program watches, PyTorch marks phases by itself: they are there once."""
    with tempfile.TemporaryDirectory() as folder:
        check_phases(folder, record(folder, profiler="torch.profiler.profile()"))


def test_nothing_compiled():
    """A program that never compiles does not import the compiler for that."""
    with tempfile.TemporaryDirectory() as folder:
        program = "import sys, torch; torch.ones(3).add(1); print('torch._dynamo.utils' in sys.modules)"
        output, _ = capturing.launch(folder, [capturing.PYTHON, "-c", program])
        assert output.split()[-1] == "False", output
        assert query(folder, "SELECT count(*) AS n FROM compilations") == [{"n": 0}]


if __name__ == "__main__":
    capturing.need_torch()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
