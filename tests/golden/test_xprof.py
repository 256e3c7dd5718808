#!/usr/bin/env python3
"""test_xprof.py: views over XPlane files against what XProf itself and TensorFlow's converter print of them.

The recordings and the tools' outputs are among the shared traces; without these only the files that are made here are
looked at. Times of XProf are picoseconds, here nanoseconds: sums may differ by one for each event.
"""

import collections
import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, query, run_tests
from xplane_files import Ref, event, line, plane, space
from xprof_goldens import GOLDEN, golden_json, golden_tables, is_close, is_unknown_tensor_kernel, recordings


def kernel_rows(run):
    """Of XProf's kind: it lists what has details and took time."""
    return query(run, "SELECT * FROM xprof_kernel_stats WHERE block IS NOT NULL AND sum_ns > 0")


def check_kernels(name, expected, found):
    """Every row of one is a row of the other, in all columns."""
    def key(row):
        return (row["kernel"], row["block"], row["grid"], row["registers_per_thread"], row["shared_bytes"],
                row["op"] or "")

    here = {}
    for row in found:
        assert (row["profile_id"], key(row)) not in here, row
        here[row["profile_id"], key(row)] = row
    left = dict(here)
    for row in expected:
        wanted = (row["kernel_name"], row["block_dim"], row["grid_dim"], row["registers_per_thread"],
                  row["shmem_bytes"], row["op_name"])
        candidates = [at for at in left if at[1] == wanted and left[at]["count"] == row["occurrences"] and
                      is_close(left[at]["sum_ns"], row["total_duration_us"] * 1000, 0.5)]
        assert candidates, (name, row, [each for each in here.values() if each["kernel"] == row["kernel_name"]])
        row_here = left.pop(candidates[0])
        for column, theirs in (("min_ns", "min_duration_us"), ("max_ns", "max_duration_us")):
            assert is_close(row_here[column], row[theirs] * 1000, 0.5), (name, column, row_here, row)
        assert is_close(row_here["mean_ns"], row["avg_duration_us"] * 1000, 1), (name, row_here, row)
        assert is_close(100 * row_here["occupancy_ratio"], row["occupancy_pct"], 1e-6), (name, row_here, row)
        check(bool(row_here["is_tensor_core_eligible"]), row["is_op_tensor_core_eligible"] or
              (row["op_name"] == "MatMul"), (name, row["kernel_name"], "eligible"))
        check(bool(row_here["uses_tensor_core"]), row["is_kernel_using_tensor_core"] or
              is_unknown_tensor_kernel(row["kernel_name"]), (name, row["kernel_name"]))
    return left


def test_kernel_stats(_directory):
    """All columns of XProf's kernel statistics, of every recording with a GPU."""
    seen = 0
    for name, path in recordings():
        for expected in golden_tables(name, "kernel_stats"):
            # Details that are none of a launch are 0 there and NULL here; ops of XLA have no name there.
            expected = [row for row in expected if row["registers_per_thread"]]
            found = kernel_rows(path)
            for row in found:
                row["op"] = "" if (row["op"] or "").startswith("fusion") else row["op"]
            left = check_kernels(name, expected, found)
            assert not left, (name, left)
            seen += len(expected)
    assert seen > 50 or not os.path.isdir(GOLDEN), seen


def test_kernel_vector(directory):
    """The three kernels of xplane_to_kernel_stats_db_test: details in lines, order, tensor cores."""
    name = "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn"

    def kernel(at, dur_ns, which, op, regs, dynamic, block, grid):
        details = f"regs:{regs}\nstatic_shared:0\ndynamic_shared:{dynamic}\nblock:{block}\ngrid:{grid}\nocc_pct:100"
        return event(which, at, dur_ns * 1000, tf_op=Ref(op), kernel_details=Ref(details))

    run = os.path.join(directory, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(plane("/device:GPU:0", [line(1, "Stream #1(Compute)", [
            kernel(0, 1000, name, "mul_786:Unknown", 32, 16384, "64,1,1", "1,1,1"),
            kernel(2_000_000, 2000, "void gemm", "Conv2D:Conv2D", 32, 16384, "32,1,1", "2,1,1"),
            kernel(5_000_000, 3000, "volta_fp16", "Einsum_80:Einsum", 16, 0, "64,1,1", "3,1,1")], 0)])))
    check([(row["sum_ns"], row["registers_per_thread"], row["shared_bytes"], row["block"], row["grid"],
            row["uses_tensor_core"], row["is_tensor_core_eligible"]) for row in query(
                run, "SELECT * FROM xprof_kernel_stats ORDER BY position")],
          [(3000, 16, 0, "64,1,1", "3,1,1", 0, 0), (2000, 32, 16384, "32,1,1", "2,1,1", 0, 1),
           (1000, 32, 16384, "64,1,1", "1,1,1", 1, 1)], "kernels")


def test_kernel_merge_vector(directory):
    """The rows of kernel_stats_utils_test: kernels that are alike are one row, those of another op another."""
    run = os.path.join(directory, "merged.xplane.pb")
    lengths = (("add", 500), ("add", 1200), ("add", 900), ("other", 700))
    with open(run, "wb") as file:
        file.write(space(plane("/device:GPU:0", [line(1, "Stream #1(Compute)", [
            event("kernel", 2_000_000 * at, dur_ns * 1000, tf_op=Ref(f"{op}:Add"))
            for at, (op, dur_ns) in enumerate(lengths)], 0)])))
    check([(row["op"], row["count"], row["sum_ns"], row["min_ns"], row["max_ns"])
           for row in query(run, "SELECT * FROM xprof_kernel_stats ORDER BY position")],
          [("add", 3, 2600, 500, 1200), ("other", 1, 700, 700, 700)], "merged kernels")


def test_op_vector(directory):
    """The ops of op_stats_to_tf_stats_test: kernels of two streams, of one op several, one of them on tensor cores."""
    def kernels(*which):
        return [event(name, 20_000_000 * at, micros * 1_000_000, tf_op=Ref(op))
                for at, (name, micros, op) in enumerate(which)]

    first = (("kernel1", 8, "TfOp1:TfOp1"), ("kernel2", 10, "TfOp1:TfOp1"))
    run = os.path.join(directory, "ops.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(plane("/device:GPU:0", [
            line(1, "Stream #1(Compute)", kernels(
                *first, ("kernel3", 10, "TfOp2:TfOp2"), ("volta_fp16_s884gemm", 10, "Conv2D:Conv2D"),
                ("kernel5", 10, "Conv2D:Conv2D")), 0),
            line(2, "Stream #2(Compute)", kernels(*first), 0)])))
    check([(row["op"], row["count"], row["self_ns"], row["tensor_core_ratio"], row["is_idle"])
           for row in query(run, "SELECT * FROM xprof_op_stats WHERE side = 'device' AND is_idle = 0")],
          [("TfOp1", 2, 36_000, 0, 0), ("Conv2D", 1, 20_000, 0.5, 0), ("TfOp2", 1, 10_000, 0, 0)], "ops")
    check(query(run, "SELECT count(*) AS rows FROM xprof_op_stats WHERE side = 'device'"), [{"rows": 4}], "with IDLE")


def golden_ops(name, with_idle):
    """XProf's rows of op statistics by side, type and name."""
    tables = golden_tables(name, "framework_op_stats")
    return {(row["host_or_device"].lower(), row["type"], row["operation"]): row
            for row in tables[0 if with_idle else 1]} if tables else {}


def of_all_hosts(path):
    """The condition on the rows that stand for a recording as a whole."""
    return " WHERE host = 'ALL_HOSTS'" if os.path.isdir(path) else ""


def op_rows(path):
    """Those of the view, of several hosts those for all: calls, time, self time, share of it on tensor cores."""
    return {(row["side"], row["op_type"], row["op"]):
            (row["count"], row["sum_ns"], row["self_ns"], row["tensor_core_ratio"])
            for row in query(path, "SELECT * FROM xprof_op_stats" + of_all_hosts(path))}


def test_op_stats(_directory):
    """Calls, times, shares, tensor cores and idle time of each op on host and device."""
    compared = 0
    for name, path in recordings():
        expected, found = golden_ops(name, True), op_rows(path)
        if name in ("jax_a", "gpu_edge_a"):
            continue  # XProf leaves out what XLA compiled, and loses ops that end together; see below
        allocations = collections.Counter(row["op_name"].split(":")[0] for row in query(
            path, "SELECT op_name FROM memory_events WHERE op_name IS NOT NULL"))
        # Launches that name their op are calls of it there, an op of their own where none is around.
        launches_name_ops = name in ("gpu_multi_a", "multihost_gpu_a")
        on_tensor_cores = {row["op_name"] for row in query(path, "SELECT op_name, name FROM kernels")
                           if is_unknown_tensor_kernel(row["name"])}
        for key, row in expected.items():
            side, op_type, op = key
            is_named_only = key not in found and (launches_name_ops or (row["total_time"] == 0 and allocations[op]))
            if is_named_only:
                continue
            here = found.pop(key)
            if op == "IDLE":
                slack = 1 + sum(one["occurrences"] for one in expected.values())
                if side == "device" or (not launches_name_ops and not name.startswith("tf_membfc")):
                    assert abs(here[2] - row["total_self_time"] * 1000) <= slack, (name, key, here, row)
                continue
            calls = row["occurrences"] - (allocations[op] if side == "host" else 0)
            slack = here[0] * (2 if side == "device" else 1) + 1
            assert here[0] == calls or (launches_name_ops and here[0] < calls), (name, key, here, row)
            assert abs(here[2] - row["total_self_time"] * 1000) <= slack, (name, key, here, row)
            if side == "device":
                share = 1 if op in on_tensor_cores else row["gpu_tensorcore_utilization"]
                assert is_close(here[3], share, 1e-4), (name, key, here, row)
            if not launches_name_ops or side == "device":
                assert abs(here[1] - row["total_time"] * 1000) <= slack, (name, key, here, row)
            compared += 1
        assert not found, (name, found)
    assert compared > 600 or not os.path.isdir(GOLDEN), compared


def test_op_shares(_directory):
    """Shares with and without idle time, running sums of them, and the order of ops."""
    compared = 0
    for name, path in recordings():
        if name in ("jax_a", "gpu_edge_a", "gpu_multi_a", "multihost_gpu_a"):
            continue  # as above
        expected = golden_ops(name, False)
        with_idle = golden_ops(name, True)
        is_idle_alike = not name.startswith("tf_membfc")
        positions = {}
        for row in query(path, "SELECT *, self_ns * 1.0 / sum(self_ns) OVER (PARTITION BY side) AS ratio FROM "
                               "xprof_op_stats"
                               + of_all_hosts(path) + " ORDER BY side, position"):
            side, key = row["side"], (row["side"], row["op_type"], row["op"])
            if is_idle_alike:
                assert is_close(row["ratio"], with_idle[key][side + "_total_self_time_percent"], 1e-4), (name, row)
            if row["is_idle"]:
                continue
            theirs = expected[key]
            cumulative = "device_" if side == "device" else "Host_"
            assert is_close(row["self_ratio"], theirs[side + "_total_self_time_percent"], 1e-3), (name, row)
            assert is_close(row["cumulative_ratio"],
                            theirs[cumulative + "cumulative_total_self_time_percent"], 2e-3), (name, row, theirs)
            assert theirs["total_self_time"] <= positions.get(side, 1e18) + 0.02, (name, row)
            positions[side] = theirs["total_self_time"]
            compared += 1
    assert compared > 500 or not os.path.isdir(GOLDEN), compared


def test_op_types(_directory):
    """Host time by type is the sum over XProf's rows of it."""
    for name, path in recordings():
        if name in ("jax_a", "gpu_edge_a"):
            continue
        sums = collections.Counter()
        for (side, op_type, _), row in golden_ops(name, False).items():
            if side == "host":
                sums[op_type] += row["total_self_time"] * 1000
        here = collections.Counter()
        calls = collections.Counter()
        for row in query(path, "SELECT op_type, self_ns, count FROM (SELECT * FROM xprof_op_type_stats WHERE side = "
                               "'host' "
                                "AND is_idle = 0)" + of_all_hosts(path)):
            here[row["op_type"]] += row["self_ns"]
            calls[row["op_type"]] += row["count"]
        for op_type, self_ns in here.items():
            assert abs(self_ns - sums[op_type]) <= calls[op_type] + 1, (name, op_type, self_ns, sums[op_type])
        assert all(op_type in here or total == 0 or op_type == "CollectiveReduceV2"
                   for op_type, total in sums.items()), (name, sums, here)


def test_shares_of_the_summary(_directory):
    """Nothing takes more than all of it, and what is not known is no 0 %."""
    for name, path in recordings():
        for row in query(path, "SELECT * FROM run_summary"):
            shares = [float(share) for share in re.findall(r"([0-9.]+) %", row["text"])]
            assert all(share <= 100 for share in shares), (name, row)
        known = query(path, "SELECT count(sm_efficiency_ratio) AS known FROM device_utilization")[0]["known"]
        told = query(path, "SELECT count(*) AS told FROM run_summary WHERE text LIKE '%multiprocessors%'")[0]["told"]
        assert known > 0 or told == 0, name


def test_hosts_add_up(_directory):
    """Rows for all hosts are the sums of those of each; a recording of one host has none."""
    for name, path in recordings():
        for view, keys in (("xprof_op_stats", "side, op_type, op, is_idle"),
                           ("xprof_op_type_stats", "side, op_type, is_idle")):
            sums = f"{keys}, sum(count) AS calls, sum(self_ns) AS self_ns FROM {view} WHERE "
            whole = query(path, f"SELECT {sums} profile_id IS NULL GROUP BY {keys} ORDER BY {keys}")
            hosts = query(path, f"SELECT {sums} profile_id IS NOT NULL GROUP BY {keys} ORDER BY {keys}")
            check(whole, hosts if "multihost" in name else [], (name, view))
            shares = query(path, f"SELECT host, sum(self_ratio) AS whole FROM "
                                 f"{view} "
                                 "WHERE is_idle = 0 GROUP BY host, side HAVING sum(self_ns) > 0")
            assert all(row["whole"] is None or is_close(row["whole"], 1, 1e-9) for row in shares), (name, shares)


def test_op_nesting(directory):
    """Rows that are no ops count for the op around them; ops that end together, which XProf loses, nest."""
    run = os.path.join(directory, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(plane("/host:CPU", [line(1, "main", [
            event("root:Op", 0, 200_000), event("Something", 10_000, 120_000), event("parent:Op", 20_000, 100_000),
            event("Iterator::Root", 70_000, 50_000), event("Other", 80_000, 40_000)])])))
    rows = query(run, "SELECT * FROM ops ORDER BY start_ns")
    check([(row["name"], row["self_ns"], row["op_self_ns"]) for row in rows],
          [("root", 80, 100), ("Something", 20, None), ("parent", 50, 50), ("Iterator::Root", 10, 50),
           ("Other", 40, None)], "ops")
    check([(row["op"], row["count"], row["sum_ns"], row["self_ns"]) for row in query(
        run, "SELECT * FROM xprof_op_stats WHERE is_idle = 0 ORDER BY position")],
          [("root", 1, 200, 100), ("Iterator::Root", 1, 50, 50), ("parent", 1, 100, 50)], "xprof_op_stats")


def golden_steps(name):
    """{host: steps in their order} of the converter in TensorFlow 2.16: whole duration and parts, in nanoseconds."""
    content = golden_json(name, "tf216.pod_viewer")
    if not content:
        return {}
    names = {str(event["id"]): event["name"] for event in content["stepBreakdownEvents"]}
    hosts = collections.defaultdict(list)
    for step in content.get("podStatsSequence", {}).get("podStatsMap", []):
        for of_core in step["podStatsPerCore"].values():
            parts = {names[key]: us * 1000 for key, us in of_core["stepBreakdownUs"].items()}
            hosts[of_core["hostName"]].append((of_core["totalDurationUs"] * 1000, parts))
    return hosts


def test_step_breakdown(_directory):
    """All categories of every step, of recordings with and without a device, with causes and without, and of hosts.
    Nothing fills XProf's Compilation: what is compiled it shows as compute of the host."""
    compared, compiled = 0, collections.Counter()
    for name, path in recordings():
        if name == "gpu_edge_a":
            continue  # its times are less than what is lost by rounding
        here = [row for row in query(path, "SELECT * FROM _step_parts")]
        for steps in golden_steps(name).values():
            for total, parts in steps:
                slack = 20  # pieces begin and end at whole nanoseconds here
                found = [row for row in here if abs(row["dur_ns"] - total) <= slack]
                assert len(found) == 1, (name, total, [row["dur_ns"] for row in here])
                row = here.pop(here.index(found[0]))
                compute = row["kernel_ns"] + row["memset_ns"] + row["memcpy_ns"]  # copies of a GPU are compute there
                pairs = [(compute, "Device compute"), (row["communication_ns"], "Device collective communication"),
                         (row["data_loader_ns"], "Input"), (row["kernel_launch_ns"], "Kernel launch"),
                         (row["host_compute_ns"] + row["compile_ns"], "Host compute"), (row["other_ns"], "All others")]
                for value, part in pairs:
                    assert abs(value - parts[part]) <= slack, (name, part, row, parts)
                check([parts[part] for part in ("Device to device", "Output", "Compilation")], [0, 0, 0], name)
                whole = sum(row[column + "_ns"] for column in (
                    "device_compute", "device_to_device", "device_collectives", "host_compute", "kernel_launch",
                    "input", "output", "compile", "other"))
                compiled.update([name] * (row["compile_ns"] > 0))
                assert abs(whole - row["dur_ns"]) <= 1, (name, row)
                compared += 1
        if "multihost" not in name and golden_steps(name):
            assert not here, (name, here)
    assert compared > 50 or not os.path.isdir(GOLDEN), compared
    # Programs that trace a function in each of their steps.
    assert compiled["tf_custom_loop_a"] == 6 or not os.path.isdir(GOLDEN), compiled


def test_steps_cut_by_cause(directory):
    """TensorFlow's worked example; and what a step causes within another one counts in neither."""
    def marked(number, at_us, dur_us, **stats):
        return event("train", at_us * 1_000_000, dur_us * 1_000_000, _r=1, step_num=number, **stats)

    def work(name, at_us, dur_us, **stats):
        return event(name, at_us * 1_000_000, dur_us * 1_000_000, **stats)

    run = os.path.join(directory, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(
            plane("/host:CPU", [
                line(1, "main", [marked(0, 0, 100), work("FunctionRun", 10, 90, _pt=2, _p=7), marked(1, 200, 100)]),
                line(2, "executor", [
                    work("ExecutorState::Process", 20, 20, _ct=2, _c=7, id=1, iter_num=0),
                    work("matmul:MatMul", 30, 10, correlation_id=3)]),
                line(3, "late", [work("late:Op", 250, 20, _ct=2, _c=7)]),
                line(4, "other", [work("nobody:Op", 60, 130)])]),
            plane("/device:GPU:0", [line(1, "Stream #1(Compute)", [work("matmul", 50, 40, correlation_id=3)], 0)])))
    check([(row["number"], row["dur_ns"], row["kernel_ns"], row["kernel_launch_ns"], row["host_compute_ns"],
            row["input_ns"], row["other_ns"]) for row in query(run, "SELECT * FROM _step_parts")],
          [(0, 100_000, 40_000, 20_000, 0, 0, 40_000), (1, 100_000, 0, 0, 0, 0, 100_000)], "steps")


def trace_of(run):
    """The complete events of XProf's trace viewer."""
    path = os.path.join(GOLDEN, "golden", run, "trace_viewer.json")
    if os.path.exists(path + ".gz"):
        with gzip.open(path + ".gz", "rt", encoding="utf-8") as file:
            content = json.load(file)
    elif os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    else:
        return []
    return [one for one in content["traceEvents"] if one.get("ph") == "X"]


def test_groups(_directory):
    """What XProf groups by what caused it is of the step of that group here."""
    compared = 0
    for name, path in recordings():
        if name in ("gpu_unsorted_a", "gpu_derived_a", "gpu_edge_a") or "keras" in name or "multihost" in name:
            continue  # XProf loses groups of unsorted lines; the others have no marks, no numbers or several hosts
        numbers = [row["number"] for row in query(path, "SELECT number FROM steps ORDER BY start_ns")]
        here = collections.defaultdict(list)
        for table in ("ops", "api_calls", "kernels", "transfers"):
            for row in query(path, f"SELECT start_ns - clock_offset_ns AS at, dur_ns, number FROM (SELECT start_ns, "
                                   f"dur_ns, step_id, profile_id AS profile FROM {table}) LEFT JOIN (SELECT id AS step,"
                                   "number FROM steps) ON step = step_id JOIN (SELECT id AS key, clock_offset_ns FROM "
                                   "profiles) ON key = profile WHERE at IS NOT NULL"):
                here[row["at"]].append(row)
        for one in trace_of(name):
            group = one.get("args", {}).get("group_id")
            if group is None or one["name"].startswith("Memory"):
                continue
            at = int(one["ts"] * 1000 + 1e-4)
            found = [row["number"] for row in here[at] if abs(row["dur_ns"] - one.get("dur", 0) * 1000) <= 2]
            if not found and (one["name"].endswith(("Launch Stats",)) or one["pid"] < 700):
                continue  # rows that XProf makes of others
            assert numbers[int(group)] in found, (name, one, found, here[at])
            compared += 1
    assert compared > 1000 or not os.path.isdir(GOLDEN), compared


def test_what_runs_later(directory):
    """What a step hands to another thread is of that step, however late it runs; else time decides."""
    main = [event("train", i * 10_000_000, 5_000_000, _r=1, step_num=i + 3, _pt=2, _p=70 + i) for i in range(3)]
    late = [event("ExecutorState::Process", i * 10_000_000 + 12_000_000, 4_000_000, _ct=2, _c=70 + i, id=5, iter_num=i)
            for i in range(3)]
    inner = [event(f"late_{i}:Op", i * 10_000_000 + 12_500_000, 2_000_000) for i in range(3)]
    calls = [event("cuLaunchKernel", i * 10_000_000 + 13_000_000, 1_000_000, correlation_id=i + 1) for i in range(3)]
    other = [event("IteratorGetNextOp::DoCompute", 30_000_000, 1_000_000, id=5, iter_num=0),
             event("alone:Op", 11_000_000, 1_000_000)]
    kernels = [event("k", i * 10_000_000 + 40_000_000, 1_000_000, correlation_id=i + 1) for i in range(3)]
    run = os.path.join(directory, "a.xplane.pb")
    with open(run, "wb") as file:
        file.write(space(plane("/host:CPU", [line(1, "main", main), line(2, "worker", late + inner + calls),
                                             line(3, "other", other)]),
                         plane("/device:GPU:0", [line(1, "Stream #1(Compute)", kernels, 1000)])))
    rows = query(run, "SELECT ops.name AS op, number FROM ops LEFT JOIN (SELECT id AS key, number FROM steps) "
                      "ON key = step_id WHERE category <> 'user' ORDER BY start_ns, ops.id")
    check({(row["op"], row["number"]) for row in rows},
          {("alone", 4), ("IteratorGetNextOp::DoCompute", 3), *((f"late_{i}", i + 3) for i in range(3)),
           *(("ExecutorState::Process", i + 3) for i in range(3))}, "ops")
    check([row["number"] for row in query(run, "SELECT number FROM kernels JOIN (SELECT id AS key, number FROM steps) "
                                               "ON key = step_id ORDER BY start_ns")], [3, 4, 5], "kernels")


if __name__ == "__main__":
    run_tests(globals())
