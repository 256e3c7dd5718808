"""What the tests of this directory share: running a program under the capture library, and reading the dump it leaves.

The environment is what tfprof-capture sets, so these tests need only the library, the hooks and dump_print.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import bounded  # noqa: E402
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
from asking import query  # noqa: E402,F401
from parts import is_of_build  # noqa: E402

BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build")
PYTHON = os.environ.get("TFPROF_PYTHON") or sys.executable
LIBRARY = os.path.join(BUILD, "libtfprof_capture.so")
HOOKS = os.path.join(BUILD, "python")
DUMP_PRINT = os.path.join(BUILD, "tests", "dump_print")
PROGRAMS = os.path.join(HERE, "programs")
WITHIN = os.path.join(HERE, "within")  # what recorded programs may import
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [WITHIN, os.environ.get("PYTHONPATH")]))
# Ranges that the recorder notes by itself; when garbage is collected is Python's affair.
NOTED = (
    "torch.autograd.backward",
    "torch.autograd.grad",
    "torch.nn.Module.eval",
    "torch.nn.Module.train",
    "torch.utils.data.DataLoader.__iter__",
    "torch.utils.data.DataLoader.collate",
    "torch.utils.data.DataLoader.fetch",
    "torch.amp.GradScaler.update",
    "torch.save",
    "gc.collect",
)


left_out = []  # what could not be tested here, and why


def skip(reason):
    print(reason)
    sys.exit(77)


def need_torch():
    look = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"  # an import takes seconds
    if subprocess.run([PYTHON, "-c", look]).returncode:
        skip("torch is not installed in %s" % PYTHON)


def environment(directory, **settings):
    result = dict(os.environ, TFPROF_RUN_DIRECTORY=os.path.abspath(directory), TFPROF_LIBRARY=os.path.abspath(LIBRARY))
    result.update({"TFPROF_" + name.upper(): str(value) for name, value in settings.items()})
    result["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.abspath(HOOKS), os.environ.get("PYTHONPATH")]))
    return result


SECONDS = 300  # that a program may take; some ten on a machine that is not busy


def started(directory, arguments, **settings):
    """bounded.started of a program that is recorded."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return bounded.started([PYTHON] + arguments, env=environment(directory, **settings), **streams)


def run(directory, arguments, status=0, seconds=SECONDS, **settings):
    """Runs to the end; returns (stdout, stderr)."""
    result = bounded.run([PYTHON] + arguments, seconds, env=environment(directory, **settings))
    if status is not None and result.returncode != status:
        raise AssertionError("%s ended with %d\n%s%s" % (arguments, result.returncode, result.stdout, result.stderr))
    return result.stdout, result.stderr


def launch(directory, command, options=(), status=0, environment=None, **more):
    """Runs tfprof-capture itself to the end; returns (stdout, stderr)."""
    result = bounded.run(
        [os.path.join(BUILD, "tfprof-capture"), "-o", directory, *options, "--"] + list(command),
        SECONDS,
        env=environment,
        stdin=more.pop("stdin", subprocess.DEVNULL),
        **more,
    )
    if status is not None and result.returncode != status:
        raise AssertionError("%s ended with %d\n%s%s" % (command, result.returncode, result.stdout, result.stderr))
    return result.stdout, result.stderr


def dumps(directory):
    return sorted(glob.glob(os.path.join(directory, "*.tfprof")))


def summary(path):
    """{"closed": bool, "rows": {table: count}, "problems": [(severity, reason, count, message)]}"""
    result = {"rows": {}, "problems": []}
    for line in subprocess.run([DUMP_PRINT, path], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "rows":
            result["rows"][fields[0]] = int(fields[1])
        elif kind == "problem":
            result["problems"].append((fields[0], fields[1], int(fields[2]), fields[3]))
        else:
            result[kind] = fields
    result["closed"] = result["closed"] == ["1"]
    return result


def table(path, name):
    """A list of dictionaries; NULL is None. Numbers stay text where the column is text."""
    lines = subprocess.run([DUMP_PRINT, path, name], capture_output=True, text=True, check=True).stdout.split("\n")
    names = lines[0].split("\t")
    rows = []
    for line in lines[1:-1]:
        row = {}
        for column, text in zip(names, line.split("\t")):
            row[column] = (
                None if text == "\\N" else text.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\")
            )
        rows.append(row)
    return rows


class Op:
    def __init__(self, row):
        self.name, self.category = row["name"], row["category"]
        self.thread = int(row["thread_id"])
        self.end, self.dur = int(row["end_ns"]), int(row["dur_ns"])
        self.start = self.end - self.dur
        self.shapes = None if row["input_shapes"] is None else json.loads(row["input_shapes"])
        self.types = None if row["input_types"] is None else json.loads(row["input_types"])
        self.sequence = None if row["sequence_number"] is None else int(row["sequence_number"])
        self.forward_thread = None if row["forward_thread"] is None else int(row["forward_thread"])
        self.trace = None if row["recorded_code_trace"] is None else int(row["recorded_code_trace"])

    def __repr__(self):
        return "%s %s %s seq %s" % (self.name, self.shapes, self.types, self.sequence)


def ops(path):
    return [Op(row) for row in table(path, "ops")]


def parts(path):
    """{part: (state, reason)} of the rows written when recording began."""
    result = {}
    for row in table(path, "diagnostics"):
        part, _, rest = row["message"].partition(": ")
        if row["reason"] in ("capture_ok", "capture_degraded", "capture_off"):
            state, _, reason = rest.partition(": ")
            result[part] = (state, reason)
    return result


def stacks(path):
    """{row of code_traces: [(file, line, function) from the outermost frame inwards]}"""
    frames = {
        int(row["row"]): (row["file"], int(row["line"] or 0), row["function"]) for row in table(path, "code_frames")
    }
    result = {}
    for row in table(path, "code_traces"):
        outer = [] if row["parent_id"] is None else result[int(row["parent_id"])]
        result[int(row["row"])] = outer + [frames[int(row["leaf_frame_id"])]]
    return result


class Directory(tempfile.TemporaryDirectory):
    """A new run directory."""

    def __init__(self):
        super().__init__(prefix="tfprof-test-")


def main(names):
    """Runs the functions of the file that are called test_..., or those that the command line names."""
    need_torch()
    for name, test in sorted(names.items()):
        is_asked = name.startswith("test_") and (len(sys.argv) < 2 or name in sys.argv[1:])
        if is_asked and is_of_build(name, names):
            test()
    if left_out:
        skip("left out: " + "; ".join(left_out))
