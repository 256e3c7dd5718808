#!/usr/bin/env python3
"""test_device_checks.py: the checks of devices speak of traces that have the fault, with the numbers that a count by
hand over the events gives, and are silent about traces that have not; the same on real traces.

Each fault is a trace of torch.profiler of ten steps of 1 ms. The count by hand reads the events themselves.
"""

import gzip
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from made_traces import SHARED, copy, kernel, launch, opened, span

CHECKS = ("device_waits", "device_gaps", "launch_bound", "pageable_copies", "blocking_copies", "tensor_cores")
STEPS, STEP = 10, 1_000_000
PAGEABLE, PINNED = "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"
A100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 1 << 35, "computeMajor": 8,
                              "computeMinor": 0, "numSms": 108}]}


def trace(of_step, steps=STEPS):
    """Events of so many steps; of_step(number, begin, next correlation) makes those of one."""
    events, correlation = [], 0

    def number():
        nonlocal correlation
        correlation += 1
        return correlation

    for step in range(steps):
        begin = step * STEP
        events.append(span("user_annotation", f"ProfilerStep#{step}", begin, STEP))
        events += of_step(step, begin, number)
    return events


def said(engine, events, **members):
    """{check: (value, saves_ns, message)}"""
    connection = opened(engine, events, **{**A100, **members})
    rows = connection.values("SELECT check_name, value, saves_ns, message, evidence FROM advise WHERE check_name IN "
                             f"{CHECKS}")
    for row in rows:
        assert 0 < len(connection.values(row[4])) <= 50, row
    return {row[0]: row[1:4] for row in rows}


def near(found, wanted):
    return abs(found - wanted) <= 1e-9 * abs(wanted)


def busy(begin, number, until=STEP, name="volta_sgemm", op=None):
    """A kernel that was launched long before and fills the rest of the step."""
    events = [launch(begin, 1000, at := number()), kernel(begin + 2000, until - 2000, correlation=at, name=name)]
    if op:
        events.insert(0, span("cpu_op", op, begin, 2000, **{"External id": at}))
        for event in events[1:]:
            event["args"]["External id"] = at
    return events


def test_nothing_to_say(engine):
    found = said(engine, trace(lambda step, begin, number: busy(begin, number)))
    assert found == {}, found
    assert said(engine, []) == {}


def test_pageable(engine):
    def step(_number, begin, number, name=PAGEABLE, call="cudaMemcpyAsync", bytes=1 << 20, dur=50_000):
        at = number()
        return [*busy(begin, number), launch(begin + 100_000, dur, at, call),
                copy(begin + 110_000, 30_000, 8, at, name, bytes=bytes)]

    (value, saves, message) = said(engine, trace(step))["pageable_copies"]
    assert near(value, 0.04) and saves == 10 * 40_000, (value, saves)
    assert "copies from pageable memory hold up the host for 4.0 % of the step time, 40.0 µs a step: 1 copy of " \
        "1.00 MiB" in message, message
    for change in ({"name": PINNED}, {"bytes": 65536}, {"dur": 10_900}):
        found = said(engine, trace(lambda *a: step(*a, **change)))  # noqa: B023
        assert "pageable_copies" not in found and "blocking_copies" not in found, (change, found)
    # To the host only what call and copy have in common counts.
    (value, saves, message) = said(engine, trace(
        lambda *a: step(*a, name="Memcpy DtoH (Device -> Pageable)")))["pageable_copies"]
    assert saves == 10 * 30_000 and "copies to pageable memory" in message, (saves, message)


def test_blocking(engine):
    def step(_number, begin, number, count=1, name=PINNED, call="cudaMemcpy", bytes=1 << 20, dur=50_000):
        events = busy(begin, number)
        for place in range(count):
            at, start = number(), begin + 100_000 * (place + 1)
            events += [launch(start, dur, at, call), copy(start + 1000, dur - 2000, 8, at, name, bytes=bytes)]
            events[-1]["cat"] = "gpu_memset" if "Memset" in name else "gpu_memcpy"
        return events

    (value, saves, message) = said(engine, trace(step))["blocking_copies"]
    assert near(value, 0.05) and saves == 10 * 50_000, (value, saves)
    assert "most by cudaMemcpy" in message and "the host waits for copies during 5.0 %" in message, message
    # Few and short: silent; many and short: not.
    assert "blocking_copies" not in said(engine, trace(lambda *a: step(*a, dur=9000)))
    assert said(engine, trace(lambda *a: step(*a, dur=4000, count=4)))["blocking_copies"][1] == 10 * 16_000
    for change in ({"call": "cudaMemcpyAsync"}, {"bytes": 65536}, {"name": "Memcpy DtoD (Device -> Device)"},
                   {"name": "Memset (Device)", "call": "cudaMemset"}):
        found = said(engine, trace(lambda *a: step(*a, **change)))  # noqa: B023
        assert "blocking_copies" not in found, (change, found)
    for name in ("Memset (Managed)", "Memset (Pinned)"):
        found = said(engine, trace(lambda *a: step(*a, name=name, call="cudaMemset")))  # noqa: B023
        assert found["blocking_copies"][1] == 10 * 50_000 and "waits for fills" in found["blocking_copies"][2], found
        assert "blocking_copies" not in said(engine, trace(
            lambda *a: step(*a, name=name, call="cudaMemsetAsync")))  # noqa: B023


def test_gaps(engine):
    def step(number_of_step, begin, number, gap=200_000, waits=False, reason_launch=None):
        at, then = number(), number()
        late = begin + 300_000 + gap
        events = [launch(begin, 1000, at), kernel(begin + 2000, 298_000, correlation=at),
                  launch(late - 3000 if reason_launch is None else begin + reason_launch, 1000, then),
                  kernel(late, begin + STEP - late, correlation=then)]
        if waits:
            events.append(launch(begin + 10_000, 300_000, number(), "cudaDeviceSynchronize"))
        return events

    found = said(engine, trace(step))
    # Beside the gap of each step 2 µs lie before its first kernel, which was launched in them.
    assert set(found) == {"device_gaps"} and found["device_gaps"][:2] == (0.2, 10 * 200_000), found
    assert "GPU 0 has nothing to do for 20 % of the step time, 200 µs a step" in found["device_gaps"][2], found
    found = said(engine, trace(lambda *a: step(*a, waits=True)))
    assert set(found) == {"device_waits"} and found["device_waits"][:2] == (0.2, 10 * 200_000), found
    assert said(engine, trace(lambda *a: step(*a, reason_launch=5000))) == {}  # it was another stream's turn
    assert said(engine, trace(lambda *a: step(*a, gap=40_000))) == {}
    # Waiting for input is told by input_loading.
    events = trace(step)
    for number in range(STEPS):
        events.append(span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                           number * STEP + 310_000, 150_000))
    assert said(engine, events) == {}


def test_utilization(engine):
    """Kernels that run for a share of each step, two of them at once for half of that: together they count once."""
    def step(_number, begin, number, busy_ns):
        first, second = number(), number()
        return [launch(begin, 1000, first), launch(begin + 1000, 1000, second),
                kernel(begin + 5000, busy_ns, correlation=first),
                kernel(begin + 5000 + busy_ns // 2, busy_ns - busy_ns // 2, stream=8, correlation=second)]

    asked = "SELECT severity, value, threshold FROM advise WHERE check_name = 'accelerator_utilization'"
    for busy_ns, severity in ((300_000, "warning"), (490_000, "warning"), (510_000, "info"), (900_000, "info")):
        connection = opened(engine, trace(lambda *a: step(*a, busy_ns=busy_ns)), **A100)  # noqa: B023
        ((found, value, threshold),) = connection.values(asked)
        assert found == severity and near(value, 1 - busy_ns / STEP), (busy_ns, found, value)
        assert threshold == min(value, 0.5), threshold


def test_launch_bound(engine):
    """A hundred kernels of 4 µs, one in 10 µs."""
    def step(number_of_step, begin, number, names=1, until=STEP):
        events = []
        for place in range(0, until, 10_000):
            at = number()
            events += [launch(begin + place, 5000, at),
                       kernel(begin + place + 6000, 4000, correlation=at, name=f"add_{number_of_step % names}",
                              grid=[4, 1, 1], block=[128, 1, 1])]
        return events

    found = said(engine, trace(step))
    count = STEPS * 100 - 1  # gaps: none before the first
    assert set(found) == {"launch_bound"} and found["launch_bound"][1] == count * 5000, found
    assert near(found["launch_bound"][0], count * 6000 / (STEPS * STEP)), found
    assert "100 kernels a step take 4.00 µs each, and 100 % of them are the same in every step" \
        in found["launch_bound"][2], found
    connection = opened(engine, trace(step))
    asked = "SELECT suggestion FROM launch_bound"
    assert "CUDA graph and launch that" in connection.values(asked)[0][0], connection.values(asked)
    connection = opened(engine, trace(lambda *a: step(*a, names=2)))
    assert connection.values(asked)[0][0].startswith("Launch fewer"), connection.values(asked)
    assert "0 % of them are the same" in connection.values("SELECT message FROM launch_bound")[0][0]
    assert said(engine, trace(lambda *a: step(*a, until=100_000) + busy(a[1] + 100_000, a[2], STEP - 100_000))) == {}


def test_tensor_cores(engine):
    def step(number_of_step, begin, number, eligible=500_000, name="volta_sgemm_128x64", op="aten::mm"):
        return [*busy(begin, number, eligible, name, op),
                *busy(begin + eligible, number, STEP - eligible, "elementwise", "aten::add")]

    found = said(engine, trace(step))
    total = STEPS * (498_000 + 498_000)
    assert set(found) == {"tensor_cores"} and near(found["tensor_cores"][0], STEPS * 498_000 / total), found
    assert found["tensor_cores"][1] == STEPS * 249_000 and "most in aten::mm" in found["tensor_cores"][2], found
    assert said(engine, trace(lambda *a: step(*a, eligible=90_000))) == {}
    for name in ("volta_h884gemm_128x64", "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw",
                 "sm80_xmma_wgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32",
                 "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_4gemm4warp11MmaTensorOpI",
                 "Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN_LDSB0",
                 "void cudnn::ops::nchwToNhwcKernel<float, float>", "void cudnn::ops::nhwcToNchwKernel<float, float>"):
        assert said(engine, trace(lambda *a: step(*a, name=name))) == {}, name  # noqa: B023
    for name in ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_ffma_kernel",
                 "_ZN7cutlass6KernelINS_4arch11OpClassSimtE", "Cijk_Ailk_Bjlk_SB_MT64x16x16_SN_K1"):
        assert set(said(engine, trace(lambda *a: step(*a, name=name)))) == {"tensor_cores"}, name  # noqa: B023
    # What is hardly part of a step is not worth a word; what takes a little of it is no warning.
    for until, severity in ((9_000, []), (30_000, [("info",)]), (80_000, [("warning",)])):
        connection = opened(engine, trace(lambda _s, begin, number: busy(
            begin, number, until + 2000, "volta_sgemm_128x64", "aten::mm")), **A100)  # noqa: B023
        assert connection.values("SELECT severity FROM advise WHERE check_name = 'tensor_cores'") == severity, until
    assert said(engine, trace(lambda *a: step(*a, op="aten::add"))) == {}
    for major, wanted in ((7, "dtype=torch.float16"), (8, "dtype=torch.bfloat16")):
        connection = opened(engine, trace(step), deviceProperties=[{**A100["deviceProperties"][0],
                                                                    "computeMajor": major, "computeMinor": 0}])
        ((suggestion,),) = connection.values("SELECT suggestion FROM temp.tensor_cores")
        assert wanted in suggestion, (major, suggestion)
    old = {"deviceProperties": [{**A100["deviceProperties"][0], "computeMajor": 6}]}
    assert said(engine, trace(step), **old) == {}


def test_without_steps(engine):
    """The whole time stands for the step."""
    events = [event for event in trace(lambda _s, begin, number: busy(begin, number, 500_000))
              if event["cat"] != "user_annotation"]
    # From the first launch to the last end, and ten gaps less one of 502 µs.
    whole, idle = 9 * STEP + 500_000, 9 * 502_000
    found = said(engine, events)
    assert set(found) == {"device_gaps"} and near(found["device_gaps"][0], idle / whole), found
    assert found["device_gaps"][1] == idle and "of the time, 4.52 ms in all" in found["device_gaps"][2], found


# ---- Real traces.


def events_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        text = json.load(file)
    old = {"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime",
           "Operator": "cpu_op"}
    return [{**event, "cat": old.get(event.get("cat"), event.get("cat"))}
            for event in (text["traceEvents"] if isinstance(text, dict) else text)
            if event.get("ph") == "X" and "dur" in event]


def ns(event):
    start, dur = round(event["ts"] * 1000), round(event["dur"] * 1000)
    return start, start + dur


def gaps_by_hand(events):
    """(gap, what the device lacked: host or wait, or other) of all of a trace with one device."""
    calls = {event["args"]["correlation"]: event for event in events if event.get("cat") in ("cuda_runtime",
             "cuda_driver") and "correlation" in event.get("args", {})}
    work = sorted((ns(event) + (event,) for event in events
                   if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")), key=lambda w: w[:2])
    waits = [ns(call) for call in calls.values() if "Synchronize" in call["name"]]
    for _, end, event in work:
        call = calls.get(event["args"].get("correlation"))
        if event["cat"] == "gpu_memcpy" and "DtoH" in event["name"] and call and ns(call)[1] >= end:
            waits.append(ns(call))
    until = None
    for start, end, event in work:
        call = calls.get(event["args"].get("correlation"))
        if until is not None and start > until and call:
            is_host = ns(call)[1] > until
            is_wait = any(a <= until <= b for a, b in waits)
            yield start - until, "wait" if is_host and is_wait else "host" if is_host else "device"
        until = end if until is None else max(until, end)


def test_real_gaps_once(engine):
    for name in ("critical_path_simple_add.json.gz", "nccl_a100.json.gz", "sampled_rank-0.json.gz"):
        if not SHARED:
            print("left out: real traces, without TFPROF_SHARED")
            return
        path = os.path.join(SHARED, "traces", "pytorch", name)
        wanted = {}
        for gap, reason in gaps_by_hand(events_of(path)):
            count, total = wanted.get(reason, (0, 0))
            wanted[reason] = count + 1, total + gap
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        found = {row[0]: row[1:] for row in connection.values(
            "SELECT reason, count(*), sum(gap_ns) FROM gap_causes WHERE reason IS NOT NULL GROUP BY 1")}
        assert set(found) == set(wanted), (name, found, wanted)
        for reason, (count, total) in wanted.items():  # times in µs with fractions are rounded, each of two
            assert found[reason][0] == count and abs(found[reason][1] - total) <= count, (name, found, wanted)
        connection.close()


def test_real_tensor_cores_once(engine):
    """resnet50 in float32 on a V100: what its eligible ops launch is told from the events."""
    if not SHARED:
        return
    path = os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz")
    events = events_of(path)
    ops = {event["args"]["External id"]: event["name"] for event in events
           if event.get("cat") == "cpu_op" and "External id" in event.get("args", {})}
    eligible = {"aten::conv2d", "aten::cudnn_convolution", "aten::cudnn_convolution_backward_weight",
                "aten::cudnn_convolution_backward_input", "aten::addmm", "aten::mm", "aten::_convolution",
                "aten::convolution", "aten::matmul", "aten::linear", "aten::bmm", "aten::cudnn_convolution_backward"}
    kernels = [event for event in events if event.get("cat") == "kernel"]
    without = sum(ns(event)[1] - ns(event)[0] for event in kernels
                  if ops.get(event["args"].get("external id")) in eligible
                  and "nchwToNhwc" not in event["name"] and "nhwcToNchw" not in event["name"])
    whole = sum(ns(event)[1] - ns(event)[0] for event in kernels)
    connection = engine()
    connection.values(f"SELECT tfprof_open('{path}')")
    ((value, saves),) = connection.values("SELECT value, saves_ns FROM advise WHERE check_name = 'tensor_cores'")
    assert near(value, without / whole) and abs(saves - without / 2) < 1000, (value, saves, without, whole)
    # Copies from pageable memory: twelve, of which those beyond 64 KiB hold up the host beyond 10 µs.
    calls = {event["args"]["correlation"]: ns(event) for event in events if event.get("cat") == "cuda_runtime"
             and event["name"] == "cudaMemcpyAsync"}
    blocked = 0
    for event in events:
        if event.get("cat") == "gpu_memcpy" and "Pageable" in event["name"] and event["args"]["bytes"] > 65536:
            start, end = calls[event["args"]["correlation"]]
            blocked += max(0, end - start - 10_000)
    ((saves,),) = connection.values("SELECT saves_ns FROM advise WHERE check_name = 'pageable_copies'")
    assert saves == blocked, (saves, blocked)


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
