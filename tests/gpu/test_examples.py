#!/usr/bin/env python3
"""The examples for GPUs: the program in CUDA compiles, and says so where there is no GPU; the one in PyTorch trains on
the CPU then; and what examples/README.md asks of their recordings can be asked.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "capture"))
import capturing  # noqa: E402
from asking import query  # noqa: E402

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def test_cuda():
    if not shutil.which("nvcc"):
        capturing.left_out.append("the program in CUDA, since there is no nvcc")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "overlap_copies")
        subprocess.run(["nvcc", "-O1", "-Xcompiler", "-Wall,-Wextra,-Werror", "-o", program,
                        os.path.join(EXAMPLES, "overlap_copies.cu")], check=True)
        result = subprocess.run([program, "3"], capture_output=True, text=True)
        assert (result.returncode, result.stdout.count("\n")) == (0, 4) or (
            result.returncode == 2 and "there is no CUDA device here" in result.stderr), result


def questions():
    with open(os.path.join(EXAMPLES, "README.md"), encoding="utf-8") as file:
        for typed in re.findall(r"^tfprof> (SELECT .*?;)", file.read(), re.M):
            yield typed


def test_pytorch():
    asked = list(questions())
    assert len(asked) >= 10, asked
    with capturing.Directory() as directory:
        run = os.path.join(directory, "run")
        capturing.launch(run, [capturing.PYTHON, os.path.join(EXAMPLES, "train_gpu.py"), "--mode", "graph", "--steps",
                               "6", "--float32"])
        (steps,) = query(run, "SELECT count(*) AS n FROM steps")
        assert steps["n"] == 6, steps
        for sql in asked:
            query(run, sql)


capturing.main(globals())
