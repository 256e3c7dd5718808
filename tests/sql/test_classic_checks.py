#!/usr/bin/env python3
"""test_classic_checks.py: the checkers of TensorFlow's profiler speak when they should.

Profiles are written row by row (made_profiles.py).
"""
from made_profiles import MS, Profile, expect, read_tables, real_format, said, severities
from stored import check, finish


def graph(device="/job:w/device:gpu:0", **node):
    """A run of TensorFlow in order, with one node that kept its device busy for `busy_ns` of each step of 100 ms."""
    profile = Profile()
    steps = profile.steps()
    profile.connection.execute("UPDATE temp.profiles SET framework = 'tensorflow'")
    busy_ns = node.pop("busy_ns", 90 * MS)
    made = profile.add("nodes", profile_id=1, **{"name": "net/node", "op_type": "Conv2D", "canonical_device": device,
                                                 **node})
    for number, step in enumerate(steps):
        profile.add("node_steps", profile_id=1, node_id=made, step_id=step, run_count=1, accelerator_ns=busy_ns,
                    start_ns=number * 100 * MS, end_ns=(number + 1) * 100 * MS)
    return profile


def main():
    read_tables()
    for busy_ns, severity in ((90 * MS, "info"), (49 * MS, "warning"), (150 * MS, "info")):
        profile = graph(busy_ns=busy_ns)
        expect(f"a GPU busy for {busy_ns} ns", profile, accelerator_utilization=None)
        check(severities == {"accelerator_utilization": severity}, f"{busy_ns}: {severities}")
        check(profile.connection.execute("SELECT value FROM temp.accelerator_utilization").fetchone()[0] >= 0, "over 1")
    expect("the same on a processor", graph("/job:w/device:cpu:0"))
    # Kernels count by the time of the steps, not by that of the kernels alone.
    for busy_ms, severity in ((49, "warning"), (51, "info")):
        profile = Profile()
        profile.add("devices", id=5, profile_id=1, kind="gpu", ordinal=0, name="GPU 0")
        for number, step in enumerate(profile.steps(4)):
            begin = number * 100 * MS
            profile.add("step_segments", profile_id=1, step_id=step, category="cpu", start_ns=begin,
                        end_ns=begin + 100 * MS, dur_ns=100 * MS)
            profile.add("step_segment_totals", profile_id=1, step_id=step, category="cpu", count=1, sum_ns=100 * MS,
                        first_start_ns=begin, last_end_ns=begin + 100 * MS)
        begin, end = 100 * MS, 100 * MS + 4 * busy_ms * MS
        profile.add("kernels", profile_id=1, name="gemm", kind="compute", device_id=5, start_ns=begin, end_ns=end,
                    dur_ns=end - begin)
        expect(f"a kernel of {4 * busy_ms} ms", profile, accelerator_utilization=None)
        check(severities == {"accelerator_utilization": severity}, f"{busy_ms}: {severities}")
    # Where nothing is marked the ops themselves are the evidence.
    profile = Profile()
    profile.op("aten::mm", None, 10 * MS)
    (evidence,) = profile.connection.execute("SELECT evidence FROM temp.missing_data").fetchone()
    check(profile.connection.execute(evidence).fetchall() == [("aten::mm", 1)], evidence)

    # Layouts: each number type has one that is the faster.
    for dtype, layout, other in (("float32", "NHWC", "NCHW"), ("float16", "NCHW", "NHWC"),
                                 ("bfloat16", "NCHW", "NHWC")):
        profile = graph(dtype=dtype, data_format=layout)
        text = "Found operation using %s data_format on GPU. Maybe %s is faster."
        check(said(profile, "operation") == [("warning", text)], f"{dtype} {layout}: {said(profile, 'operation')}")
        (suggestion,) = profile.connection.execute("SELECT suggestion FROM temp.operation").fetchone()
        check("%d nodes in %s" in suggestion, suggestion)
        profile.add("nodes", id=99, profile_id=1, name="net/transpose", op_type="Transpose",
                    canonical_device="/device:gpu:0")
        profile.add("node_steps", profile_id=1, node_id=99, step_id=1, accelerator_ns=20 * 91 * MS, run_count=1)
        (suggestion,) = profile.connection.execute("SELECT suggestion FROM temp.operation").fetchone()
        check("Transposes take longer" in suggestion, suggestion)
        check(said(graph(dtype=dtype, data_format=other), "operation") == [], f"{dtype} {other}")
        check(said(graph("/job:w/device:cpu:0", dtype=dtype, data_format=layout), "operation") == [],
              f"{dtype} on a CPU")

    # Normalisation in parts; a fused one of any version is enough.
    for fused in (None, "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        profile = graph(name="net/BatchNorm/mul", op_type="Mul")
        if fused:
            profile.add("node_types", profile_id=1, node_id=1, type=fused)
        wanted = [] if fused else [("warning", "Maybe use faster FusedBatchNorm instead of BatchNorm")]
        check(said(profile, "operation") == wanted, f"{fused}: {said(profile, 'operation')}")
    profile.connection.execute("DELETE FROM temp.node_types")
    profile.connection.execute("UPDATE temp.profiles SET framework = 'pytorch'")
    check(said(profile, "operation") == [], "PyTorch fuses by itself")

    for share, wanted in ((4, {}), (6, {"operation": 6 * MS})):
        profile = Profile()
        profile.steps()
        profile.add("kernels", profile_id=1, name="cudnn::nchwToNhwcKernel<float>", dur_ns=share * MS)
        profile.add("kernels", profile_id=1, name="gemm", dur_ns=(100 - share) * MS)
        profile.add("kernels", profile_id=1, name="at::native::unrolled_elementwise_kernel<CopyTo>", dur_ns=0)
        expect(f"{share} % of conversions", profile, **wanted)
        for (evidence,) in profile.connection.execute("SELECT evidence FROM temp.operation").fetchall():
            shown = [name for name, _ in profile.connection.execute(evidence)]
            check(shown == ["cudnn::nchwToNhwcKernel<float>"], f"what converts: {shown}")

    # What the job moves: slow and long is a warning.
    for bytes, dur_ns, severity in ((10**6, 20 * MS, "warning"), (10**8, 20 * MS, "info"), (10**6, 9 * MS, "info")):
        profile = Profile()
        for step in profile.steps():
            profile.add("transfers", profile_id=1, kind="receive", name="RecvTensor", step_id=step, dur_ns=dur_ns,
                        bytes=bytes)
        expect(f"{bytes} received in {dur_ns} ns", profile, job=None)
        check(severities == {"job": severity}, f"{bytes} in {dur_ns}: {severities}")
    profile = Profile()
    for step in profile.steps():
        profile.add("collectives", profile_id=1, name="all_reduce", step_id=step, dur_ns=MS, bytes=10**9,
                    carried_by="kernel")
    profile.add("counters", profile_id=1, name="process_cpu", unit="ratio", value=1.5)
    profile.add("counters", profile_id=1, name="host_cpu", unit="ratio", value=0.99)
    for dur_ns, rate in ((3 * MS, 1.0), (MS, 5.0)):  # the mean is by time, as that of the bytes
        profile.add("collectives", profile_id=1, name="broadcast", step_id=1, dur_ns=dur_ns, bytes=10**9,
                    carried_by="kernel",
                    bus_bytes_per_second=rate)
    profile.connection.create_function("format", -1, lambda template, *values: template)
    ((severity, message),) = said(profile, "job")
    check(severity == "warning" and "links 2.0 B/s" in message, message)
    profile.connection.execute("DELETE FROM temp.collectives WHERE name = 'broadcast'")
    expect("collectives and a machine that is busy", profile, job=None)

    # One row for a job, whatever its processes are.
    profile = Profile(ranks=2)
    profile.steps()
    for worker in range(3, 7):
        profile.add("profiles", id=worker, run_id=1, pid=100 + worker, path="run", host="node1", complete=1)
    for process in range(1, 7):
        for second in range(11 if process < 5 else 6):
            for name, value in (("process_cpu", 0.5), ("host_cpu", 0.96 if process > 1 else 0.3),
                                ("process_resident_bytes", 1e9 * process), ("host_available_bytes", 1e11)):
                profile.add("counters", profile_id=process, name=name, value=value, time_ns=second * 1000 * MS)
    real_format(profile)
    ((severity, message),) = said(profile, "job")
    check((severity, message) == (
        "warning", "CPU: 2.50 processors used on average by 6 processes; the busiest machine, node1, is 96 % busy; "
        "memory: 6000000000.0 B resident at most by process 106, the largest of 6 processes, 100000000000.0 B left on "
        "node0 at least"), message)

    # The thread that trains had no processor; of a worker, which has no steps, that says nothing, nor does it of what
    # passes before the measured steps, which last from 0.2 to 2 s.
    waited = "the main thread waited for a free processor 20 % of the time of the steps"
    for waits, wanted in (((0.04, 0.9), []), ((0.2, 0), [("warning", waited)])):
        profile = Profile()
        profile.steps()
        profile.connection.execute("UPDATE temp.steps SET is_warmup = number < 2, end_ns = start_ns + dur_ns")
        profile.add("profiles", id=2, run_id=1, pid=102, path="run", host="node0", complete=1)
        for process, wait in enumerate(waits, 1):
            for second in range(5):
                profile.add("counters", profile_id=process, name="main_thread_wait_s", unit="s",
                            value=7 + wait * second, time_ns=second * 1000 * MS)
        real_format(profile)
        check(said(profile, "job") == wanted, f"{waits}: {said(profile, 'job')}")
    profile.connection.execute("DELETE FROM temp.counters WHERE profile_id = 2 OR time_ns > 2000000000")
    profile.connection.execute("UPDATE temp.counters SET value = 7 + 0.01 * time_ns / 1e9")
    for before in (-2000, -1000, -100):
        profile.add("counters", profile_id=1, name="main_thread_wait_s", value=7 + before / 1000,
                    time_ns=before * MS)
    check(not said(profile, "job"), f"imports: {said(profile, 'job')}")
    finish()


if __name__ == "__main__":
    main()
