#!/usr/bin/env python3
"""test_device_counters.py: device_counters_by_step, what NVML measured each second put to steps of any length.

Dumps of made-up rows (make_dump_of_rows), with numbers that are exact.
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from test_thinned_views import START, opened, write

SECOND = 1_000_000_000
GPUS = [{"name": f"GPU {ordinal}", "kind": "gpu", "ordinal": ordinal} for ordinal in range(2)]


def readings(device, name, values):
    """{second: value}"""
    return [{"name": name, "unit": None, "device_id": device, "time_ns": START + int(second * SECOND), "value": value}
            for second, value in values.items()]


def steps(*spans):
    """Of (begin, end) in seconds."""
    return [{"name": f"tfprof.step#{number}", "category": "user", "thread_id": 0, "start_ns": START + int(begin * 1e9),
             "dur_ns": int(end * 1e9) - int(begin * 1e9)} for number, (begin, end) in enumerate(spans)]


def answers(engine, columns, counters, spans):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.tfprof")
        write(path, {"threads": [{"kind": "host", "name": "main"}], "devices": GPUS, "ops": steps(*spans),
                     "counters": sorted(counters, key=lambda row: row["time_ns"])})
        connection = opened(engine, path)
        rows = connection.values(f"SELECT {columns} FROM device_counters_by_step")
        connection.close()
        return rows


def test_long_steps(engine):
    """Of several readings each counts for its part of the step, and each device has its own."""
    counters = (readings(0, "gpu_power", {0: 50, 1: 100, 2: 200, 3: 400}) + readings(1, "gpu_power", {1: 10, 2: 20})
                + readings(0, "gpu_memory_used_bytes", {0: 1, 1: 1000, 2: 3000, 3: 5000}))
    rows = answers(engine, "device, number, known_ns, reading_count, power_watts, energy_joules, memory_used_bytes, "
                   "max_memory_used_bytes", counters, [(0.5, 2.5), (2.5, 3.5), (3.5, 4.5)])
    assert rows == [
        ("GPU 0", 0, 2 * SECOND, 3, 225.0, 450.0, 3000, 5000),
        ("GPU 0", 1, SECOND // 2, 1, 400.0, 200.0, 5000, 5000),
        ("GPU 0", 2, 0, 0, None, None, None, None),
        ("GPU 1", 0, SECOND * 3 // 2, 2, 25 / 1.5, 25.0, None, None),
        ("GPU 1", 1, 0, 0, None, None, None, None),
        ("GPU 1", 2, 0, 0, None, None, None, None)], rows


def test_short_steps(engine):
    """Steps of 5 ms take the reading in whose time they lie."""
    counters = readings(0, "gpu_utilization", {1: 0.25, 2: 0.75}) + readings(0, "gpu_throttle_reasons", {1: 0, 2: 4})
    rows = answers(engine, "number, known_ns, utilization_ratio, throttled_ratio, power_watts", counters,
                   [(0.005 * i, 0.005 * (i + 1)) for i in range(400)])
    assert len(rows) == 400 and {row[1] for row in rows} <= set(range(4_999_999, 5_000_002)), rows
    assert {row[2:] for row in rows[:200]} == {(0.25, 0.0, None)}, rows[:200]
    assert {row[2:] for row in rows[201:]} == {(0.75, 1.0, None)}, rows[201:]


def test_missed(engine):
    """Readings that were missed: none holds for more than two seconds."""
    rows = answers(engine, "known_ns, reading_count, energy_joules", readings(0, "gpu_power", {0: 100, 10: 300}),
                   [(1, 7), (7, 9)])
    assert rows == [(0, 0, None), (SECOND, 1, 300.0)], rows


def test_rates(engine):
    """Bytes that are counted on and on, and begin anew."""
    rows = answers(engine, "pcie_sent_bytes_per_second", readings(0, "gpu_pcie_sent_bytes", {0: 100, 1: 600, 2: 50}),
                   [(0, 1), (1, 2)])
    assert rows == [(500.0,), (None,)], rows


def test_none(engine):
    """Without readings of NVML there are no rows."""
    assert answers(engine, "*", readings(0, "another", {0: 1, 1: 2}), [(0, 1), (1, 2)]) == []


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
