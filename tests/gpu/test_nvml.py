#!/usr/bin/env python3
"""What NVML measures each second comes into counters, of the devices as the program numbers them; and nothing that NVML
does, or does not, harms the program.

doubles/nvml_double.c stands for libnvidia-ml.so.1 and libcuda.so.1: what it tells of each GPU is known by its number.
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "capture"))
import capturing  # noqa: E402
from asking import query  # noqa: E402

DOUBLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "doubles")


def compiled(directory, name, source, *options):
    path = os.path.join(directory, name)
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", *options, "-o",
                    path, os.path.join(DOUBLES, source), "-ldl"], check=True)
    return path


BUILT = tempfile.mkdtemp()
os.mkdir(os.path.join(BUILT, "both"))
os.mkdir(os.path.join(BUILT, "cuda"))
PROGRAM = compiled(BUILT, "use_cuda", "use_cuda.c")
for folder in ("both", "cuda"):
    compiled(os.path.join(BUILT, folder), "libcuda.so.1", "nvml_double.c", "-shared", "-fPIC", "-DCUDA")
compiled(os.path.join(BUILT, "both"), "libnvidia-ml.so.1", "nvml_double.c", "-shared", "-fPIC")


def recorded(directory, said="", readings=1, how=(), folder="both", status=0, **settings):
    """(rows of counters of devices, messages of diagnostics about them, stderr)"""
    run = os.path.join(directory, "run")
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILT, folder), NVML_DOUBLE=said, **settings)
    _, error = capturing.launch(run, [PROGRAM, str(readings), *how], status=status, environment=environment)
    if not capturing.dumps(run):
        return [], [], error
    rows = query(run, "SELECT devices.name AS device, ordinal, counters.name, unit, value, time_ns FROM counters "
                      "JOIN devices ON devices.id = device_id ORDER BY counters.time_ns, counters.id")
    told = [row["message"] for row in query(run, "SELECT message FROM diagnostics WHERE message LIKE '%gpu_counters%'")]
    return rows, told, error


def wanted(number, **but):
    """What the double tells of the GPU of that number of the machine."""
    values = {"gpu_utilization": 0.5 + number / 100, "gpu_memory_utilization": 0.25,
              "gpu_memory_used_bytes": (20 << 30) + number, "gpu_memory_total_bytes": 80 << 30,
              "gpu_process_memory_bytes": (3 << 30) + number, "gpu_power": 100 + number, "gpu_sm_clock": 1980e6,
              "gpu_memory_clock": 2619e6, "gpu_temperature": 61, "gpu_throttle_reasons": 4,
              "gpu_pcie_sent_bytes": 1 << 40, "gpu_pcie_received_bytes": 12345}
    values.update(but)
    return {name: value for name, value in values.items() if value is not None}


def first(rows, device):
    """The first reading of the device."""
    time_ns = min(row["time_ns"] for row in rows if row["device"] == device)
    return {row["name"]: row["value"] for row in rows if row["device"] == device and row["time_ns"] == time_ns}


def test_devices():
    """Each of them, at once and each second."""
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "gpus=3", 6)
        assert not told, told
        assert {row["device"] for row in rows} == {"cuda:0", "cuda:1", "cuda:2"}, rows
        for number in range(3):
            assert first(rows, f"cuda:{number}") == wanted(number), first(rows, f"cuda:{number}")
            readings = {row["time_ns"] for row in rows if row["ordinal"] == number}
            assert len(readings) >= 2, readings
        assert {row["unit"] for row in rows} == {"ratio", "bytes", "W", "Hz", "C", "bits"}


def test_used_devices():
    """Of several only those that the process has contexts of; of all where it seems to have none."""
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "gpus=8,context=3", 3)
        assert not told and {row["device"] for row in rows} == {"cuda:3"}, (told, rows)
        assert first(rows, "cuda:3") == wanted(3), rows
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "gpus=2,context=9", 2)
        assert not told and {row["device"] for row in rows} == {"cuda:0", "cuda:1"}, (told, rows)
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "gpus=1,context=9", 1)
        assert not told and first(rows, "cuda:0") == wanted(0), (told, rows)


def test_visible_devices():
    """The program's own numbers, by UUID, and by bus where the driver tells none."""
    for said in ("gpus=4", "gpus=4,no_uuid"):
        with capturing.Directory() as directory:
            rows, told, _ = recorded(directory, said, 2, CUDA_VISIBLE_DEVICES="2,0")
            assert not told and {row["device"] for row in rows} == {"cuda:0", "cuda:1"}, (told, rows)
            assert first(rows, "cuda:0") == wanted(2) and first(rows, "cuda:1") == wanted(0), rows
    with capturing.Directory() as directory:  # none: cuInit fails as it does without us
        rows, told, _ = recorded(directory, "gpus=4", status=100, CUDA_VISIBLE_DEVICES="")
        assert not rows and not told, (rows, told)


def test_instance():
    """An instance of MIG: its own memory, and power and clocks of the GPU."""
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "gpus=1,mig")
        assert not told, told
        assert first(rows, "cuda:0") == wanted(0, gpu_utilization=None, gpu_memory_utilization=None), rows


def test_missing():
    """Without the library, or where it cannot begin: why, once, and all else is recorded."""
    for folder, said, reason in (("cuda", "", "libnvidia-ml.so.1 cannot be loaded"),
                                 ("both", "fail=Init:18", "of different versions of the driver"),
                                 ("both", "fail=Init:9", "kernel module nvidia is not loaded"),
                                 ("both", "fail=Init:4", "no permission"), ("both", "fail=Init:999", "answers 999"),
                                 ("both", "no_uuid,fail=DeviceGetHandleByPciBusId:6", "knows 0 of the 1 GPUs")):
        with capturing.Directory() as directory:
            rows, told, _ = recorded(directory, said, folder=folder)
            assert not rows and len(told) == 1 and reason in told[0], (said, rows, told)


def test_errors():
    """What one function does not tell has no rows; the rest has."""
    missing = {"DeviceGetUtilizationRates": ("gpu_utilization", "gpu_memory_utilization"),
               "DeviceGetMemoryInfo": ("gpu_memory_used_bytes", "gpu_memory_total_bytes"),
               "DeviceGetPowerUsage": ("gpu_power",), "DeviceGetClockInfo": ("gpu_sm_clock", "gpu_memory_clock"),
               "DeviceGetTemperature": ("gpu_temperature",),
               "DeviceGetCurrentClocksThrottleReasons": ("gpu_throttle_reasons",),
               "DeviceGetFieldValues": ("gpu_pcie_sent_bytes", "gpu_pcie_received_bytes"),
               "DeviceGetComputeRunningProcesses": ("gpu_process_memory_bytes",)}
    for function, names in missing.items():
        with capturing.Directory() as directory:
            rows, told, _ = recorded(directory, f"fail={function}:3")
            assert first(rows, "cuda:0") == wanted(0, **{name: None for name in names}) and not told, (function, rows)
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "no_fields,no_processes")
        assert first(rows, "cuda:0") == wanted(0, gpu_process_memory_bytes=None, gpu_pcie_sent_bytes=None,
                                               gpu_pcie_received_bytes=None), rows


def test_lost():
    """A GPU that is lost has no more readings, nor has an instance of MIG that was destroyed, or one of errors; the
    other has; and it is told."""
    def lose(said, code):
        with capturing.Directory() as directory:
            rows, told, _ = recorded(directory, "gpus=2,lost=0" + said, 6)
            readings = [len({row["time_ns"] for row in rows if row["ordinal"] == number}) for number in range(2)]
            assert readings[0] == 2 and readings[1] >= 3, (said, readings)
            (text,) = told
            assert "NVML tells nothing of GPU 0 from here on (it answers %d)" % code in text, told

    with concurrent.futures.ThreadPoolExecutor() as threads:
        for one in [threads.submit(lose, *how) for how in (("", 15), (",mig,lost_as=6", 6), (",lost_as=999", 999))]:
            one.result()


def test_blocked():
    """A call that hangs holds up neither the program nor its end."""
    with capturing.Directory() as directory:
        begin = time.monotonic()
        rows, _, _ = recorded(directory, "block=600000", 0)
        assert not rows and time.monotonic() - begin < 300, rows  # not ten minutes


def test_not_used():
    """Who loads libcuda but does not initialise it has neither readings nor a file."""
    with capturing.Directory() as directory:
        assert recorded(directory, how=["none"])[0] == []


def test_fork():
    """A forked child that uses CUDA has readings of its own."""
    with capturing.Directory() as directory:
        rows, told, _ = recorded(directory, "gpus=2", 2, ["fork"])
        assert first(rows, "cuda:1") == wanted(1) and not told, (rows, told)


capturing.main(globals())
