#!/usr/bin/env python3
"""test_tpus.py: planes of TPUs: steps, programs and ops of every core, against what XProf 2.24.2 prints of the file.

Two cores take three steps of 0.9 ms: an infeed, a loop with two products in it, an element-wise fusion, an all-reduce
(10 us longer on the second core) and an outfeed; copies go on beside them.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, query, rows, run_tests
from xplane_files import Ref, Unsigned, event, line, plane, space, written

US = 1_000_000
OPS = { # name: (category, op of the framework, operations, bytes), as XLA tells them of one run
    "infeed.1": ("infeed", "jit(step)/infeed", 0, 1000),
    "while.2": ("while", "jit(step)/while", 4_000_000, 8000),
    "dot.3": ("convolution fusion", "jit(step)/while/body/dot_general", 1_000_000, 2000),
    "fusion.4": ("loop fusion", "jit(step)/transpose(jvp(Dense_0))/tanh", 50_000, 4000),
    "all-reduce.5": ("all-reduce", "jit(step)/psum", 1000, 4000),
    "outfeed.6": ("outfeed", "jit(step)/outfeed", 0, 500),
}
# framework_op_stats of XProf: occurrences, total and self time in us, GFLOP/s, and what bounds it
XPROF_OPS = {
    "jit(step)/while/body/dot_general": (12, 1980, 1980, 6.0606060606060606, "compute"),
    "jit(step)/psum": (6, 930, 930, 0.0064516129032258064, "memory"),
    "jit(step)/transpose(jvp(Dense_0))/tanh": (6, 600, 600, 0.5, "memory"),
    "jit(step)/infeed": (6, 540, 540, 0.0, "memory"),
    "jit(step)/while": (6, 2400, 420, 10.0, "compute"),
    "jit(step)/outfeed": (6, 240, 240, 0.0, "memory"),
}


def expression(name):
    return f"%{name} = f32[128,256]{{1,0}} custom(f32[128,256] %p)"


def core(number):
    ops, steps, programs, copies, marks = [], [], [], [], []
    for step in range(3):
        def at(us, dur, name, **stats):
            return event(name, (1000 * step + us) * US, dur * US, **stats)
        steps.append(at(0, 900, str(step)))
        programs.append(at(10, 880, "jit_step(77)", run_id=100 + step, program_id=Unsigned(77)))
        ops += [at(us, dur, expression(name)) for us, dur, name in (
            (10, 90, "infeed.1"), (100, 400, "while.2"), (110, 150, "dot.3"), (300, 180, "dot.3"),
            (520, 100, "fusion.4"), (650, 150 + 10 * number, "all-reduce.5"))]
        ops.append(at(850, 41, expression("outfeed.6"), device_offset_ps=0, device_duration_ps=40 * US))
        copies += [at(120, 300, "copy-start.9"), at(640, 170, "all-gather-start.7")]
        marks.append(at(500, 200, "decoder"))
    stats = {name: {"hlo_category": Ref(category), "tf_op": Ref(op), "flops": flops, "model_flops": flops,
                    "bytes_accessed": moved, "program_id": Unsigned(77), "symbol_id": Unsigned(1)}
             for name, (category, op, flops, moved) in OPS.items()}
    lines = [("Steps", steps), ("XLA Modules", programs), ("XLA Ops", ops), ("Async XLA Ops", copies),
             ("XLA TraceMe", marks)]
    return plane(f"/device:TPU:{number}", [line(i, name, events, 0) for i, (name, events) in enumerate(lines)],
                 {"device_type_string": "TPU v4", "peak_teraflops_per_second": 275.0,
                  "peak_hbm_bw_gigabytes_per_second": 1228.0, "core_count": 2},
                 inherited={expression(name): value for name, value in stats.items()},
                 displays={expression(name): name for name in OPS})


def made(folder, *more):
    return written(folder, space(*more, core(0), core(1)))


GIB = 1 << 30


def memory(number, key):
    """Of one TPU: 3 GiB and one for each number before it are allocated at the same addresses, one is released."""
    def at(name, us, held, **stats):
        return event(name, (100 + 10 * us + number) * US, 0, **{key: number}, bytes_reserved=GIB,
                     bytes_allocated=held * GIB, bytes_available=(31 - held) * GIB, peak_bytes_in_use=20 * GIB,
                     allocation_bytes=GIB, fragmentation=0.1, **stats)
    count = 3 + number
    given = [at("MemoryAllocation", i, i + 1, addr=Unsigned(4096 * (i + 1)), requested_bytes=GIB, data_type=1,
                region_type=Ref("temp"), tf_op=Ref("jit(step)/dot_general:"), shape=Ref("[10]")) for i in range(count)]
    return given + [at("MemoryDeallocation", count, count - 1, addr=Unsigned(4096))]


def test_memory(folder):
    """Each TPU's memory is its own, whichever stat tells the device, and of a file without its plane; one size of it is
    told in all places."""
    for key in ("device_ordinal", "index_on_host"):
        host = plane("/host:CPU", [line(7, "main", [one for i in range(4) for one in memory(i, key)], 0)])
        for cores in ([core(i) for i in range(4)], []):
            run = written(folder, space(host, *cores))
            names = [f"/device:TPU:{i}" if cores else str(i) for i in range(4)]
            check(rows(run, "SELECT memory, peak_bytes, heap_bytes, lifetime_peak_bytes, capacity_bytes, "
                       "allocation_count, deallocation_count FROM memory_summary ORDER BY memory"),
                  [(names[i], (4 + i) * GIB, (3 + i) * GIB, 20 * GIB, 32 * GIB, 3 + i, 1) for i in range(4)],
                  "memories")
            check(rows(run, "SELECT name FROM _memory_names ORDER BY 1"), [(name,) for name in names], "names")
            check(rows(run, "SELECT memory, region, bytes, count FROM memory_breakdown ORDER BY memory, region"),
                  [row for i in range(4) for row in ((names[i], "stack", GIB, None),
                                                     (names[i], "temporary", (3 + i) * GIB, 3 + i))], "at the peak")
            check(rows(run, "SELECT coalesce(device, allocator), max(device_bytes), min(bytes) FROM memory_timeline "
                       "GROUP BY 1 ORDER BY 1"), [(names[i], (3 + i) * GIB, GIB) for i in range(4)], "over time")
            check(rows(run, "SELECT text FROM run_summary WHERE title = 'memory'"),
                  [(f"{names[3]} peak 7.00 GiB of 32.0 GiB (20.0 GiB before the recording), most of 4 memories",)],
                  "told")
            check(rows(run, "SELECT DISTINCT op_name, attributes FROM memory_events WHERE kind = 'allocate'"),
                  [("jit(step)/dot_general", None)], "ops")
            if cores:
                check(rows(run, "SELECT device, live_bytes, peak_bytes, peak_ratio FROM memory_by_line ORDER BY 1"),
                      [(names[i], (2 + i) * GIB, (3 + i) * GIB, 1.0) for i in range(4)], "by line")


def with_name(folder, instruction, name):
    """The run, in which the framework's name of the instruction is another."""
    told = OPS[instruction]
    try:
        OPS[instruction] = (told[0], name, *told[2:])
        return made(folder)
    finally:
        OPS[instruction] = told


def test_recomputation(folder):
    """What jax.checkpoint does again is no work of the model: mfu leaves it out, hfu counts it."""
    run = with_name(folder, "fusion.4", "jit(step)/transpose(jvp())/checkpoint/rematted_computation/tanh")
    mfu = query(run, "SELECT * FROM mfu")
    check([(row["flops"], row["recomputed_flops"]) for row in mfu], [(2 * 2_001_000, 2 * 50_000)] * 3, "operations")
    for row in mfu:
        close(row["hfu"] / row["mfu"], 2_051_000 / 2_001_000, "what the hardware does")
    run = with_name(folder, "fusion.4", "jit(step)/transpose(jvp())/checkpoint/tanh") # a gradient
    check([row["recomputed_flops"] for row in query(run, "SELECT * FROM mfu")], [0] * 3, "gradients")


def test_names_without_a_type(folder):
    """XLA writes the op as name:type, also where there is no type: the name is what stands before the colon."""
    run = with_name(folder, "all-reduce.5", "jit(step)/psum:")
    check(rows(run, "SELECT DISTINCT op_name FROM kernels WHERE name = 'all-reduce.5'"), [("jit(step)/psum",)], "names")
    check(rows(run, "SELECT count(*) FROM xprof_op_stats WHERE op = 'jit(step)/psum'"), [(1,)], "xprof_op_stats")


def close(found, expected, what):
    assert abs(found - expected) <= 1e-9 * abs(expected), f"{what}: {found}, expected {expected}"


def test_rows(folder):
    """Every line is rows where it belongs, and ops are of the step and the program that they ran in."""
    ask = lambda sql: rows(run, sql)
    host = plane("/host:CPU", [line(9, "main", [event("train", 1000 * US * i, 950 * US, _r=1, step_num=i + 40)
                                                for i in range(3)], 0)])
    for more in ((), (host,)):
        run = made(folder, *more)
        check(ask("SELECT number, origin, start_ns, dur_ns FROM steps"),
              [(i, "device", 1_000_000 * i, 900_000) for i in range(3)], "steps")
        check(ask("SELECT kernels.name, kernels.kind, op_type, kernels.dur_ns, self_ns, number, "
                  "launches.name, launches.graph, launches.correlation FROM kernels JOIN steps ON steps.id = step_id "
                  "JOIN (SELECT id AS key, name, graph, correlation FROM graph_launches) AS launches "
                  "ON key = graph_launch_id "
                  "JOIN (SELECT id AS lane, name AS lane_name FROM threads) ON lane = kernels.thread_id "
                  "JOIN (SELECT id AS device, ordinal FROM devices) ON device = kernels.device_id "
                  "WHERE lane_name = 'XLA Ops' AND ordinal = 1 AND number = 2 ORDER BY kernels.start_ns"),
              [(name, kind, OPS[name][0], 1000 * dur, 1000 * own, 2, "jit_step(77)", 77, 102) for
               name, kind, dur, own in (
                   ("infeed.1", "infeed", 90, 90), ("while.2", "compute", 400, 70), ("dot.3", "compute", 150, 150),
                   ("dot.3", "compute", 180, 180), ("fusion.4", "compute", 100, 100),
                   ("all-reduce.5", "communication", 160, 160), ("outfeed.6", "outfeed", 40, 40))], "ops")
        check(ask("SELECT ordinal, number, launches.name, kernel_count FROM graph_launches AS launches "
                  "JOIN (SELECT id AS device, ordinal FROM devices) ON device = launches.device_id "
                  "JOIN (SELECT id AS step, number FROM steps) ON step = launches.step_id ORDER BY 1, 2"),
              [(core_number, i, "jit_step(77)", 8) for core_number in range(2) for i in range(3)], "launches")
        check(ask("SELECT attributes ->> 'long_name', program FROM kernels LIMIT 1"),
              [(expression("infeed.1"), 77)], "attributes")
        check(ask("SELECT name, kind, direction, count(*), sum(dur_ns) FROM transfers GROUP BY 1, 2, 3"),
              [("copy-start.9", "memcpy", None, 6, 1_800_000)], "copies beside the ops")
        check(ask("SELECT kind, count(*) FROM kernels WHERE name = 'all-gather-start.7' GROUP BY 1"),
              [("communication", 6)], "collectives beside the ops")
        check(ask("SELECT name, count(*) FROM ranges WHERE name = 'decoder' GROUP BY 1"), [("decoder", 6)], "marks")
        check(ask("SELECT count(*) FROM diagnostics WHERE severity <> 'info'"), [(0,)], "diagnostics")


def test_ops(folder):
    """Time, own time, rates and bounds of every op, and idle time."""
    run = made(folder)
    rows = query(run, "SELECT * FROM xprof_op_stats WHERE side = 'device'")
    for row in rows:
        if row["is_idle"]:
            continue
        count, total, own, rate, bound = XPROF_OPS.pop(row["op"])
        check((row["count"], row["sum_ns"], row["self_ns"], row["bound_by"]), (count, 1000 * total, 1000 * own, bound),
              row["op"])
        close(row["flops_per_second"], 1e9 * rate, row["op"])
        check((row["tensor_core_ratio"], row["execution_mode"]), (None, None), row["op"])
    check(XPROF_OPS, {}, "ops that are missing")
    check([row["self_ns"] for row in rows if row["is_idle"]], [1_090_000], "idle")
    check([row["op"] for row in query(run, "SELECT op FROM xprof_top_device_ops")],
          ["jit(step)/while/body/dot_general", "jit(step)/psum",
           "jit(step)/transpose(jvp(Dense_0))/tanh", "jit(step)/infeed", "jit(step)/while", "jit(step)/outfeed"], "top")


def test_roofline(folder):
    """roofline_model of XProf: the program without what loops tell once more, its time from the first step to the
    last, and the peaks."""
    run = made(folder)
    rows = {row["kernel"]: row for row in query(run, "SELECT * FROM roofline")}
    program = rows[None]
    check((program["sum_ns"], program["flops"], program["bytes_accessed"], program["bound_by"]),
          (5_800_000, 12_306_000, 81_000, "memory"), "program")
    close(program["flops_per_second"], 2.1217241379310345e9, "rate of the program")
    close(program["flops_per_byte"], 151.92592592592592, "intensity of the program")
    close(program["peak_flops_per_second"], 275e12, "peak")
    close(program["peak_bytes_per_second"], 1143.66 * 2**30 * (1228e9 / 2**30 / 1143.66), "memory")
    close(program["ridge_flops_per_byte"], 275e12 / 1228e9, "ridge")
    for name, share, bound in (("dot.3", 0.3413793103448276, "compute"), ("while.2", 0.07241379310344828, "compute"),
                               ("all-reduce.5", 0.16034482758620688, "memory")):
        close(rows[name]["sum_ratio"], share, name)
        check(rows[name]["bound_by"], bound, name)
    check([row["flops"] for row in query(run, "SELECT flops FROM mfu")], [2 * 2_051_000] * 3, "operations of steps")


def test_steps(folder):
    """What steps go to, cores taken together: overview_page of XProf has 0.66 ms of computing, in which it counts
    collectives, 0.09 of infeed, 0.04 of outfeed and 0.11 of nothing. Here the copies and collectives that go on beside
    the ops count, too: all-gather-start is there from 640 to 810 us."""
    run = made(folder)
    for row in query(run, "SELECT * FROM xprof_step_breakdown"):
        check([row[name + "_ns"] for name in ("device_compute", "device_collectives", "input", "output", "other",
                                              "kernel_launch", "host_compute", "dur")],
              [500_000, 170_000, 90_000, 40_000, 100_000, 0, 0, 900_000], "parts")
    overview = query(run, "SELECT * FROM xprof_overview")[0]
    check((overview["step_count"], overview["mean_step_ns"], overview["verdict"]), (3, 900_000,
          "moderately input-bound"), "overview")
    close(overview["input_ratio"], 0.1, "input")
    check([row["topic"] for row in query(run, "SELECT topic FROM xprof_recommendations WHERE level <> 'no' ORDER "
                                              "BY 1")],
          ["device_collectives", "input", "other"], "xprof_recommendations")
    check([(row["device_type"], row["device_count"]) for row in query(run, "SELECT * FROM run_environment")],
          [("TPU v4", 2)], "environment")


def test_timeline(folder):
    """Steps, programs, ops and marks lie on the lines that they were recorded on, and nothing is drawn twice."""
    run, path = made(folder), os.path.join(folder, "timeline.json")
    query(run, f"SELECT tfprof_timeline('{path}')")
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    check(sorted(names.values()), sorted(2 * ["Steps", "XLA Modules", "XLA Ops", "Async XLA Ops", "XLA TraceMe"]),
          "lines")
    drawn = {}
    for one in events:
        if one["ph"] == "X":
            drawn.setdefault(names[one["pid"], one["tid"]], []).append(one["name"])
    check({name: len(found) for name, found in drawn.items()},
          {"Steps": 6, "XLA Modules": 6, "XLA Ops": 42, "Async XLA Ops": 12, "XLA TraceMe": 6}, "spans")
    check(set(drawn["XLA Modules"]), {"jit_step(77)"}, "programs")


if __name__ == "__main__":
    run_tests(globals())
