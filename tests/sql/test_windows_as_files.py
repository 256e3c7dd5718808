#!/usr/bin/env python3
"""test_windows_as_files.py: views answer for windows of the framework's own profiler in a capture as for the same file
opened alone: the same ops, counts, times and shares; of windows in some of the steps weighed.
"""

import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, column, rows, run_tests
from window_recordings import BOOT, LINE, MS, Recording, beside, began
from xplane_files import (Ref, Unsigned, event, hlo_instruction, hlo_module, hlo_shape, line, plane, programs, space,
                          written)

PS = 1000  # in a nanosecond
STEP = 10 * MS * PS
OPENED = 65_000 * PS  # until the first step begins
DETAILS = "regs:32 static_shared:16 dynamic_shared:64 grid:3,2,1 block:64,1,1 occ_pct:50"
CARD = {"gpu_device_name": "NVIDIA H100", "core_count": 132, "clock_rate": 1980000, "compute_cap_major": 9,
        "memory_bandwidth": 3_352_320_000_000, "memory_size": 85_520_809_984, "device_vendor": "Nvidia"}


def started(first_step, count):
    return plane("Task Environment", [], {"profile_start_time": Unsigned(began(first_step)),
                                          "profile_stop_time": Unsigned(began(first_step) + 10 * MS * count)})


def marks(count):
    return [event("train", i * STEP + OPENED + 20_000 * PS, STEP - 150_000 * PS, _r=1, step_num=i, _pt=2, _p=50 + i)
            for i in range(count)]


def of_tensorflow(first_step, count, on_gpu=True):
    """Steps of a tf.function over tf.data, of which each step takes an element and multiplies on a GPU."""
    main, work, data, kernels, copies = marks(count), [], [], [], []
    for i in range(count):
        at = i * STEP + OPENED
        main += [event("IteratorGetNext:IteratorGetNext", at + MS // 2 * PS, MS * PS)]
        work += [event("ExecutorState::Process", at + 2 * MS * PS, 6 * MS * PS, _ct=2, _c=50 + i, id=1, iter_num=i),
                 event("gradient_tape/layer/mul:MatMul", at + 3 * MS * PS, 2 * MS * PS),
                 event("layer/add:AddV2", at + 6 * MS * PS, MS * PS)]
        data += [event("Iterator::Root::Prefetch::Map", at + MS * PS, 5 * MS * PS, id=5, parent_id=3, buffer_limit=4),
                 event("Iterator::Root", at + 7 * MS * PS, MS * PS, id=9)]
        if on_gpu:
            work.append(event("cuLaunchKernel", at + 7 * MS // 2 * PS, MS // 5 * PS, correlation_id=10 * first_step + i,
                              device_id=0))
            kernels.append(event("sgemm", at + 4 * MS * PS, 3 * MS * PS, correlation_id=10 * first_step + i,
                                 tf_op=Ref("layer/mul:MatMul"), kernel_details=Ref(DETAILS), flops=2_000_000_000,
                                 bytes_accessed=4_000_000_000))
    lines = [line(LINE, "python", main, 0), line(2, "tf_Compute", work, 0), line(3, "tf_data", data, 0)]
    gpu = [plane("/device:GPU:0", [line(1, "Stream #1(Compute)", kernels, 0)], CARD)] if on_gpu else []
    return space(plane("/host:CPU", lines), *gpu, started(first_step, count))


def of_jax(first_step, count):
    """Steps that XLA's own threads compute."""
    main, pool = marks(count), []
    for i in range(count):
        at = i * STEP + OPENED
        main.append(event("PjitFunction(step)", at + MS * PS, MS * PS))
        pool += [event("dot.1", at + 2 * MS * PS, 5 * MS * PS, hlo_op="dot.1", hlo_module="jit_f"),
                 event("tanh.2", at + 7 * MS * PS, MS * PS, hlo_op="tanh.2", hlo_module="jit_f")]
    square = hlo_shape(64, 64)
    program = hlo_module({1: ([hlo_instruction(1, "x", "parameter", square),
                               hlo_instruction(2, "dot.1", "dot", square, (1, 1)),
                               hlo_instruction(3, "tanh.2", "tanh", square, (2,))], 3)}, "jit_f")
    return space(plane("/host:CPU", [line(LINE, "python", main, 0), line(2**63 + 5, "tf_XLAEigen/1", pool, 0)]),
                 programs({"jit_f(1)": program}), started(first_step, count))


SOURCES = {"tensorflow": of_tensorflow, "jax": of_jax,
           "cpu": lambda first, count: of_tensorflow(first, count, on_gpu=False)}
FIRST, COUNT = 3, 12


def opened(directory, name, windows=((FIRST, COUNT),), **more):
    """(the capture, the files of its windows)"""
    framework = "jax" if name == "jax" else "tensorflow"
    recording = Recording(**dict({"steps": FIRST + COUNT, "framework": framework}, **more))
    files = []
    for number, (first, count) in enumerate(windows):
        data = SOURCES[name](first, count)
        beside(os.path.join(directory, "run"), number, data)
        files.append(written(os.path.join(directory, "alone%d" % number), data))
        recording.window("vm-4711.%d.xplane.pb" % number, first, count)
    return recording.write(os.path.join(directory, "run")), files


# What both say alike; times of a whole recording are those of the windows' steps only where these are all steps.
ASKED = {
    "ops": "SELECT o.name, o.op_type, o.category, o.framework, o.dur_ns, o.self_ns, o.op_self_ns, o.module, o.flops, "
           "o.execution_mode, o.hlo_module, t.kind, count(*) FROM ops AS o JOIN threads AS t ON t.id = o.thread_id "
           "GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
    "nesting": "SELECT name, parent_name, depth, count(*) FROM ops GROUP BY 1, 2, 3",
    "kernels": "SELECT name, op_name, op_type, dur_ns, flops, bytes_accessed, block_x, count(*) FROM kernels "
               "GROUP BY 1, 2, 3, 4, 5, 6, 7",
    "xprof_op_stats": "SELECT side, op_type, op, round(count), sum_ns, self_ns, self_ratio, flops_per_second, "
                "bytes_per_second, tensor_core_ratio, bound_by, execution_mode FROM xprof_op_stats WHERE is_idle = 0",
    "op_summary": "SELECT op, category, framework, count, self_ns, self_ratio FROM op_summary",
    "xprof_top_device_ops": "SELECT position, op_type, op, count, self_ns, self_ratio, flops_per_second, "
                      "uses_tensor_core FROM xprof_top_device_ops",
    "roofline": "SELECT op_type, op, kernel, dtype, count, sum_ns, flops, bytes_accessed, "
                "flops_per_second, bytes_per_second, compute_efficiency, memory_efficiency, bound_by FROM roofline "
                "WHERE position > 0",
    "xprof_kernel_stats": "SELECT kernel, op, count, sum_ns, block, registers_per_thread, occupancy_ratio "
                    "FROM xprof_kernel_stats",
    "xprof_input_op_stats": "SELECT name, category, count, sum_ns, self_ns, self_ratio, suggestion FROM "
                            "xprof_input_op_stats",
    "input_steps": "SELECT input_ns, copy_ns, count(*) FROM input_steps WHERE input_ns > 0 GROUP BY 1, 2",
    "input_pipelines": "SELECT count, mean_ns FROM input_pipelines",
    "input_bottleneck": "SELECT name, max_latency_ns, suggestion FROM input_bottleneck",
    "module_summary": "SELECT module, count, self_ns, sum_ns, backward_ns FROM module_summary",
    "hlo_summary": "SELECT name, opcode, count, self_ns, flops FROM hlo_summary",
    "xprof_overview": "SELECT host_op_ratio, device_op_ratio, host_eager_ratio, half_precision_ratio FROM "
                      "xprof_overview",
    "precisions": "SELECT precision, sum_ns FROM precision_breakdown",
    "xprof_recommendations": "SELECT topic, level, value FROM xprof_recommendations WHERE topic IN ('precision', "
                             "'tf_function', "
                       "'eager')",
}


def rounded(answer):
    return sorted(json.dumps([float("%.9g" % cell) if isinstance(cell, float) else cell for cell in row])
                  for row in answer)


def test_as_the_file_alone(directory):
    """A window in which all measured steps lie says what its file says."""
    for name in SOURCES:
        run, (alone,) = opened(os.path.join(directory, name), name)
        check(column(run, "SELECT DISTINCT sample_weight FROM steps WHERE is_warmup = 0 AND ops_recorded = 1"), [1.0],
              f"{name}: steps speak for themselves")
        wrong = []
        for view, sql in ASKED.items():
            wanted, found = rounded(rows(alone, sql)), rounded(rows(run, sql))
            if found != wanted:
                wrong += [f"{view}: - {row}" for row in wanted if row not in found]
                wrong += [f"{view}: + {row}" for row in found if row not in wanted]
        check("\n".join(wrong), "", name)
        filled = {view for view, sql in ASKED.items() if rows(alone, sql)}
        needed = {"jax": {"ops", "xprof_op_stats", "hlo_summary", "roofline", "op_summary"},
                  "cpu": {"xprof_op_stats", "xprof_input_op_stats", "input_pipelines", "module_summary"},
                  "tensorflow": {"kernels", "xprof_top_device_ops", "roofline", "xprof_kernel_stats",
                                 "xprof_input_op_stats"}}[name]
        check(needed - filled, set(), f"{name}: views with rows")


def test_weighed(directory):
    """Windows in some steps speak for all of them: of kernels as of ops."""
    run, _ = opened(directory, "tensorflow", windows=((3, 2), (9, 2)), steps=15)
    (stands_for,) = column(run, "SELECT sum(sample_weight) FROM steps WHERE is_warmup = 0")
    check(stands_for, 12.0, "all measured steps")
    for view, sql in {"xprof_top_device_ops": "SELECT count, self_ns FROM xprof_top_device_ops",
                      "roofline": "SELECT count, sum_ns FROM roofline WHERE position = 1",
                      "xprof_op_stats": "SELECT count, self_ns FROM xprof_op_stats WHERE side = 'device' AND "
                                        "is_idle = 0",
                      "kernel_summary": "SELECT count, sum_ns FROM kernel_summary"}.items():
        check(rows(run, sql), [(12, 12 * 3 * MS)], view)
    check(rows(run, "SELECT flops_per_second, bytes_accessed FROM roofline WHERE position = 1"),
          [(2_000_000_000 / 0.003, 12 * 4_000_000_000)], "rates are those of the kernels")
    check(rows(run, "SELECT op, count, self_ns FROM xprof_op_stats WHERE side = 'host' AND op GLOB '*mul'"),
          [("gradient_tape/layer/mul", 12, 24 * MS)], "ops")
    check(rows(run, "SELECT name, count FROM xprof_input_op_stats"),
          [("Iterator::Root::Prefetch::Map", 12), ("Iterator::Root", 12)], "input")
    check(rows(run, "SELECT step_count, wait_ns, stands_for FROM _input_waits"), [(4, 4 * MS, 3.0)], "waiting")
    check(column(run, "SELECT count(*) FROM step_breakdown WHERE kernel_ns IS NOT NULL"), [4],
          "of the other steps it is not known what the device did")


def drawn(run, directory):
    """How often each span of a timeline is there, by the beginning of its name, and the names of threads."""
    target = os.path.join(directory, "timeline.json")
    rows(run, f"SELECT tfprof_timeline('{target}')")
    with open(target, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = [event["name"].split(":")[0] for event in events if event["ph"] == "X" and event.get("cat") != "step"]
    threads = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    return collections.Counter(name for name in names if not name.startswith("train")), threads


def test_timeline(directory):
    """What is drawn of a file is drawn of it in a capture, each span once, with the lines below the streams."""
    for name in SOURCES:
        run, (alone,) = opened(os.path.join(directory, name), name)
        spans, threads = drawn(run, directory)
        wanted, lines = drawn(alone, directory)
        check(spans, wanted, f"{name}: spans")
        check({line for line in lines if "Framework" in line or "XLA" in line} - threads, set(), f"{name}: lines")


def test_on_devices_by_itself(directory):
    """Kernels that the capture recorded in all steps are not weighed by the windows of the host."""
    recording = Recording(steps=15, framework="tensorflow")
    recording.add("devices", [{"kind": "gpu", "name": "cuda:0", "ordinal": 0}])
    recording.add("threads", [{"kind": "stream", "device_id": 0, "stream": 7}])
    recording.add("kernels", [{"name": "sgemm", "thread_id": 1, "device_id": 0, "correlation": i + 1,
                               "start_ns": BOOT + 10 * MS * i + 4 * MS, "dur_ns": MS} for i in range(15)])
    beside(directory, 0, of_tensorflow(5, 2, on_gpu=False))
    recording.window("vm-4711.0.xplane.pb", 5, 2)
    run = recording.write(directory)
    check(rows(run, "SELECT is_xplane, has_xplane_kernels FROM profiles"), [(1, 0)], "profiles")
    check(rows(run, "SELECT kernel, count FROM kernel_summary"), [("sgemm", 15)], "kernels")


def test_frameworks_apart(directory):
    """A job of JAX that loads with PyTorch: each op is of one of them, and shares are of that one's time."""
    recording = Recording(steps=15, framework="jax, pytorch")
    recording.add("ops", [{"name": name, "category": category, "thread_id": 0, "dur_ns": dur,
                           "start_ns": BOOT + 10 * MS * step + at * MS}
                          for step in range(3, 15) for name, category, at, dur in (
                              ("batch", "user", 8, MS), ("aten::rand", "op", 8, 3 * MS // 4),
                              ("aten::div", "op", 9, MS // 4))])
    beside(directory, 0, of_jax(3, 12))
    recording.window("vm-4711.0.xplane.pb", 3, 12)
    run = recording.write(directory)
    check(rows(run, "SELECT framework, name FROM ops GROUP BY 1, 2"),
          [(None, "batch")] + [("jax", name) for name in ("PjitFunction(step)", "dot.1", "tanh.2", "train")]
          + [("pytorch", "aten::div"), ("pytorch", "aten::rand")], "ops")
    shares = {op: ratio for op, ratio in rows(run, "SELECT op, self_ratio FROM op_summary")}
    check({name: round(shares[name], 9) for name in ("aten::rand", "aten::div", "dot.1", "tanh.2")},
          {"aten::rand": 0.75, "aten::div": 0.25, "dot.1": round(5 / 7, 9), "tanh.2": round(1 / 7, 9)}, "op_summary")
    for view, ratio in (("xprof_op_stats", "self_ratio"), ("xprof_op_type_stats", "self_ratio")):
        check(rows(run, f"SELECT framework, round(sum({ratio}), 6) FROM {view} WHERE is_idle = 0 GROUP BY 1"),
              [("jax", 1.0), ("pytorch", 1.0)], view)
    check(column(run, "SELECT text FROM run_summary WHERE title = 'ops'"),
          ["dot.1 83 %, tanh.2 17 % of the op time of jax",
           "aten::rand 75 %, aten::div 25 % of the op time of pytorch"], "summary")
    check(column(run, "SELECT DISTINCT op_ns FROM host_steps WHERE outside_ns >= 0"), [8 * MS],
          "calls, what XLA's threads compute meanwhile and PyTorch's ops are time in ops")


if __name__ == "__main__":
    run_tests(globals())
