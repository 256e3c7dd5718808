"""What changed between two runs leads what compares them: lines, Python between ops, phases, input, modules, memory.

Each pair of recordings is made here and differs in one known thing; lines that an edit has moved are the same lines.
"""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import BUILD, run_tests

directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")
MS = 1_000_000
START = 1_700_000_000_000_000_000


def recording(name, steps=20, log_ns=0, norm_ns=0, wait_ns=0, backward_ns=2 * MS, cached_bytes=0, moved=0):
    """A loop: data, model, loss.backward(), a sleep, and what is asked for; `moved` lines stand before all others."""
    lines = [("batch = next(data)", 10), ("y = model(x)", 11), ("y = self.norm(y)", 30), ("loss.backward()", 12),
             ("time.sleep(0.001)", 13), ("log.write(str(step))", 14), ("cache.append(y)", 15)]
    rows = ["=\tthreads\tkind\ttid\tpid", "host\t1\t1", "=\tdevices\tname\tkind\tordinal", "cpu\tcpu\t0"]
    rows += ["=\tcode_frames\tfile\tline\tfunction\ttext"]
    rows += [f"/home/me/{name}/train.py\t{line + moved}\t{'norm' if line == 30 else 'main'}\t{text}"
             for text, line in lines]
    rows += ["=\tcode_traces\tdepth\tleaf_frame_id\tparent_id"] + [f"0\t{frame}\t" for frame in range(len(lines))]
    starts, ops, samples, inputs, pieces = [], [], [], [], []
    at = START
    for step in range(steps):
        starts.append(at)
        inputs.append(f"DataLoader\tread_on_demand\t0\t{at}\t{MS // 2 + wait_ns}\t{MS // 2 + wait_ns}\t{step}")
        ops.append(f"enumerate(DataLoader)#_Single.__next__\tuser\t0\t{at}\t{MS // 2 + wait_ns}\t\t\t")
        at += MS // 2 + wait_ns
        for what, duration, trace, module, sequence in (
                ("aten::mm", MS, 1, "layers.0", 2 * step), ("aten::norm", MS // 2 + norm_ns, 2, "norm", 2 * step + 1),
                ("aten::mm_backward", backward_ns, 3, "", "")):
            if sequence == "":
                ops.append(f"torch.autograd.backward\tuser\t0\t{at}\t{duration + 1}\t{trace}\t\t")
            ops.append(f"{what}\tcpu_op\t0\t{at}\t{duration}\t{trace}\t{module}\t{sequence}")
            at += duration
        for line, duration in ((4, MS), (5, log_ns)):
            for part in range(duration // (MS // 4)):
                samples.append(f"0\t{at + part * MS // 4}\t{MS // 4}\t{line}\t{step}")
            at += duration
        pieces.append(f"{4096 * (step + 1)}\t1000\tcpu\t0\t{at}\t{at + 1000}\t1\t{step}")
        if cached_bytes:
            pieces.append(f"{1 << 30 | 4096 * step}\t{cached_bytes}\tcpu\t0\t{at}\t\t6\t{step}")
        at += 1000
    rows += ["=\tsteps\tnumber\tname\torigin\tthread_id\tstart_ns\tdur_ns"]
    rows += [f"{step}\tstep\toptimizer\t0\t{start}\t{end - start}"
             for step, (start, end) in enumerate(zip(starts, starts[1:] + [at]))]
    rows += ["=\tops\tname\tcategory\tthread_id\tstart_ns\tdur_ns\tcode_trace_id\tmodule\tsequence_number"] + ops
    rows += ["=\tpython_samples\tthread_id\ttime_ns\tperiod_ns\tcode_trace_id\tstep_id"] + samples
    rows += ["=\tinput_events\tname\tstage\tthread_id\tstart_ns\tdur_ns\tself_ns\tstep_id"] + inputs
    rows += ["=\tallocations\taddress\tbytes\tallocator\tdevice_id\tallocated_ns\treleased_ns\tcode_trace_id\tstep_id"]
    rows += pieces
    path = os.path.join(directory.name, name + ".tfprof")
    subprocess.run([os.path.join(BUILD, "tests", "make_dump_of_rows"), path], encoding="utf-8", check=True,
                   input="\n".join(rows) + "\n")
    return path


# (what differs, {function: (what its first row says, by how much a step)})
SAME = recording("same")
CHANGES = {
    "a log that is written in every step": (recording("logged", log_ns=2 * MS, moved=3), {
        "python_diff": ("location, text", ("train.py:17", "log.write(str(step))"), 2 * MS)}),
    "a normalisation that takes longer": (recording("normed", norm_ns=3 * MS, moved=1), {
        "line_diff": ("location, text", ("train.py:31", "y = self.norm(y)"), 3 * MS),
        "module_diff": ("module, change", ("norm", "="), 3 * MS),
        "phase_diff": ("phase, change", ("forward", "+"), 3 * MS)}),
    "a loader that steps wait for": (recording("waiting", wait_ns=3 * MS), {
        "input_diff": ("category, change", ("wait", "+"), 3 * MS),
        "phase_diff": ("phase, change", ("input", "+"), 3 * MS)}),
    "a faster backward pass": (recording("faster", backward_ns=MS, moved=40), {
        "line_diff": ("location, text", ("train.py:52", "loss.backward()"), -MS),
        "phase_diff": ("phase, change", ("backward", "-"), -MS)}),
}
FUNCTIONS = ("line_diff", "python_diff", "phase_diff", "input_diff", "module_diff", "memory_diff")


def opened(engine, *paths):
    connection = engine()
    for path in paths:
        connection.values(f"SELECT tfprof_open('{path}')")
    return connection


def test_one_known_change(engine):
    for what, (path, found) in CHANGES.items():
        connection = opened(engine, SAME, path)
        for function, (columns, first, by) in found.items():
            ask = "SELECT {}, step_diff_ns FROM {}('{}', '{}') LIMIT 1"
            rows = connection.values(ask.format(columns, function, SAME, path))
            assert rows[0][:-1] == first and abs(rows[0][-1] - by) <= abs(by) / 100, (what, function, rows)
            back = connection.values(ask.format(columns, function, path, SAME))
            assert back[0][-1] == -rows[0][-1], (what, function, back)
        # What did not change says so, wherever an edit has moved it.
        for function, unit in (("line_diff", "text"), ("module_diff", "module")):
            rest = connection.values(
                f"SELECT {unit}, step_diff_ns FROM {function}('{SAME}', '{path}') LIMIT -1 OFFSET 1")
            assert rest and all(by == 0 for _, by in rest), (what, function, rest)
        connection.close()


def test_memory(engine):
    path = recording("cached", cached_bytes=5000, moved=2)
    connection = opened(engine, SAME, path)
    rows = connection.values("SELECT level, name, text, a_live_bytes, b_live_bytes, live_diff_bytes, bytes_diff "
                             f"FROM memory_diff('{SAME}', '{path}') WHERE level = 'line'")
    assert rows[0] == ("line", "train.py:17", "cache.append(y)", 0, 100000, 100000, 100000), rows
    assert rows[1:] == [("line", "train.py:13", "y = model(x)", 0, 0, 0, 0)], rows
    levels = [level for level, in connection.values(f"SELECT DISTINCT level FROM memory_diff('{SAME}', '{path}')")]
    assert levels == [level for level in ("memory", "line", "op") if level in levels] and "line" in levels, levels
    connection.close()


def test_of_unequal_lengths(engine):
    """Twice as many steps are no difference per step; a profile with itself has none at all."""
    path = recording("longer", steps=37)
    connection = opened(engine, SAME, path)
    for function in FUNCTIONS:
        if function != "memory_diff":
            rows = connection.values(f"SELECT step_diff_ns, dur_diff_ns FROM {function}('{SAME}', '{path}')")
            assert all(abs(by) <= 1 for by, _ in rows) and max(by for _, by in rows) > 0, (function, rows)
        itself = connection.values(f"SELECT DISTINCT change FROM {function}('{SAME}', '{SAME}')")
        assert itself == [("=",)], (function, itself)
        nothing = connection.query(f"SELECT * FROM {function}('{SAME}', 'no such run')")[1]
        assert "no profile is 'no such run'" in nothing, (function, nothing)
    connection.close()


def test_panels(engine):
    """The panels of the page show the same changes, step by step."""
    for panel, what, label, by in (("compare_python", "a log that is written in every step", "train.py:17", 2 * MS),
                                   ("compare_lines", "a normalisation that takes longer", "train.py:31", 3 * MS),
                                   ("compare_modules", "a normalisation that takes longer", "norm", 3 * MS),
                                   ("compare_phases", "a faster backward pass", "backward", -MS),
                                   ("compare_input", "a loader that steps wait for", "(steps wait)", 3 * MS)):
        connection = opened(engine, SAME, CHANGES[what][0])
        sql, = connection.values(f"SELECT sql FROM tfprof_panels WHERE name = '{panel}'")[0]
        column, value = (re.search(rf"^-- {key}: (\w+)$", sql, re.M)[1] for key in ("label", "value"))
        sql = re.sub(r"(?m)^--.*\n", "", sql)
        sql = re.sub(r":[a-z_]+\b", "NULL", sql)
        rows = connection.values(
            f"SELECT {column}, run_id, sum({value}) / (SELECT count(*) FROM steps WHERE is_warmup = 0 "
            f"AND profile_id = run_id) FROM ({sql}) WHERE is_warmup = 0 GROUP BY 1, 2")
        sides = {}
        for name, run, each in rows:
            sides.setdefault(name, {1: 0, 2: 0})[run] += each
        changed = {name: side[2] - side[1] for name, side in sides.items() if abs(side[2] - side[1]) > MS // 100}
        top = max(changed, key=lambda name: abs(changed[name]))
        assert top == label and abs(changed[top] - by) <= abs(by) / 100, (panel, changed)
        if panel == "compare_lines":
            assert list(changed) == [label], changed
        connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
