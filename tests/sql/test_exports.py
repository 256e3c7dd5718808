#!/usr/bin/env python3
"""test_exports.py: tfprof_timeline and tfprof_pprof write what the tables hold.

The timeline is held against the rules of the Trace Event Format, and opened again by tfprof, where ops, kernels and the
links between them must be those of the source.  The pprof file is decoded here, field by field of profile.proto, and
its totals compared with sums over the tables; where the program `go` is installed, `go tool pprof` must say the same.
"""

import collections
import fcntl
import functools
import gzip
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engines import EXTENSION, make_dump, run_tests
from exchange_formats import Pprof, check_events
from test_xplane_programs import compiled

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which the module fcntl has from Python 3.10 on
NEEDS_CLASSIC = {"test_lines_of_a_timeline"}  # tests/parts.py


def make_trace(path):
    """A trace of two megabytes with a GPU."""
    program = os.path.join(ROOT, "tests/bench/make_kineto_trace.py")
    command = [sys.executable, program, "distinct", path, "--megabytes", "2"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def text(value):
    return "'" + value.replace("'", "''") + "'"


def opened(engine, path):
    connection = engine()
    connection.values(f"SELECT tfprof_open({text(path)})")
    return connection


# ---- the timeline ----


def check_lanes(events):
    """Every lane with runs has a name."""
    lanes = {(event["pid"], event["tid"]) for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in events if event["ph"] == "X"} <= lanes


COMPARED = (
    "SELECT name, category, start_ns, dur_ns, self_ns, depth, sequence_number, input_shapes, input_types FROM ops "
    "ORDER BY start_ns, dur_ns DESC, name, depth",
    "SELECT kernels.name, kernels.start_ns, kernels.dur_ns, ops.name, api_calls.name, grid_x, block_x, "
    "kernels.correlation FROM kernels LEFT JOIN ops ON ops.id = kernels.op_id "
    "LEFT JOIN api_calls ON api_calls.id = api_call_id ORDER BY 2, 3, 1",
    "SELECT name, start_ns, dur_ns, bytes FROM transfers ORDER BY 2, 3, 1",
    "SELECT number, start_ns, dur_ns FROM steps ORDER BY 2",
    "SELECT kind, count(*) FROM threads "
    "WHERE id IN (SELECT thread_id FROM ops UNION ALL SELECT thread_id FROM kernels) GROUP BY 1 ORDER BY 1",
)


def test_timeline_of_a_trace(engine):
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, make_trace(os.path.join(directory, "trace.json")))
        for name in ("timeline.json", "timeline.json.gz"):
            path = os.path.join(directory, name)
            ((count,),) = source.values(f"SELECT tfprof_timeline({text(path)})")
            with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
                trace = json.load(file)
            assert len(trace["traceEvents"]) == count
            check_events(trace)
            check_lanes(trace["traceEvents"])
            copy = opened(engine, path)
            for sql in COMPARED:
                assert source.values(sql) == copy.values(sql), sql
            assert source.values(COMPARED[1]), "the source has kernels"
            copy.close()
        source.close()


def test_timeline_of_anything(engine):
    """Random rows: hostile texts, times all over the place. What is written must still be JSON of that format."""
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, make_dump(os.path.join(directory, "random.tfprof"), 400, 5))
        path = os.path.join(directory, "timeline.json")
        source.values(f"SELECT tfprof_timeline({text(path)})")
        with open(path, "rb") as file:
            trace = json.load(file)
        assert len(trace["traceEvents"]) > 400
        source.close()


def test_timeline_of_one_profile(engine):
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, make_trace(os.path.join(directory, "a.json")))
        source.values(f"SELECT tfprof_open({text(make_dump(os.path.join(directory, 'b.tfprof')))})")
        path = os.path.join(directory, "timeline.json")
        source.values(f"SELECT tfprof_timeline({text(path)}, 1)")
        with open(path, "rb") as file:
            events = json.load(file)["traceEvents"]
        ops = [event for event in events if event.get("cat") in ("cpu_op", "user_annotation", "python_function")]
        assert [(len(ops),)] == source.values("SELECT count(*) FROM ops(1) WHERE thread_id IS NOT NULL")
        source.close()


def test_lines_of_a_timeline(engine):
    """Where ops were called from stays, whichever framework's they are."""
    stacks = ("SELECT ops.start_ns, ops.dur_ns, ops.name, traces.depth, frames.file, frames.line, frames.function, "
              "lines.location FROM ops JOIN code_traces AS traces ON traces.id = ops.code_trace_id "
              "JOIN code_frames AS frames ON frames.id = leaf_frame_id "
              "LEFT JOIN _code_trace_lines AS lines ON lines.code_trace_id = traces.id ORDER BY 1, 2, 3, 4, 5, 6")
    with tempfile.TemporaryDirectory() as directory:
        jax = os.path.join(directory, "jax.xplane.pb")
        with open(jax, "wb") as file:
            file.write(compiled())
        sources = {"pytorch": os.path.join(ROOT, "tests/golden/dump-1/ops.tfprof"), "jax": jax,
                   "pytorch, a trace": os.path.join(ROOT, "tests/fixtures/kineto/python.json"),
                   "tensorflow": os.path.join(ROOT, "tests/fuzz/corpus/tensorflow/profile")}
        for what, source in sources.items():
            source, path = opened(engine, source), os.path.join(directory, what + ".json.gz")
            source.values(f"SELECT tfprof_timeline({text(path)})")
            with gzip.open(path) as file:
                trace = json.load(file)
            check_events(trace)
            # The format's own stacks: each op names one, and each of these its caller.
            frames = trace["stackFrames"]
            assert all(frame["parent"] is None or frame["parent"] in frames for frame in frames.values()), what
            named = {str(one["sf"]) for one in trace["traceEvents"] if "sf" in one}
            assert named and named <= set(frames), (what, named)
            copy, wanted = opened(engine, path), source.values(stacks)
            assert wanted and copy.values(stacks) == wanted, (what, copy.values(stacks)[:3], wanted[:3])
            source.close()
            copy.close()


def test_stacks_that_lead_nowhere(engine):
    """Cycles, callers that are not there, ids that are no numbers, and stackFrames that are none."""
    event_of = '{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "sf": %s}'
    found = {}
    for name, frames in (("sound", '{"1": {"name": "a.py(3): f"}, "2": {"name": "b.py(4): g", "parent": 1}}'),
                         ("cycle", '{"1": {"name": "a.py(3): f", "parent": "2"}, "2": {"name": "b.py(4): g", '
                                   '"parent": "1"}}'),
                         ("lost", '{"2": {"name": "b.py(4): g", "parent": "77"}, "x": {"name": "c"}, "9": 4, "5": {}}'),
                         ("none", '[1, 2]'), ("text", '"stack"')):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "trace.json")
            with open(path, "w") as file:
                file.write('{"schemaVersion": 1, "stackFrames": %s, "traceEvents": [%s]}' % (
                    frames, ", ".join(event_of % (10 * i, sf) for i, sf in enumerate(('2', '"1"', '5', '"y"')))))
            connection = opened(engine, path)
            found[name] = connection.values(
                "SELECT (SELECT depth FROM code_traces WHERE code_traces.id = ops.code_trace_id),"
                " (SELECT location FROM _code_trace_lines AS lines WHERE lines.code_trace_id = ops.code_trace_id)"
                " FROM ops ORDER BY start_ns")
            connection.close()
    nothing = (None, None)
    assert found["sound"] == [(2, "b.py:4"), (1, "a.py:3"), nothing, nothing], found
    assert [row[1] for row in found["cycle"]] == ["b.py:4", "a.py:3", None, None], found
    assert found["lost"] == [(1, "b.py:4"), nothing, nothing, nothing], found
    assert found["none"] == found["text"] == [nothing] * 4, found


# ---- pprof ----


MEASURED = "step_id IN (SELECT id FROM steps WHERE is_warmup = 0 AND ops_recorded = 1)"


def test_pprof_of_a_trace(engine):
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, make_trace(os.path.join(directory, "trace.json")))
        path = os.path.join(directory, "all.pb.gz")
        ((count,),) = source.values(f"SELECT tfprof_pprof({text(path)})")
        profile = Pprof(path)
        assert count == len(profile.samples) > 0
        assert profile.types[:3] == [("count", "count"), ("self_ns", "nanoseconds"), ("kernel_ns", "nanoseconds")]
        assert profile.preferred == "self_ns"
        ((self_ns,),) = source.values(f"SELECT sum(self_ns) FROM ops WHERE category <> 'user' AND {MEASURED}")
        ((kernel_ns,),) = source.values(f"SELECT sum(dur_ns) FROM kernels WHERE {MEASURED}")
        assert profile.total("self_ns") == self_ns > 0
        assert profile.total("kernel_ns") == kernel_ns > 0
        by_leaf = collections.Counter()
        index = [name for name, _ in profile.types].index("kernel_ns")
        for stack, values, _ in profile.samples:
            by_leaf[stack[0][0], stack[1][0] if len(stack) > 1 else None] += values[index]
        rows = source.values(
            "SELECT coalesce(kernels.short_name, kernels.name), ops.name, sum(kernels.dur_ns) FROM kernels "
            f"LEFT JOIN ops ON ops.id = op_id WHERE kernels.{MEASURED} GROUP BY 1, 2"
        )
        assert {(kernel, op): total for kernel, op, total in rows} == {k: v for k, v in by_leaf.items() if v}
        if shutil.which("go"):
            command, environment = ["go", "tool", "pprof", "-raw", path], {**os.environ, "HOME": directory}
            shown = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            assert "count/count self_ns/nanoseconds[dflt] kernel_ns/nanoseconds" in shown.stdout, shown.stdout[:500]
            raw = shown.stdout[shown.stdout.index("Samples:") : shown.stdout.index("\nLocations")]
            totals = [[int(number) for number in line.split()] for line in re.findall(r"(?m)^ *(\d[ \d]+):", raw)]
            assert sum(values[1] for values in totals) == self_ns
        source.close()


def test_pprof_of_one_metric(engine):
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, make_trace(os.path.join(directory, "trace.json")))
        path = os.path.join(directory, "kernels.pb.gz")
        source.values(f"SELECT tfprof_pprof({text(path)}, 'kernel_ns')")
        profile = Pprof(path)
        assert profile.types == [("count", "count"), ("kernel_ns", "nanoseconds")]
        ((count, total),) = source.values(f"SELECT count(*), sum(dur_ns) FROM kernels WHERE {MEASURED}")
        assert (profile.total("count"), profile.total("kernel_ns")) == (count, total)
        source.close()


def test_pprof_stacks(engine):
    """The frames are those of the trace, outermost last, below them the ops that called the op."""
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, os.path.join(ROOT, "tests/golden/dump-1/ops.tfprof"))
        path = os.path.join(directory, "all.pb.gz")
        source.values(f"SELECT tfprof_pprof({text(path)}, 'self_ns')")
        stacks = {tuple(function for function, _, _ in stack) for stack, _, _ in Pprof(path).samples}
        rows = source.values(
            "WITH RECURSIVE up(op, at, names, trace) AS ("
            "SELECT id, parent_id, name, code_trace_id FROM ops WHERE self_ns > 0 AND category <> 'user' "
            f"AND ({MEASURED} OR profile_id NOT IN (SELECT profile_id FROM steps WHERE is_warmup = 0)) "
            "UNION ALL SELECT op, parent_id, names || char(10) || name, code_trace_id "
            "FROM up JOIN ops ON ops.id = at), frames(op, at, names) AS ("
            "SELECT op, trace, names FROM up WHERE at IS NULL AND trace IS NOT NULL "
            "UNION ALL SELECT op, parent_id, names || char(10) || function FROM frames JOIN code_traces "
            "ON code_traces.id = at JOIN code_frames ON code_frames.id = leaf_frame_id) "
            "SELECT DISTINCT hex(names) FROM frames WHERE at IS NULL"
        )
        wanted = {tuple(bytes.fromhex(str(names)).decode().split("\n")) for (names,) in rows}
        assert wanted and wanted <= stacks, sorted(wanted - stacks)[:3]
        source.close()


def test_wrong_arguments(engine):
    with tempfile.TemporaryDirectory() as directory:
        source = opened(engine, make_dump(os.path.join(directory, "random.tfprof")))
        path = text(os.path.join(directory, "out.gz"))
        nowhere = text(os.path.join(directory, "nowhere", "out.gz"))
        for call, words in (
            ("tfprof_pprof()", "takes a path"),
            (f"tfprof_pprof({path}, 'speed')", "self_ns, kernel_ns, allocated_bytes and flops"),
            (f"tfprof_pprof({nowhere})", "No such file"),
            ("tfprof_timeline()", "takes a path"),
            ("tfprof_timeline('')", "the path is empty"),
            (f"tfprof_timeline({nowhere})", "No such file"),
        ):
            _, error = source.query(f"SELECT {call}")
            assert error and words.lower() in error.lower(), (call, error)
        assert os.listdir(directory) == ["random.tfprof"]
        _, error = engine().query(f"SELECT tfprof_pprof({path}, 'flops')")
        assert error and "nothing is known of flops" in error, error
        source.close()


# ---- where exports go ----


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def is_timeline(path):
    with open(path, encoding="utf-8") as file:
        return "traceEvents" in json.load(file)


def test_only_regular_files_are_replaced(engine):
    """A file is replaced whole and keeps its mode; what a link leads to is written; nothing is left beside them."""
    with tempfile.TemporaryDirectory() as directory:
        inside = functools.partial(os.path.join, directory)
        source = opened(engine, make_dump(inside("random.tfprof")))

        def export(path):
            return source.query(f"SELECT tfprof_timeline({text(path)})")[1]

        assert export(inside("new.json")) is None
        assert is_timeline(inside("new.json")) and mode(inside("new.json")) == 0o600

        with open(inside("old.json"), "w", encoding="utf-8") as file:
            file.write("old")
        os.chmod(inside("old.json"), 0o644)
        before = os.stat(inside("old.json")).st_ino
        os.mkdir(inside("links"))
        os.symlink("../old.json", inside("links", "relative"))
        os.symlink(inside("links", "relative"), inside("links", "of a link"))
        os.symlink(inside("made.json"), inside("links", "dangling"))
        assert export(inside("links", "of a link")) is None
        assert is_timeline(inside("old.json")) and mode(inside("old.json")) == 0o644
        assert os.stat(inside("old.json")).st_ino != before
        assert os.path.islink(inside("links", "of a link")) and os.path.islink(inside("links", "relative"))
        assert export(inside("links", "dangling")) is None and is_timeline(inside("made.json"))
        os.symlink("loop", inside("links", "loop"))
        error = export(inside("links", "loop"))
        assert error and "symbolic links" in error, error

        for name in (directory, directory + "/", inside("links")):
            error = export(name)
            assert error and "is a directory" in error and name in error, error
        files = {"random.tfprof", "new.json", "old.json", "made.json", "links"}
        assert set(os.listdir(directory)) == files
        assert sorted(os.listdir(inside("links"))) == ["dangling", "loop", "of a link", "relative"]
        source.close()


def test_devices_and_fifos_are_written_as_streams(engine):
    with tempfile.TemporaryDirectory() as directory:
        fifo = os.path.join(directory, "fifo")
        os.mkfifo(fifo)
        source = opened(engine, make_dump(os.path.join(directory, "random.tfprof")))
        for function in ("tfprof_timeline", "tfprof_pprof"):
            device = os.stat("/dev/null")
            assert source.query(f"SELECT {function}('/dev/null')")[1] is None
            assert os.stat("/dev/null").st_rdev == device.st_rdev and os.stat("/dev/null").st_ino == device.st_ino
            error = source.query(f"SELECT {function}('/dev/full')")[1]
            assert error and "No space left" in error, error
            assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
            error = source.query(f"SELECT {function}({text(fifo)})")[1]
            assert error and "nobody reads this FIFO" in error, error
        # A reader gets all of it.
        copy = os.path.join(directory, "copy.json")
        with open(copy, "wb") as file, subprocess.Popen(["cat", fifo], stdout=file) as reader:
            held = hold_open(fifo)
            assert source.query(f"SELECT tfprof_timeline({text(fifo)})")[1] is None
            os.close(held)
            assert reader.wait() == 0
        assert is_timeline(copy)
        # One that goes away is an error, and not the end of the program.
        with subprocess.Popen(["head", "-c", "10", fifo], stdout=subprocess.DEVNULL):
            held = hold_open(fifo)
            error = source.query(f"SELECT tfprof_timeline({text(fifo)})")[1]
            os.close(held)
        assert error and "Broken pipe" in error, error
        assert stat.S_ISFIFO(os.stat(fifo).st_mode)
        assert sorted(os.listdir(directory)) == ["copy.json", "fifo", "random.tfprof"]
        source.close()


def hold_open(fifo):
    """Waits for its reader, who sees no end of the file before the descriptor is closed. The FIFO holds a page."""
    for _ in range(3000):
        try:
            held = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
        else:
            fcntl.fcntl(held, SET_PIPE_SIZE, 4096)
            return held
    raise AssertionError("no reader came")


def test_full_disk(engine):
    """Half a file never takes the place of a whole one."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("old")
        dump = make_dump(os.path.join(directory, "random.tfprof"))
        script = f".load {EXTENSION}\nSELECT tfprof_open({text(dump)});\nSELECT tfprof_timeline({text(path)});\n"
        done = subprocess.run(
            ["bash", "-c", "trap '' XFSZ; ulimit -f 8; exec sqlite3 -batch"],
            input=script,
            capture_output=True,
            text=True,
        )
        assert "File too large" in done.stderr, done
        assert sorted(os.listdir(directory)) == ["out.json", "random.tfprof"]
        with open(path, encoding="utf-8") as file:
            assert file.read() == "old"


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
