#!/usr/bin/env python3
"""test_view_matrix.py: the views of the TensorFlow 2 Profiler's pages answer for every source, or for the reason that
the matrix in docs/formats.md gives.

Every view is asked of a file of each source: of the shared traces where they are, and always of one that is made here.
A cell of the matrix says what of the columns that matter a source can have:

    filled                      rows, in which each of these columns has a value somewhere
    filled; a, b: X             the same, but for the columns a and b, for the reason X
    X                           no rows, or none of the columns that matter has a value

    test_view_matrix.py         compares
    test_view_matrix.py print   prints what the rows of the matrix would be, with ? for the reasons
"""

import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "gpu"))
import playing
from playing import capturing
import made_traces
from asking import query
from made_traces import kernel, launch, span
from xplane_files import Ref, event, hlo_instruction, hlo_module, hlo_shape, line, plane, programs, space

ROOT = os.path.join(HERE, "..", "..")
SHARED = os.environ.get("TFPROF_SHARED") or ""
US = 1_000_000  # picoseconds
LOADING = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

# What a page shows, without what identifies a row and what only some sources could ever have.
MATTERS = {
    "step_breakdown": "dur_ns kernel_ns copy_ns host_ns data_loader_ns compile_ns other_ns",
    "xprof_step_breakdown": "dur_ns device_compute_ns host_compute_ns input_ns compile_ns other_ns",
    "xprof_pod_steps": "dur_ns bottleneck behind_ns",
    "input_summary": "step_ns input_ns input_ratio verdict",
    "input_steps": "dur_ns input_ns",
    "xprof_input_op_stats": "count sum_ns self_ns category",
    "xprof_op_stats": "count self_ns self_ratio flops_per_second bytes_per_second bound_by tensor_core_ratio",
    "xprof_op_type_stats": "count self_ns self_ratio",
    "xprof_kernel_stats": "count sum_ns block registers_per_thread occupancy_ratio op is_tensor_core_eligible",
    "memory_summary": "allocation_count peak_bytes capacity_bytes fragmentation_ratio",
    "memory_breakdown": "bytes requested_bytes op region dtype shape",
    "input_pipelines": "count mean_ns slow_count",
    "input_pipeline_graph": "name self_ns is_bottleneck",
    "input_bottleneck": "max_latency_ns name suggestion",
    "precision_breakdown": "precision sum_ns tensor_core_ns",
    "roofline": "sum_ns flops flops_per_second bytes_per_second compute_efficiency bound_by",
    "mfu": "flops flops_per_second mfu",
    "overview": "mean_step_ns input_ratio verdict other_ratio",
    "xprof_overview": "mean_step_ns input_ratio verdict host_op_ratio",
    "tb_overview": "mean_step_ns data_loader_ratio cpu_ratio",
    "xprof_step_statistics": "part sum_ns mean_ns stddev_ns",
    "xprof_top_device_ops": "op self_ns self_ratio flops_per_second uses_tensor_core",
    "run_environment": "device_type dur_ns",
    "xprof_recommendations": "topic level value statement",
}


# ---- files of each source ----


def steps_of(dur_us, count=3):
    return [event("train", i * dur_us * US, (dur_us - 5) * US, _r=1, step_num=i, _pt=2, _p=50 + i)
            for i in range(count)]


def tf_host(with_launches):
    """Threads of a step: tf.data, an executor, allocations; and launches."""
    work = []
    for i in range(3):
        at = i * 100 * US
        work += [event("ExecutorState::Process", at + 20 * US, 60 * US, _ct=2, _c=50 + i, id=1, iter_num=i),
                 event("IteratorGetNext:IteratorGetNext", at + 10 * US, 8 * US),
                 event("mul:MatMul", at + 30 * US, 20 * US),
                 event("MemoryAllocation", at + 31 * US, 0, allocator_name=Ref("GPU_0_bfc" if with_launches else "cpu"),
                       bytes_allocated=4096, bytes_available=8192, bytes_reserved=0, peak_bytes_in_use=4096,
                       requested_bytes=4000, allocation_bytes=4096, addr=4096 * (i + 1), fragmentation=0.25,
                       tf_op=Ref("mul:MatMul"), region_type=Ref("temp"), data_type=1, shape=Ref("[10,100]"))]
        if with_launches:
            work.append(event("cuLaunchKernel", at + 35 * US, 2 * US, correlation_id=i + 1, device_id=0))
    data = [event("Iterator::Root::Prefetch::Map", (i * 100 + 2) * US, 70 * US, id=5, parent_id=3, buffer_limit=4)
            for i in range(3)] + [event("Iterator::Root", (i * 100 + 80) * US, 15 * US, id=9) for i in range(3)]
    return [line(1, "python", steps_of(100)), line(2, "tf_Compute", work), line(3, "tf_data", data)]


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def xplane_gpu(folder):
    details = "regs:32 static_shared:16 dynamic_shared:64 grid:3,2,1 block:64,1,1 occ_pct:50"
    kernels = [event("sgemm", (i * 100 + 40) * US, 30 * US, correlation_id=i + 1, tf_op=Ref("mul:MatMul"),
                     kernel_details=Ref(details), flops=2_000_000, bytes_accessed=4_000_000) for i in range(3)]
    caps = {"gpu_device_name": "NVIDIA H100", "core_count": 132, "clock_rate": 1980000, "compute_cap_major": 9,
            "memory_bandwidth": 3_352_320_000_000, "memory_size": 85_520_809_984, "device_vendor": "Nvidia"}
    return write(folder, "gpu.xplane.pb", space(
        plane("/host:CPU", tf_host(True)), plane("/device:GPU:0", [line(1, "Stream #1(Compute)", kernels)], caps)))


def xplane_cpu(folder):
    return write(folder, "cpu.xplane.pb", space(plane("/host:CPU", tf_host(False))))


def xplane_jax(folder):
    ops = [event("dot.1", (i * 100 + 30) * US, 40 * US, hlo_op="dot.1", hlo_module="jit_f") for i in range(3)]
    square = hlo_shape(64, 64)
    program = hlo_module({1: ([hlo_instruction(1, "x", "parameter", square),
                               hlo_instruction(2, "dot.1", "dot", square, (1, 1))], 2)}, "jit_f")
    return write(folder, "jax.xplane.pb", space(plane("/host:CPU", [
        line(1, "python", steps_of(100)), line(2, "tf_XLAEigen", ops)]), programs({"jit_f(1)": program})))


OUTPUT = 256 * 128 * 4  # bytes, of the product below


def memory(at, bytes_, device_type, total):
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at / 1000, "s": "t",
            "args": {"Addr": 4096, "Bytes": bytes_, "Device Type": device_type, "Device Id": device_type - 1,
                     "Total Allocated": total, "Total Reserved": 2 * OUTPUT}}


def torch_gpu(folder):
    events = []
    for i in range(3):
        at = 100_000 * i
        events += [span("user_annotation", f"ProfilerStep#{i + 1}", at, 100_000),
                   span("user_annotation", LOADING, at + 100, 5000),
                   span("cpu_op", "aten::mm", at + 10_000, 900, **{
                       "External id": i + 1, "Input type": ["float", "float"], "Input Dims": [[256, 512], [512, 128]]}),
                   memory(at + 10_200, OUTPUT, 1, OUTPUT), memory(at + 90_000, -OUTPUT, 1, 0),
                   launch(at + 10_100, 10, i + 1),
                   kernel(at + 12_000, 4000, 7, i + 1, "ampere_sgemm", grid=[8, 1, 1], block=[128, 1, 1],
                          **{"External id": i + 1, "registers per thread": 64, "shared memory": 1024,
                             "est. achieved occupancy %": 50})]
    path = os.path.join(folder, "gpu.pt.trace.json")
    made_traces.write(path, events, deviceProperties=[
        {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108,
         "totalGlobalMem": 85_520_809_984, "maxThreadsPerMultiprocessor": 2048,
         "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 167936}])
    return path


def torch_cpu(folder):
    events = []
    for i in range(3):
        at = 100_000 * i
        events += [span("user_annotation", f"ProfilerStep#{i + 1}", at, 100_000),
                   span("user_annotation", LOADING, at + 100, 5000),
                   span("cpu_op", "aten::mm", at + 10_000, 900, **{
                       "External id": i + 1, "Input type": ["float", "float"], "Input Dims": [[256, 512], [512, 128]]}),
                   memory(at + 10_200, OUTPUT, 0, OUTPUT), memory(at + 90_000, -OUTPUT, 0, 0)]
    path = os.path.join(folder, "cpu.pt.trace.json")
    made_traces.write(path, events)
    return path


TRAINING = """
import torch, without_dynamo
if __name__ == "__main__":
    from torch.utils.data import DataLoader, TensorDataset
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for images, labels in DataLoader(TensorDataset(torch.rand(640, 64), torch.zeros(640, dtype=torch.int64)), 32):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        LAUNCH
        optimizer.step()
"""


LAUNCHING = """
import torch
from cuda_device import Memory, launch
memory = Memory(0, 1 << 30)
class Launching(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        launch(3)
        memory.release(memory.allocate(1 << 20))
        return value * 2
def addmm(bias, left, right, *, beta=1, alpha=1):  # an op that does its work on the device
    launch(3)
    return bias + left.mm(right)
library = torch.library.Library("aten", "IMPL")
library.impl("addmm", addmm, "CPU")
"""


def capture_cpu(folder):
    run = os.path.join(folder, "cpu_run")
    program = TRAINING.replace("LAUNCH", "pass")
    capturing.launch(run, [capturing.PYTHON, "-c", program], ["--ops=all"])
    return run


def capture_gpu(folder):
    run = os.path.join(folder, "gpu_run")
    program = LAUNCHING + TRAINING.replace("LAUNCH", "Launching.apply(images)")
    capturing.launch(run, [capturing.PYTHON, "-c", program], ["--ops=all"],
                     environment=playing.environment_of_programs())
    return run


def classic(_folder):
    return os.path.join(HERE, "..", "golden", "tensorflow", "run_meta_1")


def shared(*path):
    return os.path.join(SHARED, "traces", *path)


SOURCES = {  # column of the matrix: (made here, among the shared traces)
    "XPlane GPU": (xplane_gpu, shared("xplane", "gpu_train_a.xplane.pb")),
    "XPlane CPU": (xplane_cpu, shared("xplane", "tf_membfc_a.xplane.pb")),
    "XPlane JAX": (xplane_jax, shared("xplane", "jax_a.xplane.pb")),
    "trace GPU": (torch_gpu, shared("pytorch", "resnet50_num_workers_0.pt.trace.json.gz")),
    "trace CPU": (torch_cpu, shared("pytorch_cpu", "cnn_stack.json.gz")),
    "capture CPU": (capture_cpu, None),
    "capture GPU": (capture_gpu, None),
    "classic": (classic, None),
}


# ---- the matrix ----


def observed(paths):
    """{view: (rows, columns that matter with no value in any row)} of all of these together."""
    found = {view: (0, set(columns.split())) for view, columns in MATTERS.items()}
    for path in paths:
        for view, columns in MATTERS.items():
            counts = ", ".join(f"count({column}) AS {column}" for column in columns.split())
            row = query(path, f"SELECT count(*) AS row_count, {counts} FROM {view}")[0]
            rows, missing = found[view]
            rows += row.pop("row_count")
            found[view] = (rows, missing & {column for column, count in row.items() if not count})
    return found


def cell(view, rows, missing):
    """As the matrix has it, with ? for reasons."""
    columns = MATTERS[view].split()
    if not rows or len(missing) == len(columns):
        return "?"
    return "filled" + "".join(f"; {column}: ?" for column in columns if column in missing)


def without_reasons(text):
    """The same of a cell of the matrix; a list of columns that share a reason is one of each."""
    first, *others = text.split("; ")
    for other in others:
        names, _ = other.split(": ")
        first += "".join(f"; {name}: ?" for name in names.split(", "))
    return first if first.startswith("filled") else "?"


def read_matrix():
    """({view: {source: cell}}, the reasons of the legend)."""
    with open(os.path.join(ROOT, "docs", "formats.md"), encoding="utf-8") as file:
        section = file.read().split("## Which view answers for which source\n")[1].split("\n## ")[0]
    lines = [[part.strip() for part in row.strip("|\n").split(" | ")] for row in section.splitlines()
             if row.startswith("| ")]
    header, rows = lines[0], [row for row in lines[1:] if set(row[0]) != {"-"}]
    assert header == ["view", *SOURCES], header
    assert all(len(row) == len(header) for row in rows), [row for row in rows if len(row) != len(header)]
    return ({row[0].strip("`"): dict(zip(header[1:], row[1:])) for row in rows},
            re.findall(r"^\* ([A-Z]): ", section, re.MULTILINE))


def sorted_cell(text):
    first, *others = text.split("; ")
    return [first] + sorted(others)


def compare(found):
    matrix, legend = read_matrix()
    assert sorted(matrix) == sorted(MATTERS), (sorted(matrix), sorted(MATTERS))
    wrong, used = [], set()
    for source, views in found.items():
        for view, (rows, missing) in views.items():
            text = matrix[view][source]
            used |= set(re.findall(r"\b[A-Z]\b", text))
            if sorted_cell(without_reasons(text)) != sorted_cell(cell(view, rows, missing)):
                wrong.append(f"{view}, {source}: the matrix says '{text}', found '{cell(view, rows, missing)}'")
    assert not wrong, "\n".join(wrong)
    if len(found) == len(SOURCES):
        assert sorted(legend) == sorted(used), (legend, used)


def main():
    try:
        capturing.need_torch()
        has_torch = True
    except SystemExit:
        has_torch = False
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for source, (make, ready) in SOURCES.items():
            if source.startswith("capture") and not has_torch:
                continue
            if source == "capture GPU" and not os.path.exists(playing.PLAY):
                continue
            made = observed([make(folder)])
            found[source] = made
            if ready and os.path.exists(ready):
                # What real recordings have, those made here have, too: so the matrix is the same on any clone.
                both = observed([make(folder), ready])
                assert {view: cell(view, *what) for view, what in both.items()} == {
                    view: cell(view, *what) for view, what in made.items()}, (source, both, made)
    if sys.argv[1:] == ["print"]:
        for view in MATTERS:
            print(f"| `{view}` | " + " | ".join(cell(view, *found[source][view]) for source in found) + " |")
    else:
        compare(found)
        print("ok: every cell")


if __name__ == "__main__":
    main()
