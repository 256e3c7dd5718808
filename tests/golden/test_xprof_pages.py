#!/usr/bin/env python3
"""test_xprof_pages.py: overview, recommendations, input and memory against the pages of XProf and of TensorFlow.

The converter in TensorFlow 2.16 tells what steps and input are made of, XProf 2.24 the rest: newer ones leave out the
host where there is a device.  Both take copies by GPUs for computing, which here are input and output, and what
tf.function and XLA compile for compute of the host; else all numbers are the same.  gpu_edge_a is of times that are
less than what is lost by rounding to nanoseconds.
"""

import collections
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, query, run_tests
from xplane_files import Ref, event, line, plane, space
from xprof_goldens import GOLDEN, golden_json, golden_tables, is_close, is_unknown_tensor_kernel, recordings

SLACK = 20  # nanoseconds: pieces of a step begin and end at whole ones


def recordings_with_steps():
    """(name, path, the converter's overview) of one host each where it found steps."""
    for name, path in recordings():
        expected = golden_json(name, "tf216.overview_page")
        if name != "gpu_edge_a" and "multihost" not in name and expected["input_analysis"].get("step_details"):
            yield name, path, expected


def by_part(path):
    return {(row["profile_id"], row["part"]): row for row in query(path, "SELECT * FROM xprof_step_statistics")}


def test_step_statistics(_directory):
    """Mean, deviation and extremes of steps and of what their time goes to."""
    compared = 0
    for name, path, expected in recordings_with_steps():
        analysis, parts = expected["input_analysis"], by_part(path)
        summaries = {"step": analysis["step_time_summary"], **{
            ours: analysis["step_time_breakdown"][theirs + "_ms_summary"] for ours, theirs in (
                ("other", "unknown_time"), ("host_compute", "host_compute"), ("kernel_launch", "host_prepare"),
                ("data_loader", "host_wait_input"), ("device_collectives", "device_collectives"),
                ("compile", "host_compile"))}}
        host = parts[1, "host_compute"]["mean_ns"] + parts[1, "compile"]["mean_ns"]
        theirs = summaries["host_compute"].get("average", 0) * 1e6
        assert is_close(host, theirs, 2 * SLACK), (name, host, theirs)
        if parts[1, "compile"]["max_ns"] > 0:  # of which only this sum is theirs
            del summaries["host_compute"], summaries["compile"]
        for part, summary in summaries.items():
            row = parts[1, part]
            check(row["step_count"], len(analysis["step_details"]), (name, part))
            for column, key in (("mean_ns", "average"), ("stddev_ns", "standard_deviation"), ("min_ns", "minimum"),
                                ("max_ns", "maximum")):
                assert is_close(row[column], summary.get(key, 0) * 1e6, SLACK), (name, part, column, row, summary)
            compared += 1
        compute = sum(parts[1, part]["mean_ns"] for part in ("kernel", "memcpy", "memset"))
        theirs = analysis["step_time_breakdown"]["device_compute_ms_summary"].get("average", 0) * 1e6
        assert is_close(compute, theirs, 3 * SLACK), (name, compute, theirs)
        for column, key in (("mean_ratio", "average"), ("stddev_ratio", "standard_deviation"),
                            ("min_ratio", "minimum"), ("max_ratio", "maximum")):
            theirs = analysis["input_percent_summary"].get(key, 0)
            assert is_close(100 * parts[1, "data_loader"][column], theirs, 0.01), (name, column, theirs)
    assert compared > 40 or not os.path.isdir(GOLDEN), compared


def test_parts_of_steps(_directory):
    """What step_breakdown adds up to: parts make up the step, of all hosts and of each."""
    for name, path in recordings():
        parts, steps = by_part(path), query(path, "SELECT * FROM _step_parts")
        for profile in {key for key, _ in parts}:
            mine = [row for row in steps if profile in (None, row["profile_id"])]
            whole = sum(row["dur_ns"] for row in mine)
            for part in ("device_compute", "input", "output", "memcpy", "data_loader", "other"):
                values = [row[part + "_ns"] for row in mine]
                row = parts[profile, part]
                assert is_close(row["sum_ns"], sum(values), 1), (name, row)
                assert is_close(row["sum_ratio"], sum(values) / whole, 1e-9), (name, row)
                assert is_close(row["mean_ns"], statistics.mean(values), 1), (name, row)
                if len(values) > 1:
                    assert is_close(row["stddev_ns"], statistics.stdev(values), 1), (name, row)
                else:
                    check(row["stddev_ns"], None, (name, row))
            shares = [row["sum_ratio"] for (of, _), row in parts.items()
                      if of == profile and row["position"] in range(1, 10)]
            assert is_close(sum(shares), 1, 1e-6), (name, shares)
        check(None in {key for key, _ in parts}, "multihost" in name, (name, "all hosts"))


def test_overview(_directory):
    """What bounds a program and by how much, and where its ops are."""
    compared = 0
    for name, path, expected in recordings_with_steps():
        analysis, row = expected["input_analysis"], query(path, "SELECT * FROM xprof_overview")[0]
        is_bound = {"host": ("highly input-bound",), "device": ("not input-bound",),
                    "both": ("moderately input-bound", "potentially input-bound")}
        assert row["verdict"] in is_bound[expected["recommendation"]["bottleneck"]], (name, row)
        assert is_close(100 * row["data_loader_ratio"], analysis.get("input_percent", 0), 1e-2), (name, row)
        compute = row["device_compute_ratio"] + row["memcpy_ratio"]
        assert is_close(100 * compute, analysis.get("compute_percent", 0), 1e-2), (name, row)
        assert is_close(100 * row["idle_ratio"], analysis.get("idle_percent", 0), 2e-2), (name, row)
        assert is_close(row["mean_step_ns"], analysis["step_time_summary"]["average"] * 1e6, SLACK), (name, row)
        if name != "jax_a":  # what XLA compiled is no op there
            for column in ("host", "device"):
                theirs = expected["analysis"].get(column + "_tf_op_percent", 0)
                assert is_close(100 * row[column + "_op_ratio"], theirs, 1e-6), (name, row, theirs)
        compared += 1
    assert compared >= 7 or not os.path.isdir(GOLDEN), compared


def test_steps_of_their_own(_directory):
    """Where TensorFlow and XProf find no steps, as in what Keras 3 writes, those of repetition have pages."""
    for name, path in recordings():
        if golden_json(name, "tf216.overview_page")["recommendation"]["bottleneck"] == "unknown":
            row = query(path, "SELECT * FROM xprof_overview")[0]
            assert row["step_count"] >= 5 and row["verdict"], (name, row)


def test_hosts(_directory):
    """Rows of two hosts are those of their recordings, and one more is of both."""
    path = os.path.join(GOLDEN, "multihost_gpu_a")
    if not os.path.isdir(path):
        return
    for view in ("xprof_step_statistics", "xprof_overview", "overview", "xprof_top_device_ops", "input_summary",
                 "xprof_input_op_stats"):
        columns = ("profile_id", "host", "rank", "run_id")
        rows = collections.defaultdict(list)
        for row in query(path, f"SELECT * FROM {view}"):
            rows[row["host"]].append({key: value for key, value in row.items() if key not in columns})
        check(sorted(rows), ["ALL_HOSTS", "host-a", "host-b"], view)
        for host, alone in (("host-a", "gpu_train_a"), ("host-b", "gpu_multi_a")):
            alone = query(os.path.join(GOLDEN, alone + ".xplane.pb"), f"SELECT * FROM {view}")
            check(rows[host], [{key: value for key, value in row.items() if key not in columns} for row in alone],
                  (view, host))


def test_steps_of_all_hosts(_directory):
    """A step of several hosts is as long as the slowest of them took; nothing is made of them where a run has one."""
    for name, path in recordings():
        common = query(path, "SELECT * FROM _common_steps")
        if "multihost" not in name:
            check(common, [], name)
            continue
        theirs = golden_json(name, "tf216.overview_page")["input_analysis"]["step_time_summary"]
        statistics_row = by_part(path)[None, "step"]
        overview = query(path, "SELECT * FROM xprof_overview WHERE host = 'ALL_HOSTS'")[0]
        for column, key in (("mean_{}ns", "average"), ("stddev_{}ns", "standard_deviation"), ("min_{}ns", "minimum"),
                            ("max_{}ns", "maximum")):
            for row, part in ((statistics_row, ""), (overview, "step_")):
                found = row[column.format(part)]
                assert is_close(found, theirs[key] * 1e6, SLACK), (name, column, found, theirs)
        check(statistics_row["step_count"], overview["step_count"], name)
        for step in common:
            pod = query(path, f"SELECT * FROM xprof_pod_steps WHERE pod_step = {step['pod_step']}")
            slowest = max(pod, key=lambda row: row["dur_ns"])
            check((step["dur_ns"], step["slowest_profile_id"], step["min_dur_ns"]),
                  (slowest["dur_ns"], slowest["profile_id"], min(row["dur_ns"] for row in pod)), (name, step))
        check(len(common), overview["step_count"], name)


def test_run_environment(_directory):
    """Hosts, tasks, kind and number of devices."""
    for name, path in recordings():
        expected = golden_json(name, "tf216.overview_page")["run_environment"]
        rows = query(path, "SELECT * FROM run_environment")
        check(len(rows), 3 if "multihost" in name else 1, name)
        row = rows[0]  # of all hosts, where there are several
        check((row["host_count"], row["task_count"], row["device_type"], row["device_count"]),
              (expected["host_count"], expected["task_count"], expected["device_type"],
               expected.get("device_core_count", 0)), name)
        times = query(path, "SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM profiles")[0]
        check((row["start_ns"], row["dur_ns"]), (times["start_ns"], times["end_ns"] - times["start_ns"]), name)


def test_top_device_ops(_directory):
    """The ops that take devices longest, of all hosts, with their use of tensor cores."""
    compared = 0
    for name, path in recordings():
        if name == "gpu_edge_a":
            continue  # it holds ops of XLA, which have other names there
        expected = golden_tables(name, "overview_page")[0]
        rows = query(path, "SELECT * FROM xprof_top_device_ops")
        first = rows[0]["profile_id"] if rows else None
        rows = [row for row in rows if row["profile_id"] == first]
        check([row["op"] for row in rows], [row["operation"] for row in expected], name)
        on_tensor_cores = {row["op_name"] for row in query(path, "SELECT op_name, name FROM kernels")
                           if is_unknown_tensor_kernel(row["name"])}
        for row, theirs in zip(rows, expected):
            check((row["op_type"], bool(row["uses_tensor_core"])),
                  (theirs["category"], theirs["tcUtilization"] or row["op"] in on_tensor_cores), row)
            assert is_close(row["self_ratio"], theirs["selfTimePercent"], 1e-5), (name, row, theirs)
            assert is_close(row["cumulative_ratio"], theirs["cumulativeTimePercent"], 2e-5), (name, row, theirs)
            check(bool(row["is_tensor_core_eligible"]), theirs["tcEligibility"], (name, row))
            compared += 1
    assert compared >= 45 or not os.path.isdir(GOLDEN), compared


def test_top_device_ops_are_op_stats(_directory):
    """The same ops, calls and times as the device's side of xprof_op_stats has, of traces of PyTorch, too."""
    shared = os.path.join(GOLDEN, "..", "pytorch")
    paths = [os.path.join(shared, name) for name in ("resnet50_num_workers_0.pt.trace.json.gz", "nccl_a100.json.gz")]
    paths += [path for name, path in recordings() if name in ("gpu_train_a", "gpu_multi_a")]
    for path in paths if os.path.isdir(GOLDEN) else ():
        theirs = query(path, "SELECT op, count, self_ns, self_ratio FROM xprof_op_stats WHERE side = 'device' "
                             "AND is_idle = 0 ORDER BY position LIMIT 10")
        ours = query(path, "SELECT op, count, self_ns, self_ratio FROM xprof_top_device_ops")
        assert ours and [list(row.values())[:3] for row in ours] == [list(row.values())[:3] for row in theirs], path
        for row, other in zip(ours, theirs):
            assert is_close(row["self_ratio"], other["self_ratio"], 1e-9), (path, row, other)


def test_recommendations(_directory):
    """What is said to bound a program, and how much."""
    compared = 0
    for name, path, expected in recordings_with_steps():
        theirs = expected["input_analysis"]["recommendation"]["bottleneck_analysis"]
        rows = {row["topic"]: row for row in query(path, "SELECT * FROM xprof_recommendations")}
        for topic, key in (("kernel_launch", "kernel_launch"), ("other", "all_other"),
                           ("device_collectives", "device_collectives")):
            check(rows[topic]["level"], theirs[key + "_classification"], (name, topic, rows[topic]))
        levels = {"host": ("high",), "both": ("moderate", "potential"), "device": ("no",)}
        assert rows["input"]["level"] in levels[theirs["input_classification"]], (name, rows["input"])
        said = theirs.get("all_other_statement")
        assert not said or f"{100 * rows['other']['value']:.1f}" == said.split(" ")[0], (name, said, rows["other"])
        compared += 1
    assert compared >= 7 or not os.path.isdir(GOLDEN), compared


def host_steps(count, dur_us, inner):
    """Steps of a program, each with what `inner(i, start in picoseconds)` lists in it."""
    events = []
    for i in range(count):
        at = i * dur_us * 1_000_000
        events.append(event("train", at, dur_us * 1_000_000, _r=1, step_num=i))
        events += inner(i, at)
    return line(1, "main", events)


def written(directory, *planes):
    run = os.path.join(directory, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(*planes))
    return run


def test_eager_and_retracing(directory):
    """Functions that are traced again, ops that run eagerly, and waiting for input, which is neither."""
    def us(name, at, start, dur, **stats):
        return event(name, at + start * 1_000_000, dur * 1_000_000, **stats)

    run = written(directory, plane("/host:CPU", [host_steps(3, 100, lambda i, at: [
        us("again", at, 0, 30, tf_function_call=Ref("traced-nonXla"), tracing_count=i + 1),
        us("once", at, 30, 10, tf_function_call=Ref("notTraced-nonXla"), tracing_count=1),
        us("EagerExecute", at, 40, 20, is_func=0, eager_op=Ref("MatMul")),
        us("EagerExecute", at, 60, 10, is_func=1, eager_op=Ref("__inference_once_1")),
        us("EagerExecute", at, 70, 20, is_func=0, eager_op=Ref("IteratorGetNext")),
        us("compiled:MatMul", at, 90, 10)])]))
    rows = {row["topic"]: row for row in query(run, "SELECT * FROM xprof_recommendations")}
    check((rows["tf_function"]["level"], rows["tf_function"]["value"]), ("moderate", 0.75), "functions")
    assert "again (3 calls)" in rows["tf_function"]["statement"], rows["tf_function"]
    check(rows["eager"]["level"], "moderate", "eager")
    assert is_close(rows["eager"]["value"], 20 / 30, 1e-9), rows["eager"]
    check(query(run, "SELECT host_eager_ratio AS ratio FROM xprof_overview")[0]["ratio"], rows["eager"]["value"],
          "overview")


def test_levels(directory):
    """Every threshold from below and from above, input told by copies, and of a program without steps nothing."""
    def shares(copied_in, copied_out, launched, reduced, half=100):
        """A step of a millisecond of one GPU: parts in microseconds, the rest computes."""
        def kernels(i, at):
            at += i
            details = "kind_src:pinned kind_dst:device size:8 async:1"
            parts = [("MemcpyH2D", copied_in, {"memcpy_details": Ref(details)}),
                     ("MemcpyD2H", copied_out, {"memcpy_details": Ref(details)}), ("ncclAllReduce", reduced, {}),
                     ("half_gemm", (900 - copied_in - copied_out - reduced) * half // 100, {})]
            parts.append(("sgemm", 900 - sum(part[1] for part in parts), {}))
            start, out = at * 1_000_000 + 100_000_000, []
            for k, (name, dur, stats) in enumerate(parts):
                if dur:
                    out.append(event(name, start, dur * 1_000_000, correlation_id=10 * i + k + 1, **stats))
                start += dur * 1_000_000
            return out

        calls = host_steps(3, 1000, lambda i, at: [
            event("cuLaunchKernel", at + k * 1000, launched * 1_000_000 if k == 4 else 1000,
                  correlation_id=10 * i + k + 1) for k in range(5)])
        run = written(directory, plane("/host:CPU", [calls]), plane("/device:GPU:0", [
            line(1, "Stream #1(Compute)", [one for i in range(3) for one in kernels(i, i * 1000)])]))
        return {row["topic"]: row["level"] for row in query(run, "SELECT * FROM xprof_recommendations")}

    check(shares(49, 49, 71, 29)["output"], "no", "below")
    levels = shares(60, 60, 80, 40, 5)
    check((levels["input"], levels["output"], levels["kernel_launch"], levels["device_collectives"],
           levels["precision"]), ("moderate", "moderate", "moderate", "moderate", "moderate"), "moderate")
    levels = shares(210, 210, 90, 160)
    check((levels["input"], levels["output"], levels["device_collectives"], levels["precision"]),
          ("high", "high", "high", "no"), "high")
    check(shares(10, 10, 10, 10)["input"], "potential", "nothing known of 9 %")
    run = written(directory, plane("/host:CPU", [line(1, "main", [event("a:Op", 0, 1000)])]))
    rows = query(run, "SELECT topic, level, value FROM xprof_recommendations WHERE topic <> 'eager'")
    check([(row["topic"], row["level"], row["value"]) for row in rows], [("input", "unknown", None)], "without steps")
    row = query(run, "SELECT step_count, verdict, host_op_ratio FROM xprof_overview")[0]
    check((row["step_count"], row["verdict"], row["host_op_ratio"]), (0, None, 1.0), "without steps")


CATEGORIES = {"Preprocessing": "preprocess", "Advanced file read": "read_in_advance",
              "Demanded file read": "read_on_demand", "Enqueue": "enqueue"}


def test_input_op_stats(_directory):
    """Every row of the input pipeline analyzer's table, of all hosts."""
    compared = 0
    for name, path in recordings():
        if name == "gpu_edge_a":
            continue  # a copy that is named like an op is all of it
        expected = golden_json(name, "tf216.input_pipeline_analyzer").get("input_op_details", [])
        rows = query(path, "SELECT * FROM xprof_input_op_stats")
        first = rows[0]["profile_id"] if rows else None
        found = {row["name"]: row for row in rows if row["profile_id"] == first}
        check(sorted(found), sorted(row["op_name"] for row in expected), name)
        for theirs in expected:
            row = found[theirs["op_name"]]
            slack = 2 * row["count"]
            check((row["count"], row["category"]), (int(theirs["count"]), CATEGORIES[theirs["category"]]), row)
            assert is_close(row["sum_ns"], theirs["time_in_ms"] * 1e6, slack), (name, row, theirs)
            assert is_close(row["self_ns"], theirs["self_time_in_ms"] * 1e6, slack), (name, row, theirs)
            assert is_close(100 * row["sum_ratio"], theirs["time_in_percent"], 1e-3), (name, row, theirs)
            assert is_close(100 * row["self_ratio"], theirs["self_time_in_percent"], 1e-3), (name, row, theirs)
            assert row["suggestion"] and 0 <= row["working_ns"] <= row["self_ns"], row
            compared += 1
    assert compared >= 30 or not os.path.isdir(GOLDEN), compared


def test_input_steps(_directory):
    """Length and input of every step; copies come on top of what TensorFlow tells."""
    compared = 0
    for name, path, expected in recordings_with_steps():
        copied = {row["number"]: row["ns"] for row in query(
            path, "SELECT number, total(ns) AS ns FROM steps LEFT JOIN (SELECT step_id, sum(dur_ns) AS ns FROM "
                  "step_segments WHERE category = 'memcpy_HtoD' GROUP BY 1) ON step_id = steps.id GROUP BY 1")}
        rows = query(path, "SELECT * FROM input_steps")
        details = expected["input_analysis"]["step_details"]
        check(len(rows), len(details), name)
        for row, theirs in zip(rows, details):
            assert is_close(row["dur_ns"], theirs["step_time_ms"] * 1e6, SLACK), (name, row, theirs)
            assert is_close(row["input_ns"], theirs.get("host_wait_input_ms", 0) * 1e6, SLACK), (name, row, theirs)
            check(row["copy_ns"], copied[row["number"]], (name, row))
            assert name == "jax_a" or row["name"] == theirs["step_name"], (name, row, theirs)
            compared += 1
    assert compared > 40 or not os.path.isdir(GOLDEN), compared


def test_input_summary(_directory):
    """What the pipeline spent by stage, and shares of the steps."""
    for name, path in recordings():
        if name == "gpu_edge_a":
            continue
        expected = golden_json(name, "tf216.input_pipeline_analyzer")
        row = query(path, "SELECT * FROM input_summary")[0]
        for column, key in (("enqueue_ns", "enqueue_us"), ("read_on_demand_ns", "demanded_file_read_us"),
                            ("read_in_advance_ns", "advanced_file_read_us"), ("preprocess_ns", "preprocessing_us")):
            theirs = expected.get("input_time_breakdown", {}).get(key, 0)
            assert is_close(row[column] or 0, theirs * 1000, 500), (name, column, row, theirs)
        if "multihost" in name or not expected.get("step_details"):
            continue
        for column, key in (("mean", "average"), ("stddev", "standard_deviation"), ("min", "minimum"),
                            ("max", "maximum")):
            theirs = expected["input_percent_summary"].get(key, 0)
            assert is_close(100 * row[column + "_input_ratio"], theirs, 0.01), (name, row, theirs)
            theirs = expected["step_time_breakdown"]["input_ms_summary"].get(key, 0)
            assert is_close(row[column + "_input_ns"], theirs * 1e6, SLACK), (name, row, theirs)


def test_working_time(directory):
    """A prefetch that waits for its producer on another thread does nothing itself."""
    def us(name, start, dur, **stats):
        return event(name, start * 1_000_000, dur * 1_000_000, **stats)

    run = written(directory, plane("/host:CPU", [
        line(1, "main", [us("Iterator::Root", 0, 100, id=1, parent_id=0),
                         us("Iterator::Root::Prefetch", 10, 90, id=2, parent_id=1)]),
        line(2, "producer", [us("PrefetchProduce", 20, 60, element_id=5),
                             us("Iterator::Root::Prefetch::Map", 25, 50, id=3, parent_id=2)])]))
    rows = {row["name"].split("::")[-1]: row for row in query(run, "SELECT * FROM xprof_input_op_stats")}
    check({name: (row["sum_ns"], row["self_ns"]) for name, row in rows.items()},
          {"Root": (100_000, 10_000), "Prefetch": (90_000, 90_000), "Map": (50_000, 50_000)}, "times")
    assert sum(row["self_ratio"] for row in rows.values()) - 1 < 1e-9, rows
    check(rows["Root"]["sum_ratio"], 100 / 150, "share of all self time")


def memory_pages():
    """(name, host, path, {memory: page}) of each recording with allocations."""
    for name, path in recordings():
        for host in (None, "host-a", "host-b"):
            pages = golden_json(name, "memory_profile" + ("." + host if host else "")).get("memoryProfilePerAllocator")
            if pages:
                yield name, host, path, pages


def test_memory_summary(_directory):
    """Peak, capacity, fragmentation and what else was true at the peak; of every allocator of every host."""
    compared = 0
    for name, host, path, pages in memory_pages():
        where = f"WHERE host = '{host}'" if host else ""
        rows = {row["allocator"]: row for row in query(path, f"SELECT * FROM memory_summary {where}")}
        check(sorted(rows), sorted(pages), name)
        for memory, page in pages.items():
            row, summary = rows[memory], page["profileSummary"]
            stats = summary["peakStats"]
            check((row["capacity_bytes"], row["peak_bytes"], row["stack_bytes"], row["heap_bytes"], row["free_bytes"]),
                  (int(summary["memoryCapacity"]), int(stats["peakBytesInUse"]), int(stats["stackReservedBytes"]),
                   int(stats["heapAllocatedBytes"]), int(stats["freeMemoryBytes"])), (name, memory))
            # XProf: what the last event says
            assert row["lifetime_peak_bytes"] >= int(summary["peakBytesUsageLifetime"]), (name, memory, row)
            assert is_close(row["fragmentation_ratio"], stats["fragmentation"], 1e-6), (name, row, stats)
            compared += 1
    assert compared >= 8 or not os.path.isdir(GOLDEN), compared


REGIONS = {"temp": "temporary", "persist/dynamic": "persistent"}


def test_memory_timeline(_directory):
    """Every moment that XProf draws is there, with what was in use, free and fragmented."""
    compared = 0
    for name, host, path, pages in memory_pages():
        where = f"AND profiles.host = '{host}'" if host else ""
        rows = collections.defaultdict(list)
        for row in query(path, "SELECT timeline.allocator AS memory, timeline.time_ns - clock_offset_ns AS at, kind, "
                               "device_bytes, timeline.fragmentation_ratio AS fragmentation, stack_bytes, free_bytes, "
                               "abs(events.bytes) AS bytes, requested_bytes "
                               "FROM memory_timeline AS timeline JOIN memory_events AS events ON events.id = event_id "
                               f"JOIN profiles ON profiles.id = timeline.profile_id {where}"):
            rows[row["memory"]].append(row)
        for memory, page in pages.items():
            moments = collections.defaultdict(list)
            for row in rows[memory]:
                moments[row["at"] // 1000].append(row)
            shown = page["sampledTimelineSnapshots"]
            check(len(shown), min(1000, len(rows[memory])), (name, memory))
            offset = min(row["at"] for row in rows[memory]) - min(int(one["timeOffsetPs"]) for one in shown) // 1000
            for one in shown:
                at, state = int(one["timeOffsetPs"]) // 1000 + offset, one["aggregationStats"]
                what = one["activityMetadata"]
                same = [row for row in moments[at // 1000] if abs(row["at"] - at) <= 1 and
                        row["device_bytes"] == int(state["heapAllocatedBytes"]) and
                        row["free_bytes"] == int(state["freeMemoryBytes"]) and
                        is_close(row["fragmentation"], state["fragmentation"], 1e-6) and
                        row["stack_bytes"] == int(state["stackReservedBytes"]) and
                        row["kind"] == {"ALLOCATION": "allocate", "DEALLOCATION": "release"}[what["memoryActivity"]] and
                        (row["bytes"], row["requested_bytes"]) == (int(what["allocationBytes"]),
                                                                   int(what["requestedBytes"]))]
                assert same, (name, memory, one, offset, moments[at // 1000])
                compared += 1
    assert compared > 700 or not os.path.isdir(GOLDEN), compared


def test_memory_breakdown(_directory):
    """All that XProf knows to be in use at the peak is there; what it calls unused are pieces of earlier steps."""
    compared = 0
    for name, host, path, pages in memory_pages():
        where = f"WHERE host = '{host}'" if host else ""
        for memory, page in pages.items():
            rows = [row for row in query(path, f"SELECT * FROM memory_breakdown {where}") if row["allocator"] == memory]
            for one in page["activeAllocations"]:
                count = int(one["numOccurrences"])
                if one["snapshotIndex"] == "-1":
                    special = page["specialAllocations"][int(one["specialIndex"])]
                    if special["tfOpName"] == "stack":
                        assert [row["bytes"] for row in rows if row["region"] == "stack"] == [
                            int(special["allocationBytes"])], (name, memory, rows)
                    continue
                what = page["memoryProfileSnapshots"][int(one["snapshotIndex"])]["activityMetadata"]
                region = REGIONS.get(what["regionType"], what["regionType"])
                same = [row for row in rows if row["shape"] == what["tensorShape"] and row["region"] == region]
                assert sum(row["bytes"] for row in same) >= count * int(what["allocationBytes"]), (name, what, rows)
                compared += 1
            check(sum(row["bytes"] for row in rows), int(page["profileSummary"]["peakStats"]["peakBytesInUse"]),
                  (name, memory, "all in use"))
    assert compared >= 25 or not os.path.isdir(GOLDEN), compared


if __name__ == "__main__":
    run_tests(globals())
