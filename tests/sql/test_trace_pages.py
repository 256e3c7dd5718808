#!/usr/bin/env python3
"""test_trace_pages.py: pages of profilers that traces of devices fill: kernels with geometry and occupancy, memory
by what it holds, precision, compilations, flops of convolutions.

Numbers are those of a count by hand, and those that PyTorch wrote into the trace itself.
"""

import gzip
import json
import math
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from made_traces import FIXTURES, SHARED, copy, kernel, launch, opened, span, write


def test_convolutions_of_old_traces(engine):
    """Where a trace has no strides, what a convolution takes follows from its backward ops, here counted from the
    file itself: each has the input, the gradient of the output and the weight."""
    path = os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz")
    if not os.path.exists(path):
        return
    with gzip.open(path, "rt") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    shapes = {name: [event["args"]["Input Dims"] for event in events if event["name"] == name]
              for name in ("aten::cudnn_convolution_backward", "aten::cudnn_convolution_backward_input")}
    expected = sum(2 * gradient[0] * math.prod(gradient[2:]) * math.prod(weight)
                   for _, gradient, weight, *_ in shapes["aten::cudnn_convolution_backward"])
    of_inputs = sum(2 * gradient[0] * math.prod(gradient[2:]) * math.prod(weight)
                    for _, gradient, weight, *_ in shapes["aten::cudnn_convolution_backward_input"])
    connection = engine()
    connection.values(f"SELECT tfprof_open('{path}')")
    rows = connection.values("SELECT name, count(flops), sum(flops) FROM ops WHERE name LIKE '%conv%' GROUP BY 1 "
                             "HAVING count(flops) ORDER BY 1")
    assert rows == [("aten::convolution", 318, expected), ("aten::cudnn_convolution_backward_input", 312, of_inputs),
                    ("aten::cudnn_convolution_backward_weight", 318, expected)], rows
    rows = connection.values("SELECT output_shapes FROM ops WHERE name = 'aten::conv2d' ORDER BY start_ns LIMIT 2")
    assert rows == [("[[32,64,112,112]]",), ("[[32,64,56,56]]",)], rows


def test_tensor_cores(engine):
    """Kernels on tensor cores, other kernels and fills of an op, of the ops and the modules around it."""
    def module(number, name, start, dur, parent):
        return span("python_function", f"nn.Module: {name}", start, dur,
                    **{"Python id": number, "Python parent id": parent, "Python module id": 0})

    events = [module(1, "Net_0", 0, 95_000, None), module(2, "Conv_1", 5000, 80_000, 1),
              span("cpu_op", "aten::conv2d", 10_000, 60_000, **{"External id": 1}),
              span("cpu_op", "aten::cudnn", 15_000, 50_000, **{"External id": 2}),
              span("cpu_op", "aten::relu", 88_000, 5000, **{"External id": 3})]
    for number, (begin, dur, what, name) in enumerate([
            (20_000, 3000, kernel, "volta_h884cudnn"), (21_000, 1000, kernel, "nchw"), (22_000, 1000, copy, "Memset"),
            (12_000, 5000, kernel, "bias"), (89_000, 2000, kernel, "relu")]):
        events += [launch(begin, 500, number + 1), what(100_000 + begin, dur, 7, number + 1, name)]
    connection = opened(engine, events)
    rows = connection.values("SELECT name, device_self_ns, device_ns, tensor_core_ns FROM ops WHERE category = 'op' "
                             "ORDER BY id")
    assert rows == [("aten::conv2d", 5000, 10_000, 3000), ("aten::cudnn", 5000, 5000, 3000),
                    ("aten::relu", 2000, 2000, 0)], rows
    rows = connection.values("SELECT op, tensor_core_self_ratio, tensor_core_sum_ratio FROM tb_operator_summary "
                             "ORDER BY 1")
    assert rows == [("aten::conv2d", 0, 0.3), ("aten::cudnn", 0.6, 0.6), ("aten::relu", 0, 0)], rows
    rows = connection.values("SELECT module, device_self_ns, device_sum_ns FROM module_summary ORDER BY 1")
    assert rows == [("Net_0", 2000, 12_000), ("Net_0.Conv_1", 10_000, 10_000)], rows


GPU = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "numSms": 108, "totalGlobalMem": 1 << 35}


def launched(start, dur, blocks, threads, registers, shared, **args):
    arguments = {"registers per thread": registers, "shared memory": shared, "grid": blocks, "block": threads, **args}
    return kernel(start, dur, **arguments)


def test_occupancy_by_hand(engine):
    """Blocks that fit, worked out by hand from the limits of compute capability 8.0: 64 warps, 32 blocks, 65,536
    registers in four parts, 164 kB of which each block takes one more; and nothing where a fact is missing."""
    events = [
        launched(0, 10, [1080, 1, 1], [512, 1, 1], 40, 400),      # 40 registers: 12 warps in each part, 3 blocks of 16
        launched(20, 10, [54, 2, 1], [128, 1, 1], 16, 0),         # one block on each: 4 warps of 64
        launched(40, 10, [4000, 1, 1], [32, 1, 1], 16, 0),        # 32 blocks of one warp
        launched(60, 10, [216, 1, 1], [128, 1, 1], 32, 73728),    # 73 kB each: two of 4 warps
        launched(80, 10, [216, 1, 1], [33, 1, 1], 255, 0),        # two warps in each part: 4 blocks of two
        launched(100, 10, [216, 1, 1], [128, 1, 1], 32, 1 << 20),  # fits nowhere
        kernel(120, 10),
        launched(140, 10, [1, 1, 1], [64, 1, 1], 32, 0, **{"est. achieved occupancy %": 77}),
    ]
    sql = ("SELECT theoretical_occupancy_ratio, wave_count, blocks_per_multiprocessor, occupancy_ratio FROM kernels "
           "ORDER BY start_ns")
    rows = opened(engine, events[:7], deviceProperties=[GPU]).values(sql)
    near = [tuple(None if value is None else round(value, 6) for value in row) for row in rows]
    assert near == [(0.75, round(10 / 3, 6), 10, 0.75), (1, 0.0625, 1, 0.0625),
                    (0.5, round(4000 / 32 / 108, 6), round(4000 / 108, 6), 0.5), (0.125, 1, 2, 0.125),
                    (0.125, 0.5, 2, 0.0625), (None, None, 2, None), (None,) * 4], near
    rows = opened(engine, events, deviceProperties=[GPU]).values(sql)
    assert rows[-1][0] == 1 and rows[-1][3] == 0.77 and rows[0][3] is None, rows  # a source that says it is believed
    amd = dict(GPU, name="AMD Instinct MI250X", computeMajor=9)
    assert opened(engine, events[:1], deviceProperties=[amd]).values(sql) == [(None, None, 10, None)]
    assert opened(engine, events[:1]).values(sql) == [(None,) * 4]


def test_occupancy_of_kineto(engine):
    """libkineto's estimate, which it rounds to a percent, of every kernel; of one that has more than 48 kB of shared
    memory it says 0."""
    compared = 0
    for name in ("dlrm_a100_control.json.gz", "nccl_a100.json.gz", "resnet50_num_workers_0.pt.trace.json.gz"):
        path = os.path.join(SHARED, "traces", "pytorch", name)
        if not os.path.exists(path):
            continue
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        ((count, worst),) = connection.values(
            "SELECT count(*), max(abs(occupancy_ratio - min(wave_count, 1) * theoretical_occupancy_ratio)) "
            "FROM kernels WHERE dynamic_shared_bytes <= 49152 OR occupancy_ratio > 0")
        assert worst <= 0.005001, (name, worst)
        compared += count
    assert not SHARED or compared > 18000, compared


def test_kernel_stats(engine):
    """Rows and sums of xprof_kernel_stats, grouped once more in Python."""
    path = os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz")
    files = FIXTURES[:]
    if os.path.exists(path):
        files.append(path)
    seen = 0
    for file in files:
        connection = engine()
        connection.values(f"SELECT tfprof_open('{file}')")
        groups = {}
        for row in connection.values(
                "SELECT profile_id, name, op_name, block_x, block_y, block_z, grid_x, grid_y, grid_z, "
                "registers_per_thread, static_shared_bytes, dynamic_shared_bytes, uses_tensor_core, "
                "tensor_core_eligible, dur_ns FROM kernels WHERE step_id IS NULL OR step_id IN "
                "(SELECT id FROM steps WHERE is_warmup IS NOT 1)"):
            groups.setdefault(row[:-1], []).append(row[-1])
        expected = []
        for key, times in groups.items():
            block, grid, static, dynamic = key[3:6], key[6:9], key[10], key[11]
            shared = None if static is None and dynamic is None else (static or 0) + (dynamic or 0)
            size = [None if None in three else ",".join(map(str, three)) for three in (block, grid)]
            expected.append((key[0], key[1], key[9], shared, *size, key[13], key[12], key[2], len(times), sum(times),
                             sum(times) // len(times), min(times), max(times)))
        rows = connection.values(
            "SELECT profile_id, kernel, registers_per_thread, shared_bytes, block, grid, "
            "is_tensor_core_eligible, uses_tensor_core, op, count, sum_ns, mean_ns, min_ns, max_ns, position "
            "FROM xprof_kernel_stats")
        assert sorted(map(repr, expected)) == sorted(repr(row[:-1]) for row in rows), file
        for profile in {row[0] for row in rows}:
            own = [row for row in rows if row[0] == profile]
            assert [row[-1] for row in own] == list(range(1, len(own) + 1)), file
            assert [row[10] for row in own] == sorted((row[10] for row in own), reverse=True), file
        seen += len(rows)
    assert seen > (50 if path in files else 10), seen


def test_memory_pages(engine):
    """memory_summary and memory_breakdown of two devices: what is in use at the first of two equal peaks, what was
    there before the recording, and an allocator that holds more than it gave."""
    def change(time, address, size, in_use, device, reserved):
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": time / 1000,
                "args": {"Total Allocated": in_use, "Total Reserved": reserved, "Bytes": size, "Addr": address,
                         "Device Id": device if device is not None else -1, "Device Type": 0 if device is None else 1}}
    events = [span("cpu_op", "aten::mm", 100, 100), span("cpu_op", "aten::add", 300, 100),
              change(110, 1, 1000, 1500, 0, 4096), change(150, 2, 500, 2000, 0, 4096),
              change(310, 2, -500, 1500, 0, 4096), change(320, 3, 500, 2000, 0, 8192),
              change(330, 4, 64, 64, None, 0), change(600, 1, -1000, 1000, 0, 8192)]
    connection = opened(engine, events, deviceProperties=[GPU])
    rows = connection.values("SELECT memory, allocation_count, deallocation_count, capacity_bytes, peak_bytes, "
                             "heap_bytes, free_bytes, reserved_bytes, reserved_peak_bytes, unused_ratio, "
                             "peak_time_ns - (SELECT min(start_ns) FROM ops) FROM memory_summary")
    assert rows == [("GPU 0", 3, 2, 1 << 35, 2000, 2000, 2096, 4096, 8192, 1 - 2000 / 4096, 50),
                    ("CPU 0", 1, 0, None, 64, 64, None, None, None, None, 230)], rows
    rows = connection.values("SELECT memory, op, bytes, requested_bytes, count, region, peak_ratio "
                             "FROM memory_breakdown")
    assert [row[:6] for row in rows] == [
        ("CPU 0", "aten::add", 64, 64, 1, "unknown"), ("GPU 0", "aten::mm", 1500, None, 2, "unknown"),
        ("GPU 0", None, 500, None, None, "before")], rows
    assert [row[6] for row in rows] == [1, 0.75, 0.25], rows


def test_tensors_of_memory(engine):
    """What tensors pieces hold: as the innermost op was asked for, or as the first one with tensors returns; a device
    gives more than they take, and what an op gives back before it ends need not be one."""
    def piece(time, address, size, device=True):
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": time / 1000,
                "args": {"Bytes": size, "Addr": address, "Device Id": 0 if device else -1, "Device Type": int(device)}}

    def op(name, start, dur, shapes, types, values=None):
        return span("cpu_op", name, start, dur, **{"Input Dims": shapes, "Input type": types},
                    **({"Concrete Inputs": values} if values else {}))
    empty = [[]] * 6, ["ScalarList", "Scalar", "Scalar", "Scalar", "", ""]
    events = [
        span("user_annotation", "ProfilerStep#1", 0, 10_000),
        op("aten::mm", 100, 100, [[32, 10], [10, 65]], ["float", "float"]),
        piece(110, 1 << 20, 8704), piece(120, 2 << 20, 8704), piece(150, 2 << 20, -8704),
        op("aten::randn", 300, 100, [[], []], ["ScalarList", ""], ["[7, 3]", ""]),
        op("aten::empty", 310, 50, *empty, ["[7, 3]", "15", "0", "", "", ""]), piece(320, 3 << 20, 42, device=False),
        op("aten::clone", 500, 100, [[5, 4]], ["double"]),
        op("aten::empty_like", 505, 50, [[5, 4]], ["double"]),
        op("aten::empty", 510, 20, *empty), piece(520, 4 << 20, 512), piece(560, 5 << 20, 1024),
    ]
    rows = opened(engine, events, deviceProperties=[GPU]).values(
        "SELECT bytes, dtype, shape, tensor_bytes FROM allocations ORDER BY id")
    assert rows == [(8704, "float32", "32x65", 8320), (8704, None, None, None), (42, "bfloat16", "7x3", 42),
                    (512, "float64", "5x4", 160), (1024, None, None, None)], rows
    rows = opened(engine, events, deviceProperties=[GPU]).values(
        "SELECT memory, op, bytes, requested_bytes, dtype, shape FROM memory_breakdown")
    assert rows == [
        ("CPU 0", "aten::empty", 42, 42, "bfloat16", "7x3"), ("GPU 0", "aten::mm", 8704, 8320, "float32", "32x65"),
        ("GPU 0", "aten::mm", 8704, None, None, None)], rows


def test_precision(engine):
    """Names of kernels as libraries write them, and of those that tell nothing the inputs of the op."""
    names = {
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn": "16 bit",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16> >": "16 bit",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >": "32 bit",
        "turing_h1688gemm_256x128_ldg8_nn": "16 bit", "volta_sgemm_64x64_nn": "32 bit",
        "volta_dgemm_64x64_nn": "64 bit",
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32": "16 bit",
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32": "32 bit",
        "void sm90_gemm_e4m3_bf16": "8 bit", "triton_poi_fused_0": "16 bit", "triton_poi_fused_1": "unknown",
    }
    events = [span("cpu_op", "aten::add", 0, 50, **{"External id": 7, "Input type": ["c10::Half", ""]})]
    expected = {}
    for place, (name, precision) in enumerate(names.items()):
        events.append(kernel(1000 + 100 * place, 1 + place, 7, place + 1, name,
                             **({"External id": 7} if name == "triton_poi_fused_0" else {})))
        events.append(launch(place if name == "triton_poi_fused_0" else 500 + place, 1, place + 1))
        count, total = expected.get(precision, (0, 0))
        expected[precision] = (count + 1, total + 1 + place)
    events.append(kernel(9000, 1000, 8, 99, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"))  # computes nothing
    rows = opened(engine, events).values("SELECT precision, count, sum_ns, sum_ratio FROM precision_breakdown")
    assert {row[0]: row[1:3] for row in rows} == expected, (rows, expected)
    whole = sum(total for _, total in expected.values())
    assert all(abs(row[3] - row[2] / whole) < 1e-9 for row in rows), rows


def test_compilations(engine):
    """Phases that lie inside one another count once, each step has its own, and names that only look like one none."""
    def phase(name, start, dur, tid=1):
        return span("cpu_op", name + " (dynamo_timed)", start, dur, tid=tid)
    events = [span("user_annotation", f"ProfilerStep#{i}", 10_000 + 10_000 * i, 10_000) for i in range(3)]
    events += [phase("_compile.compile_inner", 11_000, 5000), phase("compile_fx_inner", 12_000, 3000),
               phase("GraphLowering.run", 13_000, 1000), phase("async_compile.wait", 14_000, 4000, tid=2),
               phase("create_aot_dispatcher_function", 31_000, 500),
               span("cpu_op", "aten::add (dynamo_timed) ", 25_000, 9),
               phase("", 26_000, 9), phase("_compile.compile_inner", 1000, 100)]
    connection = opened(engine, events)
    rows = connection.values("SELECT number, dur_ns, compile_ns, compile_ratio, count, inductor_ns FROM "
                             "compilation_summary")
    assert rows == [(None, None, 100, None, 1, 0), (0, 10_000, 7000, 0.7, 4, 6000),
                    (2, 10_000, 500, 0.05, 1, 0)], rows
    rows = connection.values("SELECT name, kind FROM compilations ORDER BY start_ns LIMIT 3")
    assert rows == [("_compile.compile_inner", "dynamo"), ("_compile.compile_inner", "dynamo"),
                    ("compile_fx_inner", "inductor")], rows
    rows = connection.values("SELECT number, cpu_ns, host_compute_ns, compile_ns FROM _step_parts")
    assert rows == [(0, 7000, 0, 7000), (1, 18, 18, 0), (2, 500, 0, 500)], rows  # those of no name are ops
    connection = opened(engine, events[:3])
    assert connection.values("SELECT * FROM compilation_summary") == []


def change(at, size, **arguments):
    """A piece of the CPU's memory that came or, below 0, went, without totals."""
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at / 1000,
            "args": {"Bytes": size, "Device Type": 0, "Device Id": -1, **arguments}}


MEMORY = "SELECT category, bytes, device_bytes FROM memory_timeline"


def test_memory_without_addresses(engine):
    """Nobody knows which piece went: all is unknown, never below nothing, and nothing is called live or kept."""
    events = [span("user_annotation", f"ProfilerStep#{i}", 100_000 * i, 100_000) for i in range(12)]
    for i in range(12):
        at = 100_000 * i
        events += [span("cpu_op", "aten::empty", at + 1000, 90_000), change(at + 2000, 3 << 20),
                   change(at + 50_000, -(1 << 20)), change(at + 60_000, -(2 << 20))]
    connection = opened(engine, events)
    levels = [3 << 20, 2 << 20, 0]
    assert connection.values(MEMORY) == [("unknown", level, level) for level in levels * 12]
    assert connection.values("SELECT count(*), count(region) FROM allocations") == [(12, 0)]
    rows = connection.values("SELECT allocation_count, deallocation_count, peak_bytes, heap_bytes, number FROM "
                             "memory_summary "
                             "JOIN steps ON steps.id = step_id")
    assert rows == [(12, 24, 3 << 20, 3 << 20, 0)], rows
    rows = connection.values("SELECT op, bytes, count, region, peak_ratio FROM memory_breakdown")
    assert rows == [(None, 3 << 20, None, "unknown", 1.0)], rows
    for view in ("memory_by_op", "memory_by_line"):
        rows = connection.values(f"SELECT count, bytes, live_count, live_bytes FROM {view}")
        assert rows == [(12, 36 << 20, None, None)], (view, rows)
    assert connection.values("SELECT message FROM advise WHERE check_name = 'memory_kept'") == []
    # What was there before is the least that there can have been.
    connection = opened(engine, events + [change(500, -(5 << 20))])
    assert connection.values(MEMORY)[:2] == [("unknown", 0, 0), ("unknown", 3 << 20, 3 << 20)]
    connection = opened(engine, events + [change(70_000, -(5 << 20))])
    assert connection.values(MEMORY)[:5] == [("unknown", level << 20, level << 20) for level in (8, 7, 5, 0, 3)]
    assert connection.values("SELECT peak_bytes FROM memory_summary") == [(8 << 20,)]


def test_memory_without_totals(engine):
    """With addresses the pieces at the peak are known, and what was released without being allocated before is too."""
    events = [span("user_annotation", f"ProfilerStep#{i}", 100_000 * i, 100_000) for i in range(2)]
    events += [span("cpu_op", "aten::empty", 1000, 90_000), change(2000, 300, Addr=1 << 20),
               change(3000, 50, Addr=2 << 20), change(4000, -50, Addr=2 << 20), change(5000, -70, Addr=3 << 20),
               change(150_000, -300, Addr=1 << 20)]
    connection = opened(engine, events)
    assert [row[2] for row in connection.values(MEMORY)] == [370, 420, 370, 300, 0]
    assert min(row[1] for row in connection.values(MEMORY)) == 0
    assert connection.values("SELECT peak_bytes, heap_bytes FROM memory_summary") == [(420, 420)]
    rows = connection.values("SELECT op, bytes, count, region FROM memory_breakdown")
    assert rows == [("aten::empty", 300, 1, "activation"), (None, 70, 1, "before"),
                    ("aten::empty", 50, 1, "temporary")], rows
    rows = connection.values("SELECT op, live_count, live_bytes FROM memory_by_op")
    assert rows == [("aten::empty", 0, 0), (None, 0, 0)], rows


def test_memory_of_operators(engine):
    """tb_operator_memory against each event added to the ops around it; an op that calls one of
    its own name only is one call."""
    for seed in range(4):
        randomly, events, spans, address = random.Random(seed), [], [], 0
        for number in range(40):
            begin, dur = number * 100_000, 90_000
            for depth in range(randomly.randrange(1, 5)):
                name = randomly.choice(("aten::a", "aten::b", "aten::c"))
                spans.append((begin + 1000 * depth, begin + dur - 1000 * depth, name))
                events.append(span("cpu_op", name, spans[-1][0], spans[-1][1] - spans[-1][0],
                                   **{"External id": len(spans)}))
        changes, held = [], []
        for at in sorted(randomly.sample(range(500, 4_000_000, 1000), 400)):
            if held and randomly.random() < 0.4:
                where, size = held.pop(randomly.randrange(len(held)))
                changes.append((at, -size))
            else:
                address += 1 << 20
                where, size = address, randomly.randrange(1, 999)
                held.append((where, size))
                changes.append((at, size))
            events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1,
                           "ts": at / 1000,
                           "args": {"Addr": where, "Bytes": changes[-1][1], "Device Type": 0, "Device Id": -1}})
        wanted = {}
        for i, (begin, end, name) in enumerate(spans):
            is_repeated = i > 0 and spans[i - 1][2] == name and spans[i - 1][0] < begin < spans[i - 1][1]
            inside = [size for at, size in changes if begin <= at < end]
            deeper = spans[i + 1][:2] if i + 1 < len(spans) and spans[i + 1][0] < end else (0, 0)
            own = [size for at, size in changes if begin <= at < end and not deeper[0] <= at < deeper[1]]
            row = wanted.setdefault(name, [0] * 7)
            whole = not is_repeated
            grown, grown_own = ([size for size in sizes if size > 0] for sizes in (inside, own))
            for place, value in enumerate((whole, whole * sum(inside), sum(own), whole * len(grown), len(grown_own),
                                           whole * sum(grown), sum(grown_own))):
                row[place] += value
        rows = opened(engine, events).values(
            "SELECT op, count, increase_bytes, increase_self_bytes, allocation_count, allocation_self_count, "
            "allocated_bytes, allocated_self_bytes FROM tb_operator_memory ORDER BY 1")
        assert rows == [(name, *row) for name, row in sorted(wanted.items())], (seed, rows, wanted)


def test_run_summary(engine):
    """The lines say what the views say; without steps, devices or anything there are fewer, and none is wrong."""
    device = {"deviceProperties": [GPU]}
    events = []
    for step in range(3):
        start = 1_000_000 * (step + 1)
        events += [span("user_annotation", f"ProfilerStep#{step}", start, 900_000 + 10_000 * step),
                   span("cpu_op", "aten::mm", start + 1000, 300_000),
                   span("cpu_op", "aten::add", start + 400_000, 100_000), launch(start + 2000, 1000, step + 1),
                   kernel(start + 10_000, 400_000, correlation=step + 1)]
    connection = opened(engine, events, **device)
    told = dict(connection.values("SELECT title, text FROM run_summary"))
    assert list(told) == ["run", "steps", "step times", "time", "ops", "devices"], told
    assert told["run"] == "pytorch, 1 process, 2.92 ms, 6 ops, 3 kernels", told
    median, p95 = connection.values("SELECT format_ns(median_ns), format_ns(p95_ns) FROM step_summary")[0]
    assert told["steps"].startswith(f"3, median {median}, 95 % within {p95}, 995 a second, 95.0 µs between them"), told
    assert told["step times"] == "▁▅█  900 µs … 920 µs", told
    assert told["ops"] == "aten::mm 75 %, aten::add 25 % of the op time", told
    shares = connection.values("SELECT 100.0 * sum(kernel_ns) / sum(dur_ns), 100.0 * sum(other_ns) / sum(dur_ns) "
                               "FROM step_breakdown")[0]
    assert told["time"].startswith(f"other {shares[1]:.0f} %, kernels {shares[0]:.0f} %, host "), (told, shares)
    busy = connection.values("SELECT 100 * utilization_ratio FROM device_utilization")[0][0]
    assert told["devices"].startswith(f"GPU 0 (NVIDIA A100) busy {busy:.0f} %"), told
    connection.close()
    long_name = "outer::" * 10 + "inner::op"  # of which the end tells most
    connection = opened(engine, [span("cpu_op", long_name, 1000, 300)], **device)
    told = dict(connection.values("SELECT title, text FROM run_summary"))
    assert told["ops"] == f"…{long_name[-47:]} 100 % of the op time", told
    connection.close()
    with tempfile.TemporaryDirectory(prefix="tfprof-summary-") as directory:
        for pid, (line, dur) in enumerate((("train.py(3): step", 60_000), ("data.py(5): item", 20_000)), 1):
            write(os.path.join(directory, f"{pid}.json"), [
                dict(event, pid=pid) for event in (
                    span("python_function", line, 0, 100_000, **{"Python id": 1, "Python parent id": None}),
                    span("cpu_op", "aten::mm", 1000, dur))])
        connection = engine()
        connection.values(f"SELECT tfprof_open('{directory}/*.json')")
        told = dict(connection.values("SELECT title, text FROM run_summary"))
        assert told["lines"] == "train.py:3 75 %, data.py:5 25 % of the op time", told
        connection.close()
    connection = opened(engine, [kernel(10, 40)], **device)
    assert [row[0] for row in connection.values("SELECT title FROM run_summary")] == ["run", "devices"]
    connection.close()
    connection = engine()
    assert connection.values("SELECT * FROM run_summary") == []
    connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
