#!/usr/bin/env python3
"""test_words.py: a word has the same figure on every screen (docs/words.md).

Of each source below, summary, the head of the page and its panels, findings, and the views that answer questions are
asked for the step time, the input, the parts of a step, busy devices and the peak of memory.  The same word has the
same figure, or the name of the view or column says which other profiler defines it.
"""

import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "page")]
from asking import check, query, run_tests  # noqa: E402
from made_traces import copy, kernel, launch, span, write  # noqa: E402
from reports import bound, query_all  # noqa: E402
from xplane_files import Ref, event, line, plane, space  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
PYTHON = os.environ.get("TFPROF_PYTHON") or sys.executable
BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build"))
SHARED = os.path.join(os.environ.get("TFPROF_SHARED") or "", "traces")
# part: (column of step_breakdown, of overview, its weight)
PARTS = {"kernels": ("kernel_ns", "kernel_ratio", "device_weight"),
         "copies": ("copy_ns", "copy_ratio", "device_weight"),
         "communication": ("communication_ns", "communication_ratio", "device_weight"),
         "launching": ("launch_ns", "launch_ratio", "device_weight"),
         "data loader": ("data_loader_ns", "data_loader_ratio", None),
         "host": ("host_ns", "host_ratio", "host_weight"),
         "other": ("other_ns", "other_ratio", "host_weight")}
HEAD = "SELECT value FROM (SELECT * FROM ({header})) WHERE name = '{name}'"
LOADING = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
PROGRAM = """
import time, torch
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self):
        return 80
    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.zeros(4), 1
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in DataLoader(Slow(), batch_size=2):
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def panel(name):
    with open(os.path.join(ROOT, "sql", "panels", name + ".sql"), encoding="utf-8") as file:
        return bound(file.read())


# ---- sources ----


def of_pytorch(folder):
    """A GPU works while the loader is asked, copies what it fetched, and outlasts each step; a mark is around ops."""
    events = []
    for step in range(6):
        at, number = step * 1_000_000, step * 10
        events += [span("user_annotation", f"ProfilerStep#{step}", at, 980_000),
                   span("user_annotation", LOADING, at + 10_000, 300_000),
                   span("user_annotation", "forward", at + 400_000, 300_000),
                   span("cpu_op", "aten::mm", at + 420_000, 150_000, **{"External id": number + 1}),
                   launch(at + 450_000, 20_000, number + 1), launch(at + 500_000, 20_000, number + 2),
                   copy(at + 520_000, 60_000, 7, number + 2), kernel(at + 600_000, 500_000, 7, number + 1)]
    path = os.path.join(folder, "trace.json")
    write(path, events, deviceProperties=[{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 1 << 30}])
    return path


def of_xplane(folder):
    """Steps that wait for tf.data, compute, and copy to a GPU: XProf takes the copies for input, too."""
    us, main, stream = 1_000_000, [], []
    for i in range(4):
        at = lambda begin, length, name, past=1000 * i, **stats: event(name, (past + begin) * us, length * us, **stats)
        main += [at(0, 900, "train", _r=1, step_num=i),
                 at(10, 200, "IteratorGetNext:IteratorGetNext", _ipl_stage_id=1, _ipl_stage_name=Ref("Next"),
                    _ipl_stage_cat=Ref("preprocessing")),
                 at(300, 100, "mul:MatMul"), at(310, 10, "cuLaunchKernel", correlation_id=2 * i + 1),
                 at(330, 10, "cuMemcpyHtoDAsync", correlation_id=2 * i + 2)]
        stream += [at(420, 200, "gemm", correlation_id=2 * i + 1),
                   at(650, 100, "MemcpyH2D", correlation_id=2 * i + 2,
                      memcpy_details=Ref("kind_src:pinned kind_dst:device size:8 async:1"))]
    path = os.path.join(folder, "vm.xplane.pb")
    with open(path, "wb") as file:
        file.write(space(plane("/host:CPU", [line(1, "main", main, 0)]),
                         plane("/device:GPU:0", [line(1, "Stream #1(Compute)", stream, 0)])))
    return path


def of_compiling(folder):
    """The first two steps of a file compile: they are warm-up, and their time is in no share."""
    us, main, pool = 1_000_000, [], []
    for i in range(12):
        begin = 1000 * i
        main.append(event("train", begin * us, 900 * us, _r=1, step_num=i))
        if i < 2:
            main.append(event("backend_compile_and_load", (begin + 10) * us, (800 - 200 * i) * us))
            pool.append(event("PjRtCpuClient::Compile", (begin + 20) * us, (700 - 200 * i) * us))
        else:
            main.append(event("IteratorGetNext:IteratorGetNext", (begin + 100) * us, 300 * us, _ipl_stage_id=1,
                              _ipl_stage_name=Ref("Next"), _ipl_stage_cat=Ref("preprocessing")))
    path = os.path.join(folder, "compiling.xplane.pb")
    with open(path, "wb") as file:
        file.write(space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAEigen", pool)])))
    return path


def of_recorded_loader(folder):
    """A loader without workers calls 200 ops a step, and to record each takes 2 us: that is no waiting for input."""
    start = 1_700_000_000_000_000_000
    ops, costs = ["=\tops\tname\tcategory\tthread_id\tstart_ns\tdur_ns"], ["=\tcounters\tname\ttime_ns\tvalue"]
    costs += [f"{name}\t{start}\t{value}" for name, value in (
        ("capture_ops_interval", 1), ("capture_ops_recorded", 1), ("capture_op_cost", 2000))]
    for step in range(30):
        at = start + step * 1_000_000
        ops += [f"tfprof.step#{step}\tuser\t0\t{at}\t1000000", f"{LOADING}\tuser\t0\t{at + 1000}\t900000"]
        ops += [f"aten::stack\top\t0\t{at + 2000 + 4400 * i}\t2000" for i in range(200)]
    path = os.path.join(folder, "loader.tfprof")
    subprocess.run([os.path.join(BUILD, "tests", "make_dump_of_rows"), path], check=True, encoding="utf-8",
                   input="\n".join(["=\tthreads\tkind\tname", "host\tmain"] + ops + costs) + "\n")
    return path


def recorded(folder):
    """A recording of a loop with a slow loader, ops in some of its steps: what recording takes is in no word."""
    path = os.path.join(folder, "run")
    command = [os.path.join(BUILD, "tfprof-capture"), "--ops=sampled", "-o", path, "--", PYTHON, "-c", PROGRAM]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return path


def shared():
    """Traces of real programs, where they are."""
    names = ["pytorch/resnet50_num_workers_0.pt.trace.json.gz", "pytorch/nccl_a100.json.gz",
             "pytorch_cpu/cnn_stack.json.gz", "xplane/tf_keras_slow_input_a.xplane.pb",
             "xplane/gpu_train_a.xplane.pb", "xplane/jax_a.xplane.pb"]
    return [path for path in (os.path.join(SHARED, name) for name in names) if os.path.exists(path)]


# ---- what they say ----

QUESTIONS = {
    "step_summary": "SELECT * FROM step_summary",
    "overview": "SELECT * FROM overview WHERE profile_id IS NOT NULL",
    "input_summary": "SELECT * FROM input_summary WHERE profile_id IS NOT NULL",
    "input_steps": "SELECT sum(input_ns * weight) AS input_ns, sum(dur_ns * weight) AS dur_ns FROM input_steps",
    "input_events": "SELECT count(*) AS count FROM input_events",
    "breakdown": "SELECT step_breakdown.* FROM step_breakdown WHERE is_warmup = 0",
    "devices": "SELECT * FROM device_utilization",
    "memory": "SELECT max(coalesce(peak_bytes, lifetime_peak_bytes)) AS bytes, "
              "format_bytes(max(coalesce(peak_bytes, lifetime_peak_bytes))) AS text FROM memory_summary",
    "summary": "SELECT title, text FROM run_summary",
    "findings": "SELECT check_name, message, value FROM advise",
    "median": "SELECT format_ns(median_ns) AS text FROM step_summary",
    "training": "SELECT avg(training_ns) AS mean_ns FROM steps WHERE is_warmup = 0",
    "head": panel("header"),
    "panel step_summary": panel("step_summary"),
    "panel overview": panel("overview"),
    "panel input": panel("input"),
    "panel device_utilization": panel("device_utilization"),
    "panel step_time": panel("step_time"),
    "panel step_parts": panel("step_parts"),
}


def same(found, wanted, what, slack=1e-9):
    assert all(value is not None and abs(value - wanted) <= slack for value in found), f"{what}: {found}, {wanted}"


def said(run):
    """Holds what all screens say of a run with one process to each other; {word: figure}."""
    told = query_all(run, QUESTIONS)
    (steps,), (overview,) = told["step_summary"], told["overview"]
    summary = {row["title"]: row["text"] for row in told["summary"]}
    findings = {row["check_name"]: row for row in told["findings"]}
    head = {row["name"]: row["value"] for row in told["head"]}
    panels = {name[6:]: rows for name, rows in told.items() if name.startswith("panel ")}
    what = os.path.basename(run)

    # step time
    mean = steps["mean_ns"]
    same([overview["mean_step_ns"], panels["step_summary"][0]["mean_ns"], panels["overview"][0]["mean_step_ns"],
          told["training"][0]["mean_ns"]], mean, f"{what}: step time", 1)
    check(overview["step_count"], steps["step_count"] - steps["warmup_count"], f"{what}: measured steps")
    check(head["median step"], told["median"][0]["text"], f"{what}: median step")
    assert f"median {told['median'][0]['text']}" in summary["steps"], summary

    # input
    share = steps["input_ratio"]
    same([overview["input_ratio"], panels["overview"][0]["input_ratio"], panels["step_summary"][0]["input_ratio"]],
         share, f"{what}: input")
    if told["input_summary"]:
        steps_of_input = told["input_steps"][0]
        same([told["input_summary"][0]["input_ratio"], panels["input"][0]["input_ratio"],
              steps_of_input["input_ns"] / steps_of_input["dur_ns"]], share, f"{what}: input", 1e-6)
        verdict = told["input_summary"][0]["verdict"]
        assert verdict == overview["verdict"] or verdict.startswith("potentially"), (what, verdict, overview["verdict"])
    check(summary.get("input", "").split(" %")[0], f"{100 * share:.1f}" if share >= 0.001 else "", f"{what}: input")
    finding = findings.get("input_loading")
    assert (finding is not None) == (share >= 0.05 and told["input_events"][0]["count"] > 0), (what, share, finding)
    if finding:
        same([finding["value"]], share, f"{what}: input_loading", 1e-5)
        assert f"{100 * share:.0f} % of the step time is spent waiting for input" in finding["message"], finding

    # parts
    shares = {name: overview[ratio] for name, (_, ratio, _) in PARTS.items()}
    assert abs(sum(shares.values()) - 1) < 0.02, (what, shares)
    for name, (column, ratio, weight) in PARTS.items():
        known = [row for row in told["breakdown"] if row[column] is not None]
        weigh = (lambda row: row[weight]) if weight else (lambda row: 1)
        of_steps = sum(row[column] * weigh(row) for row in known) / sum(row["dur_ns"] * weigh(row) for row in known)
        same([overview[ratio], panels["overview"][0][ratio]], of_steps, f"{what}: {name}")
        measured = {row["number"] for row in known}
        drawn = [row[column] for row in panels["step_time"] if row["number"] in measured and not row["is_warmup"]]
        check(sorted(drawn), sorted(row[column] for row in known), f"{what}: step_time, {name}")
        drawn = [row["sum_ns"] for row in panels["step_parts"] if row["part"] == name]
        check(sorted(drawn), sorted(row[column] for row in known), f"{what}: step_parts, {name}")
    text = summary["time"].replace(" of the step time", "").replace(", ", ",")
    listed = dict(re.findall(r"([a-z ]+?) (\d+) %", text))
    check(listed, {name: f"{value:.0f}" for name, value in ((n, 100 * s) for n, s in shares.items()) if value >= 0.5},
          f"{what}: summary, time")
    for row in told["breakdown"]:
        parts = [row[column] for column, _, _ in PARTS.values()]
        assert None in parts or abs(sum(parts) - row["dur_ns"]) <= len(parts), (what, row)

    # busy
    if told["devices"]:
        used = [row["utilization_ratio"] for row in told["devices"]]
        same([overview["utilization_ratio"]], sum(used) / len(used), f"{what}: busy")
        check([row["utilization_ratio"] for row in panels["device_utilization"]], used, f"{what}: devices")
        check(head["devices busy"], f"{100 * sum(used) / len(used):.0f} %", f"{what}: head, busy")
        assert f" busy {100 * min(used):.0f} %" in summary["devices"], (what, summary["devices"], used)
        if "accelerator_utilization" in findings and len(used) == 1:
            same([1 - findings["accelerator_utilization"]["value"]], used[0], f"{what}: accelerator_utilization", 1e-6)

    # memory in use
    peak = told["memory"][0]
    check(head.get("memory at its peak"), peak["text"] if peak["bytes"] else None, f"{what}: memory")
    assert not peak["bytes"] or peak["text"] in summary["memory"], (what, peak, summary["memory"])
    return {"input": share, **shares, "mean": mean}


def test_made(folder):
    """Sources in which the definitions of other profilers give other figures."""
    trace = of_pytorch(folder)
    figures = said(trace)
    same([figures["input"]], 300 / 980, "input of the trace", 1e-9)
    assert figures["data loader"] < 0.25, figures
    (theirs,) = query(trace, "SELECT * FROM tb_overview")
    assert theirs["mean_step_ns"] != figures["mean"] and theirs["cpu_ratio"] > figures["host"] + 0.03, (theirs, figures)

    run = of_xplane(folder)
    figures = said(run)
    (theirs,) = query(run, "SELECT * FROM xprof_overview")
    same([figures["input"]], 200 / 900, "input of the file", 1e-6)
    same([theirs["input_ratio"]], 300 / 900, "input as XProf counts it", 1e-6)

    figures = said(of_compiling(folder))
    same([figures["input"]], 300 / 900, "input without steps that compile", 1e-6)
    check(figures["host"], 0, "host without steps that compile")

    figures = said(of_recorded_loader(folder))
    same([figures["input"], figures["data loader"]], 500 / 600, "input without what recording took", 1e-6)


def test_recorded(folder):
    if subprocess.run([PYTHON, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"],
                      check=False).returncode:
        return print("torch is not installed")
    assert said(recorded(folder))["input"] > 0.05


def test_shared(_folder):
    for path in shared():
        said(path)


# Columns of views that answer questions: where a word of docs/words.md is in the name, it means what the page says.
MEANT = {
    "input": {"input_summary", "input_steps", "step_summary.input_ratio", "overview.input_ratio",
              "epoch_summary.input_phase_ns", "tfprof"},
    "idle": set(),
    "busy": {"device_utilization.busy_ns", "gap_causes.busy_until_ns", "thread_summary.busy_ratio",
             "hang_summary.busy_ratio"},
    "other": {"overview.other_ratio", "step_breakdown.other_ns"},
    "host": {"overview.host_ratio", "step_breakdown.host_ns", "step_breakdown.host_weight"},
    "outside": {"step_summary.outside_ratio", "step_op_time.outside_ns", "range_summary.outside_ns"},
    "utilization": {"device_utilization.utilization_ratio", "device_utilization.utilization_error_ratio",
                    "overview.utilization_ratio", "device_counters_by_step.utilization_ratio",
                    "device_counters_by_step.memory_utilization_ratio"},
}


def test_names(folder):
    """A column of an everyday view that has such a word in its name is one that the page defines."""
    columns = query(of_pytorch(folder), """
      SELECT table_name, column_name FROM tfprof_columns WHERE table_name IN (SELECT name FROM tfprof_views
        WHERE kind IN ('view', 'function')
          AND section NOT IN ('helpers', 'xprof', 'tensorboard', 'hta', 'checks', 'old', 'compare'))""")
    assert len(columns) > 300, len(columns)
    for word, meant in MEANT.items():
        pattern = re.compile(rf"(?:^|_){word}_(?:[a-z]*_)?(?:ns|ratio|error|weight)$")
        found = {f"{row['table_name']}.{row['column_name']}" for row in columns if pattern.search(row["column_name"])}
        unknown = {name for name in found if name not in meant and name.split(".")[0] not in meant}
        check(unknown, set(), f"columns that docs/words.md does not define as {word}")


def test_page():
    """docs/words.md names columns that there are."""
    with open(os.path.join(ROOT, "docs", "words.md"), encoding="utf-8") as file:
        text = file.read()
    paths = glob.glob(os.path.join(ROOT, "sql", "views", "*", "*.sql"))
    sources = {os.path.basename(path)[:-4]: path for path in paths}
    named = {name for name in re.findall(r"`(\w+\.\w+)`", text) if not name.startswith("steps.")}
    assert len(named) > 25, named
    for view, column in (name.split(".") for name in named):
        with open(sources[view], encoding="utf-8") as file:
            assert re.search(rf"^--   {column}  ", file.read(), re.M), f"docs/words.md: {view} has no column {column}"


if __name__ == "__main__":
    test_page()
    run_tests({name: test for name, test in globals().items() if name != "test_page"})
