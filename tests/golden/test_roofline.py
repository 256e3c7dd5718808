#!/usr/bin/env python3
"""test_roofline.py: rates of ops against the peaks of their devices: XProf's roofline model, and numbers made by hand.

The recordings and XProf's output are among the shared traces; without these only the files that are made here are
looked at. No recording tells operations or bytes of kernels, so rates are compared with what is made here; what XLA
compiled for a CPU has a roofline here and none in XProf.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sql"))
from asking import check, query, run_tests
from made_traces import kernel, launch, span, write
from test_xprof import GOLDEN, golden_tables, is_close, of_all_hosts, recordings
from xplane_files import Ref, event, line, plane, space

A100 = {"gpu_device_name": "NVIDIA A100-SXM4-40GB", "core_count": 108, "clock_rate": 1_410_000, "compute_cap_major": 8,
        "compute_cap_minor": 0, "memory_bandwidth": 1_555_200_000_000, "device_vendor": "Nvidia"}


def test_against_xprof(_folder):
    """The program's time, each kernel's count, time and share, and the peaks."""
    compared = 0
    for name, path in recordings():
        tables = golden_tables(name, "roofline_model")
        if name == "gpu_edge_a" or not tables:
            continue  # its times are less than what is lost by rounding
        expected = [row for table in tables for row in table
                    if row.get("step") == "Total" and row["include_infeed_outfeed"]]
        condition = of_all_hosts(path) or " WHERE 1"
        left = {(row["op_type"], f"{row['op']}/{row['kernel']}"): row for row in query(
            path, f"SELECT * FROM roofline{condition} AND (op IS NOT NULL OR position = 0)")}
        program = left.pop((None, "None/None"), None)
        if name == "jax_a":
            assert program["flops"] > 0 and not expected, (name, program)
            continue
        assert bool(program) == bool(expected), (name, program)
        for row in expected:
            here = program if row["category"] == "Program" else left.pop((row["category"], row["operation"]))
            slack = 2 * row["occurrences"] + 20
            assert abs(here["sum_ns"] - row["total_time"] * 1000) <= slack, (name, here, row)
            assert is_close(here["sum_ratio"], row["total_time_in_percentage"], 1e-4), (name, here, row)
            assert row["category"] == "Program" or here["count"] == row["occurrences"], (name, here, row)
            check((here["flops"], here["bound_by"]), (None, None), name)
            compared += 1
        assert not left, (name, left)
        with open(os.path.join(GOLDEN, "golden", name, "roofline_model.json"), encoding="utf-8") as file:
            peaks = json.load(file)[0]["p"]
        for row in [program] if program else []:
            assert is_close(row["peak_flops_per_second"] / 1e9, float(peaks["peak_flop_rate"]), 1), (name, row, peaks)
            assert is_close(row["peak_bytes_per_second"] / 2**30, float(peaks["peak_hbm_bw"]), 0.01), (name, row, peaks)
            assert is_close(row["ridge_flops_per_byte"], float(peaks["hbm_ridge_point"]), 0.001), (name, row, peaks)
    assert compared > 50 or not os.path.isdir(GOLDEN), compared


def of_gpu(host, kernels):
    """A host's recording of a GPU; kernels are (name, op, begin, length in microseconds, operations, bytes)."""
    events = []
    for i, (name, op, at, dur, flops, moved) in enumerate(kernels):
        told = {key: value for key, value in (("flops", flops), ("bytes_accessed", moved)) if value is not None}
        events.append(event(name, at * 1_000_000, dur * 1_000_000, correlation_id=i + 1, tf_op=Ref(op), **told))
    return space(plane("/host:CPU", [line(1, "main", [event("train", 0, 100_000_000, _r=1, step_num=4)] + [
        event("cuLaunchKernel", 1_000_000 * i, 500_000, correlation_id=i + 1) for i in range(len(kernels))])]),
        plane("/device:GPU:0", [line(1, "Stream #1(Compute)", events)], A100), host=host)


def test_what_bounds(folder):
    """Rates, intensity, what bounds and efficiency of kernels that tell their operations and bytes, of the program, of
    several hosts; NULL where a kernel does not tell."""
    peak, memory = 108 * 1.41e9 * 2048, 1.5552e12
    run = os.path.join(folder, "plugins", "profile", "one")
    os.makedirs(run)
    of_a = [("gemm", "mul:MatMul", 0, 10, 2_000_000_000, 4_000_000),
            ("gemm", "mul:MatMul", 10, 10, 1_000_000_000, 2_000_000),
            ("copy", "act:Relu", 20, 5, 1_000, 6_000_000), ("odd", "act:Relu", 25, 15, None, None),
            ("half", "sum:Sum", 40, 10, 500, None)]
    for host, kernels in (("a", of_a), ("b", of_a[:1])):
        with open(os.path.join(run, host + ".xplane.pb"), "wb") as file:
            file.write(of_gpu(host, kernels))
    rows = {(row["host"], row["kernel"]): row for row in query(run, "SELECT * FROM roofline")}
    check(len(rows), 12, "rows")
    check([rows["a", name]["position"] for name in (None, "gemm", "odd", "half", "copy")], [0, 1, 2, 3, 4], "positions")

    def holds(host, name, time_us, flops, moved, told_us=None):
        row, told_us = rows[host, name], told_us or time_us
        check((row["sum_ns"], row["flops"], row["bytes_accessed"]), (time_us * 1000, flops, moved), (host, name))
        computing = flops / told_us * 1e6 / peak if flops else None
        moving = moved / told_us * 1e6 / memory if moved else None
        for column, value in (("compute_efficiency", computing), ("memory_efficiency", moving),
                              ("roofline_efficiency", max(computing, moving) if computing and moving else None),
                              ("flops_per_byte", flops / moved if flops and moved else None)):
            assert (row[column] is None) == (value is None), (host, name, column, row)
            assert value is None or abs(row[column] - value) <= 1e-9 * value, (host, name, column, row, value)
        bound = None if computing is None or moving is None else "compute" if computing >= moving else "memory"
        check(row["bound_by"], bound, (host, name, "bound by"))

    holds("a", "gemm", 20, 3_000_000_000, 6_000_000)
    holds("a", "copy", 5, 1_000, 6_000_000)
    holds("a", "odd", 15, None, None)
    holds("a", "half", 10, 500, None)
    holds("a", None, 50, 3_000_001_500, 12_000_000)
    holds("b", "gemm", 10, 2_000_000_000, 4_000_000)
    holds("ALL_HOSTS", "gemm", 30, 5_000_000_000, 10_000_000)
    holds("ALL_HOSTS", None, 60, 5_000_001_500, 16_000_000)
    check({(row["host"], row["op"]): row["bound_by"] for row in query(
        run, "SELECT * FROM xprof_op_stats WHERE side = 'device' AND is_idle = 0 AND host <> 'b'")},
          {(host, name): bound for host in ("a", "ALL_HOSTS")
           for name, bound in (("mul", "compute"), ("act", "memory"), ("sum", None))}, "xprof_op_stats")
    check([(row["number"], row["flops"], row["device_count"]) for row in query(run, "SELECT * FROM mfu")],
          [(4, 3_000_001_500, 1), (4, 2_000_000_000, 1)], "mfu")
    found = query(run, "SELECT mfu FROM mfu")[0]["mfu"]
    assert is_close(found, 3_000_001_500 / peak / 100e-6, 1e-9), found


def test_torch_traces(folder):
    """Operations counted from shapes over the time of the kernels inside the op, by number type, against the peak of
    the model's data sheet; the warm-up step counts in nothing."""
    def op(name, at, types, shapes, number):
        return span("cpu_op", name, at, 900, **{"External id": number, "Input type": types, "Input Dims": shapes})

    def product(step, number, at, types, kernel_name, dur):
        return [op("aten::mm", at, types, [[256, 512], [512, 128]], number), launch(at + 100, 10, number),
                kernel(at + 5000, dur, 7, number, kernel_name, **{"External id": number})]

    flops, elements = 2 * 256 * 512 * 128, 256 * 512 + 512 * 128 + 256 * 128
    events = [span("user_annotation", f"ProfilerStep#{i}", 100_000 * i, 100_000) for i in range(1, 4)]
    for step in range(1, 4):
        at = 100_000 * step
        events += product(step, 10 * step, at + 1000, ["c10::Half", "c10::Half"], "ampere_h16816gemm", 2000)
        events += product(step, 10 * step + 1, at + 3000, ["float", "float"], "ampere_sgemm", 4000)
        events += product(step, 10 * step + 2, at + 12_000, ["float", "float"], "sm80_xmma_gemm_tf32f32", 3000)
        events += [op("aten::relu", at + 20_000, ["float"], [[256, 128]], 10 * step + 3),
                   launch(at + 20_100, 10, 10 * step + 3),
                   kernel(at + 25_000, 1000, 7, 10 * step + 3, "relu", **{"External id": 10 * step + 3})]
    for model, clock, memory, bandwidth in (
            ("NVIDIA A100-SXM4-80GB", 1.41e9, 85e9, 2.039e12), ("NVIDIA A100X-unknown", 1.41e9, 42e9, 1.555e12),
            ("Some GPU", None, 85e9, None), ("NVIDIA A4000", None, 85e9, None)):
        path = os.path.join(folder, "trace.json")
        write(path, events, deviceProperties=[
            {"id": 0, "name": model, "computeMajor": 8, "computeMinor": 0, "numSms": 108,
             "totalGlobalMem": int(memory)}])
        rows = query(path, "SELECT * FROM roofline WHERE position > 0")
        moving = [row for row in rows if row["op"] == "aten::relu"]
        rows = [row for row in rows if row["op"] != "aten::relu"]
        count = query(path, "SELECT count(*) AS n FROM steps WHERE is_warmup = 0")[0]["n"]
        rates = {"float16": 2048, "float32": 128, "tf32": 1024}
        check({row["dtype"]: (row["op"], row["count"], row["sum_ns"], row["flops"]) for row in rows},
              {dtype: ("aten::mm", count, count * dur, count * flops)
               for dtype, dur in (("float16", 2000), ("float32", 4000), ("tf32", 3000))}, "rows")
        for row in rows:
            peak = clock and 108 * clock * rates[row["dtype"]]
            check(row["peak_flops_per_second"], peak, (model, row["dtype"]))
            moved = elements * (2 if row["dtype"] == "float16" else 4)
            check((row["bytes_accessed"], row["flops_per_byte"], row["peak_bytes_per_second"]),
                  (count * moved, flops / moved, bandwidth), (model, row["dtype"], "bytes"))
            check(row["bound_by"], clock and ("compute" if flops / moved >= peak / bandwidth else "memory"),
                  (model, row["dtype"], "bound_by"))
            assert not peak or is_close(row["compute_efficiency"], row["flops"] / row["sum_ns"] * 1e9 / peak, 1e-9), row
        check([(row["count"], row["flops"], row["bytes_accessed"], row["bound_by"]) for row in moving],
              [(count, None, count * 2 * 4 * 256 * 128, clock and "memory")], "what only moves")
        program = query(path, "SELECT * FROM roofline WHERE position = 0")[0]
        check((program["sum_ns"], program["flops"]), (100_000 * count, 3 * count * flops), "program")
        ideal = clock and sum(flops / (108 * clock * rate) for rate in rates.values())
        for row in query(path, "SELECT * FROM mfu"):
            check((row["flops"], row["device_count"]), (3 * flops, 1), "mfu")
            assert is_close(row["mfu"], ideal / 100e-6, 1e-9) if clock else row["mfu"] is None, row


if __name__ == "__main__":
    run_tests(globals())
