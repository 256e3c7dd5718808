#!/usr/bin/env python3
"""test_tensorboard.py: the views show what the PyTorch TensorBoard plugin shows, to the last digit.

What the plugin's own tests expect of resnet50_num_workers_0 (tb_plugin/test/result_check_file.txt of pytorch/kineto,
the run worker0.1623143089861).  Skipped without TFPROF_SHARED, which holds the trace.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sql"))
from engines import run_tests

SHARED = os.environ.get("TFPROF_SHARED") or ""
TRACE = os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz")

# Microseconds of Kernel, Memcpy, Memset, Communication, Runtime, DataLoader, CPU Exec, Other
STEPS = {
    5: (98598, 1941, 90, 0, 2796, 69317, 14091, 1115),
    6: (98570, 1947, 89, 0, 2762, 57669, 12968, 1148),
    7: (98596, 1931, 91, 0, 2877, 61257, 13768, 1213),
    8: (98623, 1938, 89, 0, 2841, 56453, 13420, 1200),
    9: (98504, 1937, 87, 0, 2788, 62690, 15025, 1141),
    10: (98641, 1798, 88, 0, 3381, 48185, 12773, 1117),
}
PARTS = ("kernel", "memcpy", "memset", "communication", "runtime", "data_loader", "cpu", "other")


def opened(engine):
    connection = engine()
    connection.values(f"SELECT tfprof_open('{TRACE}')")
    return connection


def test_overview(engine):
    connection = opened(engine)
    columns = ", ".join(f"{part}_ns / 1000" for part in PARTS)
    rows = connection.values(f"SELECT number, dur_ns / 1000, {columns} FROM tb_step_breakdown")
    assert {row[0]: tuple(row[2:]) for row in rows} == STEPS, rows
    assert all(row[1] == sum(row[2:]) for row in rows)
    assert connection.values("SELECT CAST(round(avg(dur_ns) / 1000) AS INTEGER) FROM tb_step_breakdown") == [(177592,)]
    shares = connection.values("SELECT round(100.0 * sum(data_loader_ns) / sum(dur_ns), 1) FROM tb_step_breakdown")
    assert shares == [(33.4,)], shares
    rows = connection.values("SELECT mean_step_ns / 1000, round(100 * data_loader_ratio, 1), round(100 * "
                             "utilization_ratio, 2), round(100 * sm_efficiency_ratio, 2), round(100 * occupancy_ratio, "
                             "2), tensor_core_ratio FROM tb_overview")
    assert rows == [(177592, 33.4, 55.51, 54.68, 49.13, 0.0)], rows
    rows = connection.values("SELECT mean_ns / 1000 FROM xprof_step_statistics WHERE part IN ('kernel', 'memcpy', "
                             "'memset', "
                             "'kernel_launch', 'data_loader', 'host_compute', 'other') ORDER BY part")
    means = [sum(step[i] for step in STEPS.values()) // 6 for i in (5, 6, 0, 4, 1, 2, 7)]
    assert [row[0] for row in rows] == means, (rows, means)


def test_device(engine):
    rows = opened(engine).values(
        "SELECT round(100 * utilization_ratio, 2), round(100 * sm_efficiency_ratio, 2), round(100 * occupancy_ratio, "
        "2), tensor_core_ratio, round(100 * tensor_core_eligible_ratio) FROM device_utilization")
    assert rows == [(55.51, 54.68, 49.13, 0.0, 68.0)], rows


def test_kernels(engine):
    connection = opened(engine)
    assert connection.values("SELECT count(*) FROM kernel_summary") == [(67,)]
    rows = connection.values(
        "SELECT count, sum_ns / 1000, CAST(round(mean_ns / 1000.0) AS INTEGER), max_ns / 1000, min_ns / 1000, "
        "round(blocks_per_multiprocessor, 2), round(100 * occupancy_ratio, 2), uses_tensor_core "
        "FROM kernel_summary ORDER BY sum_ns DESC LIMIT 1")
    assert rows == [(162, 80756, 498, 1017, 323, 42.25, 29.97, 0)], rows


def test_operators(engine):
    connection = opened(engine)
    assert connection.values("SELECT count(*) FROM tb_operator_summary") == [(76,)]
    rows = connection.values(
        "SELECT op, count, device_self_ns / 1000, device_sum_ns / 1000, host_self_ns / 1000, host_sum_ns / "
        "1000, is_tensor_core_eligible, tensor_core_self_ratio FROM tb_operator_summary LIMIT 1")
    assert rows == [("aten::cudnn_convolution_backward_weight", 318, 142461, 142461, 22804, 40246, 1, 0.0)], rows


def test_recommendations(engine):
    """The plugin recommends to load data in the background."""
    rows = opened(engine).values("SELECT suggestion LIKE '%num_workers%' FROM advise "
                                 "WHERE check_name = 'input_loading'")
    assert rows == [(1,)], rows


def test_nothing_is_left_over(engine):
    """The pieces of a step follow each other without gaps and cover it."""
    connection = opened(engine)
    rows = connection.values(
        "WITH pieces AS (SELECT step_id, start_ns, lag(end_ns) OVER (PARTITION BY step_id ORDER BY start_ns) "
        "AS before_ns FROM step_segments) SELECT count(*) FROM pieces WHERE before_ns IS NOT NULL "
        "AND before_ns <> start_ns")
    assert rows == [(0,)], rows
    rows = connection.values("SELECT max(busy_ns <= dur_ns), min(busy_ns > 0), count(*) FROM device_steps")
    assert rows == [(1, 1, 6)], rows


if __name__ == "__main__":
    if not os.path.exists(TRACE):
        print("without TFPROF_SHARED there is no trace to compare with the plugin")
        sys.exit(77)
    run_tests(sys.modules[__name__])
