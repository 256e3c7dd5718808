"""matrix.py: tries which interpreters and PyTorch releases can be recorded: the rows of the table in capture/README.md.

    python3 tests/capture/matrix.py [PYTHON[@TORCH]]...

For PYTHON@TORCH a virtual environment is made, that release of PyTorch is installed into it from the package index
(some gigabytes, gone afterwards), and programs/matrix.py is recorded with it, every op.  A PYTHON alone is one that has
PyTorch already.  What the program says of itself is compared with what the recording holds; a part that is recorded but
wrong ends the row with WRONG, and the exit status is then 1.  It is no test of tests/run.sh, since it needs the
network; TFPROF_BUILD is the build directory (build).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build")
PROGRAM = os.path.join(HERE, "programs", "matrix.py")
PARTS = ("ops", "shapes", "stacks", "modules", "memory")


def run(*command, **more):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)
    if result.returncode:
        raise RuntimeError("%s: %s" % (command[0], (result.stderr or result.stdout).strip().split("\n")[-1]))
    return result.stdout


def query(directory, sql):
    return json.loads(run(os.path.join(BUILD, "tfprof"), "--format", "json", directory, sql) or "[]")


def install(python, torch, folder):
    """Of NumPy a release that old PyTorch was built for."""
    run(python, "-m", "venv", folder)
    inside = os.path.join(folder, "bin", "python")
    wanted = ["torch==" + torch] + (["numpy<2"] if tuple(map(int, torch.split(".")[:2])) < (2, 3) else ["numpy"])
    run(inside, "-m", "pip", "install", "-q", "--no-cache-dir", *wanted)
    return inside


def wrong_parts(directory, told, states):
    """The parts that say ok and do not hold what the program says."""
    (main,) = query(directory, """SELECT id, (SELECT count(*) FROM steps WHERE profile_id = profiles.id) AS steps
        FROM profiles ORDER BY steps DESC LIMIT 1""")
    inside = "FROM ops WHERE profile_id = %d AND name = 'aten::convolution'" % main["id"]
    line = """WITH RECURSIVE up(op, trace) AS (SELECT id, code_trace_id %s UNION ALL
        SELECT op, parent_id FROM up JOIN code_traces ON code_traces.id = trace)
        SELECT count(DISTINCT op) AS n FROM up JOIN code_traces AS t ON t.id = trace
        JOIN code_frames AS f ON f.id = t.leaf_frame_id WHERE f.line = %d AND f.file LIKE '%%matrix.py'""" % (
        inside, told["line"])
    checks = {
        "ops": ("SELECT count(*) AS n %s" % inside, told["steps"]),
        "shapes": ("SELECT count(*) AS n %s AND input_shapes LIKE '[[4,3,16,16],[8,3,3,3]%%'" % inside, told["steps"]),
        "stacks": (line, told["steps"]),
        "modules": ("SELECT sum(param_count) AS n FROM nodes", told["parameters"]),
        "memory": ("SELECT count(*) >= %d AS n FROM memory_events" % (20 * told["steps"]), 1),
    }
    wrong = [] if main["steps"] == told["steps"] else ["steps"]
    for part, (sql, expected) in checks.items():
        if states[part][0] == "ok" and query(directory, sql)[0]["n"] != expected:
            wrong.append(part)
    return wrong


def try_one(python):
    """(version of Python, of PyTorch, what is recorded, whether that is right)"""
    with tempfile.TemporaryDirectory() as folder:
        directory = os.path.join(folder, "run")
        versions = run(python, "-c",
                       "import platform, torch; print(platform.python_version(), torch.__version__)").split()
        command = [os.path.join(BUILD, "tfprof-capture"), "-q", "--ops=all", "-o", directory, "--", python, PROGRAM]
        told = json.loads(run(*command))
        states = {}
        for row in query(directory, "SELECT message FROM diagnostics WHERE reason GLOB 'capture_[odf]*' ORDER BY id"):
            part, _, rest = row["message"].partition(": ")
            state, _, reason = rest.partition(": ")
            states.setdefault(part, (state, reason))
        wrong = wrong_parts(directory, told, states)
        good = [part for part in PARTS if states[part][0] == "ok" and part not in wrong]
        rest = ["%s %s: %s" % (part, *states[part]) for part in PARTS if states[part][0] != "ok"]
        text = "; ".join([", ".join(good)] + rest + ["WRONG: " + ", ".join(wrong)] * bool(wrong))
        return versions[0], versions[1], text, not wrong


def main():
    print("| CPython | PyTorch | recorded |\n|---|---|---|", flush=True)
    is_right = True
    for word in sys.argv[1:] or [sys.executable]:
        python, _, torch = word.partition("@")
        folder = tempfile.mkdtemp() if torch else None
        try:
            row = try_one(install(python, torch, folder) if torch else python)
        except (RuntimeError, ValueError) as problem:
            row = (python, torch, "not tried: %s" % problem, False)
        finally:
            if folder:
                shutil.rmtree(folder)
        print("| %s | %s | %s |" % row[:3], flush=True)
        is_right = is_right and row[3]
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
