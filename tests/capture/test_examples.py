"""The examples for TensorFlow and JAX, where these are there (TFPROF_TENSORFLOW_PYTHON and TFPROF_JAX_PYTHON name
Pythons that have them); and what the quickstart asks, of a recording of a stand-in of JAX.
"""

import os
import re
import subprocess

import capturing
from bounded import run as bounded_run
from stand_ins import StandIns

EXAMPLES = os.path.join(capturing.HERE, "..", "..", "examples")
QUICKSTART = os.path.join(EXAMPLES, "quickstart.sh")
LOOP = """
import jax, time
def train_step(x): time.sleep(x)
train_step = jax.jit(train_step)
for number in range(12): train_step(1e-3)
"""


def questions():
    with open(QUICKSTART) as file:
        return re.findall(r'show "([^"]+)" \\\n\s*"([^"]+)"', file.read())


def ask_all(directory):
    return {title: capturing.query(directory, query) for title, query in questions()}


def test_quickstart():
    refused = subprocess.run(["bash", QUICKSTART, "--framework", "caffe"], capture_output=True, text=True)
    assert refused.returncode == 1 and "there are pytorch, tensorflow and jax" in refused.stderr, refused
    with StandIns() as here:
        directory, _, _ = here.run("loop", LOOP)
        answers = ask_all(directory)
        assert len(answers) >= 7, answers.keys()
        (steps,) = answers["The steps; times are of those after the warm-up"]
        assert (steps["steps"], steps["warm_up"]) == (12, 3) and steps["median_ms"] >= 1, steps
        rows = {row["name"]: row["count"] for row in answers["What was compiled, and where Keras was"]}
        assert rows == {"PjitFunction(train_step)": 12}, rows
    print("%d questions of the quickstart" % len(answers))


def test_examples():
    for name, variable, row in (("train_jax.py", "TFPROF_JAX_PYTHON", "PjitFunction(train_step)"),
                                ("train_keras.py", "TFPROF_TENSORFLOW_PYTHON", "keras.step")):
        path = os.path.join(EXAMPLES, name)
        with open(path) as file:
            compile(file.read(), path, "exec")
        python = os.environ.get(variable)
        if not python:
            print("%s: not run, %s names no Python that has its framework" % (name, variable))
            continue
        with capturing.Directory() as directory:
            program = [python, path, "--steps", "10"]
            result = bounded_run(program, capturing.SECONDS, env=capturing.environment(directory))
            assert result.returncode == 0 and "steps in " in result.stdout, result
            answers = ask_all(directory)
            count = 20 if name == "train_keras.py" else 10
            assert answers["The steps; times are of those after the warm-up"][0]["steps"] == count, answers
            rows = {one["name"]: one["count"] for one in answers["What was compiled, and where Keras was"]}
            assert rows[row] == count, rows
    print("examples of TensorFlow and JAX")


capturing.main(globals())
